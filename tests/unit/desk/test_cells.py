"""Tables of cells: totals, contributions, marks; from files and from records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.desk.cells import CellTable, Mark, read_cells, read_records
from discreet.errors import ParameterError

RECORDS = """\
region,industry,firm,turnover
n1,mining,A,59
n1,mining,B,40
n1,mining,C,1
n2,mining,A,20
n2,farming,D,7
s,farming,E,5
s,farming,E,6
"""
GROUPS = {"region": {"north": ["n1", "n2"]}}


def _write(folder: Path, text: str) -> Path:
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return path


def _at(table: CellTable, *codes: str) -> tuple[int, ...]:
    return tuple(known.index(code) for known, code in zip(table.codes, codes, strict=True))


def test_totals_and_groups_are_summed(tmp_path: Path) -> None:
    text = "region,industry,value\nn1,mining,100\nn2,mining,20\nn2,farming,7\ns,farming,11.5\n"
    table = read_cells(_write(tmp_path, text), GROUPS)
    assert table.codes == (("n1", "n2", "s", "north", "_T"), ("mining", "farming", "_T"))
    assert table.values[_at(table, "north", "mining")] == 120
    assert table.values[_at(table, "north", "_T")] == 127
    assert table.values[_at(table, "_T", "_T")] == 138.5
    assert table.values[_at(table, "s", "mining")] == 0
    assert not table.counts
    assert table.name(0) == "region n1, industry mining"


def test_the_order_of_a_cell_is_the_number_of_dimensions_it_is_not_summed_over(
    tmp_path: Path,
) -> None:
    table = read_cells(_write(tmp_path, "a,b,count\nx,p,1\ny,q,2\n"))
    assert table.order.tolist() == [[2, 2, 1], [2, 2, 1], [1, 1, 0]]


def test_one_code_above_all_others_is_the_total(tmp_path: Path) -> None:
    table = read_cells(_write(tmp_path, "a,count\n1,4\n2,5\n3,9\n"), {"a": {"3": ["1", "2"]}})
    assert table.codes == (("1", "2", "3"),)
    assert table.parents == ((2, 2, -1),)


def test_a_wide_file_is_a_table_of_counts(tmp_path: Path) -> None:
    table = read_cells(_write(tmp_path, "age,f,m\nyoung,1,2\nold,3,4\n"))
    assert table.variables == ("age", "column")
    assert table.counts
    assert table.values.tolist() == [[1, 2, 3], [3, 4, 7], [4, 6, 10]]


def test_records_of_a_holding_are_one_contributor(tmp_path: Path) -> None:
    records = read_records(_write(tmp_path, RECORDS), ["region", "industry"], "turnover", "firm",
                           GROUPS)  # fmt: skip
    table = records.table()
    north = _at(table, "north", "mining")
    # A has 59 in n1 and 20 in n2: 79 in the north, before B's 40 and C's 1.
    assert table.ranked is not None
    assert table.ranked[north].tolist() == [79, 40, 1, 0, 0]
    assert table.contributors is not None
    assert table.contributors[north] == 3
    assert table.contributors[_at(table, "s", "farming")] == 1
    assert table.ranked[_at(table, "s", "farming")].tolist() == [11, 0, 0, 0, 0]
    assert table.values[_at(table, "_T", "_T")] == 138


def test_records_without_a_value_count_one(tmp_path: Path) -> None:
    table = read_records(_write(tmp_path, RECORDS), ["region"]).table()
    assert table.counts
    assert table.values.tolist() == [3, 2, 2, 7]


def test_contributions_of_sums_are_the_largest_of_their_parts(tmp_path: Path) -> None:
    text = "a,value,contributors,max1,max2\nx,100,3,59,40\ny,50,4,45,2\n"
    table = read_cells(_write(tmp_path, text))
    assert table.ranked is not None
    assert table.contributors is not None
    assert table.ranked[2].tolist() == [59, 45]  # of a third nothing is known for certain
    assert table.contributors.tolist() == [3, 4, 7]


def test_contributors_given_for_a_sum_stand(tmp_path: Path) -> None:
    # One holding has firms in both rows: of the total there are two contributors, not three.
    text = "a,value,contributors\nx,100,1\ny,50,2\n_T,150,2\n"
    table = read_cells(_write(tmp_path, text))
    assert table.contributors is not None
    assert table.contributors.tolist() == [1, 2, 2]


def test_a_comma_is_a_decimal_mark_between_semicolons_alone(tmp_path: Path) -> None:
    table = read_cells(_write(tmp_path, "a;value\nx;1,5\ny;2,5\n"))
    assert table.values.tolist() == [1.5, 2.5, 4]
    for text in ('a,value\nx,"1,500"\n', 'a,count\nx,"1,000"\n', "a;count\nx;1,000\n"):
        with pytest.raises(ParameterError, match="Thousands must not be set apart"):
            read_cells(_write(tmp_path, text))


def test_marks_and_protection_given_in_the_file(tmp_path: Path) -> None:
    text = "a,value,mark,sensitive,lower,upper\nx,10,never,0,,\ny,20,,1,2,3\n_T,30,published,0,,\n"
    table = read_cells(_write(tmp_path, text))
    assert table.marked(Mark.NEVER).tolist() == [True, False, False]
    assert table.marked(Mark.PUBLISHED).tolist() == [False, False, True]
    assert table.sensitive is not None
    assert table.sensitive.tolist() == [False, True, False]
    assert table.upper is not None
    assert np.isnan(table.upper[0])
    assert table.upper[1] == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,count\nx,p,1\nx,p,2\n", "Line 2 and line 3 are the same cell"),
        ("a,count\nx,1\n_T,2\n", "a _T is 2, but its parts sum to 1"),
        ("a,count\nx,1.5\n", "whole number of 0 or more. Got 1.5 in line 2"),
        ("a,value\nx,-1\n", "a number of 0 or more. Got the negative number -1"),
        ("a,count\n,1\n", "must have a code in every dimension"),
        ("a,count\n_T,1\n", "must have a code beside its total"),
        ("a,count,colour\nx,1,red\n", "no column after the figure of 't.csv': 'colour'"),
        ("a,value,max2\nx,1,1\n", "without a gap"),
        ("a,value,max1,max2\nx,9,2,3\n", "must fall"),
        ("a,value,max1\nx,9,10\n", "must not exceed its value"),
        ("a,value,max1,max2\nx,9,,\n", "max1 in 't.csv' must be given .* of a x is empty"),
        ("a,value,max1,max2\nx,9,5,\n", "until they add up to the cell. Those of a x end before"),
        ("a,value,contributors\nx,9,\ny,5,3\n", "contributors in .* That of a x is empty"),
        ("a,value,mark\nx,9,often\n", "no mark 'often'"),
        ("a,value,sensitive\nx,9,2\n", "must be 0 or 1"),
        ("a,a,value\nx,y,9\n", "name every dimension once"),
        ("value,a\n9,x\n", "dimensions first"),
    ],
)
def test_mistakes_are_explained(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=message):
        read_cells(_write(tmp_path, text))


def test_mistakes_in_records_and_groups_are_explained(tmp_path: Path) -> None:
    path = _write(tmp_path, RECORDS)
    with pytest.raises(ParameterError, match=r"no column in 't\.csv': 'county'"):
        read_records(path, ["county"])
    with pytest.raises(ParameterError, match="at least one column, each once"):
        read_records(path, ["region", "region"])
    with pytest.raises(ParameterError, match="Got 'n1' of region"):
        read_records(path, ["region"], groups={"region": {"n1": ["n2"]}})
    with pytest.raises(ParameterError, match="None is: the groups are east"):
        read_records(path, ["region"], groups={"region": {"east": ["e1"]}})
    with pytest.raises(ParameterError, match="no dimension 'land'"):
        read_records(path, ["region"], groups={"land": {"x": ["n1"]}})


def test_merged_cells_have_the_largest_of_all_their_parts(tmp_path: Path) -> None:
    text = (
        "a,b,value,contributors,max1,max2\nx,p,0.3,3,0.1,0.1\ny,p,0.6,2,0.5,0.1\n"
        "x,q,4,5,1,1\ny,q,6,9,2,1\n"
    )
    table = read_cells(_write(tmp_path, text))
    found = table.merged((np.array([0, 0]), np.array([0, 1])))
    assert found.values.tolist() == [[0.9, 10]]  # 0.3 + 0.6 is 0.8999999999999999 as floats
    assert found.ranked is not None
    assert found.contributors is not None
    assert found.ranked.tolist() == [[[0.5, 0.1], [2, 1]]]
    assert found.contributors.tolist() == [[5, 14]]
