"""The closest additive table of integers to one that does not add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.compiling import fitting
from discreet.errors import ParameterError
from discreet.later import later
from discreet.progress import Tell
from discreet.solve import kernels
from discreet.solve.kernels import Lists
from discreet.solve.linear import LinearProgram
from discreet.solve.search import Search
from discreet.solve.solution import Solution, Status
from discreet.solve.system import TableSystem
from discreet.types import Flags, Floats, Integers

sparse = later("scipy.sparse")

# Up to so many entries the linear programme takes seconds; beyond, only the search is run.
MOST_ENTRIES = 400_000
# Simplex ends in a corner, which is whole for two-way tables.
MOST_CORNER = 1_500_000
# Trials for each inner cell, and the heat in units of one unit of distance: low after a linear
# programme, whose rounded solution is close already; high without.
TRIALS, ROUNDS, SETTLE = 600, 4, 10
WARM, COLD = 0.2, 0.1
HOT = 1.5
# What a miss of a cell that must be met costs in the search.
FIXED = 1e4
MIP_NODES = 200
# No count is larger.
MOST = 2**40


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
    Σ|cell − target| over all cells. `fixed` marks
    cells that must be met exactly, `keep_zeros` the inner zeros as such; cells that `counted` does
    not mark have no target. Two-way tables: solved,
    exactly. Otherwise feasible: `gap` is (distance − lower bound) / lower bound, which no table
    can undercut; 0 is proof that it is the closest. Stopped: the best so far.
    """
    rows = _rows(system, target, fixed, counted)
    inner = np.where(rows.own >= 0, rows.wanted[rows.own], 0)
    kept = (rows.own >= 0) & (rows.must[rows.own] | (keep_zeros & (inner == 0)))
    low, high = np.where(kept, inner, 0), np.where(kept, inner, MOST)
    start, bound, corner = _relaxed(rows, inner, low, high, _two_way(system), tell)
    if start is None:
        return Solution(Status.INFEASIBLE, inner, np.inf)
    first = np.clip(np.rint(start).astype(np.int64), low, high)
    if corner:
        return Solution(Status.SOLVED, first, 0.0)
    status, best = _searched(rows, first, low, high, bound, rng, tell)
    sums = rows.members.astype(np.int64)
    if (sums @ best != rows.wanted)[rows.must].any():
        repaired = _repaired(rows, best, low, high)
        if repaired is None:
            return Solution(Status.NOT_CONVERGED, best, np.inf)
        best = repaired
    distance = float(np.abs(sums @ best - rows.wanted).sum())
    bound = max(bound if np.isfinite(bound) else 0.0, _packed(system, rows))
    gap = 0.0 if distance <= bound + 1e-6 else (distance - bound) / max(bound, 1.0)
    # Distances are integers: less than one above the bound is the least there is.
    if status is Status.FEASIBLE and distance < bound + 1 - 1e-4:
        status, gap = Status.SOLVED, 0.0
    return Solution(status, best, gap)


