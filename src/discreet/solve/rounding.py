"""Controlled rounding: every cell to a neighbouring multiple of the base, and all adds up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from discreet.compiling import fitting
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.solve import kernels
from discreet.solve.linear import LinearProgram
from discreet.solve.matrix import round_rests
from discreet.solve.search import Search
from discreet.solve.solution import Solution, Status
from discreet.solve.system import TableSystem, checked_base
from discreet.table.hierarchy import Hierarchy
from discreet.types import Floats, Integers

# Rounds of search for three and more dimensions: heat, cold, trials for each open cell.
ROUNDS = (
    (0.5, 0.07, 500),
    (0.5, 0.07, 1000),
    (0.4, 0.08, 1500),
    (0.4, 0.08, 2000),
    (0.4, 0.1, 3000),
    (0.3, 0.1, 3000),
)
# Heat by itself draws every cell to odds of one half. A pull of −PULL·log-odds of going up restores
# the odds that keep the mean; the value is the heat at which tables settle, found by trial.
PULL = 0.17
POLISH = 30
# Beyond so many open cells the integer programme would take hours.
MOST_OPEN = 5_000
MIP_NODES = 1


def controlled_rounding(
    counts: ArrayLike,
    base: int,
    rng: np.random.Generator,
    dimensions: Sequence[Hierarchy] | None = None,
    tell: Tell | None = None,
) -> Solution:
    """Return the inner cells rounded so that every cell and total is a multiple next to its count.

    `dimensions` gives hierarchies; without, every axis has its total. `gap` is the largest
    distance of a cell or total from its count. Solved: below the base everywhere, multiples
    unchanged. Relaxed: proved that no such table exists; feasible: none was found and none ruled
    out; in both some totals are one multiple further away, below twice the base. One and two
    dimensions, one of them with a hierarchy, are always solved, and without bias. Three and more:
    close to unbiased. Stopped: as feasible, when the user stopped the search.

    Notes
    -----
    Up to two dimensions a flow with integer ends is rounded along cycles, each with the odds that
    keep all means [Cox1987]. Beyond, existence is a question for integer programmes
    [Salazar2005]: a search comes first, the programme where it fails.
    """
    true = np.asarray(counts)
    if true.dtype.kind not in "iu":
        raise ParameterError(f"counts must be integers. Got the type {true.dtype}.")
    if true.size and int(true.min()) < 0:
        raise ParameterError("counts must not be negative.")
    base = checked_base(base)
    true = true.astype(np.int64)
    axes = [Hierarchy.flat(size) for size in true.shape] if dimensions is None else list(dimensions)
    shape = tuple(len(dimension.leaves) for dimension in axes)
    if shape != true.shape:
        raise ParameterError(f"counts must have the inner shape {shape}. Got {true.shape}.")
    nested = [axis for axis, dimension in enumerate(axes) if not _is_flat(dimension)]
    if true.ndim <= 2 and not nested:
        return _matrix(true, base, rng)
    if true.ndim <= 2 and len(nested) == 1:
        return _network(true, base, axes, nested[0], rng)
    return _searched(true, base, TableSystem.table(axes), rng, tell)


def _is_flat(dimension: Hierarchy) -> bool:
    return len(dimension.families) <= 1 and len(dimension) == len(dimension.leaves) + 1


def _gap(true: Integers, rounded: Integers, system: TableSystem) -> float:
    sums = system.members.astype(np.int64)
    return float(np.abs(sums @ (rounded - true).reshape(-1)).max(initial=0))


def _matrix(true: Integers, base: int, rng: np.random.Generator) -> Solution:
    """Round a vector or a matrix with its totals."""
    flat = true.reshape(1, -1) if true.ndim < 2 else true
    # Only the rests are rounded. Totals of rests and of counts differ by multiples of the base, so
    # their neighbours correspond.
    rest = flat % base
    ups = round_rests(rest, base, rng)
    if ups is None:
        return Solution(Status.NOT_CONVERGED, true, np.inf)
    rounded = (flat - rest + base * ups).reshape(true.shape)
    change = (rounded - true).reshape(flat.shape)
    gap = max(
        int(np.abs(part).max(initial=0))
        for part in (change, change.sum(axis=0), change.sum(axis=1), change.sum())
    )
    status = Status.SOLVED if gap < base else Status.NOT_CONVERGED
    return Solution(status, rounded, float(gap))


def _network(
    true: Integers, base: int, axes: list[Hierarchy], nested: int, rng: np.random.Generator
) -> Solution:
    """Round a table with a hierarchy along one dimension: a flow down the tree of each column.

    Column j sends its total from the source down its copy of the tree; the inner cells are the
    edges from there to the row totals, which flow up one more copy of the tree to the source.
    """
    tree = axes[nested]
    # As matrix: rows are the inner codes of the tree; a flat total of the other axis is `total`.
    matrix = true.reshape(-1, 1) if true.ndim == 1 else np.moveaxis(true, nested, 0)
    full = tree.members.astype(np.int64) @ matrix
    codes, columns = full.shape
    total = np.asarray(full.sum(axis=1))
    parents = np.array(tree.parents)
    inner = np.zeros(codes, bool)
    inner[tree.leaves] = True
    # Node 0 is the source; a copy of the codes follows for each column, and one for the totals.
    down = np.arange(columns)[:, None]

    def node(code: Integers, copy: ArrayLike) -> Integers:
        return np.where(code < 0, 0, 1 + np.asarray(copy) * codes + code)

    # Down: from the parent to the code; an inner code goes straight over to its row's total.
    every = np.arange(codes)
    over = np.where(inner, node(every, columns), node(every, down))
    tails = np.append(node(parents, down), node(every, columns))
    heads = np.append(over, node(parents, columns))
    part = (np.append(full.T, total) % base).astype(np.float64)
    uniforms = rng.random(len(part) + 1)
    ends = np.stack([tails, heads], axis=1).astype(np.int32)
    nodes = 1 + (columns + 1) * codes
    round_network = fitting(kernels.round_network, part.size * nodes)
    done = round_network(ends, nodes, nodes, part, uniforms, float(base), 0.5)
    ups = part[: columns * codes].reshape(columns, codes).T[tree.leaves]
    rounded = (matrix - matrix % base + base * (ups > 0)).astype(np.int64)
    shaped = rounded.reshape(true.shape) if true.ndim == 1 else np.moveaxis(rounded, 0, nested)
    gap = _gap(true, shaped, TableSystem.table(axes))
    status = Status.SOLVED if done and gap < base else Status.NOT_CONVERGED
    return Solution(status, np.ascontiguousarray(shaped), gap)


def _searched(
    true: Integers, base: int, system: TableSystem, rng: np.random.Generator, tell: Tell | None
) -> Solution:
    """Round any table: a search, then an integer programme, then one multiple more."""
    flat = true.reshape(-1)
    sums = system.members.astype(np.int64)
    cells = sums @ flat
    low, high = flat // base, -(-flat // base)
    least, most = cells // base, -(-cells // base)
    uniforms = rng.random(flat.size)
    chance = (flat % base) / base
    search = Search(system.members, low + (uniforms < chance), low, high, least, most, rng)
    status = None
    try:
        open_cells = chance > 0
        search.own[open_cells] = -PULL * np.log(chance[open_cells] / (1 - chance[open_cells]))
        for done, (hot, cold, trials) in enumerate(ROUNDS):
            if tell is not None:
                tell("search", done, len(ROUNDS))
            if search.run(hot, cold, trials, until_none=True) == 0:
                status = Status.SOLVED
                break
        else:
            status = _programme(search, uniforms - chance, tell)
        if status is not Status.SOLVED:
            _widen(search, flat)
    except KeyboardInterrupt:
        if status is None:
            status = Status.STOPPED
    rounded = (base * search.x).reshape(true.shape)
    gap = _gap(true, rounded, system)
    allowed = base if status is Status.SOLVED else 2 * base
    if gap >= allowed and status is not Status.STOPPED:
        status = Status.NOT_CONVERGED
    return Solution(status, rounded, gap)


def _programme(search: Search, cost: Floats, tell: Tell | None) -> Status:
    """Look for a rounding by an integer programme; the search goes on from what it finds."""
    free = search.free
    if len(free) > MOST_OPEN:
        return Status.FEASIBLE
    if tell is not None:
        tell("integer programme", 0, None)
    block = search.sums[:, free]
    rows = np.flatnonzero(np.diff(block.indptr) > 1)
    fixed = search.sums @ search.low
    programme = LinearProgram(
        block[rows].astype(np.float64),
        (search.least - fixed)[rows].astype(np.float64),
        (search.most - fixed)[rows].astype(np.float64),
        np.zeros(len(free)),
        np.ones(len(free)),
        cost[free],
        np.ones(len(free), bool),
        nodes=MIP_NODES,
        relative=0.5,
    )
    found = programme.run()
    if found.status is Status.INFEASIBLE:
        return Status.RELAXED
    if not len(found.values):
        return Status.FEASIBLE
    inner = search.low.copy()
    inner[free] += np.rint(found.values).astype(np.int64)
    search.put(inner)
    return Status.SOLVED if search.run(0.0, 0.0, 0) == 0 else Status.FEASIBLE


def _widen(search: Search, flat: Integers) -> None:
    """Let every cell be one multiple further away, zeros aside, at a price for each."""
    search.low[:] = np.where(flat > 0, np.maximum(search.low - 1, 0), 0)
    search.high[:] = np.where(flat > 0, search.high + 1, 0)
    search.free = np.flatnonzero(search.low < search.high).astype(np.int32)
    # A cell two multiples away would break the promise: it costs more than many that are one away.
    search.limit, search.heavy = 1, 100.0
    search.own[:] = 0
    for hot, cold, trials in ((0.5, 0.07, 1000), (0.4, 0.07, 2000), (0.4, 0.05, 2000)):
        search.run(hot, cold, trials)
        search.run(0.0, 0.0, POLISH)
        if not _over(search):
            return


def _over(search: Search) -> bool:
    away = np.maximum(search.least - search.y, search.y - search.most)
    return bool((away > 1).any())
