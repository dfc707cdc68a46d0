"""What a policy says of the space of questions, held against the data set it is for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from discreet.errors import ParameterError
from discreet.policy import Policy, Tier
from discreet.population import Schema
from discreet.query import Query, Question, QuestionClass

LARGER = 1.1
"""How much larger than the number of records a stated population may be."""


def planned(text: str, schema: Schema) -> QuestionClass:
    """Return the class of a question of a plan: "by" or "by&where=…"."""
    by, _, where = text.partition("&where=")
    return QuestionClass.of(Question.of(Query.parse(by, where or None), schema))


def check_space(policy: Policy, schema: Schema, people: int) -> None:
    """Raise where plans or official figures cannot be made, or a population is too large.

    A population that is stated larger than it is would switch the guard off.
    """
    for levels in policy.official:
        for name in sorted(levels):
            _told("benchmark_totals", partial(schema.find, name))
    for tier in policy.tiers.values():
        for text in tier.space.plan:
            _told(f"the plan of tier '{tier.id}'", partial(_check_planned, text, schema, tier))
        stated = tier.space.population
        if stated > LARGER * people:
            raise ParameterError(
                f"population of tier '{tier.id}' must be the size of the population as it is "
                f"published. Got {stated:,}; there are {people:,} records."
            )


def _check_planned(text: str, schema: Schema, tier: Tier) -> None:
    """Raise where a question of a plan has no table, or one that the tier does not make."""
    of = planned(text, schema)
    if len(of.levels) not in tier.dimensions:
        most = max(tier.dimensions, default=0)
        raise ParameterError(
            f"a table may have at most {most} variables. {of.name} has {len(of.levels)}."
        )
    if of.cells > tier.space.max_table:
        raise ParameterError(
            f"a table may have at most {tier.space.max_table:,} cells. {of.name} has {of.cells:,}."
        )


def _told(what: str, look: Callable[[], object]) -> None:
    try:
        look()
    except ParameterError as error:
        raise ParameterError(f"{what}: {error}") from None
