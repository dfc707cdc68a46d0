"""Senses by an integer programme: all of them, to the proof, or some while the others are held."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from discreet.desk.adjust import Norm
from discreet.desk.adjust.magnitudes.problem import Adjusted, Problem
from discreet.solve.linear import LinearProgram
from discreet.solve.solution import Solution, Status
from discreet.types import Flags, Floats

# Without a first table to say how far a cell may go at most, trials in units of what cells need.
TRIALS = (10.0, 1e3, 1e6)
# A proof is one if nothing but rounding errors is between the cost and its bound.
PROVED = 1e-6


class SenseProgramme:
    """The integer programme of an adjustment: a choice of 1 for each sensitive cell that goes up.

    Columns are the parts of the change above and below 0, then the choices. A cell goes at most as
    far as `most_up` and `most_down` say: a bound that is not the problem's own must be one that no
    better table breaks.
    """

    def __init__(self, problem: Problem, most_up: Floats, most_down: Floats) -> None:
        self.problem = problem
        size, movers = len(problem.values), problem.movers
        count, sums = len(movers), problem.equations.shape[0]
        up, down = problem.upper[movers], problem.lower[movers]
        rows = np.arange(count)
        pick = sparse.csr_matrix((np.ones(count), (rows, movers)), (count, size))
        none = sparse.csr_matrix((count, size))

        def row(above: Any, below: Any, choice: Floats) -> Any:
            return sparse.hstack([above, below, sparse.diags(choice)])

        equations = [problem.equations, -problem.equations, sparse.csr_matrix((sums, count))]
        matrix = sparse.vstack(
            [
                sparse.hstack(equations),
                # choice 1: at least `up` above, nothing below; choice 0: the other way round.
                row(pick, none, -up),
                row(pick, none, -most_up),
                row(none, pick, down),
                row(none, pick, most_down),
            ]
        )
        zeros, ends = np.zeros(sums), np.full(count, np.inf)
        self.low = np.zeros(2 * size + count)
        self.high = np.concatenate([problem.most, -problem.least, np.ones(count)])
        self.programme = LinearProgram(
            matrix,
            np.concatenate([zeros, np.zeros(count), -ends, down, -ends]),
            np.concatenate([zeros, ends, np.zeros(count), ends, most_down]),
            self.low,
            self.high,
            np.concatenate([problem.weights, problem.weights, np.zeros(count)]),
            np.arange(2 * size + count) >= 2 * size,
            relative=PROVED / 10,
        )

    def run(
        self,
        start: Floats | None = None,
        free: Flags | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
    ) -> tuple[Solution, Floats]:
        """Return how it ended, and the best changes found; `start` has changes that keep all.

        Senses that are not `free` stay as the start has them.
        """
        size, movers = len(self.problem.values), self.problem.movers
        low, high = self.low.copy(), self.high.copy()
        if start is not None:
            senses = (start[movers] > 0).astype(np.float64)
            if free is not None:
                low[2 * size :] = np.where(free, 0.0, senses)
                high[2 * size :] = np.where(free, 1.0, senses)
            parts = np.maximum(start, 0.0), np.maximum(-start, 0.0), senses
        self.programme.set_all_bounds(low, high)
        self.programme.limit(nodes, seconds)
        if start is not None:
            self.programme.start(np.concatenate(parts))
        found = self.programme.run()
        if not len(found.values):
            return found, found.values
        return found, found.values[:size] - found.values[size : 2 * size]

    @property
    def bound(self) -> float:
        """What no table costs less than, if the last run freed all senses."""
        return self.programme.bound

    @property
    def steps(self) -> int:
        """How many steps of the simplex method the last run took."""
        return self.programme.steps


def farthest(problem: Problem, cost: float) -> tuple[Floats, Floats]:
    """Return how far up and down a sensitive cell can go in a table of at most this cost."""
    weights = problem.weights[problem.movers]
    reach = np.divide(cost, weights, out=np.full(len(weights), np.inf), where=weights > 0)
    reach *= 1 + PROVED
    return (
        np.minimum(problem.most[problem.movers], np.maximum(reach, problem.upper[problem.movers])),
        np.minimum(
            -problem.least[problem.movers], np.maximum(reach, problem.lower[problem.movers])
        ),
    )


def adjust_exactly(
    problem: Problem,
    seconds: float | None = 60.0,
    nodes: int | None = None,
    start: Floats | None = None,
) -> Adjusted:
    """Return the changes of least Σ weight·|z|; solved if proved within the time, or the nodes.

    `start` has changes that protect every sensitive cell, by variable. Stopped: the best found,
    with the bound that was proved. Infeasible: no changes protect every sensitive cell within the
    capacities.

    Notes
    -----
    An integer programme needs to know how far each sensitive cell can go. A table that costs less
    than a known one has weight·|z| below that cost in every cell: a bound that no better table
    breaks. So without a start a first table is looked for.
    """
    if start is None:
        start = first_table(problem, nodes, seconds)
    if start is None:
        nothing = problem.cells(np.zeros(len(problem.values)))
        status = Status.NOT_CONVERGED if _unbounded(problem) else Status.INFEASIBLE
        return Adjusted(status, nothing, np.inf, nothing > 0, np.nan, np.nan)
    far = farthest(problem, problem.cost(start))
    if not np.isfinite(far).all():
        return _judged(problem, start, -np.inf)
    programme = SenseProgramme(problem, *far)
    _, change = programme.run(start, None, nodes, seconds)
    kept = len(change) and not problem.short(change).any()
    if not kept or problem.cost(change) > problem.cost(start):
        change = start
    return _judged(problem, change, programme.bound)


def first_table(
    problem: Problem,
    nodes: int | None = None,
    seconds: float | None = None,
    start: Floats | None = None,
) -> Floats | None:
    """Return the changes of some table that protects every sensitive cell, if trials find one.

    With a `start` only those senses are decided anew that are in an equation with what is short.
    """
    movers, free = problem.movers, None
    if start is not None:
        sums = abs(problem.equations)
        free = (sums.T @ (sums @ problem.short(start).astype(np.float64)) > 0)[movers]
    needed = np.maximum(problem.upper[movers], problem.lower[movers])
    if start is not None:
        needed = np.maximum(needed, np.abs(start[movers]))
    for times in TRIALS:
        far = [np.minimum(side[movers], times * needed) for side in (problem.most, -problem.least)]
        _, change = SenseProgramme(problem, *far).run(start, free, nodes, seconds)
        if len(change) and not problem.short(change).any():
            return change
        if all((side[movers] <= times * needed).all() for side in (problem.most, -problem.least)):
            break
    return None


def _unbounded(problem: Problem) -> bool:
    """Return whether a sensitive cell may go farther than was tried."""
    movers = problem.movers
    needed = np.maximum(problem.upper[movers], problem.lower[movers])
    return bool((problem.most[movers] > TRIALS[-1] * needed).any())


def _judged(problem: Problem, change: Floats, bound: float) -> Adjusted:
    cost = problem.cost(change, Norm.L1)
    short = problem.cells(problem.short(change).astype(np.float64)) > 0
    gap = cost / bound - 1 if bound > 0 else np.inf if cost else 0.0
    solved = gap <= PROVED
    return Adjusted(
        Status.SOLVED if solved else Status.STOPPED,
        problem.cells(change),
        0.0 if solved else float(gap),
        short,
        cost,
        min(bound, cost),
    )
