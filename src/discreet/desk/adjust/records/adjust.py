"""Adjustment of magnitudes: records carry the changes, so that every table adds up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import lsqr

from discreet.compiling import announced
from discreet.desk.adjust.records.kernels import by_record
from discreet.desk.adjust.records.repair import Repair
from discreet.desk.adjust.records.rows import CellRows
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.solve.adjust import kernels
from discreet.solve.solution import Status
from discreet.types import Flags, Floats, Integers

# What a cell needs, given its total and its two largest contributions (0: it is not sensitive); or
# what each row, and each record that is alone in a cell, needs.
Protection = Callable[[Floats, Floats, Floats], Floats] | tuple[Floats, Floats]

# The largest change of a record as a share of it, where nobody says another.
CAPACITY = 0.3
# Found by trial on the synthetic businesses. Heat in units of the mean cost of a record, and how
# much is left of it at the end.
HOT, COLD = 5.0, 0.003
# Sweeps of the hot search: as many as this number of entries allows, within bounds.
WORK, FEWEST_SWEEPS, MOST_SWEEPS = 1_500_000_000, 80, 600
# Small problems are searched several times, and the best is kept.
RESTART_WORK, MOST_STARTS = 10_000_000, 30
# The largest step tried at random, as a share of the record.
REACH = 0.2
# Widths of the smoothed cost, in turn, as shares of a cell; steps for each, by entries as above.
WIDTHS = (0.05, 0.01, 0.002, 0.0005)
SMOOTH_WORK, FEWEST_STEPS, MOST_STEPS = 1_000_000_000, 40, 400
# Sweeps at the end that only take what is better.
SETTLE, STRICT = 6, 12
# The price of a shortfall at the end; rows of at most so many records are mended one by one.
STRICT_PRICE, MEND_SIZE, MENDS = 1000.0, 64, 4
# Rounds of mending whole figures, and how many rows programmes may mend.
WHOLE_MENDS, MOST_WHOLE_REPAIRS = 20, 1_000
# A fixed row weighs so many times its own; needs grow by SAFE so that its exact keeping, at the
# end, leaves them met.
FIXED_WEIGHT, SAFE = 30.0, 1e-3
# Rounds of the last projections, as many as this number of entries of sensitive rows allows.
RESTORE_WORK, FEWEST_RESTORES, MOST_RESTORES, RETRIES = 200_000_000, 100, 2000, 2
# Up to so many fixed rows are projected onto at once.
MOST_DENSE = 1500
# Protection is reached if nothing but a rounding error is missing.
EXACT = 1e-9


@dataclass(frozen=True, eq=False)
class RecordAdjustment:
    """Adjusted records, what each row needed and what it got.

    Entries go by row, and then by record for the cells that hold it alone. Feasible: every
    sensitive cell has its protection. Relaxed: those marked in `short` do not, and must be
    withheld. Stopped: as relaxed, the best when the user stopped the search. `decimals` is how many
    the records have, None where they could not be kept to those asked for.
    """

    status: Status
    rows: CellRows
    records: Floats
    needed: Floats
    decimals: int | None = None

    @cached_property
    def true(self) -> Floats:
        """The true value of each entry."""
        return np.concatenate([self.rows.total, self.rows.values])

    @cached_property
    def released(self) -> Floats:
        """The adjusted value of each entry."""
        change = self.records - self.rows.values
        return np.asarray(self.true + np.concatenate([self.rows.sums(change), change]))

    @property
    def cells(self) -> NDArray[np.int64]:
        """How many cells an entry stands for, by the number of dimensions they keep."""
        return np.concatenate([self.rows.cells.astype(np.int64), self.rows.alone])

    @property
    def sensitive(self) -> Flags:
        """Which entries are sensitive."""
        return self.needed > 0

    @cached_property
    def short(self) -> Flags:
        """Which entries changed by less than their protection and have cells to withhold."""
        reached = np.abs(self.released - self.true)
        below = reached < self.needed * (1 - EXACT)
        return np.asarray(below & (self.cells.sum(axis=1) > 0))

    @property
    def short_cells(self) -> int:
        """How many cells must be withheld."""
        return int(self.cells[self.short].sum())


def adjust_records(
    rows: CellRows,
    protection: Protection,
    rng: np.random.Generator,
    capacity: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    order_weights: ArrayLike | None = None,
    value_power: float = 0.0,
    price: float = 100.0,
    effort: float = 1.0,
    tell: Tell | None = None,
    decimals: int | None = None,
    start: Floats | None = None,
    always: bool = False,
) -> RecordAdjustment:
    """Return records adjusted so that sensitive cells are protected and others change little.

    `capacity` is the largest change of a record as a share of its value, 1 at most; without, it is
    0.3, but where cells would be short 1. `fixed` marks rows whose sum is kept exactly.
    `order_weights` weighs a cell by the number of dimensions it
    keeps; without, the cells of each order together weigh the same. A change counts in relation to
    value^(1 − `value_power`): 0 is the relative change, 1 the absolute. `price` is what a unit of
    missing protection costs against a unit of change. `effort` multiplies the work. With `decimals`
    the records are settled to so many, where that leaves no more cells short, or `always`. From a
    `start`, what is added to each record, only improvements are taken.

    Notes
    -----
    Controlled tabular adjustment [Dandekar] with records as unknowns: what is added to a record is
    added to all its cells. Signs start in alternation along the sorted records; a search by
    heat-bath over one record at a time decides them; accelerated gradient steps [Beck2009] on the
    cost rounded off at its kinks settle the sizes; then only improvements are taken, at a price for
    shortfalls that leaves few.
    """
    work = _Work(rows, protection, rng, price)
    work.bound(capacity, fixed)
    work.weigh(order_weights, value_power)
    if start is not None and decimals is not None and (start == np.round(start, decimals)).all():
        # It would lose its places where sizes are settled once more.
        work.a, status = np.array(start, np.float64), Status.FEASIBLE
    else:
        status = work.run(effort, tell, start)
    kept = decimals is not None and status is Status.FEASIBLE and work.to_places(decimals, always)
    found = RecordAdjustment(
        status, rows, rows.values + work.a, work.needed, decimals if kept else None
    )
    if status is Status.FEASIBLE and found.short.any():
        return replace(found, status=Status.RELAXED)
    return found


class _Work:
    """The state of a search."""

    def __init__(
        self, rows: CellRows, protection: Protection, rng: np.random.Generator, price: float
    ) -> None:
        if not price > 0:
            raise ParameterError(f"price must be above 0. Got {price}.")
        self.rows, self.rng, self.price = rows, rng, float(price)
        self.starts, self.row_of = by_record(rows.starts, rows.members, rows.records)
        x = rows.values
        if callable(protection):
            protection = (
                protection(rows.total, rows.largest, rows.second),
                protection(x, x, np.zeros_like(x)),
            )
        self.row_need, own = (np.asarray(side, np.float64) for side in protection)
        own = np.where(rows.alone.sum(axis=1) > 0, own, 0.0)
        self.needed = np.concatenate([self.row_need, own])
        if not np.isfinite(self.needed).all() or (self.needed < 0).any():
            raise ParameterError("protection must be finite numbers of 0 or more.")
        self.own = own
        self.state = rng.integers(1, 2**63 - 1, 1).astype(np.uint64)
        self.a = np.zeros(rows.records)

    def bound(self, capacity: ArrayLike | None, fixed: ArrayLike | None) -> None:
        """Set the least and the largest size of each adjustment, and the fixed rows."""
        self.wide = capacity is None
        given = CAPACITY if capacity is None else np.asarray(capacity, np.float64)
        share = np.broadcast_to(given, (self.rows.records,))
        if not ((share >= 0) & (share <= 1)).all():
            raise ParameterError("capacity must be shares of the value from 0 to 1.")
        self.fixed = np.zeros(self.rows.size, bool)
        if fixed is not None:
            self.fixed = np.asarray(fixed, np.bool_).reshape(-1)
            if len(self.fixed) != self.rows.size:
                raise ParameterError(
                    f"fixed must have one entry for each of {self.rows.size} rows."
                )
            if (self.fixed & (self.row_need > 0)).any():
                raise ParameterError("a sensitive cell must not be fixed: it has to change.")
        safe = 1 + SAFE if self.fixed.any() else 1.0
        self.most = share * self.rows.values
        self.least = np.minimum(self.own * safe, self.most)
        self.aim = self.row_need * safe

    def weigh(self, order_weights: ArrayLike | None, value_power: float) -> None:
        """Set the price of a unit of change of each row."""
        rows = self.rows
        if order_weights is None:
            cells = rows.cells.sum(axis=0, dtype=np.float64) + rows.alone.sum(axis=0)
            weights = 1 / np.maximum(cells, 1)
        else:
            weights = np.asarray(order_weights, np.float64).reshape(-1)
            if len(weights) != rows.cells.shape[1] or not (weights >= 0).all():
                raise ParameterError(
                    f"order_weights must be {rows.cells.shape[1]} numbers of 0 or more: for 0, 1, "
                    "2 … dimensions kept."
                )
        weight = rows.cells @ weights
        weight = weight / weight.mean() if weight.any() else np.ones(rows.size)
        weight = np.where(self.fixed, FIXED_WEIGHT * np.maximum(weight, 1.0), weight)
        # Protection is as dear in the finest tables as in the coarsest.
        weight = np.where(self.row_need > 0, np.maximum(weight, 1.0), weight)
        value = np.where(rows.total > 0, rows.total, 1.0)
        mean = float(value.mean()) if rows.size else 1.0
        self.unit = np.where(rows.total > 0, weight / value * (value / mean) ** value_power, 0.0)

    def run(self, effort: float, tell: Tell | None, start: Floats | None = None) -> Status:
        """Search, or go on from a start; return how it ended."""
        entries = max(1, len(self.row_of))
        sweeps = int(effort * np.clip(WORK // entries, FEWEST_SWEEPS, MOST_SWEEPS))
        steps = int(effort * np.clip(SMOOTH_WORK // entries, FEWEST_STEPS, MOST_STEPS))
        starts = int(np.clip(RESTART_WORK // (entries * max(1, sweeps)), 1, MOST_STARTS))
        self.stages = starts * (sweeps + len(WIDTHS) + SETTLE + STRICT)
        self.tell, self.done = tell, 0
        announced(kernels.sweep_records, tell)
        self._alternate()
        status, best, least_cost = Status.FEASIBLE, self.a, np.inf
        if start is not None:
            starts, self.stages = 0, SETTLE + STRICT
            best = self.a = np.array(start, np.float64)
        try:
            if start is not None:
                self._settle()
                best = self.a
            for _ in range(starts):
                self._alternate()
                self._anneal(sweeps)
                for width in WIDTHS:
                    self._smooth(width, steps)
                    self._told()
                self._settle()
                if self._cost() < least_cost:
                    best, least_cost = self.a.copy(), self._cost()
            self.a = best
        except KeyboardInterrupt:
            status = Status.STOPPED
            if least_cost < self._cost():
                self.a = best
        self._finish(again=status is Status.FEASIBLE)
        return status

    def _told(self) -> None:
        self.done += 1
        if self.tell is not None:
            self.tell("adjusting", self.done, self.stages)

    def _alternate(self) -> None:
        """Start with the smallest sizes and with signs in alternation along the sorted records."""
        signs = np.empty(self.rows.records)
        signs[self.rows.along] = np.where(np.arange(self.rows.records) % 2, 1.0, -1.0)
        self.a = signs * self.least

    def _cost(self) -> float:
        """Return what all rows cost at the price of the end."""
        beyond = np.abs(self.rows.sums(self.a)) - self.aim
        return float((self.unit * np.where(beyond >= 0, beyond, -STRICT_PRICE * beyond)).sum())

    def _data(self) -> Floats:
        return np.stack([self.rows.sums(self.a), self.unit, self.aim], axis=1)

    def _sweep(self, data: Floats, price: float, temperature: float) -> int:
        return int(
            kernels.sweep_records(
                self.starts, self.row_of, self.rng.permutation(self.rows.records), self.a,
                self.rows.values, self.least, self.most, data, price, temperature, REACH,
                self.state,
            )
        )  # fmt: skip

    def _anneal(self, sweeps: int) -> None:
        data = self._data()
        cost = float((self.unit * np.abs(data[:, kernels.CHANGE])).sum()) / self.rows.records
        for k in range(sweeps):
            self._sweep(data, self.price, HOT * cost * COLD ** (k / sweeps))
            self._told()

    def _smooth(self, width: float, steps: int) -> None:
        """Settle the sizes, signs and sides as they are."""
        rows = self.rows
        side = np.where(rows.sums(self.a) >= 0, 1.0, -1.0)
        low, high = self._bounds()
        widths = width * np.where(rows.total > 0, rows.total, 1.0)
        bend = self.unit / widths * np.where(self.aim > 0, max(self.price, 1.0), 1.0) * rows.total
        # A bound on the bend of the cost along the records, each scaled by its value.
        padded = np.append(bend[self.row_of], 0.0)
        along = np.add.reduceat(padded, self.starts[:-1]) * (self.starts[1:] > self.starts[:-1])
        step = np.where(along > 0, rows.values / np.where(along > 0, along, 1.0), 0.0)
        ahead, momentum = self.a.copy(), 1.0
        for _ in range(steps):
            momentum = kernels.smooth_records(
                rows.starts, rows.members, self.starts, self.row_of, self.a, low, high, step,
                self.unit, widths, self.aim, side, self.price, momentum, ahead,
            )  # fmt: skip

    def _settle(self) -> None:
        """Take improvements alone, then pay for shortfalls until few are left."""
        data = self._data()
        for k in range(SETTLE + STRICT):
            self._sweep(data, self.price if k < SETTLE else STRICT_PRICE, 0.0)
            self._told()
        self._mend(data)

    def _mend(self, data: Floats) -> None:
        """Try every record of every row that is short, at a price that leaves few."""
        for _ in range(MENDS):
            mended = kernels.mend_rows(
                self.rows.starts, self.rows.members, self.starts, self.row_of, self.a, self.least,
                self.most, data, STRICT_PRICE, MEND_SIZE,
            )  # fmt: skip
            if not mended:
                break
            self._sweep(data, STRICT_PRICE, 0.0)

    def _bounds(self) -> tuple[Floats, Floats]:
        """Return the least and greatest adjustment of each record, of its sign if it needs one."""
        held = self.least > 0
        low = np.where(held & (self.a > 0), self.least, -self.most)
        high = np.where(held & (self.a < 0), -self.least, self.most)
        return low, high

    def _finish(self, again: bool) -> None:
        """Restore what was asked; while cells are short, let records change sides and retry."""
        keep = self._keeper()
        self._restore(keep)
        best, fewest = self.a.copy(), self._short()
        for _ in range(RETRIES if again else 0):
            if not fewest:
                break
            data = self._data()
            self._mend(data)
            self._restore(keep)
            short = self._short()
            if short < fewest:
                best, fewest = self.a.copy(), short
        self.a = best
        if fewest and again:
            self._repair()

    def _repair(self) -> None:
        """Bring what is short to its need by programmes; last with records that may go further."""
        for most in (self.most, self.rows.values) if self.wide else (self.most,):
            if not self._short():
                return
            repair = Repair(
                self.rows, self.starts, self.row_of, self.row_need, self.own, most, self.fixed
            )
            self.a = repair.run(self.a, self._short_entries)

    def to_places(self, decimals: int, always: bool) -> bool:
        """Settle the records to so many decimals; return whether they are.

        Rounded to the nearest, rows that fall short are mended by single records, then by
        programmes. If that leaves more cells short records stay as they were, unless `always`.
        """
        if self.fixed.any():
            return False
        unit = 10.0**decimals
        before, short = self.a, self._short()
        need, own = (np.ceil(side * unit * (1 - 1e-12)) for side in (self.row_need, self.own))
        limit = self.rows.values if self.wide else self.most
        most = np.maximum(np.floor(limit * unit + 1e-6), own)
        side = np.where(before >= 0, 1.0, -1.0)
        a = side * np.clip(np.rint(np.abs(before) * unit), own, most)
        for _ in range(WHOLE_MENDS):
            data = np.stack([self.rows.sums(a), self.unit, need], axis=1)
            if not kernels.mend_rows(
                self.rows.starts, self.rows.members, self.starts, self.row_of, a, own, most, data,
                STRICT_PRICE, self.rows.records,
            ):  # fmt: skip
                break
            # Without steps at random whatever is tried is whole.
            kernels.sweep_records(
                self.starts, self.row_of, self.rng.permutation(self.rows.records), a,
                self.rows.values, own, most, data, STRICT_PRICE, 0.0, 0.0, self.state,
            )  # fmt: skip
        many = self._many > 0
        aims = np.concatenate([need, own])

        def lacking(given: Floats) -> Integers:
            reached = np.abs(np.concatenate([self.rows.sums(given), given]))
            return np.flatnonzero((reached < aims - 0.5) & many)

        if len(lacking(a)) <= MOST_WHOLE_REPAIRS:
            repair = Repair(
                self.rows, self.starts, self.row_of, need, own, most, self.fixed, whole=True
            )
            a = repair.run(a, lacking)
        self.a = np.round(a / unit, decimals)
        if self._short() > short and not always:
            self.a = before
            return False
        return True

    def _short_entries(self, a: Floats) -> Integers:
        reached = np.abs(np.concatenate([self.rows.sums(a), a]))
        return np.flatnonzero((reached < self.needed * (1 - EXACT)) & (self._many > 0))

    @cached_property
    def _many(self) -> Integers:
        """How many cells each entry stands for."""
        return np.concatenate([self.rows.cells.sum(axis=1), self.rows.alone.sum(axis=1)])

    def _short(self) -> int:
        """Return how many cells are short of their need."""
        return int(self._many[self._short_entries(self.a)].sum())

    def _restore(self, keep: Callable[[], None]) -> None:
        """Bring what is short to its need and fixed rows to 0 exactly, in turn, sides as they are.

        Projections onto convex sets: they end in a point of all of them where there is one.
        """
        sensitive = np.flatnonzero(self.row_need > 0)
        side = np.where(self.rows.sums(self.a)[sensitive] >= 0, 1.0, -1.0)
        low, high = self._bounds()
        entries = int(np.diff(self.rows.starts)[sensitive].sum())
        rounds = np.clip(RESTORE_WORK // max(1, entries), FEWEST_RESTORES, MOST_RESTORES)
        for _ in range(int(rounds)):
            keep()
            self.a = np.clip(self.a, low, high)
            short = kernels.lift_rows(
                self.rows.starts, self.rows.members, sensitive, side, self.aim[sensitive], self.a,
                self.rows.values, low, high,
            )  # fmt: skip
            if not short:
                break
        keep()

    def _keeper(self) -> Callable[[], None]:
        """Return what brings fixed rows to 0 by the least changes in relation to values."""
        chosen = np.flatnonzero(self.fixed)
        if not len(chosen):
            return lambda: None
        rows = self.rows
        matrix = sparse.csr_matrix(
            (np.ones(len(rows.members)), rows.members, rows.starts), (rows.size, rows.records)
        )[chosen]
        spread = sparse.diags(rows.values) @ matrix.T
        if len(chosen) <= MOST_DENSE:
            inverse = np.linalg.pinv((matrix @ spread).toarray(), hermitian=True)

            def project() -> None:
                # Twice: what rounding leaves of the first time goes with the second.
                for _ in range(2):
                    self.a = self.a - spread @ (inverse @ (matrix @ self.a))

            return project
        scaled = matrix @ sparse.diags(np.sqrt(rows.values))

        def approach() -> None:
            found = lsqr(scaled, -(matrix @ self.a), atol=1e-14, btol=1e-14, iter_lim=10_000)
            self.a = self.a + np.sqrt(rows.values) * found[0]

        return approach
