"""Questions: what is read, what is refused in which words, and the canonical form."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.population import Level, Schema, Variable
from discreet.query import Filter, Query, Question
from discreet.query.parse import encode
from populations import level

AGES = Level("age", "Age", tuple(map(str, range(10))), tuple(map(str, range(10))), np.arange(10))
BANDS = Level("band", "Band", ("young", "old"), ("Young", "Old"), np.arange(10) // 5)
AREAS = level("oa", 6)
TOWNS = level("la", 3, np.array([0, 0, 1, 1, 2, 2]))
SCHEMA = Schema(
    "town",
    "A town",
    "persons",
    (
        Variable("sex", "Sex", (level("sex", 2),)),
        Variable("age", "Age", (AGES, BANDS)),
        Variable("geography", "Geography", (AREAS, TOWNS)),
    ),
)


def ask(by: str, where: str | None = None) -> Question:
    return Question.of(Query.parse(by, where), SCHEMA)


def test_the_same_question_in_any_order_is_one_question() -> None:
    one = ask("sex,band,la", "sex=sex1,oa=oa2|oa1")
    other = ask("la, age@band ,sex", "oa=oa1|oa2|oa1,sex=sex1")
    assert one.canonical == other.canonical == "by=sex,band,la&where=sex=sex1,oa=oa1|oa2"
    assert one == other
    assert hash(one) == hash(other)
    assert ask("sex") != ask("age")


@pytest.mark.parametrize(
    ("fine", "coarse"),
    [
        ("age=0|1|2|3|4", "band=young"),
        ("oa=oa0|oa1", "la=la0"),
        ("oa=oa0|oa1,age=4|3|2|1|0", "band=young,la=la0"),
        ("age=0|1|2|3|4|5,band=young", "band=young"),
    ],
)
def test_the_same_people_picked_at_another_level_are_the_same_filter(
    fine: str, coarse: str
) -> None:
    assert ask("sex", fine) == ask("sex", coarse)


def test_a_filter_that_leaves_all_in_is_no_filter() -> None:
    assert ask("sex", "band=young|old") == ask("sex")
    assert ask("sex", "band=young|old").canonical == "by=sex"


def test_a_filter_on_a_variable_of_the_table_keeps_those_categories() -> None:
    assert ask("age,sex", "age=3|1").dimensions[0].codes == ("1", "3")
    assert ask("band", "age=7").dimensions[0].codes == ("old",)
    assert ask("oa", "la=la1").dimensions[0].codes == ("oa2", "oa3")
    assert ask("la", "oa=oa5").cells == 1


def test_names_stand_for_variables_and_levels() -> None:
    assert ask("age@band") == ask("band")
    assert ask("geography@la") == ask("la")
    assert ask("geography") == ask("oa")
    assert ask("sex", "age@band=old") == ask("sex", "band=old")


@pytest.mark.parametrize(
    ("by", "where", "message"),
    [
        ("agee", None, "no variable 'agee'; did you mean 'age'? Choices: sex, age, band, geo"),
        ("age@bands", None, "no level of 'age' 'bands'; did you mean 'band'? Choices: age, band"),
        ("sex", "sex=3", "no category of 'sex' '3'; Choices: sex0, sex1"),
        ("", None, "a table must have 1 to 6 variables. Got 0."),
        ("sex,age,sex", None, "'sex' must stand in a table once. It is asked for again as 'sex'."),
        ("age,band", None, "'age' must stand in a table once. It is asked for again as 'band'."),
        ("oa,la", None, "'geography' must stand in a table once"),
        ("sex", "sex", "where must be filters like 'sex=2' or 'la=a|b'. Got 'sex'."),
        ("sex", "sex=", "must list codes that are not empty"),
        ("sex", "sex=a=b", "'=' inside a code is written %3D"),
        ("sex", "sex=%ff", "'%ff' is not percent-encoded UTF-8."),
        (
            "sex",
            "age=1,age=2",
            "'age' must be filtered once; put its categories together",
        ),
        ("sex", "age=1,band=old", "the filters on 'age' must leave a category. They leave none."),
        ("age@", None, "by must be names like 'age' or 'age@age_band'. Got 'age@'."),
        ("sex", "x" * 100_001, "where must be at most 100,000 characters. Got 100,001."),
    ],
)
def test_a_bad_question_is_told_in_words(by: str, where: str | None, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        ask(by, where)
    assert message in str(error.value)


def test_seven_variables_are_too_many() -> None:
    with pytest.raises(ParameterError, match=r"1 to 6 variables\. Got 7"):
        Query.parse(list("abcdefg"))


@given(st.text(min_size=1))
def test_any_code_survives_a_question(code: str) -> None:
    code = code.strip() or "x"
    query = Query.parse("sex", f"area={encode(code)}")
    assert query.where == (("area", (code,)),)


@given(st.text(), st.text())
def test_any_text_is_read_or_refused(by: str, where: str) -> None:
    with contextlib.suppress(ParameterError):
        assert 1 <= len(Query.parse(by, where).by) <= 6


def test_a_mapping_takes_codes_as_they_are() -> None:
    assert Query.parse(["sex"], {"la": ["a|b", "c,d"]}).where == (("la", ("a|b", "c,d")),)
    assert str(Query.parse(["sex"], {"la": ["a|b"]})) == "sex where la=a%7Cb"


def test_labels_are_taken_where_codes_are() -> None:
    # Codes win over labels, and the canonical question has codes only.
    places = Level(
        "la", "Area", ("1", "2", "3", "4"), ("Avelham", "2", "Newton", "newton"), AGES.of[:4]
    )
    schema = Schema("town", "A town", "persons", (Variable("geography", "Geography", (places,)),))

    def asked(where: str) -> str:
        return Question.of(Query.parse("la", where), schema).canonical

    assert asked("la=Avelham") == asked("la=aVELHAM") == asked("la=1") == "by=la&where=la=1"
    assert asked("la=2|1") == asked("la=Avelham|2") == "by=la&where=la=1|2"
    with pytest.raises(ParameterError) as told:
        asked("la=Newton")
    assert str(told.value) == (
        "'Newton' must be one category of 'la'. It is the label of 2; use a code: 3, 4"
    )
    with pytest.raises(ParameterError, match=r"'Avelhem'; did you mean 'Avelham'\? Choices: 1, 2"):
        asked("la=Avelhem")


# What a question knows of its masks and its areas. Areas: oa0, oa1 | oa2, oa3 | oa4, oa5.


def test_a_level_says_what_is_whole_in_it() -> None:
    marked = np.array([True, True, True, False, False, False])
    assert TOWNS.holding(marked).tolist() == [True, True, False]
    assert not TOWNS.can_say(marked)
    assert TOWNS.can_say(TOWNS.members(["la0", "la1"]))
    assert SCHEMA.variables[2].coarsest(marked) is AREAS
    assert SCHEMA.variables[2].coarsest(TOWNS.members(["la1"])) is TOWNS
    assert SCHEMA.variables[2].above(AREAS) == (TOWNS,)
    assert SCHEMA.variables[2].above(TOWNS) == ()


def test_a_question_is_asked_again_by_its_own_words() -> None:
    fine = ask("sex", "age=0|1|2|3|4,oa=oa4|oa5")
    assert (fine.by, fine.where) == ("sex", "age=0|1|2|3|4,oa=oa4|oa5")
    again = ask(fine.by, fine.where)
    assert again == fine
    assert [f.level.id for f in again.filters] == ["age", "oa"]
    # At the coarsest level the same people are said as in the canonical form.
    assert fine.restated.where == "band=young,la=la2"
    assert fine.canonical == f"by=sex&where={fine.restated.where}"
    assert Question.of(Query.parse_canonical(fine.canonical), SCHEMA) == fine


def test_the_order_of_the_schema_leads_back_to_the_order_asked() -> None:
    question = ask("la,band,sex")
    assert question.ordered.by == "sex,band,la"
    assert question.order == [2, 1, 0]
    assert (question.geography, question.ordered.geography) == (0, 2)
    assert ask("sex").geography is None
    assert ask("sex").areas is None


def test_the_larger_areas_around_those_shown() -> None:
    areas = ask("oa", "la=la1|la2").areas
    assert areas is not None
    assert areas.parents.tolist() == [1, 1, 2, 2]


def test_another_level_keeps_whole_categories() -> None:
    coarse = ask("age,sex", "age=3|6,sex=sex0").at_level(0, BANDS)
    assert coarse == ask("band,sex", "sex=sex0")  # both bands are picked: no filter is left
    assert ask("oa,sex", "oa=oa1|oa2").at_level(0, TOWNS) == ask("la,sex", "la=la0|la1")
    assert ask("oa,sex", "oa=oa1").without(0) == ask("sex", "oa=oa1")


def test_groupings_that_cut_across_each_other_are_said_at_a_level_that_can() -> None:
    """Even and young is neither a band nor a parity: it is the ages 0, 2 and 4."""
    parity = Level("parity", "Parity", ("even", "odd"), ("Even", "Odd"), np.arange(10) % 2)
    age = Variable("age", "Age", (AGES, BANDS, parity))
    schema = Schema("town", "A town", "persons", (age,))
    found = Question.of(Query.parse("band", "band=young,parity=even"), schema)
    assert found.where == "age=0|2|4"
    assert found.filters[0].labels == ("0", "2", "4")
    with pytest.raises(ParameterError, match="must pick whole categories of 'band'"):
        Filter(age, AGES.members(["0", "2", "4"]), BANDS)
