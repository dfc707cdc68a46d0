"""The least adjustment of a small table, proved by an integer programme."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from discreet.desk.adjust import Norm
from discreet.desk.adjust.magnitudes.problem import Adjusted, Problem
from discreet.solve.linear import LinearProgram
from discreet.solve.solution import Status
from discreet.types import Floats

# How far beyond its protection a sensitive cell may go, in units of it: tighter bounds make the
# proof shorter; the least adjustment hardly ever needs more.
BEYOND = 10.0


def adjust_exactly(
    problem: Problem, seconds: float | None = 60.0, nodes: int | None = None
) -> Adjusted:
    """Return the changes of least Σ weight·|z|; solved if proved within the time, or the nodes.

    Stopped: the best found, with the bound that was proved. Infeasible: no changes protect every
    sensitive cell within the capacities.
    """
    size, movers = len(problem.values), problem.movers
    count = len(movers)
    rows = np.arange(count)
    up, down = problem.upper[movers], problem.lower[movers]
    most_up = np.minimum(problem.most[movers], BEYOND * np.maximum(up, down))
    most_down = np.minimum(-problem.least[movers], BEYOND * np.maximum(up, down))
    pick = sparse.csr_matrix((np.ones(count), (rows, movers)), (count, size))
    none = sparse.csr_matrix((count, size))

    def row(above: Any, below: Any, choice: Floats) -> Any:
        return sparse.hstack([above, below, sparse.diags(choice)])

    matrix = sparse.vstack(
        [
            sparse.hstack(
                [
                    problem.equations,
                    -problem.equations,
                    sparse.csr_matrix((problem.equations.shape[0], count)),
                ]
            ),
            # choice 1: at least `up` above, nothing below; choice 0: the other way round.
            row(pick, none, -up),
            row(pick, none, -most_up),
            row(none, pick, down),
            row(none, pick, most_down),
        ]
    )
    zeros, ends = np.zeros(problem.equations.shape[0]), np.full(count, np.inf)
    programme = LinearProgram(
        matrix,
        np.concatenate([zeros, np.zeros(count), -ends, down, -ends]),
        np.concatenate([zeros, ends, np.zeros(count), ends, most_down]),
        np.zeros(2 * size + count),
        np.concatenate([problem.most, -problem.least, np.ones(count)]),
        np.concatenate([problem.weights, problem.weights, np.zeros(count)]),
        np.arange(2 * size + count) >= 2 * size,
        seconds,
        nodes=nodes,
    )
    found = programme.run()
    nothing = np.zeros(size)
    if not len(found.values):
        return Adjusted(
            found.status, problem.cells(nothing), np.inf, problem.cells(nothing) > 0, np.nan, np.nan
        )
    change = found.values[:size] - found.values[size : 2 * size]
    bound, cost = programme.bound, problem.cost(change, Norm.L1)
    short = problem.cells(problem.short(change).astype(np.float64)) > 0
    status = Status.SOLVED if found.solved else Status.STOPPED
    gap = 0.0 if found.solved else cost / bound - 1 if bound > 0 else np.inf
    return Adjusted(status, problem.cells(change), float(gap), short, cost, bound)
