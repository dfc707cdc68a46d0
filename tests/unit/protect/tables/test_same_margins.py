"""A draw from the tables with the same margins: the target distribution, by enumeration."""

from __future__ import annotations

from collections import Counter
from math import factorial, prod

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.protect import RandomRounding, SameMargins, fit_to_margins, protected_margins
from discreet.solve import ipf


def _tables(true: NDArray[np.int64]) -> dict[tuple[int, ...], float]:
    """Every table with the margins of this one over all but one dimension, and Π 1/n!, scaled."""
    left = [true.sum(axis=axis) for axis in range(true.ndim)]
    places = list(np.ndindex(*true.shape))
    cells: list[int] = []
    found: dict[tuple[int, ...], float] = {}

    def fill() -> None:
        if len(cells) == true.size:
            found[tuple(cells)] = prod(1 / factorial(n) for n in cells)
            return
        place = places[len(cells)]
        sums = [place[:axis] + place[axis + 1 :] for axis in range(true.ndim)]
        room = [int(left[axis][sums[axis]]) for axis in range(true.ndim)]
        forced = [room[axis] for axis in range(true.ndim) if place[axis] == true.shape[axis] - 1]
        for n in range(max(forced, default=0), min(room) + 1):
            cells.append(n)
            for axis in range(true.ndim):
                left[axis][sums[axis]] -= n
            fill()
            for axis in range(true.ndim):
                left[axis][sums[axis]] += n
            cells.pop()

    fill()
    total = sum(found.values())
    return {table: weight / total for table, weight in found.items()}


def _chi_square(true: NDArray[np.int64], method: SameMargins, draws: int) -> tuple[float, int]:
    chances = _tables(true)
    got = Counter(
        tuple(method.apply(true, np.random.default_rng(seed)).reshape(-1).tolist())
        for seed in range(draws)
    )
    assert set(got) <= set(chances)
    # Tables too rare for the χ² distribution are counted together.
    rare = [table for table, chance in chances.items() if chance * draws < 5]
    groups = [[table] for table in chances if table not in set(rare)] + ([rare] if rare else [])
    statistic = sum(
        (sum(got[t] for t in group) - draws * sum(chances[t] for t in group)) ** 2
        / (draws * sum(chances[t] for t in group))
        for group in groups
    )
    return statistic, len(groups) - 1


def _limit(freedom: int) -> float:
    """Five standard deviations above the mean of χ²."""
    return freedom + 5 * np.sqrt(2 * freedom)


def test_two_way_draws_have_the_stated_distribution() -> None:
    true = np.array([[2, 0, 1], [1, 1, 0], [0, 2, 1]])
    statistic, freedom = _chi_square(true, SameMargins(), 4000)
    assert freedom > 20
    assert statistic < _limit(freedom)


@pytest.mark.parametrize(
    "true",
    [
        np.array([[[1, 2], [0, 1], [3, 0]], [[2, 0], [1, 1], [0, 2]], [[1, 1], [2, 0], [0, 1]]]),
        np.random.default_rng(4).poisson(0.8, (3, 3, 3)),
    ],
    ids=["3x3x2", "3x3x3"],
)
def test_three_way_walks_have_the_stated_distribution(true: NDArray[np.int64]) -> None:
    statistic, freedom = _chi_square(true, SameMargins(order=2), 1500)
    assert freedom > 5
    assert statistic < _limit(freedom)


def test_tables_that_simple_moves_do_not_connect_are_reached() -> None:
    # Six people on a hexagon: every cube move would need a seventh cell, yet there is one other
    # table with these margins, the two layers exchanged. Both are equally likely.
    true = np.zeros((3, 3, 2), int)
    for i in range(3):
        true[i, i, 0] = true[i, (i + 1) % 3, 1] = 1
    assert len(_tables(true)) == 2
    moved = sum(
        int((SameMargins(order=2).apply(true, np.random.default_rng(seed)) != true).any())
        for seed in range(400)
    )
    assert abs(moved - 200) < 5 * 10  # standard deviation √(400/4) = 10


def test_one_way_margins_of_a_three_way_table() -> None:
    true = np.random.default_rng(2).poisson(3, (3, 4, 2))
    drawn = SameMargins().apply(true, np.random.default_rng(3))
    for others in ((1, 2), (0, 2), (0, 1)):
        np.testing.assert_array_equal(drawn.sum(axis=others), true.sum(axis=others))
    assert (drawn != true).any()


def test_orders_that_cannot_be_drawn_are_refused() -> None:
    rng = np.random.default_rng(1)
    for order, shape in ((1, (3,)), (2, (3, 3)), (2, (2, 2, 2, 2))):
        with pytest.raises(ParameterError, match="order must be 1 or"):
            SameMargins(order).apply(np.ones(shape, int), rng)
    with pytest.raises(ParameterError, match="below 1,000,000,000"):
        SameMargins().apply(np.full((2, 2), 10**9), rng)


def test_a_count_that_outgrows_its_type_is_refused() -> None:
    # Row 0 and column 0 hold 9·255 = 2,295 of 4,590 each: their cell becomes about 1,147.
    true = np.zeros((10, 10), np.uint8)
    true[0, 1:] = true[1:, 0] = 255
    with pytest.raises(ParameterError, match="wider type"):
        SameMargins().apply(true, np.random.default_rng(1))
    drawn = SameMargins().apply(true.astype(np.uint16), np.random.default_rng(1))
    assert drawn[0, 0] > 255


def test_a_single_category_leaves_nothing_to_draw() -> None:
    true = np.array([[[1, 2], [3, 4]]])
    drawn = SameMargins(order=2).apply(true, np.random.default_rng(1))
    np.testing.assert_array_equal(drawn, true)


