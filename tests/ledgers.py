"""A small schema whose guarded classes can be counted by hand, and ledgers about it."""

from __future__ import annotations

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
