"""What no safe pattern is cheaper than: a cell withheld alone in an equation is known.

One linear programme over which cells are withheld, for tables of thousands of cells.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.desk.suppress.solver.problem import Problem
from discreet.solve.linear import LinearProgram
from discreet.solve.system import TableSystem
from discreet.types import Floats

# Larger programmes, in entries of their conditions, would take minutes.
MOST_ENTRIES = 1_000_000
# Sums of floats are off by less than this share.
NEAR = 1e-9


def line_bound(system: TableSystem, problem: Problem) -> float:
    """Return a cost that no safe pattern is below; 0 where there are too many cells to say.

    Notes
    -----
    Of a safe pattern as cheap as any, no secondary cell is the only one withheld in an equation:
    everybody would know it, so it could be published as well. So z_i ≤ Σ z_j over the others j of
    each equation that i is in, with z = 1 for primary cells. These are conditions of the model of
    [Fischetti2000], and those that need no attacker to be found; contributors only add others.
    """
    size, cost = system.variables, problem.cost
    shut = np.zeros(size, bool)
    shut[system.variable[np.isinf(cost)]] = True
    price: Floats = np.bincount(system.variable, np.where(np.isinf(cost), 0.0, cost), size).astype(
        np.float64
    )
    taken = np.zeros(size, bool)
    taken[system.variable[problem.primary | problem.absent]] = True
    kept = np.flatnonzero(~shut)
    equations = abs(sparse.csr_matrix(system.equations, dtype=np.float64))[:, kept].tocsr()
    equations.data[:] = 1.0
    sizes = np.diff(equations.indptr)
    if int((sizes.astype(np.int64) ** 2).sum()) > MOST_ENTRIES:
        return 0.0
    # A condition for each cell of each equation: the sum of all, less the cell twice.
    row = np.repeat(np.arange(len(sizes)), sizes)
    number = np.arange(len(row))
    own = sparse.csr_matrix((np.ones(len(row)), (number, equations.indices)), (len(row), len(kept)))
    conditions = equations[row] - 2 * own
    low, high = taken[kept].astype(np.float64), np.ones(len(kept))
    programme = LinearProgram(
        conditions, np.zeros(len(row)), np.full(len(row), np.inf), low, high, price[kept],
        interior=True,
    )  # fmt: skip
    if not programme.run().solved:
        return 0.0
    # Any prices of 0 or more of the conditions prove a bound, however far the solver went.
    rest = price[kept] - conditions.T @ np.maximum(programme.row_prices(), 0.0)
    return max(0.0, float(np.minimum(rest * low, rest * high).sum()) * (1 - NEAR))
