"""A small schema whose guarded classes can be counted by hand, and ledgers about it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from discreet.ledger import Database, Ledger, Space
from discreet.policy import SpaceRules
from discreet.population import Level, Schema, Variable
from discreet.query import QuestionClass


def _level(name: str, of: list[int]) -> Level:
    codes = tuple(f"{name}{i}" for i in range(max(of) + 1))
    return Level(name, name.capitalize(), codes, codes, np.array(of, np.uint32))


SEX = Variable("sex", "Sex", (_level("sex", [0, 1]),))
AGE = Variable(
    "age",
    "Age",
    (
        _level("age", [0, 1, 2, 3, 4, 5, 6, 7]),
        _level("band", [0, 0, 1, 1, 2, 2, 3, 3]),
        _level("half", [0, 0, 0, 0, 1, 1, 1, 1]),
    ),
)
PLACE = Variable("geography", "Geography", (_level("oa", [0, 1, 2, 3]), _level("la", [0, 0, 1, 1])))
SCHEMA = Schema("people", "People", "people", (SEX, AGE, PLACE))
# With 1,000 people and a guard below 100 a class is guarded if it has more than 10 cells. The
# coarsest of these have 16: sex,age  age,la  band,oa  sex,band,la  sex,half,oa.
COARSEST = {"sex,age", "age,la", "band,oa", "sex,band,la", "sex,half,oa"}
RULES: dict[str, Any] = {"guard_below": 100, "looks": 2, "office_looks": 3, "sums_up_to": 1.0}


def of(name: str) -> QuestionClass:
    """Return a class by its name."""
    return QuestionClass.named(name, SCHEMA)


def space(**rules: Any) -> Space:
    """Return the space of 1,000 people; sums do not save looks unless asked."""
    return Space(SCHEMA, 1_000, SpaceRules(**RULES | rules))


def ledger(
    database: Database | None = None,
    edition: str = "2021",
    scope: str = "public",
    public: bool = True,
    **rules: Any,
) -> Ledger:
    """Return a ledger, by default in memory."""
    kept = database or Database.of("sqlite://")
    return Ledger(kept, "people", edition, scope, space(**rules), public)


def wide_space(looks: int = 2) -> Space:
    """Return the space of four variables of 4 and 2 categories: 81 classes, 66 of them guarded."""
    variables = tuple(
        Variable(name, name, (_level(name, [0, 1, 2, 3]), _level(f"{name}_half", [0, 0, 1, 1])))
        for name in "abcd"
    )
    schema = Schema("wide", "Wide", "people", variables)
    return Space(schema, 400, SpaceRules(guard_below=100, looks=looks, sums_up_to=1.0))


def wide_classes(wide: Space) -> list[QuestionClass]:
    """Return all classes of the space, the coarsest first."""
    finest = QuestionClass(wide.schema, (2,) * len(wide.schema.variables))
    return sorted(finest.below(), key=lambda c: (c.cells, c.name))


def most_looks(space: Space, tables: list[QuestionClass]) -> int:
    """Return how many of some tables show the same guarded class, by the definition."""
    shown = Counter(detail for table in tables for detail in space.guarded_below(table))
    return max(shown.values(), default=0)
