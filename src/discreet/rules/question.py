"""Rules on the question: nothing is counted yet, so a refusal may say the number and the limit."""

from __future__ import annotations

from discreet.errors import QueryRefused
from discreet.policy import Margins, SpaceRules, Tier
from discreet.query import Question, QuestionClass
from discreet.rules.codes import Code
from discreet.table.decimals import of_steps


def check_question(
    question: Question, tier: Tier, totals: Margins = Margins.NONE, people: int = 0
) -> None:
    """Raise the first rule on questions that a question breaks.

    `people` is the size of the population, of which the time to count a table is estimated.
    """
    rules, of = tier.question, QuestionClass.of(question)
    if len(of.levels) > rules.max_dimensions:
        raise QueryRefused(
            Code.MAX_DIMENSIONS,
            f"A table may have at most {rules.max_dimensions} variables, those of its filters "
            f"included. This one has {len(of.levels)}.",
        )
    for axis in question.axes:
        if axis.level.id in rules.levels_refused:
            raise QueryRefused(Code.LEVEL, f"'{axis.level.id}' is not available to you.")
        if not axis.variable.is_geography and len(axis) > rules.max_categories:
            raise QueryRefused(
                Code.MAX_CATEGORIES,
                f"A variable may have at most {rules.max_categories:,} categories. "
                f"'{axis.level.id}' has {len(axis):,}.",
            )
    for f in question.filters:
        if f.variable.id in rules.filters_refused:
            raise QueryRefused(Code.FILTER, f"Tables cannot be limited by '{f.variable.id}'.")
        if f.level.id in rules.levels_refused:
            raise QueryRefused(Code.LEVEL, f"'{f.level.id}' is not available to you.")
    if question.cells > rules.max_cells:
        raise QueryRefused(
            Code.MAX_CELLS,
            f"A table may have at most {rules.max_cells:,} cells. This one has {question.cells:,}.",
        )
    _check_size(of, tier.space, people)
    if totals is not Margins.NONE and totals is not tier.protection.margins:
        allowed = tier.protection.margins
        choices = "none" if allowed is Margins.NONE else f"none or {allowed}"
        raise QueryRefused(Code.TOTALS, f"Totals may be {choices}. Got '{totals}'.")


def check_detail(of: QuestionClass, tier: Tier, population: int) -> None:
    """Raise where a population is too small for the cells of a table, whatever its counts are.

    The rules on counts would refuse such a table, or withhold most of its areas, after it had used
    up looks: whoever asked for it would take them from others.
    """
    rules = tier.counts_at(None if of.areas is None else of.areas.id)
    if population < of_steps(of.cells, rules.minimum_mean):
        raise QueryRefused(
            Code.TOO_LARGE,
            f"The table of {of.label} has {of.cells:,} cells: too many for the number of people.",
        )


READ = 100e6
"""People that are read in a second for each variable: a round figure for Parquet and two cores."""


def _check_size(of: QuestionClass, rules: SpaceRules, people: int) -> None:
    """Raise where the complete table that a question is a part of is too large to be made."""
    if of.cells > rules.max_table:
        raise QueryRefused(
            Code.TOO_LARGE,
            f"The table of {of.label} has {of.cells:,} cells, and this question is a part of it. "
            f"At most {rules.max_table:,} are made.",
        )
    if people * len(of.levels) / READ > rules.max_seconds:
        raise QueryRefused(
            Code.TOO_LARGE,
            f"The table of {of.label}, of which this question is a part, takes too long to count.",
        )
