"""Magnitudes: changes that are sums of several ways, shared by needs."""

from __future__ import annotations

import numpy as np

from discreet.desk.suppress.solver import Insiders, Mark, Problem, exposed, prove, views
from discreet.desk.suppress.solver.flows import Flows
from discreet.desk.suppress.solver.shared import suppress_shared
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem


def with_sums(inner: np.ndarray) -> np.ndarray:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis, keepdims=True)], axis)
    return inner


def test_one_change_goes_several_ways():
    # The first cell must be able to move by 10. Its neighbours in the row are 6 each: neither can
    # make room alone, both together can. Six inner cells are withheld, five of them at 1 each; a
    # single way would have to lead through sums, at 100.
    values = with_sums(np.array([[20.0, 6.0, 6.0], [30.0, 9.0, 9.0]]))
    weights = np.full(values.shape, 100.0)
    weights[:2, :3] = 1.0
    primary = np.zeros(values.shape, bool)
    primary[0, 0] = True
    amount = np.where(primary, 10.0, 0.0)
    system = TableSystem.of((2, 3))
    problem = Problem.of(values, primary, weights, rise=amount, fall=amount, whole=False)
    found = suppress_shared(system, problem)
    withheld = found.withheld.reshape(values.shape)
    assert withheld[:2, :3].all()
    assert withheld.sum() == 6
    assert prove(system, problem, found).safe


def test_primary_cells_that_protect_each_other_need_no_others():
    # A change of +10, −10 / −10, +10 keeps all sums, and each cell is at least 10.
    values = with_sums(np.array([[40.0, 30.0], [20.0, 10.0]]))
    primary = np.zeros(values.shape, bool)
    primary[:2, :2] = True
    amount = np.where(primary, 10.0, 0.0)
    problem = Problem.of(values, primary, 1.0, rise=amount, fall=amount, whole=False)
    found = suppress_shared(TableSystem.of((2, 2)), problem)
    assert found.status is Status.SOLVED
    assert int((found.values == Mark.SECONDARY).sum()) == 0


def test_a_cell_that_nothing_protects_is_named():
    # 3 and 4 in the row cannot give 10, and the sums must be published.
    values = with_sums(np.array([[20.0, 3.0, 4.0], [30.0, 9.0, 9.0]]))
    weights = np.full(values.shape, np.inf)
    weights[:2, :3] = 1.0
    primary = np.zeros(values.shape, bool)
    primary[0, 0] = True
    amount = np.where(primary, 10.0, 0.0)
    problem = Problem.of(values, primary, weights, rise=amount, fall=amount, whole=False)
    found = suppress_shared(TableSystem.of((2, 3)), problem)
    assert found.status is Status.INFEASIBLE
    assert found.failed == (0,)


def test_changes_keep_the_equations_and_their_bounds():
    rng = np.random.default_rng(3)
    values = with_sums(np.floor(rng.lognormal(3, 1, (3, 4, 2))))
    system = TableSystem.of((3, 4, 2))
    problem = Problem.of(values, values == values.max(), 1.0, rise=1.0, fall=1.0, whole=False)
    flows = Flows(system, problem)
    variable, factor = flows.change(0, 5.0, True, np.ones(system.variables))
    change = np.zeros(system.variables)
    change[variable] = factor
    assert not (system.equations @ change).any()
    figures = np.zeros(system.variables)
    figures[system.variable] = problem.values
    often = (figures[variable] / np.abs(factor)).min()
    assert often * abs(change[0]) >= 5.0


def test_patterns_withstand_everybody_by_plain_programmes():
    rng = np.random.default_rng(8)
    for _ in range(6):
        values = with_sums(np.round(rng.lognormal(3, 1.2, (4, 5)), 1) + 1)
        primary = np.zeros(values.shape, bool)
        primary[:4, :5] = rng.random((4, 5)) < 0.2
        primary[0, 0] = True
        amount = np.where(primary, np.round(0.3 * values, 2), 0.0)
        flat = values.reshape(-1)
        cell = np.arange(flat.size)
        known = Insiders.of(
            cell, cell, flat * 0.4, amount.reshape(-1), amount.reshape(-1) * 0.4,
            (amount.reshape(-1), amount.reshape(-1)),
        )  # fmt: skip
        problem = Problem.of(
            values, primary, 1.0, rise=amount, fall=amount, whole=False, insiders=known
        )
        system = TableSystem.of((4, 5))
        found = suppress_shared(system, problem)
        if found.status is Status.INFEASIBLE:
            continue
        for who in views(problem, found.withheld):
            assert exposed(system, problem, found.withheld, who) == []
