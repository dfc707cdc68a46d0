"""Rules on the question: nothing is counted yet, so a refusal may say the number and the limit."""

from __future__ import annotations

from discreet.errors import QueryRefused
from discreet.policy import Margins, Tier
from discreet.query import Question
from discreet.rules.codes import Code


def check_question(question: Question, tier: Tier, totals: Margins = Margins.NONE) -> None:
    """Raise the first rule on questions that a question breaks."""
    rules = tier.question
    if len(question.axes) > rules.max_dimensions:
        raise QueryRefused(
            Code.MAX_DIMENSIONS,
            f"A table may have at most {rules.max_dimensions} variables. This one has "
            f"{len(question.axes)}.",
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
    if totals is not Margins.NONE and totals is not tier.protection.margins:
        allowed = tier.protection.margins
        choices = "none" if allowed is Margins.NONE else f"none or {allowed}"
        raise QueryRefused(Code.TOTALS, f"Totals may be {choices}. Got '{totals}'.")
