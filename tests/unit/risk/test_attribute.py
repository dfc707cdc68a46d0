"""Near-empty lines, small cells, and the entropy of subgroups."""

from __future__ import annotations

from itertools import combinations
from math import isnan, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError
from discreet.risk import kernels
from discreet.risk.attribute import _by_kernel, plain_lines
from risk_tables import Integers, tables


def test_near_empty_rows() -> None:
    table = [[5, 0, 0, 0], [1, 2, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    # Rows run along axis 1. Of three that hold people two have one or two populated cells, with
    # 5 + 3 of 11 people; one has one, with 5.
    rows = risk.attribute_disclosure(table, 1)
    assert (rows.lines, rows.people) == pytest.approx((2 / 3, 8 / 11))
    assert rows.larger == pytest.approx(8 / 11)
    one = risk.attribute_disclosure(table, 1, populated=1)
    assert (one.lines, one.people) == pytest.approx((1 / 3, 5 / 11))
    # Columns: 3, 2 and 1 populated, with 7, 3 and 1 people; the last holds nobody.
    columns = risk.attribute_disclosure(table, 0)
    assert (columns.lines, columns.people) == pytest.approx((2 / 3, 4 / 11))
    assert isnan(risk.attribute_disclosure([[0, 0, 0]], 0).lines)
    # Rows of two cells cannot be told from full ones, single ones can: 3 of 6 people.
    assert risk.attribute_disclosure([[1, 2], [3, 0]], 1).larger == 0
    assert risk.attribute_disclosure([[1, 2], [3, 0]], 1, populated=1).people == 0.5
    with pytest.raises(ParameterError, match="populated must be"):
        risk.attribute_disclosure(table, 0, populated=0)
    with pytest.raises(ParameterError, match="axes must be one axis or two"):
        risk.attribute_disclosure([[[1, 2]]], (0, 1, 2))
    with pytest.raises(ParameterError, match="axis must be an integer"):
        risk.attribute_disclosure(table, 1.0)  # type: ignore[arg-type]


def test_the_lines_and_planes_of_a_cube_by_hand() -> None:
    # Axis 2: (5, 0), (5, 5), (0, 5), (0, 0): two single lines of three, with 10 of 20 people.
    # Axis 1: (5, 5), (0, 5), (0, 0), (5, 0): the same. Axis 0: all four are single.
    cube = [[[5, 0], [5, 5]], [[0, 5], [0, 0]]]
    shares = {
        axes: risk.attribute_disclosure(cube, axes, populated=1)
        for axes in (0, 1, 2, (0, 1), (0, 2), (1, 2))
    }
    assert shares[2] == shares[1] == risk.LineShares(2 / 3, 0.5)
    assert shares[0] == risk.LineShares(1, 1)
    # Planes across axis 0: three populated cells, and one with 5 people; across the others two.
    assert shares[1, 2] == risk.LineShares(0.5, 0.25)
    assert shares[0, 1] == shares[0, 2] == risk.LineShares(0, 0)


def test_a_variable_that_two_others_determine() -> None:
    # a and b determine c: every line along c is single, and no plane is.
    table = np.zeros((10, 10, 10), np.int64)
    a, b = np.indices((10, 10))
    table[a, b, a * b % 10] = 7
    assert risk.attribute_disclosure(table, 2) == risk.LineShares(1, 1)
    assert risk.attribute_disclosure(table, (1, 2)).larger < 0.5


def test_a_table_of_one_variable_is_one_line() -> None:
    assert risk.attribute_disclosure([5, 0, 0], 0, populated=1) == risk.LineShares(1, 1)
    assert risk.attribute_disclosure([5, 1, 0], 0, populated=1) == risk.LineShares(0, 0)
    assert risk.attribute_disclosure([5, 1, 0], 0) == risk.LineShares(1, 1)
    assert risk.attribute_disclosure([5], 0) == risk.LineShares(0, 0)


@given(tables(most_axes=4, most_side=3), st.integers(1, 2))
def test_lines_are_those_of_one_cell_after_the_other(table: Integers, populated: int) -> None:
    for size in (1, 2):
        for axes in combinations(range(table.ndim), size):
            lines: dict[tuple[int, ...], list[int]] = {}
            for cell, count in np.ndenumerate(table):
                known = tuple(c for axis, c in enumerate(cell) if axis not in axes)
                lines.setdefault(known, []).append(int(count))
            held = [line for line in lines.values() if sum(line)]
            near = [
                line for line in held if len(line) > populated >= sum(count > 0 for count in line)
            ]
            found = risk.attribute_disclosure(table, axes, populated)
            assert found.lines == pytest.approx(len(near) / len(held))
            assert found.people == pytest.approx(sum(map(sum, near)) / table.sum())


def test_people_in_single_planes_are_in_single_lines_too() -> None:
    """Why the share of people along one axis bounds that of every pair with it."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        table = rng.poisson(0.4, (3, 4, 2, 3))
        for axes in combinations(range(4), 2):
            plane = risk.attribute_disclosure(table, axes, populated=1).people
            for axis in axes:
                assert plane <= risk.attribute_disclosure(table, axis, populated=1).people


def test_small_cells_and_the_people_in_them() -> None:
    # Six cells, four populated: a 1, two 2s, a 5.
    found = risk.identity_disclosure([[0, 1, 2], [2, 5, 0]])
    assert found == risk.SmallCells(1 / 6, 3 / 6, 1 / 4, 3 / 4, 5, 0.5)
    # Released figures up to 3 count as small: all but the 5.
    wide = risk.identity_disclosure([[0, 3], [3, 5]], one=3, small=3)
    assert (wide.ones_of_populated, wide.people) == (2 / 3, 6)
    assert risk.identity_disclosure([0, 0]) == risk.SmallCells(0, 0, 0, 0, 0, 0)


def test_small_cells() -> None:
    assert risk.small_share([0, 1, 2, 3]) == 0.5
    # Records in cells of 1 and 2: 1 + 2 + 2 = 5, of which the first 2 stays: 2.
    assert risk.unchanged_small_records([1, 2, 2, 0, 5], [0, 2, 3, 1, 5]) == pytest.approx(2 / 5)
    assert isnan(risk.unchanged_small_records([0, 3], [0, 3]))
    # One of the two people of the second cell moved, and one of another cell.
    assert risk.unchanged_small_records_swapped([1, 2, 9], [1, 1, 8]) == pytest.approx(2 / 3)
    with pytest.raises(ParameterError, match="kept must not exceed"):
        risk.unchanged_small_records_swapped([1], [2])


def test_entropy_of_subgroups() -> None:
    table = np.array([[[2, 2], [4, 0]], [[0, 0], [1, 3]]])
    entropy = risk.subgroup_entropy(table, (0, 1))
    third = -(0.25 * log(0.25) + 0.75 * log(0.75))
    np.testing.assert_allclose(entropy, [[log(2), 0], [np.nan, third]])
    assert risk.median_entropy(table, (0, 1)) == pytest.approx(third)
    assert risk.subgroup_entropy(table, 0).shape == (2,)
    assert isnan(risk.median_entropy([[0, 0]], 0))


def test_the_kernel_of_lines_finds_what_its_twin_does() -> None:
    kernels.warm_up()
    rng = np.random.default_rng(1)
    for shape in ((1, 4), (3, 2, 5), (2, 3, 1, 4), (2, 2, 3, 2, 3), (1, 1)):
        for populated in (1, 2):
            tables = rng.poisson(0.4, shape)
            tables[0] *= rng.integers(0, 2)  # sometimes a table of nobody
            by_kernel = _by_kernel(tables, populated)
            plain = plain_lines(tables, populated)
            assert by_kernel.keys() == plain.keys()
            for free, shares in plain.items():
                for one, other in zip(by_kernel[free], shares, strict=True):
                    assert one.tolist() == other.tolist()


def test_lines_along_one_axis_and_two_by_hand() -> None:
    """Of 2 × 3 cells: row 0 holds 5 in one cell, row 1 fills two; of the columns all hold one or 0.

    Columns: (5, 20), (0, 30) and (0, 0): two lines, one near-empty with 30 of 55 people.
    """
    kernels.warm_up()
    found = _by_kernel(np.array([[[5, 0, 0], [20, 30, 0]]]), 1)
    shares = {free: (float(lines[0]), float(people[0])) for free, (lines, people) in found.items()}
    assert shares == {(1,): (1 / 2, 5 / 55), (0,): (1 / 2, 30 / 55), (0, 1): (0.0, 0.0)}


def test_the_kernel_of_lines_is_compiled_once_however_tables_lie() -> None:
    """A reader would wait for the compiler where a table lies in columns, or is kept as it is."""
    kernels.warm_up()
    before = len(kernels.lines.overloads)
    kept = np.ones((3, 4, 5), np.int64)
    kept.setflags(write=False)
    for lying in (kept, np.moveaxis(kept, 2, 0), np.moveaxis(np.ones((5, 3)), 1, 0)):
        _by_kernel(lying, 1)
    assert len(kernels.lines.overloads) == before
