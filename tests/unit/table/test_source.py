"""The one reader: files and data frames, long and wide, become the same listing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from discreet.errors import ParameterError
from discreet.table.source import Layout, count_of, listed, number_of, read_source

LONG = "area,sex,count\nA,m,5\nA,f,1\n"


def test_a_file_and_a_frame_give_the_same_listing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(LONG)
    frame = pd.DataFrame({"area": ["A", "A"], "sex": ["m", "f"], "count": [5.0, 1.0]})
    for given in (tmp_path / "t.csv", str(tmp_path / "t.csv"), frame, pa.Table.from_pandas(frame)):
        found = listed(given)
        assert found.layout is Layout.LONG
        assert found.counts
        assert (found.variables, found.codes) == (["area", "sex"], [["A", "A"], ["m", "f"]])
        assert (found.figures, found.where) == (["5", "1"], ["line 2", "line 3"])


def test_missing_values_of_a_frame_are_empty_and_numbers_keep_their_digits() -> None:
    frame = pd.DataFrame({"area": [1, 2, 3], "value": [0.1, float("nan"), 1e6]})
    assert listed(frame).figures == ["0.1", "", "1000000"]
    assert listed(frame).codes == [["1", "2", "3"]]


def test_a_wide_table_is_unfolded_row_by_row() -> None:
    found = listed(pd.DataFrame({"m": [5, 2], "f": [1, 9]}, index=pd.Index(["A", "B"])))
    assert found.layout is Layout.WIDE
    assert found.codes == [["A", "A", "B", "B"], ["m", "f", "m", "f"]]
    assert found.figures == ["5", "1", "2", "9"]
    assert found.where[2] == "column m of line 3"


def test_numbers_of_rows_are_no_codes() -> None:
    frame = pd.DataFrame({"area": ["A", "B", "C"], "count": [1, 0, 2]})
    for chosen in (frame, frame[frame["count"] > 0], frame.sort_values("count")):
        assert listed(chosen).variables == ["area"]
    assert listed(frame.set_index("area")).variables == ["area"]


def test_labels_and_bounds_of_a_release_are_left_out() -> None:
    frame = {"area": ["A"], "area_label": ["Alder"], "value": [5], "low": [3], "high": [7]}
    source = read_source(pa.table(frame)).unlabelled()
    assert (source.header, source.rows) == (["area", "count"], [(2, ["A", "5"])])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"area": [], "count": []}, "a header and at least one row"),
        ({"count": [1]}, "Got one column"),
        ({"count": [1], "area": ["A"]}, "dimensions first, then one column named count, freq or"),
        ({"area": ["A"], "count": [1], "mark": ["x"]}, "it must be the last"),
        ({"area": [None], "count": [1]}, "Line 2 has none for area"),
        ({"area": ["A", "A"], "x": [1, 2]}, "area of 'data frame' must not repeat a code"),
    ],
)
def test_mistakes_are_explained(frame: dict[str, list[object]], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        listed(pa.table(frame))


def test_figures_are_numbers_of_0_or_more() -> None:
    assert count_of("9007199254740991", "line 2") == 9_007_199_254_740_991
    assert number_of("1,5", "line 2", ";") == 1.5
    for text, problem in (
        ("", "Missing"),
        ("x", "Got the text 'x'"),
        ("-1", "negative number -1"),
        ("1,000", "Thousands must not be set apart"),
    ):
        with pytest.raises(ParameterError, match=problem):
            number_of(text, "line 2")
        with pytest.raises(ParameterError, match=problem):
            count_of(text, "line 2")


def test_figures_end_where_floats_no_longer_have_every_whole_number() -> None:
    for text in ("9007199254740992", "9007199254740992.0"):
        assert count_of(text, "line 2") == number_of(text, "line 2") == 2**53
    # 2^53 + 1 is 2^53 as a float: the digits decide.
    for text in ("9007199254740993", "9000000000000000000", "1e30", "1e300", "9" * 5000):
        for read in (count_of, number_of):
            with pytest.raises(ParameterError, match=r"at most 9,007,199,254,740,992 \(2\^53\)"):
                read(text, "line 2")
