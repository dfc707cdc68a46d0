"""What no safe pattern is cheaper than."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.desk.suppress.solver import Problem, optimum, suppress
from discreet.desk.suppress.solver.lines import line_bound
from discreet.solve.linear import LinearProgram
from discreet.solve.solution import Solution
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy


def problem_of(size: int, seed: int) -> Problem:
    counts = np.floor(np.random.default_rng(seed).lognormal(2.6, 1.25, (size, size)))
    for axis in range(2):
        counts = np.concatenate([counts, counts.sum(axis, keepdims=True)], axis)
    primary = (counts > 0) & (counts <= 2)
    weights = np.where(counts == 0, np.inf, 1.0)
    return Problem.of(counts, primary, weights, width=np.where(primary, 1.0, 0.0))


def test_one_primary_cell_of_a_cube_takes_seven_others():
    # In each line of a withheld cell another one is withheld: 2 · 2 · 2 cells at least.
    counts = np.full((3, 3, 3), 5.0)
    counts[0, 0, 0] = 1
    for axis in range(3):
        counts = np.concatenate([counts, counts.sum(axis, keepdims=True)], axis)
    primary = counts == 1
    problem = Problem.of(counts, primary, 1.0, width=np.where(primary, 1.0, 0.0))
    assert line_bound(TableSystem.of((3, 3, 3)), problem) == pytest.approx(7, abs=1e-4)


def test_no_optimum_is_below_the_bound():
    for seed in range(4):
        problem = problem_of(5, seed)
        system = TableSystem.of((5, 5))
        known = suppress([Hierarchy.flat(5)] * 2, problem)
        best = optimum(system, problem, known)
        assert str(best.status) == "solved"
        assert line_bound(system, problem) <= problem.total(best.values) + 1e-9


def test_larger_tables_have_a_gap_too():
    # The relaxation by attackers is for small tables; this one has 3,721 cells.
    problem = problem_of(60, 1)
    found = suppress([Hierarchy.flat(60)] * 2, problem, effort=0.05)
    assert np.isfinite(found.gap)


def test_a_solver_that_stops_half_way_has_a_bound_too(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, system = problem_of(20, 0), TableSystem.of((20, 20))
    whole, run = line_bound(system, problem), LinearProgram.run

    def short(programme: LinearProgram) -> Solution:
        programme.solver.setOptionValue("ipm_iteration_limit", 5)
        found = run(programme)
        assert not found.solved
        return found

    monkeypatch.setattr(LinearProgram, "run", short)
    assert 0 < line_bound(system, problem) < whole
