"""Least squares adjustment for given senses."""

from __future__ import annotations

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.adjust.magnitudes.problem import Problem
from discreet.errors import InternalError
from discreet.types import Floats


def least_squares(problem: Problem, up: NDArray[np.bool_], near: Floats) -> Floats:
    """Return the changes of least Σ weight·z² with these senses; `near` has them too.

    Cells that are short in `near` stay as they are there.
    """
    movers = problem.movers
    low, high = problem.least.copy(), problem.most.copy()
    low[movers[up]] = problem.upper[movers[up]]
    high[movers[~up]] = -problem.lower[movers[~up]]
    short = problem.short(near)
    low[short] = high[short] = near[short]
    # The given changes keep the bounds but for rounding; so there is a solution.
    low, high = np.minimum(low, near), np.maximum(high, near)
    # Changes in units of the largest, and weights of that of a median cell: figures in single
    # units would drive the solver to numbers it cannot tell apart.
    unit = float(np.abs(near).max(initial=0.0)) or 1.0
    size = len(low)
    identity = sparse.identity(size, format="csc")
    matrix = sparse.vstack([problem.equations, identity, -identity]).tocsc()
    right = np.concatenate([np.zeros(problem.equations.shape[0]), high / unit, -low / unit])
    # Cells that are not published have no weight; a little keeps the answer one.
    weights = np.maximum(problem.weights, 1e-9 * float(problem.weights.max(initial=0.0)))
    weights = weights / (float(np.median(weights)) or 1.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.diags(2 * weights).tocsc(),
        np.zeros(size),
        matrix,
        right,
        [clarabel.ZeroConeT(problem.equations.shape[0]), clarabel.NonnegativeConeT(2 * size)],
        settings,
    )
    found = solver.solve()
    if found.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
        raise InternalError("the quadratic programme of an adjustment was not solved.")
    return np.asarray(np.clip(np.array(found.x, np.float64) * unit, low, high))
