"""The closest additive table: exact for two-way tables, with an honest bound beyond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, milp

from discreet.errors import ParameterError
from discreet.protect import restore_additivity
from discreet.solve import Status, TableSystem, closest_additive
from discreet.solve import additivity as module


def _perturbed(shape: tuple[int, ...], seed: int) -> tuple[TableSystem, NDArray[np.int64]]:
    """A table with its totals, each figure changed by itself."""
    rng = np.random.default_rng(seed)
    system = TableSystem.of(shape)
    values = system.values(rng.poisson(rng.gamma(0.5, 10, shape)))
    return system, np.maximum(values + rng.integers(-3, 4, values.shape), 0).astype(np.int64)


def _distance(system: TableSystem, inner: NDArray[np.int64], target: NDArray[np.int64]) -> float:
    return float(np.abs(system.values(inner) - target).sum())


def _least(system: TableSystem, target: NDArray[np.int64]) -> float:
    """The naive twin: one integer programme over all cells, |d| as two columns."""
    sums = system.members.toarray().astype(float)[system.variable]
    cells, inner = sums.shape
    eye = np.eye(cells)
    found = milp(
        np.concatenate([np.zeros(inner), np.ones(2 * cells)]),
        integrality=np.concatenate([np.ones(inner), np.zeros(2 * cells)]),
        constraints=LinearConstraint(
            np.hstack([sums, -eye, eye]), target.reshape(-1), target.reshape(-1)
        ),
    )
    assert found.success
    return float(found.fun)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([(1, 3), (4,), (3, 3), (5, 4)]), st.integers(0, 2**32 - 1))
def test_two_way_tables_are_solved_exactly(shape: tuple[int, ...], seed: int) -> None:
    system, target = _perturbed(shape, seed)
    found = closest_additive(system, target, np.random.default_rng(seed))
    assert found.solved
    assert found.gap == 0
    assert int(found.values.min()) >= 0
    assert _distance(system, found.values, target) == pytest.approx(_least(system, target))


@pytest.mark.parametrize("seed", range(4))
def test_beyond_two_way_the_bound_holds_and_the_table_is_close(seed: int) -> None:
    system, target = _perturbed((3, 3, 2), seed)
    found = closest_additive(system, target, np.random.default_rng(seed))
    assert found.status in (Status.SOLVED, Status.FEASIBLE)
    got, least = _distance(system, found.values, target), _least(system, target)
    # gap = (distance − bound)/bound, and the bound is at most the least distance.
    assert got >= least - 1e-6
    assert got / (1 + found.gap) <= least + 1e-6
    assert got <= 1.2 * least


def test_without_a_linear_programme_the_bound_still_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 0)
    system, target = _perturbed((4, 3, 3), 5)
    found = closest_additive(system, target, np.random.default_rng(1))
    got, least = _distance(system, found.values, target), _least(system, target)
    assert got / (1 + found.gap) <= least + 1e-6
    assert got <= 1.3 * least


def test_an_additive_table_stays_as_it_is() -> None:
    system = TableSystem.of((3, 4, 2))
    inner = np.random.default_rng(1).integers(0, 9, (3, 4, 2))
    found = closest_additive(system, system.values(inner), np.random.default_rng(1))
    assert found.solved
    np.testing.assert_array_equal(found.values, inner.reshape(-1))


@pytest.mark.parametrize("shape", [(4, 5), (4, 3, 3)])
def test_fixed_margins_are_met_exactly(shape: tuple[int, ...]) -> None:
    system, target = _perturbed(shape, 2)
    fixed = np.zeros(system.shape, bool)
    corner = (slice(None),) + (-1,) * (len(shape) - 1)
    fixed[corner] = True
    # The fixed totals must add up among themselves.
    target[(-1,) * len(shape)] = target[corner][:-1].sum()
    found = closest_additive(system, target, np.random.default_rng(1), fixed)
    assert found.status in (Status.SOLVED, Status.FEASIBLE)
    np.testing.assert_array_equal(system.values(found.values)[fixed], target[fixed])


def test_fixed_margins_that_disagree_are_infeasible() -> None:
    system, target = _perturbed((3, 3), 2)
    fixed = np.zeros(system.shape, bool)
    fixed[:, -1] = True
    target[-1, -1] = target[:-1, -1].sum() + 1
    found = closest_additive(system, target, np.random.default_rng(1), fixed)
    assert found.status is Status.INFEASIBLE


def test_cells_that_do_not_count_have_no_target() -> None:
    system = TableSystem.of((2, 2))
    target = np.array([[1, 2, 99], [3, 4, 99], [5, 7, 99]])
    counted = np.ones((3, 3), bool)
    counted[:, -1] = False
    found = closest_additive(system, target, np.random.default_rng(1), counted=counted)
    # 1 + 3 and 2 + 4 are 4 and 6: columns of 5 and 7 are one off each.
    assert np.abs(system.values(found.values) - target)[counted].sum() == 2


def test_released_figures_add_up_again_and_zeros_stay() -> None:
    _, target = _perturbed((4, 4), 3)
    target[1, 2] = 0
    restored = restore_additivity(target, np.random.default_rng(1))
    values = restored.values
    np.testing.assert_array_equal(values[:-1].sum(axis=0), values[-1])
    np.testing.assert_array_equal(values[:, :-1].sum(axis=1), values[:, -1])
    assert values[1, 2] == 0
    assert restored.changed == np.count_nonzero(values != target)
    assert restored.change == np.abs(values - target).sum()
    assert restored.consistent == pytest.approx(1 - restored.changed / 25)


def test_bad_input_is_refused() -> None:
    system = TableSystem.of((2, 2))
    rng = np.random.default_rng(1)
    with pytest.raises(ParameterError, match="shape"):
        closest_additive(system, np.zeros((2, 2), int), rng)
    with pytest.raises(ParameterError, match="negative"):
        closest_additive(system, np.full((3, 3), -1), rng)
    with pytest.raises(ParameterError, match="integers"):
        closest_additive(system, np.full((3, 3), 0.5), rng)
