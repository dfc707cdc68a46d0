"""Sensitivity rules at their boundaries, near-empty lines, small cells, and the posterior."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import isnan, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding
from risk_tables import LIVELY, METHODS, Integers, every_release, tables

ROUNDING = RandomRounding(3).transition()


def test_threshold_at_its_boundaries() -> None:
    assert risk.threshold([0, 1, 2, 3, 4]).tolist() == [False, True, True, False, False]
    assert risk.threshold([0, 1, 9, 10], smallest_safe=10).tolist() == [False, True, True, False]
    with pytest.raises(ParameterError, match="smallest_safe must be an integer of at least 1"):
        risk.threshold([1], 0)


def test_dominance_at_its_boundary() -> None:
    # Exactly 60% is not sensitive, one unit more of 1,000 is.
    cells = [[600, 300, 100], [601, 299, 100], [0, 0, 0]]
    assert risk.dominance(cells, 1, 60).tolist() == [False, True, False]
    # The two largest of three, in any order: 900 of 1,000.
    assert risk.dominance([100, 300, 600], 2, 89)
    assert not risk.dominance([100, 300, 600], 2, 90)
    assert risk.dominance([7], 2, 99)  # fewer contributors than n
    for n, k in ((0, 60), (1, 0), (1, 100)):
        with pytest.raises(ParameterError):
            risk.dominance(cells, n, k)


def test_prior_posterior_at_its_boundary() -> None:
    # p = 10, q = 50: sensitive if 50·R < 10·x1. x1 = 100: R = 20 is safe, R = 19 is not.
    cells = [[100, 50, 20], [100, 50, 19], [100, 0, 0], [0, 0, 0]]
    assert risk.prior_posterior(cells, 10, 50).tolist() == [False, True, True, False]
    # p%: q = 100, R = 10 is the boundary.
    assert risk.p_percent([[100, 50, 10], [100, 50, 9]], 10).tolist() == [False, True]
    assert risk.p_percent([[100, 50]], 10).tolist() == [True]
    for p, q in ((0, 50), (50, 50), (10, 101)):
        with pytest.raises(ParameterError, match="p and q"):
            risk.prior_posterior(cells, p, q)
    with pytest.raises(ParameterError, match="p must be"):
        risk.p_percent(cells, 0)
    with pytest.raises(ParameterError, match="finite numbers"):
        risk.p_percent([[-1, 2]], 10)
    with pytest.raises(ParameterError, match="one axis"):
        risk.p_percent(3, 10)
    assert isnan(float(risk.closest_estimate([0, 0])))


def test_decimals_at_the_boundaries_are_exact() -> None:
    # 10% of 2.9 is 0.29: as floats 100 · 0.29 < 10 · 2.9, which made the first cell sensitive.
    assert risk.p_percent([[2.9, 0.7, 0.29], [2.9, 0.7, 0.28]], 10).tolist() == [False, True]
    # A tenth of a unit in a thousand million is missing, which a tolerance would not see.
    cells = [[1e9, 9e8, 100_000_000], [1e9, 9e8, 99_999_999.9]]
    assert risk.p_percent(cells, 10).tolist() == [False, True]
    # Of 2.1 a third part is 0.7: no decimal is a third of 100, a fraction is.
    assert not risk.dominance([0.7, 0.7, 0.7], 1, Fraction(100, 3))
    assert risk.dominance([0.7, 0.7, 0.7], 1, 33.333333333)
    # q = 50: 50 · R < 10 · 2.9 below R = 0.58.
    cells = [[2.9, 0.7, 0.3, 0.28], [2.9, 0.7, 0.3, 0.27]]
    assert risk.prior_posterior(cells, 10, 50).tolist() == [False, True]


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=5),
    st.integers(1, 99),
    st.integers(0, 3),
)
def test_the_rules_are_those_of_whole_numbers(parts: list[int], share: int, places: int) -> None:
    # The same figures with a decimal point: what whole numbers say, decimals must say.
    ranked = sorted(parts, reverse=True)
    cell = [part / 10**places for part in parts]
    assert bool(risk.p_percent(cell, share)) == (100 * sum(ranked[2:]) < share * ranked[0])
    assert bool(risk.dominance(cell, 1, share)) == (100 * ranked[0] > share * sum(ranked))
    assert bool(risk.dominance(cell, 2, share)) == (100 * sum(ranked[:2]) > share * sum(ranked))


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


def test_the_posterior_by_hand() -> None:
    # One 0, two 1s, one 2 under rounding to 3. Released 0: 1·1 + 2·⅔ + ⅓ = 8/3 expected cells.
    who = risk.posterior(ROUNDING, [0, 1, 1, 2])
    values, chances = who.row(0)
    assert values.tolist() == [0, 1, 2]
    np.testing.assert_allclose(chances, [3 / 8, 4 / 8, 1 / 8])
    assert who.zeros_true == pytest.approx(3 / 8)
    assert isnan(who.small_true)
    assert who.unchanged == pytest.approx(1 / 4)
    # Best guesses: a released 0 is a 1 (4/3 of the cells), a released 3 too (2/3 either way).
    assert who.correct_claims == pytest.approx((4 / 3 + 2 / 3) / 4)
    with pytest.raises(ParameterError, match="is ever released as 1"):
        who.row(1)


@given(tables(most=6, most_axes=1, most_side=4), st.sampled_from(["lively", "rounding to 3"]))
def test_the_posterior_is_that_of_every_release(table: Integers, name: str) -> None:
    method = METHODS[name]
    who = risk.posterior(method, table)
    same = released = unchanged = 0.0
    for chance, seen in every_release(table, method):
        small = np.isin(seen, (1, 2))
        released += chance * small.sum()
        same += chance * (small & (seen == table)).sum()
        unchanged += chance * (seen == table).mean()
    assert who.unchanged == pytest.approx(unchanged)
    if released > 1e-12:
        assert who.small_true == pytest.approx(same / released)
    assert who.correct_claims >= who.unchanged - 1e-12


def test_zeros_that_may_be_released_as_more() -> None:
    who = risk.posterior(LIVELY, [0, 0, 1, 2])
    # Released 1: 2·0.2 + 1·0.4 + 1·0.2 = 1.0 expected; true ones 0.4. Released 2: 0.2 + 0.3 + 0.7.
    assert who.true_share(1) == pytest.approx(0.4)
    assert who.true_share(1, 2) == pytest.approx((0.4 + 0.7) / (1.0 + 1.2))
