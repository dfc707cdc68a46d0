"""Rounding of small counts alone, so that the totals they are in change as little as possible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from discreet.compiling import announced
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.solve import kernels
from discreet.solve.linear import LinearProgram
from discreet.solve.search import Search
from discreet.solve.solution import Solution, Status
from discreet.solve.system import TableSystem, checked_base
from discreet.types import Integers

# Heat in units of base²: what one cell moved by the base costs. Trials for each small cell.
HOT, COLD, TRIALS = 3.0, 0.2, 150
# So many trials are affordable in all, and given to tables with few small cells.
AFFORDABLE = 200_000
SETTLE = 20
# A smaller largest difference is taken if the root mean square grows by no more than 15%.
WORSE = 1.15**2
TRIES = 3
# With so few small cells an integer programme finds the least largest difference at once.
FEW = 150
MIP_NODES = 100
# Price of what is beyond the largest difference wanted, in units of base².
HEAVY = 20.0


def round_small_counts(
    system: TableSystem,
    counts: ArrayLike,
    base: int,
    rng: np.random.Generator,
    tell: Tell | None = None,
) -> Solution:
    """Return the inner counts with those from 1 to base − 1 made 0 or the base.

    All other inner counts stay, and everything adds up. The root mean square of the changes of
    all cells of the system is made small, then the largest of them. Feasible: no proof that it
    is the least; `gap` is the largest change of a cell.
    """
    true = np.asarray(counts)
    if true.dtype.kind not in "iu" or (true.size and int(true.min()) < 0):
        raise ParameterError("counts must be integers of 0 or more.")
    base = checked_base(base)
    flat = true.reshape(-1).astype(np.int64)
    if len(flat) != len(system.inner):
        raise ParameterError(f"counts must be {len(system.inner)} inner cells. Got {len(flat)}.")
    small = (flat > 0) & (flat < base)
    start = np.where(small, np.where(rng.random(flat.size) * base < flat, base, 0), flat)
    low, high = np.where(small, 0, flat), np.where(small, base, flat)
    cells = system.members.astype(np.int64) @ flat
    # Cells of equal contributors count as often as they are published.
    weights = np.bincount(system.variable, minlength=system.variables).astype(np.float64)
    search = Search(system.members, start, low, high, cells, cells, rng, step=base, weights=weights)
    announced(kernels.anneal, tell)
    best, status = start, Status.FEASIBLE
    try:
        for table in _improved(search, base, tell):
            best = table
    except KeyboardInterrupt:
        status = Status.STOPPED
    gap = np.abs(search.sums @ (best - flat)).max(initial=0)
    return Solution(status, best.reshape(true.shape), float(gap))


def _improved(search: Search, base: int, tell: Tell | None) -> Iterator[Integers]:
    """Yield the table of the least mean square found, then tables with smaller largest changes."""
    unit = float(base * base)
    trials = max(TRIALS, AFFORDABLE // max(1, len(search.free)))
    search.run(HOT * unit, COLD * unit, trials, square=True)
    allowed = search.run(0.0, 0.0, SETTLE, square=True) * WORSE
    best, cells = search.x.copy(), search.least
    yield best
    largest = int(np.abs(search.y - cells).max(initial=0))
    tries = 0
    while largest > 1 and tries < TRIES:
        if tell is not None:
            tell("largest change", largest, None)
        candidates = []
        if len(search.free) <= FEW:
            found = _within(search, cells, base, largest - 1)
            if found is None:
                return
            search.put(found)
            candidates.append(found)
        search.limit, search.heavy = largest - 1, HEAVY * unit
        search.run(HOT * unit, COLD * unit, trials, square=True)
        search.run(0.0, 0.0, SETTLE, square=True)
        for inner in (search.x.copy(), *candidates):
            change = search.sums @ inner - cells
            reached = int(np.abs(change).max(initial=0))
            if reached < largest and search.weights @ change.astype(np.float64) ** 2 <= allowed:
                best, largest, tries = inner, reached, 0
                yield best
                break
        else:
            search.put(best)
            tries += 1


def _within(search: Search, cells: Integers, base: int, most: int) -> Integers | None:
    """Return small counts rounded so that no cell changes by more than `most`; None if none."""
    free = search.free
    block = search.sums[:, free].astype(np.float64)
    rest = (search.sums @ search.low - cells).astype(np.float64)
    programme = LinearProgram(
        block * float(base),
        -rest - most,
        -rest + most,
        np.zeros(len(free)),
        np.ones(len(free)),
        whole=np.ones(len(free), bool),
        nodes=MIP_NODES,
    )
    found = programme.run()
    if not len(found.values):
        return None
    inner = search.low.copy()
    inner[free] += base * np.rint(found.values).astype(np.int64)
    return inner