def test_protected_counts_are_fitted_to_protected_margins() -> None:
    rng = np.random.default_rng(6)
    released = rng.poisson(5, (6, 8))
    rows, columns = released.sum(axis=1) + np.array([1, -1, 2, -2, 0, 0]), released.sum(axis=0)
    fitted = fit_to_margins(released, {(0,): rows, (1,): columns}, rng)
    np.testing.assert_array_equal(fitted.sum(axis=1), rows)
    np.testing.assert_array_equal(fitted.sum(axis=0), columns)
    assert fitted.min() >= 0
    assert not fitted[released == 0].any()
    assert np.abs(fitted - released).max() <= 3


def test_margins_over_several_axes_and_a_single_margin() -> None:
    rng = np.random.default_rng(6)
    released = rng.poisson(5, (3, 4, 2)) + 1
    planes = released.sum(axis=1)
    fitted = fit_to_margins(released, {(0, 2): planes, (1,): released.sum(axis=(0, 2))}, rng)
    np.testing.assert_array_equal(fitted, released)  # it fits already
    doubled = fit_to_margins(released, {(0, 2): 2 * planes}, rng)
    np.testing.assert_array_equal(doubled.sum(axis=1), 2 * planes)


def test_margins_that_cannot_be_met_are_refused() -> None:
    rng = np.random.default_rng(1)
    table = np.array([[1, 0], [0, 1]])
    for margins in ({(0,): [1, 2], (1,): [2, 1]}, {(0,): [1, 2], (1,): [2, 2]}):
        with pytest.raises(ParameterError, match="must agree with one another"):
            fit_to_margins(table, margins, rng)
    with pytest.raises(ParameterError, match="must hold integers"):
        fit_to_margins(table, {(0,): [0.5, 1.5]}, rng)
    with pytest.raises(ParameterError, match="margins must be one or more"):
        fit_to_margins(table, {}, rng)


SETS = [
    [(0, 1), (2,)],
    [(0, 1), (1, 2)],
    [(0, 1), (1, 2), (0, 2)],
    [(0,), (1,)],  # one axis left out
    [(0,), (1,), (2,)],
    [(0, 1), (1,), ()],
]


@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("seed", range(3))
def test_any_set_of_margins_is_met_in_integers(sets: list[tuple[int, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    released = rng.poisson(6, (4, 5, 3))
    # Margins of another table, so that they agree and differ from those of the released one.
    other = rng.poisson(released + 0.5) * (released > 0)
    margins = {
        axes: other.sum(axis=tuple(axis for axis in range(3) if axis not in axes)) for axes in sets
    }
    fitted = fit_to_margins(released, margins, rng)
    for axes, target in margins.items():
        others = tuple(axis for axis in range(3) if axis not in axes)
        np.testing.assert_array_equal(fitted.sum(axis=others), target)
    assert fitted.min() >= 0
    assert not fitted[released == 0].any()
    # Next to what fitting gives, a fraction: the odds are kept and no cell is more than 2 away.
    assert np.abs(fitted - ipf(released, margins).values).max() < 2


def test_a_fit_without_bias_where_two_margins_share_an_axis() -> None:
    # Each layer of axis 1 is a matrix of its own: the mean over draws is the fitted table.
    released = np.array([[[1, 2], [3, 1]], [[2, 2], [1, 1]]])
    margins = {(0, 1): np.array([[4, 3], [3, 2]]), (1, 2): np.array([[3, 4], [3, 2]])}
    wanted = ipf(released, margins).values
    draws = np.stack(
        [fit_to_margins(released, margins, np.random.default_rng(i)) for i in range(400)]
    )
    error = np.maximum(draws.std(axis=0), 0.05) / 20
    assert (np.abs(draws.mean(axis=0) - wanted) <= 5 * error).all()


def test_large_totals_are_met_exactly() -> None:
    rng = np.random.default_rng(3)
    released = rng.integers(1, 10**6, (30, 40))
    other = rng.integers(1, 10**6, (30, 40))
    margins = {(0,): other.sum(axis=1), (1,): other.sum(axis=0)}
    fitted = fit_to_margins(released, margins, rng)
    np.testing.assert_array_equal(fitted.sum(axis=1), margins[(0,)])
    np.testing.assert_array_equal(fitted.sum(axis=0), margins[(1,)])


def test_protected_margins_agree_and_can_be_fitted() -> None:
    rng = np.random.default_rng(2)
    true = rng.poisson(8, (4, 5, 3))
    method = RandomRounding(3)

    def protect(counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(method.apply(counts, rng.random(counts.shape)))

    released = protect(true)
    margins = protected_margins(true, released, [(0, 1), (1, 2), (1,)], protect, rng)
    assert list(margins) == [(0, 1), (1, 2)]  # the totals by axis 1 follow from both
    assert not (margins[(0, 1)] % 3).any()  # the first is as protected
    np.testing.assert_array_equal(margins[(0, 1)].sum(axis=0), margins[(1, 2)].sum(axis=1))
    assert np.abs(margins[(0, 1)] - true.sum(axis=2)).max() < 3
    fitted = fit_to_margins(released, margins, rng)
    np.testing.assert_array_equal(fitted.sum(axis=2), margins[(0, 1)])
    np.testing.assert_array_equal(fitted.sum(axis=0), margins[(1, 2)])


def test_a_margin_whose_cells_are_all_released_as_zero_is_zero() -> None:
    true, released = np.array([[1, 1], [5, 7]]), np.array([[0, 0], [6, 6]])
    margins = protected_margins(
        true, released, [(0,)], lambda counts: counts + 1, np.random.default_rng(1)
    )
    assert margins[(0,)].tolist() == [0, 13]
