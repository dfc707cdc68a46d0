"""Variables and levels: valid or refused, and the same after a trip through JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.population import Level, Schema, Variable


def level(name: str, codes: str, of: list[int] | None = None) -> Level:
    places = np.array(range(len(codes)) if of is None else of, np.uint32)
    return Level(name, name.title(), tuple(codes), tuple(codes.upper()), places)


SEX = Variable("sex", "Sex", (level("sex", "mf"),))
AGE = Variable("age", "Age", (level("age", "abcd"), level("band", "yo", [0, 0, 1, 1])), "In years")
GEOGRAPHY = Variable(
    "geography", "Geography", (level("ward", "xyz"), level("town", "pq", [0, 0, 1]))
)
SCHEMA = Schema("people", "People", "persons", (SEX, AGE, GEOGRAPHY))


def test_names_find_variables_and_levels() -> None:
    assert SCHEMA.find("age") == (AGE, AGE.finest)
    assert SCHEMA.find("band") == (AGE, AGE.levels[1])
    assert SCHEMA.find("age", "band") == (AGE, AGE.levels[1])
    assert SCHEMA.find("geography") == SCHEMA.find("ward") == (GEOGRAPHY, GEOGRAPHY.finest)
    assert SCHEMA.geography is GEOGRAPHY
    assert SCHEMA.columns == (SEX, AGE)
    assert AGE.finest.index("c") == 2


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (
            lambda: SCHEMA.find("agee"),
            "no variable 'agee'; did you mean 'age'? Choices: sex, age, band, geography, ward, "
            "town",
        ),
        (
            lambda: SCHEMA.find("age", "town"),
            "no level of 'age' 'town'; Choices: age, band",
        ),
        (lambda: AGE.finest.index("z"), "no category of 'age' 'z'; Choices: a, b, c, d"),
        (
            lambda: level("a", "xx"),
            "level 'a' must have one label for each distinct code.",
        ),
        (lambda: level("a", ""), "level 'a' must have at least one category."),
        (
            lambda: level("a", "xy", [0, 2]),
            "level 'a' maps to a category that it does not have.",
        ),
        (
            lambda: Variable("v", "V", (level("v", "abc"), level("w", "a", [0, 0]))),
            "level 'w' must map each of the 3 categories of 'v'. It maps 2.",
        ),
        (
            lambda: Schema("s", "S", "u", (SEX, SEX)),
            "ids must be unique in a data set. Given twice: sex.",
        ),
        (
            lambda: Schema("s", "S", "u", (SEX, Variable("v", "V", (level("sex", "a"),)))),
            "ids must be unique in a data set. Given twice: sex.",
        ),
    ],
)
def test_mistakes_are_told(ask: object, told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ask()  # type: ignore[operator]
    assert str(caught.value) == told


def test_mappings_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        AGE.levels[1].of[0] = 1


def same(a: Schema, b: Schema) -> bool:
    return json.dumps(a.to_json()) == json.dumps(b.to_json())


def test_json_round_trip() -> None:
    again = Schema.from_json(json.loads(json.dumps(SCHEMA.to_json())))
    assert same(again, SCHEMA)
    assert again.variables[1].levels[1].of.tolist() == [0, 0, 1, 1]
    assert again.variables[1].finest.of.tolist() == [0, 1, 2, 3]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, unique=True))
def test_codes_of_any_text_survive_json(codes: list[str]) -> None:
    finest = Level("v", "V", tuple(codes), tuple(codes), np.arange(len(codes), dtype=np.uint32))
    schema = Schema("s", "S", "u", (Variable("v", "V", (finest,)),))
    again = Schema.from_json(json.loads(json.dumps(schema.to_json(), ensure_ascii=False)))
    assert again.variables[0].finest.codes == tuple(codes)
