"""What a caller gets wrong in Python is told in a sentence, and texts do where they are natural."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.api import Population
from discreet.errors import ParameterError
from discreet.protect import RandomRounding
from discreet.table.transition import Transition
from stores import build_town

ROUNDING = RandomRounding(3)
COUNTS = [[4, 5], [6, 7]]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Population:
    folder = tmp_path_factory.mktemp("town")
    return dc.open(build_town(folder, folder / "store", rows=2_000))


def test_a_text_or_a_list_is_a_query(town: Population) -> None:
    query = dc.Query.parse("sex,district")
    expected = town.tabulate(query).counts
    for asked in ("sex,district", ["sex", "district"], ("sex", "district")):
        np.testing.assert_array_equal(town.tabulate(asked).counts, expected)
    assert town.question("sex,district") == town.question(query)


def test_a_filter_is_taken_where_a_release_takes_it(town: Population) -> None:
    asked = dc.Query.parse("sex,district", "sex=1")
    expected = town.tabulate(asked).counts
    np.testing.assert_array_equal(town.tabulate("sex,district", "sex=1").counts, expected)
    np.testing.assert_array_equal(town.tabulate("sex,district", {"sex": "1"}).counts, expected)
    assert expected.sum() < town.tabulate("sex,district").counts.sum()


@pytest.mark.parametrize("asked", [5, None, 1.5, b"sex", [1], {"sex": 1}, ["sex", None]])
def test_what_is_no_query_is_refused_with_an_example(town: Population, asked: Any) -> None:
    for ask in (town.tabulate, town.question, town.release, dc.Query.parse):
        with pytest.raises(ParameterError, match="by must be a text like 'age,sex' or a list"):
            ask(asked)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (5, "where must be a text like 'sex=2,la=a|b' or a mapping"),
        (["sex=1"], "where must be a text like"),
        ({"sex": 1}, "where must map names to codes"),
        ({"sex": [1.5]}, "where must map names to codes"),
        ({5: "1"}, "where must map names to codes"),
    ],
)
def test_what_is_no_filter_is_refused_with_an_example(
    town: Population, where: Any, message: str
) -> None:
    with pytest.raises(ParameterError) as error:
        town.release("sex", where)
    assert message in str(error.value)


def test_a_filter_beside_a_query_is_not_ignored(town: Population) -> None:
    with pytest.raises(ParameterError, match="where must be part of the Query"):
        town.release(dc.Query.parse("sex"), "district=1")


@pytest.mark.parametrize(
    "options", [{"totals": 5}, {"totals": None}, {"tier": 5}, {"tier": "nobody"}]
)
def test_an_option_of_the_wrong_kind_lists_the_choices(
    town: Population, options: dict[str, Any]
) -> None:
    with pytest.raises(ParameterError, match="Choices: "):
        town.release("sex", **options)


def test_a_query_is_made_of_texts() -> None:
    for by in ("town", ["town"], (("town",),), ((5, None),)):
        with pytest.raises(ParameterError, match=r"Query\.parse"):
            dc.Query(by)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", [5, None])
def test_a_store_and_a_file_have_a_path(town: Population, path: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="path must be the folder of a store"):
        dc.open(path)
    release = town.release("sex")
    with pytest.raises(ParameterError, match="path must be the name of a file"):
        release.write(path)
    with pytest.raises(ParameterError, match="no format '5'; Choices: json-stat"):
        release.write(tmp_path / "x.csv", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [-1, 1.5, "a", None, True])
def test_the_row_of_a_transition_is_that_of_a_count(count: Any) -> None:
    transition = ROUNDING.transition()
    with pytest.raises(ParameterError, match="count must be a whole number of 0 or more"):
        transition.row(count)
    with pytest.raises(ParameterError, match="max_count must be a whole number of 0 or more"):
        transition.matrix(count)


def test_no_negative_count_has_chances() -> None:
    transition = ROUNDING.transition()
    with pytest.raises(ParameterError, match="whole numbers of 0 or more"):
        transition.index([3, -1])
    with pytest.raises(ParameterError, match="whole numbers of 0 or more"):
        transition.draw(np.array([-1]), np.array([0.5]))
    assert transition.row(0)[0].tolist() == [0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dc.risk.before([[1], [2, 3]]), "a table must have rows of one length"),
        (lambda: dc.utility.hellinger([[1], [2, 3]], COUNTS), "the true table must have rows"),
        (lambda: dc.risk.before(COUNTS, "abc"), "weights must be 3 or 4 numbers"),
        (lambda: dc.risk.before(COUNTS, 5), "weights must be 3 or 4 numbers"),
        (lambda: dc.risk.slices(COUNTS, "x"), "axis must be an integer. Got 'x'."),
        (lambda: dc.risk.slices(COUNTS, 1.0), "axis must be an integer. Got 1.0."),
        (lambda: dc.risk.threshold(COUNTS, "3"), "smallest_safe must be an integer"),
        (lambda: dc.risk.posterior(ROUNDING, COUNTS), "Got RandomRounding: write method.trans"),
        (lambda: dc.risk.public_quality(COUNTS, "x"), "must be a Transition. Got str."),
        (lambda: dc.risk.after_transition(COUNTS, COUNTS, ROUNDING), "Got RandomRounding"),
        (lambda: dc.risk.after_transition_split(COUNTS, COUNTS, None), "Got NoneType."),
        (lambda: Transition.from_matrix([[1], [1, 2]]), "rows of numbers, all of one length"),
        (lambda: Transition.from_matrix("abc"), "rows of numbers, all of one length"),
    ],
)
def test_a_wrong_value_is_told_in_a_sentence(call: Any, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        call()
    assert message in str(error.value)
