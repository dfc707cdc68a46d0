"""JJ files, read and written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.table.jj import read_jj, write_jj

# Two cells and their sum, as sdcTable and τ-ARGUS write it: number, value, cost, status, bounds,
# lower, upper and sliding protection; the sum with −1.
SMALL = """0
3
0 10.0 1 u 0 30.0 2.0 3.0 0
1 20 1 s 0 1e+20 0 0 0
2 30 5 z 30 30 0 0 0
1
0.0 3 : 0 (1) 1 (1) 2 (-1)
"""


def test_a_file_is_read_and_written_as_it_was(tmp_path: Path) -> None:
    path, again = tmp_path / "small.jj", tmp_path / "again.jj"
    path.write_text(SMALL)
    table = read_jj(path)
    assert table.values.tolist() == [10, 20, 30]
    assert table.costs.tolist() == [1, 1, 5]
    assert table.status.tolist() == ["u", "s", "z"]
    assert table.high.tolist() == [30, 1e20, 30]
    assert (table.lower[0], table.upper[0], table.sliding[0]) == (2, 3, 0)
    assert table.equations.toarray().tolist() == [[1, 1, -1]]
    write_jj(table, again)
    same = read_jj(again)
    for name in ("values", "costs", "low", "high", "lower", "upper", "sliding", "right"):
        np.testing.assert_array_equal(getattr(same, name), getattr(table, name))
    assert (same.equations != table.equations).nnz == 0


def test_signs_without_a_space_are_read(tmp_path: Path) -> None:
    path = tmp_path / "tight.jj"
    path.write_text(SMALL.replace(" (", "("))
    assert read_jj(path).equations.toarray().tolist() == [[1, 1, -1]]


def test_whole_numbers_are_read_as_r_writes_them(tmp_path: Path) -> None:
    # write.table writes the double 100000 as 1e+05: so is a file of that many cells numbered.
    path = tmp_path / "r.jj"
    path.write_text(SMALL.replace("0\n3\n", "0\n3e+00\n").replace("\n1 20", "\n1e+00 20"))
    assert read_jj(path).values.tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ("0\n3", "2\n3", "begin with 0"),
        ("1 20 1 s", "7 20 1 s", "numbered"),
        ("1 20 1 s", "1 21 1 s", "must add up"),
        ("1 20 1 s", "1 20 1 q", "status"),
        ("1 20 1 s", "1 20 -1 s", "0 or more"),
        ("0 1e+20", "0 15", "within its bounds"),
        ("2 (-1)", "9 (-1)", "from 0 to 2"),
        ("0.0 3 :", "0.0 4 :", "as many cells as it says"),
        ("0.0 3 :", "0.0 2 :", "as many cells as it says"),
        ("1 20 1 s", "1 many 1 s", "must be a JJ file"),
        ("1 20 1 s", "1.5 20 1 s", "must be a JJ file"),
        ("1\n0.0 3", "2\n0.0 3", "must be a JJ file"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, was: str, now: str, message: str) -> None:
    path = tmp_path / "wrong.jj"
    assert was in SMALL
    path.write_text(SMALL.replace(was, now, 1))
    with pytest.raises(ParameterError, match=message):
        read_jj(path)


def test_values_that_are_not_exact_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.jj"
    path.write_text(SMALL.replace("1 20 1", "1 9007199254740993 1"))
    with pytest.raises(ParameterError, match=r"at most 9,007,199,254,740,992 .* of cell 1"):
        read_jj(path)


@pytest.mark.parametrize(
    ("was", "now", "line", "said"),
    [
        ("0\n3", "2\n3", 1, "begin with 0, a list of cells. Got 2"),
        ("0\n3", "0\nthree", 2, "the number of cells must be a number. Got 'three'"),
        ("3\n0", "inf\n0", 2, "the number of cells must be a finite number"),
        ("1 20 1 s", "1 many 1 s", 4, "the value of cell 1 must be a number. Got 'many'"),
        ("1 20 1 s", "7 20 1 s", 4, "and 1 comes here, with nine fields each. Got 7"),
        ("1 20 1 s", "1 20 1 q", 4, "must be one of s, u, z, x, m. Got 'q'"),
        ("1 20 1 s", "1 20 -1 s", 4, "the cost of cell 1 must be 0 or more. Got -1"),
        ("30.0 2.0", "nan 2.0", 3, "the upper bound of cell 0 must be a finite number"),
        ("0 1e+20", "0 15", 4, "cell 1 must be within its bounds, 0 to 15. Got 20"),
        ("1e+20 0 0 0", "1e+20 0 0", 4, "a cell must have 9 fields. Got 8"),
        ("1 20 1 s", "1 21 1 s", 7, "Equation 0, counted from 0, is off by 1"),
        ("2 (-1)", "9 (-1)", 7, "must be from 0 to 2. Got 9"),
        ("2 (-1)", "2 (minus)", 7, "the sign of a cell must be a number. Got 'minus'"),
        ("0.0 3 :", "0.0 4 :", 7, "It says 4, and there are 3 in this line"),
        ("0.0 3 :", "0.0 2 :", 7, "It says 2, and there are 3 in this line"),
        ("1\n0.0 3", "2\n0.0 3", 7, "the sum of equation 1, counted from 0, must follow"),
        ("\n1\n0.0", "\n\n\n1\n0.0", 9, ""),
    ],
)
def test_a_damaged_file_is_told_with_the_line_and_what_is_expected(
    tmp_path: Path, was: str, now: str, line: int, said: str
) -> None:
    path = tmp_path / "wrong.jj"
    assert was in SMALL
    text = SMALL.replace(was, now, 1)
    path.write_text(text if said else text.replace("2 (-1)", "2 (1)"))
    with pytest.raises(ParameterError) as error:
        read_jj(path)
    assert str(error.value).startswith(f"'wrong.jj' must be a JJ file. Line {line}: ")
    assert said in str(error.value)


def test_an_equation_may_have_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "broken.jj"
    path.write_text(SMALL.replace("1 (1) 2", "1 (1)\n2"))
    assert read_jj(path).equations.toarray().tolist() == [[1, 1, -1]]
