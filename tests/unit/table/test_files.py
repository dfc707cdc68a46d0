"""Table files: what is read, what is refused, and that the same layout comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.table.files import Layout, read_table

LONG = "sex,age,count\n1,a,5\n1,b,0\n2,a,7\n2,b,2\n"
LONG_TOTALS = LONG + "1,_T,5\n2,_T,9\n_T,a,12\n_T,b,2\n_T,_T,14\n"
WIDE = "area,x,y,Total\nn,5,0,5\ns,7,2,9\nTotal,12,2,14\n"


def save(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_long_file_is_read_and_written_back(tmp_path: Path) -> None:
    table = read_table(save(tmp_path, LONG_TOTALS))
    assert table.layout is Layout.LONG
    assert [dimension.variable for dimension in table.dimensions] == ["sex", "age"]
    assert table.dimensions[1].codes == ("a", "b")
    np.testing.assert_array_equal(table.counts, [[5, 0], [7, 2]])
    assert table.has_totals
    assert table.additivity_gap() == 0
    table.write(tmp_path / "out.csv", table.counts)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == LONG_TOTALS


def test_a_wide_file_is_read_and_written_back(tmp_path: Path) -> None:
    table = read_table(save(tmp_path, WIDE))
    assert table.layout is Layout.WIDE
    np.testing.assert_array_equal(table.counts, [[5, 0], [7, 2]])
    table.write(tmp_path / "out.csv", table.counts)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == WIDE


@pytest.mark.parametrize("text", [LONG_TOTALS, WIDE])
def test_totals_are_sums_of_what_is_written_or_what_is_given(tmp_path: Path, text: str) -> None:
    table = read_table(save(tmp_path, text))
    released = np.array([[6, 0], [6, 3]])
    table.write(tmp_path / "out.csv", released)
    back = read_table(tmp_path / "out.csv")
    np.testing.assert_array_equal(back.counts, released)
    assert back.additivity_gap() == 0
    assert sorted(back.figures[back.is_total].tolist()) == [3, 6, 9, 12, 15]
    table.write(tmp_path / "out.csv", released, totals=np.full(5, 3))
    # The true sums of what was written are 6, 9, 12, 3 and 15: 3 + 6 + 9 + 0 + 12 off.
    assert read_table(tmp_path / "out.csv").additivity_gap() == 30


def test_other_delimiters_a_byte_order_mark_and_the_name_freq(tmp_path: Path) -> None:
    text = "\ufeff" + LONG.replace(",", ";").replace("count", "Freq")
    table = read_table(save(tmp_path, text))
    np.testing.assert_array_equal(table.counts, [[5, 0], [7, 2]])
    table.write(tmp_path / "out.csv", table.counts)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == text.removeprefix("\ufeff")


def test_rows_that_are_left_out_are_refused_or_zero_as_the_caller_says(tmp_path: Path) -> None:
    path = save(tmp_path, LONG.replace("1,b,0\n", ""))
    with pytest.raises(ParameterError, match=r"Missing: sex 1, age b\."):
        read_table(path)
    table = read_table(path, absent_is_zero=True)
    np.testing.assert_array_equal(table.counts, [[5, 0], [7, 2]])
    table.write(tmp_path / "out.csv", [[5, 3], [7, 2]])
    np.testing.assert_array_equal(read_table(tmp_path / "out.csv").counts, [[5, 3], [7, 2]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LONG.replace("1,a,5", "1,a,-5"), "negative number -5 in line 2"),
        (LONG.replace("1,a,5", "1,a,2.5"), r"Got 2\.5 in line 2"),
        (LONG.replace("1,a,5", "1,a,"), "Missing in line 2"),
        (LONG.replace("1,a,5", "1,a,five"), "Got the text 'five' in line 2"),
        (LONG.replace("1,a,5", "1,a,nan"), "Got the text 'nan'"),
        (LONG.replace("1,a,5", "1,,5"), "Line 2 has none for age"),
        (LONG.replace("1,a,5", "1,5"), "Line 2 has 2"),
        (LONG + "1,a,5\n", "Line 2 and line 6 are the same cell"),
        (LONG + "1,_T,5\n1,_T,5\n", "Line 6 and line 7 are the same cell"),
        (LONG.replace("sex,age,count", "sex,count,age"), "must be the last"),
        (LONG.replace("sex,age,count", "age,age,count"), "name every dimension once"),
        (WIDE.replace("n,5,0", "n,5,-1"), "negative number -1 in column y of line 2"),
        (WIDE.replace("x,y", "x,x"), "must not repeat a code"),
        (WIDE.replace("s,7", ",7"), "Column x of line 3 has none for area"),
        ("sex,count\n", "a header and at least one row"),
        ("", "a header and at least one row"),
        ("a\n1\n", "Got one column"),
        ("sex,count\n_T,3\n", "beside its total"),
    ],
)
def test_bad_files_get_one_clear_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_table(save(tmp_path, text))


def test_a_missing_file_and_a_binary_one(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there is no file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="in UTF-8"):
        read_table(tmp_path / "binary.csv")


def test_two_files_are_aligned_by_names_and_codes(tmp_path: Path) -> None:
    one = read_table(save(tmp_path, LONG))
    other = read_table(save(tmp_path, "age,sex,count\nb,2,20\nb,1,10\na,2,70\na,1,50\n", "b.csv"))
    np.testing.assert_array_equal(one.aligned(other), [[50, 10], [70, 20]])
    wide = read_table(save(tmp_path, "s,b,a\n2,20,70\n1,10,50\n", "w.csv"))
    np.testing.assert_array_equal(one.aligned(wide), [[50, 10], [70, 20]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LONG.replace("age", "band"), "same dimensions. Got sex, age and sex, band"),
        (LONG.replace(",b,", ",c,"), "'b' of age is only in the first"),
        (LONG + "1,c,1\n2,c,1\n", "'c' of age is only in the second"),
        ("area,x\nn,1\n", "is only in the"),
        ("sex,count\n1,1\n2,1\n", "same dimensions"),
    ],
)
def test_labels_that_do_not_match_are_refused(tmp_path: Path, text: str, message: str) -> None:
    one = read_table(save(tmp_path, LONG))
    other = read_table(save(tmp_path, text, "b.csv"))
    with pytest.raises(ParameterError, match=message):
        one.aligned(other)


def test_the_tidy_file_of_a_release_is_read_without_labels_and_bounds(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    path.write_text(
        "town,town_label,sex,sex_label,value,low,high\n"
        "a,Aston,1,Male,3,1,5\na,Aston,2,Female,6,4,8\n"
        "b,Bexby,1,Male,0,0,2\nb,Bexby,2,Female,9,7,11\n"
    )
    table = read_table(path)
    assert [dimension.variable for dimension in table.dimensions] == ["town", "sex"]
    assert table.counts.tolist() == [[3, 6], [0, 9]]
