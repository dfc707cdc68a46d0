"""Classes of questions: which table answers which question."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.population.schema import Level, Schema, Variable
from discreet.query import Query, Question, QuestionClass
from discreet.query.classes import EVERYBODY


def _level(name: str, of: list[int]) -> Level:
    codes = tuple(f"{name}{i}" for i in range(max(of) + 1))
    return Level(name, name.capitalize(), codes, codes, np.array(of, np.uint32))


AGE = Variable(
    "age",
    "Age",
    (
        _level("age", [0, 1, 2, 3, 4, 5, 6, 7]),
        _level("school", [0, 0, 0, 1, 1, 1, 1, 1]),  # cuts across the bands
        _level("band", [0, 0, 1, 1, 2, 2, 3, 3]),
        _level("half", [0, 0, 0, 0, 1, 1, 1, 1]),
    ),
)
SEX = Variable("sex", "Sex", (_level("sex", [0, 1]),))
PLACE = Variable("geography", "Geography", (_level("oa", [0, 1, 2, 3]), _level("la", [0, 0, 1, 1])))
SCHEMA = Schema("people", "People", "people", (SEX, AGE, PLACE))


def asked(by: str, where: str | None = None) -> QuestionClass:
    """Return the class of a question."""
    return QuestionClass.of(Question.of(Query.parse(by, where), SCHEMA))


def test_the_chain_is_nested_and_leaves_out_what_cuts_across() -> None:
    assert [level.id for level in AGE.chain] == ["age", "band", "half"]
    assert AGE.ranks == {"age": 3, "school": 3, "band": 2, "half": 1}


@pytest.mark.parametrize(
    ("by", "where", "name"),
    [
        ("sex", None, "sex"),
        ("oa,sex", None, "sex,oa"),
        ("sex", "la=la1", "sex,la"),  # a filter is a variable of the table
        ("sex", "oa=oa0|oa1", "sex,la"),  # the coarsest level that can say it
        ("la", "oa=oa0|oa2", "oa"),  # areas chosen by hand: sums of the areas
        ("band", "age=age0", "age"),
        ("school", None, "age"),  # no level of the chain: sums of the finest
        ("sex", "half=half0|half1", "sex"),  # everybody: no filter
    ],
)
def test_the_class_of_a_question(by: str, where: str | None, name: str) -> None:
    found = asked(by, where)
    assert found.name == name
    assert QuestionClass.named(name, SCHEMA) == found


def test_a_class_covers_what_its_figures_add_up_to() -> None:
    fine = asked("sex,age,oa")
    assert fine.covers(asked("half,la"))
    assert not asked("half,la").covers(fine)
    assert not asked("sex,band").covers(asked("age"))
    assert fine.parts(asked("half,la")) == 2 * 8 * 4 / (2 * 2)
    names = {one.name for one in asked("band,la").below()}
    assert names == {EVERYBODY, "band", "half", "la", "band,la", "half,la"}


def test_a_name_that_is_no_class_is_refused() -> None:
    with pytest.raises(ParameterError, match="Did you mean age"):
        QuestionClass.named("school", SCHEMA)
    assert QuestionClass.named(EVERYBODY, SCHEMA).cells == 1


def test_totals_keep_their_filters() -> None:
    question = Question.of(Query.parse("sex,band", "band=band0,la=la1"), SCHEMA)
    found = {summed: QuestionClass.of(other).name for summed, other in question.margins}
    assert found == {(0,): "band,la", (1,): "sex,band,la", (0, 1): "band,la"}
