"""Adjusted counts: no published 1 or 2, all additive, totals kept, near the best of all tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from discreet.errors import ParameterError
from discreet.solve.adjust import counts as module
from discreet.solve.adjust.cells import CountCells
from discreet.solve.adjust.counts import LEAVING, adjust_counts, default_weights
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def small_table(shape: tuple[int, ...], seed: int, mean: float = 4.0) -> np.ndarray:
    draws = rng(seed)
    return draws.poisson(draws.gamma(0.6, mean / 0.6, shape))


@given(
    st.integers(0, 10_000),
    st.sampled_from([(3, 4), (5,), (2, 3, 3), (2, 2, 2, 3)]),
    st.integers(2, 5),
    st.booleans(),
    st.integers(0, 2),
)
@settings(max_examples=40, deadline=None)
def test_no_published_cell_is_small_and_zeros_stay(
    seed: int, shape: tuple[int, ...], base: int, inner: bool, most: int
) -> None:
    counts = small_table(shape, seed)
    cells = CountCells.margins(shape, min(most, len(shape)), inner=inner)
    found = adjust_counts(cells, counts, rng(seed), smallest_safe=base, trials=5)
    assert found.status is Status.FEASIBLE
    assert found.values.shape == counts.shape
    assert (found.values[counts == 0] == 0).all()
    before, after = cells.values(counts), cells.values(found.values)
    assert not ((after > 0) & (after < base)).any()
    assert found.gap == np.abs(after - before)[before > 0].max(initial=0)
    if inner:
        small = counts < base
        assert set(found.values[small].tolist()) <= {0, base}
        assert (found.values[~small] >= base).all()


def test_with_linked_tables_only_their_cells_must_be_safe() -> None:
    # Rows and columns of a 3 × 3 table, not the table: only the sums 2 and 1 must move.
    counts = np.array([[1, 1, 0], [1, 9, 4], [0, 5, 6]])
    cells = CountCells.margins((3, 3), kept=[(0,), (1,)], inner=False)
    found = adjust_counts(cells, counts, rng())
    after = cells.values(found.values)
    # The first row and the first column, each of 2, become 0 or 3, and nothing else need change
    # by more than the 3 that one inner cell brings.
    assert after[0] in (0, 3)
    assert after[3] in (0, 3)
    assert np.abs(after - cells.values(counts)).sum() <= 6


def test_any_cells_over_common_inner_ones() -> None:
    members = sparse.csr_matrix(
        [[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 1, 1], [1, 0, 0, 0, 0]]
    )
    counts = np.array([4, 1, 1, 7, 2])
    found = adjust_counts(CountCells.of(members), counts, rng())
    after = members @ found.values
    assert not ((after > 0) & (after < 3)).any()
    assert found.values[0] >= 3


def test_a_table_with_a_hierarchy() -> None:
    tree = Hierarchy((4, 4, 5, 5, 6, 6, -1))
    system = TableSystem.table([tree, Hierarchy.flat(3)])
    counts = small_table((4, 3), 5)
    found = adjust_counts(system, counts, rng())
    values = system.values(found.values)
    assert not ((values > 0) & (values < 3)).any()
    assert np.allclose(system.equations @ (system.members @ found.values.ravel()), 0)


def test_fixed_totals_are_kept_exactly() -> None:
    # Ones and twos on a diagonal, room to move everywhere else.
    counts = np.full((4, 5), 9)
    counts[range(4), range(4)] = [1, 2, 1, 2]
    cells = CountCells.margins((4, 5), 1)
    fixed = cells.order <= 1  # the total, every row and every column
    found = adjust_counts(cells, counts, rng(), fixed=fixed)
    assert found.status is Status.FEASIBLE
    assert (cells.values(found.values)[fixed] == cells.values(counts)[fixed]).all()


def test_a_total_that_cannot_be_kept_is_not_passed_off_as_kept() -> None:
    # Two counts of 2 become 0 or 3 each: 0, 3 or 6, never 4.
    cells = CountCells.margins((2,), 0)
    found = adjust_counts(cells, [2, 2], rng(), fixed=cells.order == 0)
    assert found.status is Status.NOT_CONVERGED
    assert found.gap >= 1


def test_capacity_bounds_every_change() -> None:
    counts = small_table((4, 5), 8, mean=10)
    cells = CountCells.margins((4, 5), 1)
    capacity = np.where(cells.order == 2, 2, 4)
    found = adjust_counts(cells, counts, rng(), capacity=capacity)
    assert found.status is Status.FEASIBLE
    change = np.abs(cells.values(found.values) - cells.values(counts))
    assert (change <= capacity).all()


def test_with_a_capacity_of_one_a_one_becomes_0_and_a_two_3() -> None:
    cells = CountCells.margins((4,), 0)
    found = adjust_counts(cells, [1, 2, 1, 2], rng(), capacity=np.array([4, 1, 1, 1, 1]))
    assert found.values.tolist() == [0, 3, 0, 3]


def _costs(cells: CountCells, counts: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """The cost the search is after, written anew: weights × (1 + |change|), inner ones linear."""
    before = cells.values(counts)
    change = np.abs(tables @ cells.members.toarray().T.astype(int) - before)
    weights = default_weights(cells, before)
    alone = cells.order == counts.ndim
    sensitive = alone & (before < 3)
    rows = weights * np.where(change > 0, LEAVING + change, 0.0)
    return rows[:, ~alone].sum(axis=1) + (weights * change)[:, alone & ~sensitive].sum(axis=1)


@pytest.mark.parametrize("seed", range(6))
def test_the_cost_is_near_the_least_of_all_tables(seed: int) -> None:
    counts = small_table((2, 3), seed, mean=6)
    cells = CountCells.margins((2, 3), 1)
    # Every table whose cells of 3 and more move by at most 3.
    choices = [
        [0] if n == 0 else [0, 3] if n < 3 else list(range(max(3, n - 3), n + 4))
        for n in counts.ravel().tolist()
    ]
    best = _costs(cells, counts, np.array(list(product(*choices)))).min()
    found = adjust_counts(cells, counts, rng(seed), tolerance=0.0)
    assert _costs(cells, counts, found.values.reshape(1, -1))[0] <= 1.1 * best + 1e-9


def test_the_same_seed_gives_the_same_table_and_another_another() -> None:
    counts = small_table((6, 7, 3), 2)
    cells = CountCells.margins(counts.shape, 2)
    one, two, other = (
        adjust_counts(cells, counts, rng(seed), trials=3).values for seed in (4, 4, 5)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_stopping_returns_a_safe_table(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = small_table((6, 7, 3), 2)
    cells = CountCells.margins(counts.shape, 2)

    def stop(_stage: str, done: int, _total: int | None) -> None:
        if done == 2:
            raise KeyboardInterrupt

    found = adjust_counts(cells, counts, rng(), tell=stop)
    assert found.status is Status.STOPPED
    after = cells.values(found.values)
    assert not ((after > 0) & (after < 3)).any()


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[str, int, int | None]] = []
    adjust_counts(
        CountCells.margins((3,), 0), [1, 5, 9], rng(), tell=lambda *step: told.append(step)
    )
    assert told[-1] == ("adjusting", module.PARTS, module.PARTS)


def test_an_empty_table_is_left_alone() -> None:
    found = adjust_counts(CountCells.margins((2, 2), 1), np.zeros((2, 2), np.int64), rng())
    assert found.values.tolist() == [[0, 0], [0, 0]]
    assert found.gap == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"counts": [1.5, 2, 3]}, "counts must be integers"),
        ({"counts": [1, -1, 3]}, "counts must be integers of 0 or more"),
        ({"counts": [1, 2]}, "counts must be 3 inner cells. Got 2."),
        ({"smallest_safe": 1}, "smallest_safe must be an integer of at least 2. Got 1."),
        ({"tolerance": 1.0}, "tolerance must be from 0 to below 1. Got 1.0."),
        ({"weights": [1.0]}, "weights must have one entry for each of 4 published cells."),
        ({"weights": [-1.0, 1, 1, 1]}, "weights must be finite numbers of 0 or more."),
        ({"capacity": -1}, "capacity must be 0 or more."),
        ({"fixed": [False, True, False, False]}, "must be allowed to become 0 or 3. 1 are fixed"),
    ],
)
def test_bad_values_are_refused(arguments: dict[str, object], message: str) -> None:
    given = {"counts": [1, 5, 9], **arguments}
    counts = given.pop("counts")
    with pytest.raises(ParameterError, match=message):
        adjust_counts(CountCells.margins((3,), 0), counts, rng(), **given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": ()}, "shape must have axes"),
        ({"shape": (2, 2)}, "either most_axes or kept"),
        ({"shape": (2, 2), "most_axes": 3}, "most_axes must be from 0 to 2. Got 3."),
        ({"shape": (2, 2), "kept": [(2,)]}, "kept axes must be from 0 to 1"),
        ({"shape": (2, 2), "kept": [], "inner": False}, "at least one margin"),
    ],
)
def test_margins_that_are_none_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        CountCells.margins(**arguments)
