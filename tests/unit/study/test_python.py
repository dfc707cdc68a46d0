"""`dc.study`: what it takes, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
import discreet.study
from discreet.errors import ParameterError
from stores import build_town
from studies import small_cube, write_cube


def test_the_package_itself_is_the_function() -> None:
    assert discreet.study is dc.study
    assert dc.study(small_cube(), ["random-rounding"], draws=2).settings[0] == "None"


def test_a_file_a_frame_and_an_array_give_the_same(tmp_path: Path) -> None:
    write_cube(tmp_path / "cube.csv")
    frame = pd.read_csv(tmp_path / "cube.csv", dtype={"area": str, "age": str, "work": str})
    tables = {"t": "area,age"}
    first = dc.study(tmp_path / "cube.csv", ["random-rounding"], tables, draws=3)
    second = dc.study(frame, ["random-rounding"], tables, draws=3)
    third = dc.study({"t": small_cube().sum(axis=2)}, ["random-rounding"], draws=3)
    assert first.sheet.columns == second.sheet.columns == third.sheet.columns


def test_a_population_is_asked_questions(tmp_path: Path) -> None:
    people = dc.open(build_town(tmp_path, tmp_path / "store", rows=2_000))
    swapping = {"method": "individual-swapping", "axis": "district", "rate": 0.1}
    found = dc.study(people, [swapping], ["sex,district", "age_band where district=1"], draws=2)
    expected = people.tabulate("age_band", "district=1").dense().counts
    np.testing.assert_array_equal(found.study.tables[1].counts, expected)
    with pytest.raises(ParameterError, match="tables must say what to study"):
        dc.study(people, [swapping])


def test_without_methods_eight_usual_ones_at_three_strengths() -> None:
    found = dc.study(small_cube(), draws=2)
    methods = {point.method for point in found.points}
    assert len(methods) == 8
    assert len(found.points) == 24


def test_a_method_of_another_package_takes_part() -> None:
    class Doubled(dc.protect.Method):
        cellwise = False

        def draw(self, counts: Any, rng: Any, /) -> Any:
            return 2 * counts

    found = dc.study(small_cube(), {"Doubled": Doubled()}, draws=2)
    # Nothing is known of its chances: they are seen. Σ(√2 − 1)²F/2 over N, its root: 0.293.
    score = found.value("table", "Doubled", "score").mean
    assert score == pytest.approx(1 - (2**0.5 - 1) / 2**0.5)
    assert np.isfinite(found.value("table", "Doubled", "transition").mean)


def test_its_repr_is_a_line_and_totals_of_a_frame_are_refused() -> None:
    found = dc.study(small_cube(), ["random-rounding"], draws=2)
    assert repr(found) == "<Results: 1 table, 1 setting, 2 draws. print() shows them>"
    area, age = ["a"] * 3 + ["b"] * 3 + ["All"] * 3, [1, 2, 3] * 3
    frame = pd.DataFrame({"area": area, "age": age, "count": [4, 5, 6, 1, 1, 1, 5, 6, 7]})
    with pytest.raises(ParameterError, match="'All' of area is the sum"):
        dc.study(frame, ["random-rounding"], draws=2)
    kept = dc.study(frame, ["random-rounding"], draws=2, sums_are_cells=True)
    assert kept.study.tables[0].counts.shape == (3, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"data": [[0.5, 1.0]]}, "data must be an array of counts"),
        ({"data": [[1, -1]]}, "counts of 0 or more"),
        ({"data": [3]}, "2 to"),
        ({"methods": [3]}, "methods must be objects of dc.protect by name"),
        ({"methods": {"a": 3}}, "int"),
        ({"methods": []}, "methods must name at least one method"),
        ({"methods": {}}, "methods must name at least one method"),
        ({"methods": {"a": []}}, "methods must name at least one method"),
        ({"methods": ["record-swapping"]}, "individual-swapping acts on counts"),
        ({"methods": [{"method": "over-imputation"}]}, "these data are counts"),
        ({"methods": {"a": ["x"]}}, "must be a method of dc.protect"),
        ({"methods": ["rounding"]}, "no method 'rounding'"),
        ({"draws": 1}, "draws must be an integer from 2"),
        ({"risk": "size"}, "no measure 'size'"),
        ({"tables": [3]}, "a table must be a text"),
        ({"tables": ["axis 0,axis 7"]}, "no variable 'axis 7'"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(options: dict[str, Any], words: str) -> None:
    given = {"data": small_cube(), "methods": ["random-rounding"], "draws": 2, **options}
    with pytest.raises((ParameterError, TypeError), match=words):
        dc.study(given.pop("data"), **given)
