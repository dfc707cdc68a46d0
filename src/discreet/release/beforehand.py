"""Protection of the records before any table: how much of it, and whether a policy asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.policy import Place, Policy, Tier
from discreet.population import Version
from discreet.protect.records.protected_base import NAME, WHOLE
from discreet.query import Question
from discreet.types import Integers


@dataclass(frozen=True)
class Beforehand:
    """What was done to the records before any table; false where nothing was.

    `ranges` has for each class of figures of a table the lowest and the highest true count, less
    the figure, in nine of ten cases; None where they are not known. The largest figures of the
    classes are `classes`, but for the last.
    """

    methods: tuple[str, ...]
    classes: tuple[int, ...] = ()
    ranges: tuple[tuple[int, int], ...] | None = None

    def __bool__(self) -> bool:
        return bool(self.methods)

    def around(self, figures: Integers) -> tuple[Integers, Integers] | None:
        """Return the lower and upper ends of the ranges of some figures."""
        if self.ranges is None:
            return None
        kinds = np.searchsorted(np.array(self.classes), figures)
        low, high = np.array(self.ranges, np.int64).T
        # Who is not there may be, and who is there need not: no figure is certain.
        below, above = np.minimum(low[kinds], -1), np.maximum(high[kinds], 1)
        return np.maximum(figures + below, 0), figures + above


def beforehand(version: Version, question: Question) -> Beforehand:
    """Return what was done to the records, as far as the tables of a question show it."""
    methods = tuple(version.manifest.get("protected_beforehand") or ())
    if NAME not in methods:
        return Beforehand(methods)
    facts = _facts(version)
    level, order = _level(version, question), _order(question)
    found = [facts[kind].get(level, []) for kind in _kinds_of_ranges(question, facts)]
    ranges = None
    if level and order <= min(map(len, found)):
        # Variables that members of a household share tell as little apart as one of them does.
        fewer = order - max(len(_of_households(question, facts)) - 1, 0)
        ranges = _around([own[max(n, 1) - 1] for own in found for n in {order, fewer}])
    return _in_ranges(methods, facts, ranges)


def _around(kinds: list[list[list[int]]]) -> list[list[int]]:
    """Return ranges that hold those of every kind."""
    low, high = np.array(kinds, np.int64).transpose(2, 0, 1)
    return [[int(a), int(b)] for a, b in zip(low.min(axis=0), high.max(axis=0), strict=True)]


def by_level(version: Version) -> dict[str, list[Beforehand]]:
    """Return what tables of a base say by level of areas, for one variable, two and so on.

    Levels of very many categories aside. Empty where records are not a base.
    """
    if not is_base(version):
        return {}
    facts = _facts(version)
    methods = tuple(version.manifest["protected_beforehand"])
    return {
        level: [_in_ranges(methods, facts, ranges) for ranges in by_order]
        for level, by_order in facts["ranges"].items()
    }


def _facts(version: Version) -> dict[str, Any]:
    return next(step for step in version.steps_beforehand if step["method"] == NAME)


def _in_ranges(
    methods: tuple[str, ...], facts: dict[str, Any], ranges: list[list[int]] | None
) -> Beforehand:
    told = None if ranges is None else tuple((int(low), int(high)) for low, high in ranges)
    return Beforehand(methods, tuple(facts["classes"]), told)


def _kinds_of_ranges(question: Question, facts: dict[str, Any]) -> list[str]:
    """Return which ranges hold.

    Others for levels with more categories than are in every pair, and for variables that members
    of a household share, where whole households are copied.
    """
    most = facts.get("most_categories", np.inf)  # what was built before has one kind
    named = [(axis.variable, axis.level) for axis in question.axes]
    named += [(f.variable, f.restated.level) for f in question.filters]
    levels = [level for variable, level in named if not variable.is_geography]
    kinds = {
        "ranges_beyond": any(len(level) > most for level in levels),
        "ranges_household": bool(_of_households(question, facts)),
    }
    return [kind for kind, holds in kinds.items() if holds] or ["ranges"]


def _of_households(question: Question, facts: dict[str, Any]) -> set[str]:
    """Return the variables of a question that members of a household share, if these are copied.

    Tables with one have ranges of their own, where there are other tables too.
    """
    shared = facts.get("household_variables", []) if "ranges_household" in facts else []
    named = [axis.variable for axis in question.axes] + [f.variable for f in question.filters]
    return {variable.id for variable in named} & {*shared}


def _order(question: Question) -> int:
    """Return how many variables, areas aside, the people of a cell share."""
    named = [axis.variable for axis in question.axes] + [f.variable for f in question.filters]
    return len({variable.id for variable in named if not variable.is_geography})


def _level(version: Version, question: Question) -> str | None:
    """Return the level of the areas that figures are of; None for several areas taken together."""
    if question.areas is not None:
        return question.areas.level.id
    picked = [f for f in question.filters if f.variable.is_geography]
    if not picked:
        return WHOLE
    one = picked[0].restated
    return one.level.id if len(one.picked) == 1 else None


def swap_rate(version: Version, question: Question) -> float:
    """Return the share of records that were swapped out of the areas that a question tells apart.

    A swap within larger areas leaves tables of those, and tables without areas, as they were: their
    share is 0.
    """
    areas = question.areas
    return 0.0 if areas is None else version.swap_rate(areas.level.id)


def prepared(version: Version, policy: Policy, tier: Tier) -> bool:
    """Whether the records were protected as a policy asks; a store that was not is refused.

    Where tables are left alone, records must have been swapped, since only of that the chances are
    known, or must have given way to a protected base. Where detail is not guarded, the data must be
    synthetic or a protected base.
    """
    protection = tier.protection
    if not tier.space.guards and not (policy.synthetic or is_base(version)):
        return False
    if protection.place is Place.OUTPUT:
        return True
    methods = version.manifest.get("protected_beforehand")
    if not methods:
        return False
    if NAME in methods:
        return True
    geography = version.schema.geography
    levels = () if geography is None else geography.levels
    return not protection.beforehand or any(version.swap_rate(level.id) for level in levels)


def is_base(version: Version) -> bool:
    """Whether every question is counted on a protected base."""
    return NAME in version.manifest.get("protected_beforehand", [])
