"""Zeros that nobody can be in."""

from __future__ import annotations

import numpy as np

from discreet.population.schema import Level, Schema, Variable
from discreet.query import Query, Question, QuestionClass
from discreet.query.impossible import structural_zeros


def _level(name: str, of: list[int]) -> Level:
    codes = tuple(f"{name}{i}" for i in range(max(of) + 1))
    return Level(name, name.capitalize(), codes, codes, np.array(of, np.uint32))


AGE = Variable("age", "Age", (_level("age", [0, 1, 2, 3]), _level("half", [0, 0, 1, 1])))
WORK = Variable("work", "Work", (_level("work", [0, 1, 2]),))
SEX = Variable("sex", "Sex", (_level("sex", [0, 1]),))


def zeros(by: str, *impossible: str) -> list[object]:
    schema = Schema("people", "People", "people", (AGE, WORK, SEX), impossible)
    of = QuestionClass.of(Question.of(Query.parse(by), schema))
    return structural_zeros(of).astype(int).tolist()  # type: ignore[no-any-return]


def test_cells_that_lie_wholly_in_an_impossible_combination() -> None:
    rule = "age=age0|age1,work=work1|work2"
    assert zeros("age,work", rule) == [[0, 1, 1], [0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert zeros("half,work", rule) == [[0, 1, 1], [0, 0, 0]]
    # A part of a half is impossible: somebody may be in the other part.
    assert zeros("half,work", "age=age0,work=work1") == [[0, 0, 0], [0, 0, 0]]


def test_a_combination_needs_all_its_variables() -> None:
    rule = "age=age0,work=work1"
    assert zeros("age,sex", rule) == [[0, 0]] * 4
    assert zeros("age,work,sex", rule)[0] == [[0, 0], [1, 1], [0, 0]]
    assert zeros("age,work", rule, "age=age3,work=work0") == [
        [0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0],
    ]  # fmt: skip
