"""Controlled rounding: neighbours everywhere, additive, without bias where that is promised."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.solve import Hierarchy, Status, TableSystem, controlled_rounding, round_small_counts
from discreet.solve import rounding as module

# Leaves 0…5; 6 = 0 + 1 + 2, 7 = 3 + 4 + 5, 8 = 6 + 7.
TREE = Hierarchy((6, 6, 6, 7, 7, 7, 8, 8, -1))


def _table(shape: tuple[int, ...], seed: int = 1, scale: float = 10) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.poisson(rng.gamma(0.5, scale, shape)), np.int64)


def _check(
    true: NDArray[np.int64], rounded: NDArray[np.int64], base: int, axes: list[Hierarchy]
) -> None:
    """Every cell and total, summed plainly, is a multiple of the base next to its count."""
    system = TableSystem.table(axes)
    before, after = system.values(true), system.values(rounded)
    assert not (after % base).any()
    assert (np.abs(after - before) < base).all()
    assert (after[before % base == 0] == before[before % base == 0]).all()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(1,), (7,), (1, 5), (4, 6), (12, 3)]),
    st.integers(2, 10),
    st.integers(0, 2**32 - 1),
)
def test_two_way_tables_are_always_solved(shape: tuple[int, ...], base: int, seed: int) -> None:
    true = _table(shape, seed)
    found = controlled_rounding(true, base, np.random.default_rng(seed))
    assert found.solved
    assert found.gap < base
    _check(true, found.values, base, [Hierarchy.flat(size) for size in shape])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([0, 1, 2]), st.integers(2, 10), st.integers(0, 2**32 - 1))
def test_a_hierarchy_in_one_dimension_is_always_solved(kind: int, base: int, seed: int) -> None:
    axes = [[TREE], [TREE, Hierarchy.flat(4)], [Hierarchy.flat(3), TREE]][kind]
    true = _table(tuple(len(axis.leaves) for axis in axes), seed)
    found = controlled_rounding(true, base, np.random.default_rng(seed), axes)
    assert found.solved
    _check(true, found.values, base, axes)


@pytest.mark.parametrize(
    "axes", [[Hierarchy.flat(4), Hierarchy.flat(3)], [TREE], [TREE, Hierarchy.flat(3)]]
)
def test_the_mean_of_many_draws_is_the_table(axes: list[Hierarchy]) -> None:
    true = _table(tuple(len(axis.leaves) for axis in axes), 3)
    draws = np.stack(
        [controlled_rounding(true, 5, np.random.default_rng(k), axes).values for k in range(800)]
    )
    # Standard error of a cell with rest r: sqrt(r(5 − r)/800).
    rest = true % 5
    error = np.sqrt(rest * (5 - rest) / len(draws))
    assert (np.abs(draws.mean(axis=0) - true) <= 4.5 * error + 1e-12).all()


def test_thirds_moved_a_hundred_thousand_times_lose_nothing() -> None:
    # In floating point, errors grow along the cycles until one cannot be closed.
    true = _table((300, 300))
    found = controlled_rounding(true, 3, np.random.default_rng(1))
    assert found.solved
    _check(true, found.values, 3, [Hierarchy.flat(300)] * 2)


@pytest.mark.parametrize("shape", [(3, 3, 3), (5, 4, 6)])
@pytest.mark.parametrize("seed", range(3))
def test_three_way_tables_are_solved_or_say_so(shape: tuple[int, ...], seed: int) -> None:
    true = _table(shape, seed)
    found = controlled_rounding(true, 3, np.random.default_rng(seed))
    assert found.status in (Status.SOLVED, Status.RELAXED, Status.FEASIBLE)
    if found.solved:
        _check(true, found.values, 3, [Hierarchy.flat(size) for size in shape])


def _exists(true: NDArray[np.int64], base: int) -> bool:
    """The naive twin: every way of rounding the inner cells."""
    system = TableSystem.of(true.shape)
    before = system.members.astype(np.int64) @ true.reshape(-1)
    floor = true.reshape(-1) // base
    open_cells = np.flatnonzero(true.reshape(-1) % base)
    for ups in product((0, 1), repeat=len(open_cells)):
        inner = floor.copy()
        inner[open_cells] += ups
        after = base * (system.members.astype(np.int64) @ inner)
        if (np.abs(after - before) < base).all():
            return True
    return False


@pytest.mark.parametrize("seed", range(12))
def test_the_status_says_whether_a_rounding_exists(seed: int) -> None:
    true = np.random.default_rng(seed).integers(0, 6, (2, 2, 2))
    found = controlled_rounding(true, 3, np.random.default_rng(seed))
    assert found.status is (Status.SOLVED if _exists(true, 3) else Status.RELAXED)


def _none_exists() -> NDArray[np.int64]:
    """A 4-way table without a controlled rounding, found by trying seeds with the naive twin."""
    for seed in range(200):
        true = np.random.default_rng(seed).integers(0, 2, (2, 2, 2, 2))
        if true.sum() <= 12 and not _exists(true, 2):
            return np.asarray(true, np.int64)
    raise AssertionError("no such table among the seeds")


def test_where_none_exists_totals_are_at_most_one_multiple_further_away() -> None:
    true = _none_exists()
    found = controlled_rounding(true, 2, np.random.default_rng(1))
    assert found.status is Status.RELAXED
    assert 2 <= found.gap < 4
    assert not (found.values % 2).any()
    assert not found.values[true == 0].any()


def test_the_same_seed_gives_the_same_table() -> None:
    true = _table((5, 5, 5))
    one, two = (controlled_rounding(true, 3, np.random.default_rng(9)).values for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_stopped_from_the_keyboard_the_best_so_far_is_marked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: object, **__: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Search, "run", stop)
    found = controlled_rounding(_table((3, 3, 3)), 3, np.random.default_rng(1))
    assert found.status is Status.STOPPED
    assert not (found.values % 3).any()


def test_bad_input_is_refused() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ParameterError, match="negative"):
        controlled_rounding(np.array([-1, 2]), 3, rng)
    with pytest.raises(ParameterError, match="integers"):
        controlled_rounding(np.array([0.5, 2]), 3, rng)
    with pytest.raises(ParameterError, match="base"):
        controlled_rounding(np.array([1, 2]), 1, rng)
    with pytest.raises(ParameterError, match="shape"):
        controlled_rounding(np.array([1, 2]), 3, rng, [TREE])


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([(6,), (4, 5), (3, 4, 3)]), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_only_small_counts_are_rounded(shape: tuple[int, ...], base: int, seed: int) -> None:
    true = _table(shape, seed, 4)
    system = TableSystem.of(shape)
    found = round_small_counts(system, true, base, np.random.default_rng(seed))
    small = (true > 0) & (true < base)
    np.testing.assert_array_equal(found.values[~small], true[~small])
    assert np.isin(found.values[small], (0, base)).all()
    assert found.gap == np.abs(system.values(found.values) - system.values(true)).max(initial=0)


def _least_square(system: TableSystem, true: NDArray[np.int64], base: int) -> float:
    """The naive twin: every choice of the small cells that go up."""
    small = np.flatnonzero((true.reshape(-1) > 0) & (true.reshape(-1) < base))
    best = np.inf
    for ups in product((0, base), repeat=len(small)):
        inner = true.reshape(-1).copy()
        inner[small] = ups
        change = system.values(inner) - system.values(true)
        best = min(best, float((change**2).sum()))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_small_counts_change_totals_as_little_as_any_choice(seed: int) -> None:
    true = np.random.default_rng(seed).integers(0, 5, (3, 3))
    system = TableSystem.of((3, 3))
    found = round_small_counts(system, true, 3, np.random.default_rng(seed))
    got = float(((system.values(found.values) - system.values(true)) ** 2).sum())
    # The root mean square may be 15% above the least where the largest change is smaller for it.
    assert got <= _least_square(system, true, 3) * 1.15**2 + 1e-9
