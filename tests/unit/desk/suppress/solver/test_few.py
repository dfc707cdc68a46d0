"""Few secondary cells, chosen anew all at once."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.desk.suppress.solver import Mark, Needs, Problem, optimum, prove
from discreet.desk.suppress.solver.few import cheapest
from discreet.desk.suppress.solver.shared import suppress_shared
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem


def with_sums(inner: np.ndarray) -> np.ndarray:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis, keepdims=True)], axis)
    return inner


def one_primary() -> tuple[TableSystem, Problem]:
    """A cell that must move by 5, beside cells at 2, 3 and 4 that can each make room for it.

    A rectangle takes one cell of its row, one of its column and the one across. The cheapest has
    the second column: 2 in its row, 1 across and 1 in its column.
    """
    values = with_sums(np.array([[20.0, 8.0, 9.0], [30.0, 9.0, 9.0]]))
    weights = np.full(values.shape, 100.0)
    weights[0, 1:3] = 2.0, 3.0
    weights[1, :3] = 1.0
    primary = np.zeros(values.shape, bool)
    primary[0, 0] = True
    amount = np.where(primary, 5.0, 0.0)
    return TableSystem.of((2, 3)), Problem.of(
        values, primary, weights, rise=amount, fall=amount, whole=False
    )


def test_the_cheapest_rectangle_is_chosen_and_bounds_all_others():
    system, problem = one_primary()
    found = cheapest(system, problem, [0, 1], 100.0)
    assert found.withheld is not None
    chosen = found.withheld[system.variable].reshape(3, 4)
    assert np.argwhere(chosen).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert found.bound == pytest.approx(4.0)


def test_what_is_the_cheapest_already_is_proved_so():
    system, problem = one_primary()
    found = cheapest(system, problem, [0, 1], 4.0)
    assert found.withheld is None
    assert found.bound == 4.0


def test_needs_that_are_not_named_ask_for_nothing():
    system, problem = one_primary()
    assert len(Needs.of(problem)) == 2
    found = cheapest(system, problem, [], 100.0)
    assert found.withheld is not None
    assert found.bound == 0.0


@pytest.mark.parametrize("seed", range(12))
def test_the_gap_holds_and_what_is_called_solved_is_the_optimum(seed):
    rng = np.random.default_rng(seed)
    values = with_sums(np.floor(rng.lognormal(4, 1.2, (4, 5))) + 1)
    primary = np.zeros(values.shape, bool)
    primary[:4, :5] = rng.random((4, 5)) < 0.2
    primary[0, 0] = True
    amount = np.where(primary, np.ceil(0.2 * values), 0.0)
    weights = np.log1p(values)
    system = TableSystem.of((4, 5))
    problem = Problem.of(values, primary, weights, rise=amount, fall=amount, whole=False)
    found = suppress_shared(system, problem)
    best = optimum(system, problem)
    assert best.status is Status.SOLVED
    assert prove(system, problem, found).safe
    cost, least = problem.total(found.values), problem.total(best.values)
    assert cost * (1 - found.gap) <= least * (1 + 1e-5) <= cost * (1 + 2e-5)
    assert (found.status is Status.SOLVED) == (found.gap == 0.0)
    assert (found.values == Mark.PRIMARY).sum() == primary.sum()
