"""Intervals equal a plain linear programme a cell, and enumeration where cells are whole."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from discreet.solve import Status, TableSystem, intervals, tightened
from discreet.solve import bounds as module

Array = NDArray[np.float64]


def _plain(equations: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The naive twin: two cold linear programmes a cell."""
    ends = np.zeros((2, len(low)))
    for j in range(len(low)):
        for side, sign in ((0, 1), (1, -1)):
            cost = np.zeros(len(low))
            cost[j] = sign
            found = linprog(
                cost,
                A_eq=equations,
                b_eq=np.zeros(len(equations)),
                bounds=list(zip(low, np.where(np.isinf(high), None, high), strict=True)),
                method="highs",
            )
            ends[side, j] = np.inf if found.status == 3 else found.x[j]
    return ends[0], ends[1]


def _system(
    shape: tuple[int, ...], seed: int, share: float, spread: int = 0
) -> tuple[TableSystem, Array, Array, Array]:
    """A table with some cells withheld and the others known to ± spread."""
    rng = np.random.default_rng(seed)
    system = TableSystem.of(shape)
    values = system.values(rng.poisson(3, shape)).ravel()
    off = rng.integers(-spread, spread + 1, values.shape) if spread else 0
    low, high = np.maximum(values + off - spread, 0), values + off + spread
    hidden = rng.random(values.shape) < share
    low, high = system.merge(np.where(hidden, 0, low), np.where(hidden, np.inf, high))
    true, _ = system.merge(values, values)
    return system, low, high, true


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([(2, 2), (3, 4), (5, 3), (2, 2, 2), (3, 3, 2), (1, 3), (4,)]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.2, 0.5, 0.9]),
    st.sampled_from([0, 2]),
)
def test_real_intervals_equal_a_plain_programme_per_cell(
    shape: tuple[int, ...], seed: int, share: float, spread: int
) -> None:
    system, low, high, true = _system(shape, seed, share, spread)
    found = intervals(system.equations, low, high, whole=False)
    assert found.solved
    least, most = _plain(system.equations.toarray(), low, high)
    np.testing.assert_allclose(found.low, least, atol=1e-6)
    np.testing.assert_allclose(found.high, most, atol=1e-6)
    first = tightened(system.equations, low, high, whole=False)
    assert (first.low <= found.low + 1e-6).all()
    assert (first.high >= found.high - 1e-6).all()
    assert (found.low <= true + 1e-6).all()
    assert (found.high >= true - 1e-6).all()


def _enumerated(system: TableSystem, low: Array, high: Array, most: int) -> tuple[Array, Array]:
    """The naive twin for whole cells: every inner table with cells up to `most`."""
    cells = len(system.inner)
    inner = np.array(list(product(range(most + 1), repeat=cells)), float).T
    values = system.members.astype(float) @ inner
    fits = ((values >= low[:, None]) & (values <= high[:, None])).all(axis=0)
    return values[:, fits].min(axis=1), values[:, fits].max(axis=1)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.3, 0.6]))
