"""Adjustment of counts: small ones become 0 or the smallest safe count, and all still adds up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.compiling import announced
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.solve.adjust import kernels
from discreet.solve.adjust.cells import CountCells
from discreet.solve.solution import Solution, Status
from discreet.solve.system import TableSystem, checked_base
from discreet.types import Integers

# Found by trial on the census hypercube: heat and cold in units of the weight of the finest
# margin, trials for each inner cell, the share of them that move two cells.
HOT, COLD, TRIALS, PAIRS = 4.0, 0.4, 600, 0.85
SETTLE = 40
# So many trials are affordable in all, and given to small tables.
AFFORDABLE = 200_000
# Between so many parts of the search Ctrl-C is heard and progress told.
PARTS = 60
# Further searches, from a tenth of the heat, while a limit is broken.
REPAIRS = 3
# A change beyond the tolerance costs this many units at once: few cells changed rather than all.
LEAVING = 1.0
# A margin weighs four times one that keeps an axis more; an inner cell by INNER/count.
COARSER, INNER = 4.0, 15.0
NO_LIMIT = 2**60


def default_weights(cells: CountCells, values: Integers) -> NDArray[np.float64]:
    """Return the weight of each published cell: by the order of its margin, and by its value.

    A margin weighs four times one that keeps an axis more, since there are many more of those. A
    cell published alone, an inner cell, weighs fifteen through its count: its change counts in
    relation to it.
    """
    alone = np.diff(cells.members.tocsr().indptr) == 1
    weights = np.ones(cells.size)
    if len(cells.order) and not alone.all():
        weights = COARSER ** (cells.order[~alone].max() - cells.order).astype(np.float64)
    weights[alone] = INNER / np.maximum(values[alone], 1)
    return weights


def adjust_counts(
    cells: CountCells | TableSystem,
    counts: ArrayLike,
    rng: np.random.Generator,
    smallest_safe: int = 3,
    weights: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    capacity: ArrayLike | None = None,
    tolerance: float = 0.001,
    trials: int = TRIALS,
    tell: Tell | None = None,
) -> Solution:
    """Return inner counts such that no published cell is from 1 to below the smallest safe count.

    `counts` are the inner cells. Zeros stay; an inner cell that is published becomes 0 or
    `smallest_safe` if it is below, and stays at or above if it is not. Where inner cells are not
    published only the published cells are held to this. `weights`, `fixed` (bool) and `capacity`
    (the largest change, one number or one for each cell) go by published cell; a change of up to
    `tolerance` of a cell costs nothing. `trials` is the work for each inner cell.

    Feasible: every rule is kept, `gap` is the largest change of a published cell. Stopped: the
    same, when the user stopped the search. Not converged: a fixed or limited cell could not be
    kept, by `gap`; the values must not be used.

    Notes
    -----
    Counts by controlled tabular adjustment [Dandekar]. Sums of counts that are 0 or at least b are
    0 or at least b: if the inner cells keep the rule, every margin does. No cell that is not
    sensitive may become 1 or 2, or a released 1 would be known to be false.
    """
    published = CountCells.system(cells) if isinstance(cells, TableSystem) else cells
    search = _Search(published, counts, rng, smallest_safe, tolerance)
    search.weigh(weights)
    search.restrict(fixed, capacity)
    status = search.run(trials, tell)
    missed = float((np.abs(search.change) - search.limit).max(initial=0))
    if missed > 0:
        return Solution(Status.NOT_CONVERGED, search.result(), missed)
    return Solution(status, search.result(), search.largest())


class _Search:
    """The inner cells that are not 0, the published cells they count in, and what these may be."""

    def __init__(
        self,
        cells: CountCells,
        counts: ArrayLike,
        rng: np.random.Generator,
        base: int,
        tolerance: float,
    ) -> None:
        given = np.asarray(counts)
        if given.dtype.kind not in "iu" or (given.size and int(given.min()) < 0):
            raise ParameterError("counts must be integers of 0 or more.")
        if given.size != cells.members.shape[1]:
            raise ParameterError(
                f"counts must be {cells.members.shape[1]} inner cells. Got {given.size}."
            )
        if not 0 <= tolerance < 1:
            raise ParameterError(f"tolerance must be from 0 to below 1. Got {tolerance}.")
        self.cells, self.base = cells, checked_base(base, "smallest_safe")
        self.given = given.astype(np.int64)
        flat = self.given.reshape(-1)
        self.there = np.flatnonzero(flat)
        self.true = flat[self.there]
        columns = cells.members[:, self.there]
        self.all_values = np.asarray(columns.astype(np.int64) @ self.true)
        sizes = np.diff(columns.tocsr().indptr)
        # A cell of one inner cell is a bound on it; the rows are cells of two and more.
        self.alone, self.rows = np.flatnonzero(sizes == 1), np.flatnonzero(sizes > 1)
        by_cell = columns.tocsr()
        self.alone_at = by_cell[self.alone].indices
        self.by_row = by_cell[self.rows].astype(np.int64)
        by_inner = self.by_row.tocsc()
        by_inner.sort_indices()
        self.starts = by_inner.indptr.astype(np.int32)
        self.row_of = by_inner.indices.astype(np.int32)
        lines = cells.exchangeable(self.there)
        self.line_starts, self.lines = lines.indptr.astype(np.int32), lines.indices.astype(np.int32)
        by_inner = lines.tocsc()
        self.group_starts = by_inner.indptr.astype(np.int32)
        self.groups = by_inner.indices.astype(np.int32)
        self.values = self.all_values[self.rows]
        self.free = np.floor(tolerance * self.values + 1e-9).astype(np.int64)
        self._bound()
        self.rng = rng
        self.state = rng.integers(1, 2**63 - 1, 1).astype(np.uint64)

    def _bound(self) -> None:
        """Set what inner cells may become: those published 0 or at least the base."""
        published = np.zeros(len(self.true), bool)
        published[self.alone_at] = True
        self.whole = published & (self.true < self.base)
        self.low = np.where(published & ~self.whole, self.base, 0)
        self.high = np.where(self.whole, self.base, NO_LIMIT)
        self.capacity = np.full(len(self.true), NO_LIMIT)
        self.limit = np.full(len(self.rows), NO_LIMIT)

    def weigh(self, weights: ArrayLike | None) -> None:
        """Set the weights of rows, and of inner cells that are published and not sensitive."""
        every = default_weights(self.cells, self.all_values) if weights is None else weights
        given = _by_cell(every, self.cells.size, "weights", np.float64)
        if not np.isfinite(given).all() or (given < 0).any():
            raise ParameterError("weights must be finite numbers of 0 or more.")
        self.weight = given[self.rows]
        self.own = np.zeros(len(self.true))
        np.add.at(self.own, self.alone_at, given[self.alone])
        self.own[self.whole] = 0.0

    def restrict(self, fixed: ArrayLike | None, capacity: ArrayLike | None) -> None:
        """Set the largest change of cells: 0 of those fixed."""
        size = self.cells.size
        most = np.full(size, NO_LIMIT)
        if capacity is not None:
            most = np.broadcast_to(np.asarray(capacity, np.int64), (size,)).copy()
            if (most < 0).any():
                raise ParameterError("capacity must be 0 or more.")
        if fixed is not None:
            most[_by_cell(fixed, size, "fixed", np.bool_)] = 0
        self.limit = most[self.rows]
        np.minimum.at(self.capacity, self.alone_at, most[self.alone])
        sensitive = (self.all_values > 0) & (self.all_values < self.base)
        nearest = np.minimum(self.all_values, self.base - self.all_values)
        stuck = np.flatnonzero(sensitive & (most < nearest))
        if len(stuck):
            raise ParameterError(
                f"a cell from 1 to {self.base - 1} must be allowed to become 0 or {self.base}. "
                f"{len(stuck)} are fixed or have too small a capacity."
            )
        # Of the two ends of a sensitive inner cell the one out of reach goes.
        down, up = self.true <= self.capacity, self.base - self.true <= self.capacity
        self.low = np.where(
            self.whole,
            np.where(down, 0, self.base),
            np.maximum(self.low, self.true - self.capacity),
        )
        self.high = np.where(
            self.whole,
            np.where(up, self.base, 0),
            np.where(self.capacity < NO_LIMIT, self.true + self.capacity, NO_LIMIT),
        )

    def _start(self) -> None:
        """Begin with published small cells rounded without bias, others where a row needs it."""
        odds = self.rng.random(len(self.true)) * self.base < self.true
        rounded = np.where(odds, self.base, 0)
        rounded = np.where(self.whole, np.clip(rounded, self.low, self.high), rounded)
        small = self.true < self.base
        moved = self.whole.copy()
        while True:
            self.x = np.where(moved, rounded, self.true)
            sums = np.asarray(self.by_row @ self.x)
            bad = (sums > 0) & (sums < self.base)
            # All small members of a bad row are rounded; then its sum is 0 or enough.
            more = np.asarray(self.by_row.T @ bad.astype(np.int64)) > 0
            if not (more & small & ~moved).any():
                break
            moved |= more & small
        self.change = sums - self.values

    def run(self, trials: int, tell: Tell | None) -> Status:
        """Search with so many trials for each inner cell; return how it ended."""
        self._start()
        if not len(self.true):
            return Status.FEASIBLE
        announced(kernels.anneal_counts, tell)
        unit = float(self.weight[self.weight > 0].min(initial=1.0)) if len(self.weight) else 1.0
        each = max(trials, AFFORDABLE // len(self.true) if trials else 0)
        status = Status.FEASIBLE
        try:
            self._cool(HOT * unit, COLD * unit, each, tell)
        except KeyboardInterrupt:
            status = Status.STOPPED
        self._anneal(0.0, 0.0, SETTLE * len(self.true))
        for _ in range(REPAIRS):
            if status is Status.STOPPED or (np.abs(self.change) <= self.limit).all():
                break
            self._anneal(HOT * unit / 10, COLD * unit, SETTLE * len(self.true))
            self._anneal(0.0, 0.0, SETTLE * len(self.true))
        return status

    def _cool(self, hot: float, cold: float, each: int, tell: Tell | None) -> None:
        ends = hot * (cold / hot) ** (np.arange(PARTS + 1) / PARTS)
        for part in range(PARTS):
            self._anneal(ends[part], ends[part + 1], each * len(self.true) // PARTS)
            if tell is not None:
                tell("adjusting", part + 1, PARTS)

    def _anneal(self, hot: float, cold: float, trials: int) -> None:
        kernels.anneal_counts(
            self.starts, self.row_of, self.group_starts, self.groups, self.line_starts, self.lines,
            self.x, self.true, self.low, self.high, self.whole, self.own, self.values, self.change,
            self.free, self.limit, self.weight, LEAVING, self.base, PAIRS, hot, cold, trials,
            self.state,
        )  # fmt: skip

    def largest(self) -> float:
        """Return the largest change of a published cell."""
        own = np.abs(self.x - self.true)[self.alone_at]
        return float(max(np.abs(self.change).max(initial=0), own.max(initial=0)))

    def result(self) -> Integers:
        """Return all inner cells in the shape given."""
        inner = np.zeros(self.given.size, np.int64)
        inner[self.there] = self.x
        return inner.reshape(self.given.shape)


def _by_cell(given: ArrayLike, size: int, name: str, kind: Any) -> NDArray[Any]:
    array = np.asarray(given, kind).reshape(-1)
    if len(array) != size:
        raise ParameterError(f"{name} must have one entry for each of {size} published cells.")
    return array
