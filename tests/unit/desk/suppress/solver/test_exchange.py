"""Parts of a pattern chosen anew, and the small changes that prove them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from discreet.desk.suppress.solver import Problem, exchange, optimum, suppress
from discreet.desk.suppress.solver.exchange import Exchange, fits
from discreet.desk.suppress.solver.lines import line_bound
from discreet.desk.suppress.solver.problem import Needs
from discreet.desk.suppress.solver.steps import Steps, grouped
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy


def with_margins(counts: np.ndarray) -> np.ndarray:
    for axis in range(counts.ndim):
        counts = np.concatenate([counts, counts.sum(axis, keepdims=True)], axis)
    return counts


def problem_of(counts: np.ndarray, **more: object) -> Problem:
    primary = (counts > 0) & (counts <= 2)
    weights = np.where(counts == 0, np.inf, 1.0)
    return Problem.of(counts, primary, weights, width=np.where(primary, 1.0, 0.0), **more)


def with_totals(needs: Needs, shape: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """A poor certificate for each inner cell: it rises by 1, with its row, column and the total."""
    last = np.array(shape) - 1
    out = []
    for cell in needs.cell:
        row, column = np.unravel_index(cell, shape)
        at = [(row, column), (row, last[1]), (last[0], column), tuple(last)]
        out.append((np.ravel_multi_index(np.array(at).T, shape), np.ones(4, np.int64)))
    return out


def test_cells_of_an_equation_of_two_are_one_column():
    # a + b = 0, b − c = 0: b and c against a. d is alone in an equation, so it cannot move.
    block = sparse.csr_matrix(np.array([[1.0, 1, 0, 0], [0, 1, -1, 0], [0, 0, 0, 1]]))
    group, sign, rows = grouped(block)
    assert group[0] == group[1] == group[2]
    assert sign[0] == -sign[1] == -sign[2] != 0
    assert sign[3] == 0
    assert rows.shape[0] == 0


def test_the_smallest_change_is_a_rectangle():
    counts = with_margins(np.array([[1.0, 5, 5], [5, 5, 5], [5, 5, 5]]))
    system = TableSystem.of((3, 3))
    cells = np.array([0, 1, 4, 5])  # rows 1 and 2, columns 1 and 2 of a table four wide
    kept = np.sort(system.variable[cells])
    room = counts.reshape(-1)[cells]
    steps = Steps(sparse.csc_matrix(system.equations), kept, np.full(4, np.inf), room)
    change = steps.change(int(system.variable[0]))
    assert change is not None
    assert np.abs(change[1]).tolist() == [1, 1, 1, 1]
    # Without one corner nothing moves.
    three = Steps(sparse.csc_matrix(system.equations), kept[:3], np.full(3, np.inf), room[:3])
    assert three.change(int(system.variable[0])) is None
    assert not three.moved(system.variable[[0]])[0]


def test_a_poor_pattern_becomes_the_optimum():
    # Everything that may be withheld is; chosen anew, as little as the proved optimum.
    for seed in range(3):
        draws = np.random.default_rng(seed).lognormal(2.6, 1.25, (6, 6))
        counts = with_margins(np.floor(draws))
        problem = problem_of(counts)
        needs, system = Needs.of(problem), TableSystem.of((6, 6))
        assert fits(problem, needs)
        state = Exchange(system, problem, needs, counts.shape)
        changes = state.run(with_totals(needs, counts.shape), 1)
        used = np.zeros(counts.size, bool)
        for change in changes:
            assert change is not None
            used[change[0]] = True
        known = suppress([Hierarchy.flat(6)] * 2, problem)
        best = optimum(system, problem, known)
        assert str(best.status) == "solved"
        assert problem.cost[used].sum() == problem.total(best.values)


def test_parts_are_chosen_with_whole_certificates(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exchange, "WHOLE", 8)
    monkeypatch.setattr(exchange, "PART", 8)
    for seed in range(3):
        counts = with_margins(np.floor(np.random.default_rng(seed).lognormal(2, 1.25, (9, 9))))
        problem = problem_of(counts)
        needs, system = Needs.of(problem), TableSystem.of((9, 9))
        begun = with_totals(needs, counts.shape)
        changes = Exchange(system, problem, needs, counts.shape).run(begun, 20)
        used = np.zeros((2, counts.size), bool)
        for cell, old, new in zip(needs.cell, begun, changes, strict=True):
            assert new is not None
            change = np.zeros(counts.size, np.int64)
            change[new[0]] = new[1]
            table = change.reshape(counts.shape)
            # Every row and column, its total last, still adds up; the cell moves; nothing below 0.
            assert (table[:, :-1].sum(1) == table[:, -1]).all()
            assert (table[:-1].sum(0) == table[-1]).all()
            assert change[cell] != 0
            assert any((counts + way * table >= 0).all() for way in (1, -1))
            used[0, old[0]], used[1, new[0]] = True, True
        assert not used[1, problem.forbidden].any()
        before, after = (problem.cost[flags].sum() for flags in used)
        assert after < before


def test_who_is_alone_in_a_cell_asks_for_a_third():
    # Two 1s in one row of a table without zeros: their rectangle has two more cells, 2 in all. Each
    # of the two knows their own cell, so the row has a third, and every column of these two: one
    # line of three and three columns of two have 6 cells, 4 of them secondary.
    counts = with_margins(np.array([[1.0, 1, 9, 9], [9, 9, 9, 9], [9, 9, 9, 9]]))
    system = TableSystem.of((3, 4))
    assert line_bound(system, problem_of(counts)) > 2 - 1e-4
    owner = np.where(counts == 1, np.arange(counts.size).reshape(counts.shape), -1)
    guarded = line_bound(system, problem_of(counts, owner=owner))
    assert 4 - 1e-3 < guarded <= 4 + 1e-6