def test_whole_intervals_equal_enumeration(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    system = TableSystem.of((2, 2, 2))
    values = system.values(rng.integers(0, 3, (2, 2, 2))).ravel()
    hidden = rng.random(values.shape) < share
    # No cell above 3, so that the tables can be counted out.
    low, high = np.where(hidden, 0, values), np.where(hidden, 24, values)
    inner = np.zeros(system.shape, bool)
    inner[:2, :2, :2] = True
    high[inner.ravel()] = np.minimum(high[inner.ravel()], 3)
    low, high = system.merge(low, high)
    found = intervals(system.equations, low, high)
    assert found.solved
    assert found.attained.all()
    least, most = _enumerated(system, low, high, 3)
    np.testing.assert_array_equal(found.low, least)
    np.testing.assert_array_equal(found.high, most)


def test_integer_programmes_settle_what_linear_ones_leave_open() -> None:
    # An odd cycle: x + y = y + z = z + x = 1 has the single real solution 1/2 and no whole one.
    ring = np.array([[1, 1, 0, -1], [0, 1, 1, -1], [1, 0, 1, -1]], float)
    found = intervals(ring, [0, 0, 0, 1], [1, 1, 1, 1])
    assert found.status is Status.INFEASIBLE
    # With the sum free between 1 and 2 the real solutions are 1/2 to 1, the whole one is 1.
    found = intervals(ring, [0, 0, 0, 1], [1, 1, 1, 2])
    assert found.solved
    np.testing.assert_array_equal(found.values, [[1, 1, 1, 2], [1, 1, 1, 2]])
    real = intervals(ring, [0, 0, 0, 1], [1, 1, 1, 2], whole=False)
    np.testing.assert_allclose(real.values, [[0.5, 0.5, 0.5, 1], [1, 1, 1, 2]], atol=1e-9)


def test_without_certification_the_bounds_are_valid_and_say_they_are_open() -> None:
    ring = np.array([[1, 1, 0, -1], [0, 1, 1, -1], [1, 0, 1, -1]], float)
    found = intervals(ring, [0, 0, 0, 1], [3, 3, 3, 3], certify=False)
    assert (found.low <= 1).all()
    assert (found.high >= [1, 1, 1, 2]).all()


def test_ends_are_told_to_be_final_for_reals_and_for_integers() -> None:
    # As above: the sum is even in every whole table, so its greatest value is 2; of real ones 3.
    ring = np.array([[1, 1, 0, -1], [0, 1, 1, -1], [1, 0, 1, -1]], float)
    found = intervals(ring, [0, 0, 0, 1], [3, 3, 3, 3], certify=False)
    assert found.linear.all()
    assert found.high[3] == 3
    assert not found.attained[1, 3]
    settled = intervals(ring, [0, 0, 0, 1], [3, 3, 3, 3])
    assert settled.high[3] == 2
    assert settled.attained.all()
    assert settled.linear.all()


def test_certification_counts_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = np.array([[1, 1, 0, -1], [0, 1, 1, -1], [1, 0, 1, -1]], float)
    monkeypatch.setattr(module, "MIP_STEPS", 0)
    found = intervals(ring, [0, 0, 0, 1], [3, 3, 3, 3])
    assert found.status is Status.FEASIBLE
    assert found.high[3] == 3


def test_figures_that_contradict_one_another_are_infeasible_and_the_equation_is_named() -> None:
    rows = np.array([[1.0, 1.0, -1.0], [1.0, 0.0, 0.0]])
    found = tightened(rows, [0, 0, 5], [2, 2, 5], sums=[0, 1])
    assert found.status is Status.INFEASIBLE
    assert found.row == 0


def test_a_cell_that_nothing_bounds_has_no_upper_end() -> None:
    system = TableSystem.of((2, 2))
    found = intervals(system.equations, np.zeros(9), np.full(9, np.inf))
    assert found.solved
    assert np.isinf(found.high).all()
    assert not found.low.any()


def test_out_of_time_the_bounds_are_valid_and_marked_stopped() -> None:
    system, low, high, true = _system((8, 8), 3, 0.6)
    found = intervals(system.equations, low, high, seconds=0.0)
    assert found.status is Status.STOPPED
    assert (found.low <= true).all()
    assert (found.high >= true).all()


def test_stopped_from_the_keyboard_the_bounds_so_far_are_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_settle", stop)
    system, low, high, true = _system((8, 8), 3, 0.6)
    found = intervals(system.equations, low, high)
    assert found.status is Status.STOPPED
    assert (found.low <= true).all()
    assert (found.high >= true).all()


def test_independent_parts_do_not_touch_one_another() -> None:
    # Two tables side by side have the intervals they have alone.
    one, low, high, _ = _system((3, 3), 5, 0.5)
    other, low2, high2, _ = _system((4, 2), 6, 0.5)
    both = intervals(
        sparse.block_diag([one.equations, other.equations]),
        np.concatenate([low, low2]),
        np.concatenate([high, high2]),
    )
    alone = [intervals(one.equations, low, high), intervals(other.equations, low2, high2)]
    np.testing.assert_array_equal(both.values, np.concatenate([a.values for a in alone], axis=1))


def _three_way(seed: int) -> tuple[sparse.csr_matrix, Array, Array]:
    rng = np.random.default_rng(seed)
    system = TableSystem.of((5, 5, 5))
    values = system.values(rng.poisson(4, (5, 5, 5)))
    hidden = rng.random(values.shape) < 0.4
    low, high = system.merge(np.where(hidden, 0, values), np.where(hidden, np.inf, values))
    return system.equations, low, high


def test_a_sweep_that_is_given_up_changes_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _three_way(1)
    usual = intervals(*problem)
    monkeypatch.setattr(module, "SWEEP_STEPS", 0)
    given_up = intervals(*problem)
    assert np.array_equal(usual.values, given_up.values)


def test_without_steps_left_ends_are_valid_and_not_called_final(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = _three_way(2)
    final = intervals(*problem)
    monkeypatch.setattr(module, "SWEEP_STEPS", 0)
    monkeypatch.setattr(module, "LINEAR_STEPS", 0)
    monkeypatch.setattr(module, "MIP_STEPS", 0)
    first, again = intervals(*problem), intervals(*problem)
    assert first.status is Status.FEASIBLE
    assert not first.attained.all()
    assert (first.low <= final.low).all()
    assert (first.high >= final.high).all()
    assert np.array_equal(first.values, again.values)


def test_few_whole_tables_meet_many_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    # So few steps that single integer programmes leave much open: the walk settles more of them,
    # and where both call an end final it is the same.
    rng = np.random.default_rng(2)
    system = TableSystem.of((12, 12, 12))
    values = system.values(np.floor(rng.lognormal(1.5, 1, (12, 12, 12))))
    hidden = np.zeros(values.shape, bool)
    hidden[:12, :12, :12] = rng.random((12, 12, 12)) < 0.25
    low, high = system.merge(np.where(hidden, 0, values), np.where(hidden, np.inf, values))
    monkeypatch.setattr(module, "MIP_STEPS", 8_000)
    monkeypatch.setattr(module, "WALKS", 30_000_000)
    many = intervals(system.equations, low, high)
    monkeypatch.setattr(module, "_walk", lambda *_: None)
    single = intervals(system.equations, low, high)
    assert many.attained.sum() > single.attained.sum()
    both = many.attained & single.attained
    np.testing.assert_array_equal(many.values[both], single.values[both])