def _searched(
    rows: _Rows,
    first: Integers,
    low: Integers,
    high: Integers,
    bound: float,
    rng: np.random.Generator,
    tell: Tell | None,
) -> tuple[Status, Integers]:
    """Return how the search from a first table ended, and the best table it found."""
    cost = np.where(rows.must, FIXED, 1.0)
    search = Search(rows.members, first, low, high, rows.wanted, rows.wanted, rng, weights=cost)
    best = first
    try:
        least = search.run(0.0, 0.0, 0)
        heat = WARM if np.isfinite(bound) and least < 2 * bound + 1 else HOT
        for done in range(ROUNDS):
            if tell is not None:
                tell("search", done, ROUNDS)
            search.run(heat, COLD, TRIALS // ROUNDS)
            miss = search.run(0.0, 0.0, SETTLE)
            if miss < least:
                best, least = search.x.copy(), miss
            heat = WARM
    except KeyboardInterrupt:
        return Status.STOPPED, best
    return Status.FEASIBLE, best


@dataclass(frozen=True, eq=False)
class _Rows:
    """The cells that count: whom they hold, what they should be, which must be met.

    `own[i]` is the row of inner cell i itself, −1 where it is not among them; `variable` the
    variable of each row. Cells of equal contributors keep a row each: their targets may differ.
    """

    members: Any
    wanted: Integers
    must: Flags
    own: Integers
    variable: Integers


def _rows(
    system: TableSystem, target: ArrayLike, fixed: ArrayLike | None, counted: ArrayLike | None
) -> _Rows:
    given = np.asarray(target)
    if given.shape != system.shape:
        raise ParameterError(f"the table must have the shape {system.shape}. Got {given.shape}.")
    if given.dtype.kind not in "iu" and (given != np.rint(given)).any():
        raise ParameterError("the table must hold integers.")
    flags = []
    for name, mask, default in (("fixed", fixed, False), ("counted", counted, True)):
        flag = np.full(system.shape, default) if mask is None else np.asarray(mask, bool)
        if flag.shape != system.shape:
            raise ParameterError(f"{name} must have the shape of the cells, {system.shape}.")
        flags.append(flag.reshape(-1))
    chosen = np.flatnonzero(flags[1])
    wanted = given.reshape(-1)[chosen].astype(np.int64)
    if wanted.size and int(wanted.min()) < 0:
        raise ParameterError("the table must not hold negative numbers.")
    variable = system.variable[chosen]
    first = np.full(system.variables, -1, np.int64)
    first[variable[::-1]] = np.arange(len(chosen))[::-1]
    return _Rows(system.members[variable], wanted, flags[0][chosen], first[system.inner], variable)


def _relaxed(
    rows: _Rows, inner: Integers, low: Integers, high: Integers, corner: bool, tell: Tell | None
) -> tuple[Floats | None, float, bool]:
    """Return the closest real table, its distance, and whether it is a whole corner.

    No table at all: None. Too large a programme: the target itself, with an infinite distance.
    """
    centre = inner.astype(np.float64)
    if rows.members.nnz > (MOST_CORNER if corner else MOST_ENTRIES):
        return centre, np.inf, False
    if tell is not None:
        tell("linear programme", 0, None)
    others = np.setdiff1d(np.arange(len(rows.wanted)), rows.own)
    sums = rows.members[others].astype(np.float64)
    off = rows.wanted[others] - sums @ centre
    slack = _slack(~rows.must[others])
    loose = slack.shape[1]
    matrix = sparse.hstack([sums, -sums, -slack, slack]).tocsc()
    ends = np.concatenate([high - centre, centre - low, np.full(2 * loose, np.inf)])
    cost = np.concatenate([np.tile((rows.own >= 0) * 1.0, 2), np.ones(2 * loose)])
    programme = LinearProgram(matrix, off, off, np.zeros(len(ends)), ends, cost,
                              interior=not corner)  # fmt: skip
    found = programme.run()
    if found.status is Status.INFEASIBLE:
        return None, np.inf, False
    if not found.solved:
        return centre, np.inf, False
    size = len(inner)
    table = centre + found.values[:size] - found.values[size : 2 * size]
    # The corner is rounded before use: it is the optimum only if it still is one.
    rounded = np.rint(table)
    reached = rows.members.astype(np.float64) @ rounded - rows.wanted
    whole = (
        float(np.abs(reached).sum()) <= programme.cost + 1e-6 * (1 + programme.cost)
        and not reached[rows.must].any()
    )
    return table, programme.cost, bool(whole)


def _slack(loose: Flags) -> Any:
    """Return the matrix with a column for each loose row: what it is above or below its target."""
    return sparse.identity(len(loose), format="csc")[:, np.flatnonzero(loose)]


def _two_way(system: TableSystem) -> bool:
    """Return whether corners are likely whole: tables of two dimensions. It is checked after."""
    return len(system.shape) <= 2


def _packed(system: TableSystem, rows: _Rows) -> float:
    """Return a lower bound: equations that share no cell must each be repaired separately."""
    equations = system.equations
    if not equations.shape[0]:
        return 0.0
    # One target for each variable is enough; where one has none, its equations give no bound.
    wanted = np.zeros(system.variables)
    known = np.zeros(system.variables, bool)
    wanted[rows.variable[::-1]] = rows.wanted[::-1]
    known[rows.variable] = True
    off = np.abs(equations @ wanted)
    off[abs(equations) @ (~known).astype(np.float64) > 0] = 0
    off /= np.maximum(np.abs(equations.data).max(initial=1), 1)
    order = np.argsort(-off, kind="stable").astype(np.int64)
    apart = fitting(kernels.apart, equations.nnz)
    taken = apart(order, Lists.of_rows(equations), system.variables)
    return float(off[order[taken]].sum())


def _repaired(rows: _Rows, near: Integers, low: Integers, high: Integers) -> Integers | None:
    """Return a table near to one, that meets what is fixed, by an integer programme; or None."""
    size = len(near)
    slack = _slack(~rows.must)
    loose = 2 * slack.shape[1]
    matrix = sparse.hstack([rows.members.astype(np.float64), -slack, slack])
    right = rows.wanted.astype(np.float64)
    for reach in (2, 10):
        least = np.concatenate([np.maximum(near - reach, low), np.zeros(loose)])
        most = np.concatenate([np.minimum(near + reach, high), np.full(loose, np.inf)])
        cost = np.concatenate([np.zeros(size), np.ones(loose)])
        whole = np.arange(len(cost)) < size
        programme = LinearProgram(matrix, right, right, least, most, cost, whole, nodes=MIP_NODES)
        found = programme.run()
        if len(found.values):
            table = np.asarray(np.rint(found.values[:size]), np.int64)
            if (rows.members.astype(np.int64) @ table == rows.wanted)[rows.must].all():
                return table
    return None
