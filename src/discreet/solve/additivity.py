"""The closest additive table of integers to one that does not add up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from discreet.errors import ParameterError
from discreet.solve import kernels
from discreet.solve.linear import LinearProgram
from discreet.solve.search import Search
from discreet.solve.solution import Solution, Status
from discreet.solve.system import TableSystem

Tell = Callable[[str, int, int | None], None]

# Up to so many entries the linear programme takes seconds; beyond, only the search is run.
MOST_ENTRIES = 400_000
# Simplex ends in a corner, which is whole for two-way tables; beyond this size it is too slow.
MOST_CORNER = 60_000
# Trials for each inner cell, and the heat in units of one unit of distance: low after a linear
# programme, whose rounded solution is close already; high without.
TRIALS = 600
WARM, COLD = 0.2, 0.1
HOT = 1.5
# What a miss of a cell that must be met costs in the search.
FIXED = 1e4
MIP_NODES = 2_000


def closest_additive(
    system: TableSystem,
    target: ArrayLike,
    rng: np.random.Generator,
    fixed: ArrayLike | None = None,
    keep_zeros: bool = False,
    counted: ArrayLike | None = None,
    tell: Tell | None = None,
) -> Solution:
    """Return the inner cells of an additive table of integers closest to the target.

    `target` has an integer of 0 or more for each cell, in the shape of the cells. The distance is
    Σ|cell − target| over all cells; cells of equal contributors count once each. `fixed` marks
    cells that must be met exactly, `keep_zeros` the inner zeros as such; cells that `counted` does
    not mark have no target. Two-way tables: solved,
    exactly. Otherwise feasible: `gap` is (distance − lower bound) / lower bound, which no table
    can undercut; 0 is proof that it is the closest. Stopped: the best so far.
    """
    wanted, weights = _wanted(system, target, counted)
    must = np.zeros(system.variables, bool)
    if fixed is not None:
        flags = np.asarray(fixed, bool)
        if flags.shape != system.shape:
            raise ParameterError(f"fixed must have the shape of the cells, {system.shape}.")
        np.logical_or.at(must, system.variable, flags.reshape(-1))
    inner = wanted[system.inner]
    low = np.where(must[system.inner], inner, 0)
    high = np.where(must[system.inner] | (keep_zeros & (inner == 0)), inner, 2**40)
    start, bound, corner = _relaxed(system, wanted, weights, must, low, high, tell)
    if start is None:
        return Solution(Status.INFEASIBLE, inner, np.inf)
    if corner:
        return Solution(Status.SOLVED, np.rint(start).astype(np.int64), 0.0)
    cost = np.where(must, FIXED, weights)
    first = np.clip(np.rint(start).astype(np.int64), low, high)
    search = Search(system, first, low, high, wanted, wanted, rng, weights=cost)
    best, least = first, np.inf
    status = Status.FEASIBLE
    try:
        before = search.run(0.0, 0.0, 0)
        best, least = search.x.copy(), before
        heat = WARM if np.isfinite(bound) and before < 2 * bound + 1 else HOT
        rounds = 4
        for done in range(rounds):
            if tell is not None:
                tell("search", done, rounds)
            search.run(heat, COLD, TRIALS // rounds)
            miss = search.run(0.0, 0.0, 10)
            if miss < least:
                best, least = search.x.copy(), miss
            heat = WARM
    except KeyboardInterrupt:
        status = Status.STOPPED
    if must.any() and (search.sums @ best != wanted)[must].any():
        repaired = _repaired(system, best, wanted, weights, must, low, high)
        if repaired is None:
            return Solution(Status.NOT_CONVERGED, best, np.inf)
        best = repaired
    distance = float((weights * np.abs(search.sums @ best - wanted)).sum())
    bound = max(bound if np.isfinite(bound) else 0.0, _packed(system, wanted, weights))
    gap = 0.0 if distance <= bound + 1e-6 else (distance - bound) / max(bound, 1.0)
    # Distances are integers: less than one above the bound is the least there is.
    if status is Status.FEASIBLE and distance < bound + 1 - 1e-6:
        status, gap = Status.SOLVED, 0.0
    return Solution(status, best, gap)


def _wanted(
    system: TableSystem, target: ArrayLike, counted: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the target of each variable and how many cells it stands for."""
    given = np.asarray(target)
    if given.shape != system.shape:
        raise ParameterError(f"the table must have the shape {system.shape}. Got {given.shape}.")
    if given.dtype.kind not in "iu" and (given != np.rint(given)).any():
        raise ParameterError("the table must hold integers.")
    flat, variable = given.reshape(-1).astype(np.int64), system.variable
    if counted is not None:
        chosen = np.asarray(counted, bool).reshape(-1)
        if len(chosen) != len(flat):
            raise ParameterError(f"counted must have the shape of the cells, {system.shape}.")
        flat, variable = flat[chosen], variable[chosen]
    if flat.size and int(flat.min()) < 0:
        raise ParameterError("the table must not hold negative numbers.")
    weights = np.bincount(variable, minlength=system.variables)
    # Cells that are one variable may have different targets: every value between the middle ones
    # is as close as another. A variable that no cell counts has no weight, so any target does.
    order = np.lexsort((flat, variable))
    starts = np.searchsorted(variable[order], np.arange(system.variables))
    wanted = np.zeros(system.variables, np.int64)
    some = weights > 0
    wanted[some] = flat[order][(starts + (weights - 1) // 2)[some]]
    return wanted, weights.astype(np.float64)


def _relaxed(
    system: TableSystem,
    wanted: NDArray[np.int64],
    weights: NDArray[np.float64],
    must: NDArray[np.bool_],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    tell: Tell | None,
) -> tuple[NDArray[np.float64] | None, float, bool]:
    """Return the closest real table, its distance, and whether it is a whole corner.

    No table at all: None. Too large a programme: the target itself, with an infinite distance.
    """
    inner = wanted[system.inner].astype(np.float64)
    if system.members.nnz > MOST_ENTRIES:
        return inner, np.inf, False
    if tell is not None:
        tell("linear programme", 0, None)
    margins = np.setdiff1d(np.arange(system.variables), system.inner)
    rows = system.members[margins].astype(np.float64)
    off = wanted[margins] - rows @ inner
    loose = margins[~must[margins]]
    place = np.flatnonzero(~must[margins])
    slack = sparse.csr_matrix(
        (np.ones(len(loose)), (place, np.arange(len(loose)))), (len(margins), len(loose))
    )
    matrix = sparse.hstack([rows, -rows, -slack, slack]).tocsc()
    ends = np.concatenate([high - inner, inner - low, np.full(2 * len(loose), np.inf)])
    cost = np.concatenate([np.tile(weights[system.inner], 2), np.tile(weights[loose], 2)])
    corner = system.members.nnz <= MOST_CORNER and _two_way(system)
    programme = LinearProgram(
        matrix, off, off, np.zeros(len(ends)), ends, cost, interior=not corner
    )
    found = programme.run()
    if found.status is Status.INFEASIBLE:
        return None, np.inf, False
    if not found.solved:
        return inner, np.inf, False
    size = len(inner)
    table = inner + found.values[:size] - found.values[size : 2 * size]
    whole = bool((np.abs(table - np.rint(table)) < 1e-6).all())
    if corner and whole:
        # The corner is rounded before use: it is the optimum only if it still is one.
        rounded = np.rint(table)
        distance = weights @ np.abs(system.members.astype(np.float64) @ rounded - wanted)
        whole = distance <= programme.cost + 1e-6 * (1 + programme.cost)
    return table, programme.cost, corner and whole


def _two_way(system: TableSystem) -> bool:
    """Return whether every inner cell is in at most two chains of cells, as in a two-way table."""
    return len([size for size in system.shape if size > 1]) <= 2


def _packed(system: TableSystem, wanted: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """Return a lower bound: equations that share no cell must each be mended by themselves."""
    rows = system.equations
    if not rows.shape[0]:
        return 0.0
    off = np.abs(rows @ wanted)
    lightest = np.minimum.reduceat(weights[rows.indices], rows.indptr[:-1])
    most = np.abs(rows.data).max(initial=1)
    gain = off * lightest / most
    order = np.argsort(-gain, kind="stable").astype(np.int64)
    taken = kernels.apart(
        order, rows.indptr.astype(np.int32), rows.indices.astype(np.int32), system.variables
    )
    return float(gain[order[taken]].sum())


def _repaired(
    system: TableSystem,
    near: NDArray[np.int64],
    wanted: NDArray[np.int64],
    weights: NDArray[np.float64],
    must: NDArray[np.bool_],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    """Return a table near to one, that meets what is fixed, by an integer programme; or None."""
    size = len(near)
    loose = np.flatnonzero(~must)
    sums = system.members.astype(np.float64)
    slack = sparse.csr_matrix(
        (np.ones(len(loose)), (loose, np.arange(len(loose)))), (system.variables, len(loose))
    )
    matrix = sparse.hstack([sums, -slack, slack])
    for reach in (2, 10):
        least = np.concatenate([np.maximum(near - reach, low), np.zeros(2 * len(loose))])
        most = np.concatenate([np.minimum(near + reach, high), np.full(2 * len(loose), np.inf)])
        cost = np.concatenate([np.zeros(size), np.tile(weights[loose], 2)])
        whole = np.arange(len(cost)) < size
        right = wanted.astype(np.float64)
        programme = LinearProgram(
            matrix, right, right, least.astype(float), most, cost, whole, nodes=MIP_NODES
        )
        found = programme.run()
        if len(found.values):
            table = np.asarray(np.rint(found.values[:size]), np.int64)
            if (system.members.astype(np.int64) @ table == wanted)[must].all():
                return table
    return None
