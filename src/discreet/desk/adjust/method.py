"""Controlled tabular adjustment: sensitive figures moved to safety, everything still adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import chosen as one_of
from discreet.desk.adjust import Norm, Weight
from discreet.desk.adjust.coarse import coarse_cells, rounded, with_room
from discreet.desk.adjust.magnitudes import Adjusted, Problem, adjust, impossible, problem
from discreet.desk.adjust.magnitudes.exact import PROVED
from discreet.desk.adjust.magnitudes.problem import NEAR
from discreet.desk.adjust.magnitudes.whole import made_whole
from discreet.desk.adjust.separate import Part, separate
from discreet.desk.adjust.separate import whole as whole_table
from discreet.desk.cells import CellTable
from discreet.desk.sensitivity import Required, Rule, Threshold, required
from discreet.errors import ParameterError, unknown
from discreet.progress import Tell
from discreet.solve.adjust.cells import CountCells
from discreet.solve.adjust.counts import adjust_counts
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.decimals import added
from discreet.types import Flags, Floats

# Figures have at most so many decimals; beyond, they are taken as real numbers, and released with
# so many.
MOST_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class AdjustedTable:
    """A table whose sensitive figures were moved; all arrays have the shape of its cells.

    For the custodian: it holds the true figures beside the released `values`. `short` marks
    sensitive cells that are not protected, which must not be published. `decimals` is the number
    of decimals of the figures, −3 if they are in thousands, or None where they could not be kept to
    it. `parts` are the sizes
    of the whole table and of the part that was adjusted. `gap` is the share of the cost above a
    proved bound, NaN where there is none. Figures that changed by more than the share `coarse` are
    `rounded`, and `shown` so.
    """

    cells: CellTable
    required: Required
    values: Floats
    short: Flags
    published: Flags
    status: Status
    decimals: int | None
    cost: float
    gap: float
    parts: tuple[Part, Part]
    coarse: float | None = None

    @property
    def sensitive(self) -> Flags:
        """The sensitive cells among those that are published."""
        return np.asarray(self.required.sensitive & self.published)

    @cached_property
    def rounded(self) -> Flags:
        """The cells whose figures are rounded."""
        if self.coarse is None:
            return np.zeros(self.values.shape, bool)
        far = coarse_cells(self.cells.values, self.values, self.required, self.coarse)
        return far & self.published

    @cached_property
    def shown(self) -> Floats:
        """The figures as they are released: some rounded, so that not all of them add up."""
        if self.coarse is None:
            return self.values
        return np.where(self.rounded, rounded(self.values, self.coarse), self.values)


@dataclass(frozen=True)
class ControlledAdjustment:
    """Moves sensitive figures to the edge of their protection, and others as little as possible.

    `capacity` is the largest change of a cell that is not sensitive, as a share of its value.
    `margins` multiplies the weight of a cell for each dimension it is summed over. With `above`
    only contributions to sensitive cells, and to inner cells above that value, are moved. `spread`
    asks for a random multiple of the protection between 1 and 1 + spread, so that not even one who
    knows the rule knows the distance. Figures that change by more than the share `coarse` will be
    rounded: sensitive ones move farther by half a step.

    Notes
    -----
    Controlled tabular adjustment by separability [Dandekar]. Zeros: stay 0, and no figure falls
    below 0.
    """

    norm: Norm = Norm.L1
    weight: Weight = Weight.VALUE
    margins: float = 1.0
    capacity: float = 1.0
    above: float | None = None
    spread: float = 0.0
    # Not part of what draws depend on.
    coarse: float | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        norm: Norm | str,
        weight: Weight | str,
        margins: float,
        percent: float,
        above: float | None,
        spread: float,
    ) -> ControlledAdjustment:
        """Return the method of these options; the capacity is in percent."""
        if not 0 < percent <= 100:
            raise ParameterError(
                f"capacity must be a percentage above 0, at most 100. Got {percent:g}."
            )
        return cls(norm, weight, margins, percent / 100, above, spread)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", one_of("norm", Norm, self.norm))
        object.__setattr__(self, "weight", one_of("weight", Weight, self.weight))
        if not self.margins > 0:
            raise ParameterError(f"margins must be above 0. Got {self.margins}.")
        if not 0 < self.capacity <= 1:
            raise ParameterError(f"capacity must be above 0, at most 1. Got {self.capacity}.")
        if self.above is not None and not self.above >= 0:
            raise ParameterError(f"above must be a number of 0 or more. Got {self.above}.")
        if not 0 <= self.spread <= 10:
            raise ParameterError(f"spread must be from 0 to 10. Got {self.spread}.")

    def adjust(
        self,
        cells: CellTable,
        rules: Sequence[Rule],
        rng: np.random.Generator,
        fixed: ArrayLike | None = None,
        published: ArrayLike | None = None,
        tell: Tell | None = None,
    ) -> AdjustedTable:
        """Return the adjusted table; `fixed` cells stay, only `published` ones are looked at.

        `rng` draws the spread and settles ties; who can guess it is one who knows the method. Both
        masks have the shape of the cells; `of_tables` makes them from names of dimensions. The
        order of dimensions and codes does not matter: the same `rng` gives a table and the same
        table in another order the same figures.
        """
        still = np.zeros(cells.shape, bool) if fixed is None else np.asarray(fixed, bool)
        shown = np.ones(cells.shape, bool) if published is None else np.asarray(published, bool)
        found = self._in_order(
            cells.canonical(), rules, rng, cells.sorted(still), cells.sorted(shown), tell
        )
        needed, back = found.required, cells.unsorted

        def turned(part: Part) -> Part:
            return replace(part, values=back(part.values), sensitive=back(part.sensitive))

        return replace(
            found,
            cells=cells,
            required=Required(back(needed.sensitive), back(needed.lower), back(needed.upper)),
            values=back(found.values),
            short=back(found.short),
            published=shown,
            parts=(turned(found.parts[0]), turned(found.parts[1])),
        )

    def _in_order(
        self,
        cells: CellTable,
        rules: Sequence[Rule],
        rng: np.random.Generator,
        still: Flags,
        shown: Flags,
        tell: Tell | None,
    ) -> AdjustedTable:
        system = TableSystem.table(cells.hierarchies)
        if cells.counts and not all(isinstance(rule, Threshold) for rule in rules):
            raise ParameterError(
                "counts are adjusted by the threshold rule alone: minimum. For sums of a column, "
                "name it (value)."
            )
        task = _Task(cells, required(cells, rules), system, still, shown, tell)
        if cells.counts:
            minimum = max(rule.minimum for rule in rules if isinstance(rule, Threshold))
            return self._counts(task, minimum, rng)
        found = self._magnitudes(task, rng)
        if found.decimals is not None:
            # Whether rules are kept is for the rules to say, in decimals; the search is in floats.
            lacking = [_lacking(found.cells, given, rules) for given in (found.values, found.shown)]
            found = replace(found, short=found.short | (shown & np.any(lacking, axis=0)))
        return replace(found, status=short_status(found.status, found.short))

    def weights(self, cells: CellTable, published: Flags) -> Floats:
        """Return the weight of every cell: 0 for those not published."""
        by_value = 1 / np.maximum(cells.values, 10.0**-MOST_DECIMALS)
        base = by_value if self.weight is Weight.VALUE else np.ones(cells.shape)
        summed_over = len(cells.variables) - cells.order
        return np.where(published & (cells.values > 0), base * self.margins**summed_over, 0.0)

    def _magnitudes(self, task: _Task, rng: np.random.Generator) -> AdjustedTable:
        cells, needed, sensitive = task.cells, task.needed, task.sensitive
        aimless = np.flatnonzero(sensitive & (np.minimum(needed.lower, needed.upper) <= 0))
        if len(aimless):
            raise ParameterError(
                "the protection of a sensitive cell must be above 0 on both sides, or its true "
                f"figure would be safe. That of {cells.name(int(aimless[0]))} is not."
            )
        parts = (task.whole, task.whole)
        lower, upper = needed.lower, needed.upper
        if self.above is not None:
            part = separate(task.system, cells.values, sensitive, self.above)
            parts = (parts[0], part)
            lower, upper = _of_part(part, needed, cells.values, sensitive)
        # A multiple of the protection that nobody can guess; drawn for every cell, so that it does
        # not depend on which are sensitive.
        draw, seed = rng.random(cells.shape), int(rng.integers(2**62))
        lower, upper = (side * (1 + self.spread * draw) for side in (lower, upper))
        smallest = float(np.minimum(lower, upper)[sensitive].min(initial=np.inf))
        if self.coarse is not None:
            seen = replace(needed, sensitive=sensitive)
            lower, upper = with_room(cells.values, seen, lower, upper, self.coarse)
        for decimals in _places(cells.values, smallest):
            found = self._to_places(task, parts, (lower, upper), decimals, seed)
            if found.status is Status.STOPPED or not found.short.any():
                break
        return found

    def _to_places(
        self,
        task: _Task,
        parts: tuple[Part, Part],
        amounts: tuple[Floats, Floats],
        decimals: int | None,
        seed: int,
    ) -> AdjustedTable:
        """Return the table adjusted by these amounts at least, in figures of so many decimals."""
        cells, shown = task.cells, task.shown
        lower, upper = amounts
        unit = 10.0 ** (decimals or 0)
        capacity = np.full(cells.shape, self.capacity)
        if decimals is not None:
            lower, upper = (whole_steps(side, decimals) for side in (lower, upper))
            # As many whole units as the capacity has; but for a rounding error.
            size = np.maximum(parts[1].values * unit, 1.0)
            capacity = np.floor(self.capacity * size + 1e-6) / size
        # A sum that is sensitive in the part alone must not move beyond the capacity for it.
        reach = capacity * parts[1].values
        movers = parts[1].sensitive & (task.sensitive | ((lower <= reach) & (upper <= reach)))
        weights = self.weights(cells, shown)
        this = problem(
            task.system, parts[1].values * unit, movers, lower * unit, upper * unit, weights,
            capacity, task.still, ~task.sensitive, self._limit(task, unit),
        )  # fmt: skip
        found = adjust(this, self.norm, seed, task.tell)
        change = _whole(this, found.values, seed) if decimals is not None else None
        decimals = None if change is None else decimals
        change = (found.values if change is None else change) / unit
        values = _settled(task.system, np.maximum(cells.values + change, 0.0), decimals)
        moved = np.abs(values - cells.values)
        cost = float((weights * (moved if self.norm is Norm.L1 else moved**2)).sum())
        status, gap = _proof(found, cost, unit) if self.norm is Norm.L1 else (found.status, np.nan)
        # Without a spread or a part, what is asked is what the rules ask: a proof is one of these.
        plain = self.spread == 0 and self.above is None and self.coarse is None
        if self.coarse is not None and status is Status.SOLVED and cost:
            status, gap = Status.FEASIBLE, np.nan  # of room for rounding, nothing is proved
        done = AdjustedTable(
            cells, task.needed, values, np.zeros(cells.shape, bool), shown, status, decimals, cost,
            gap, parts, self.coarse,
        )  # fmt: skip
        # Who knows the sums may know the figures before they were rounded.
        safe = [_protected(cells.values, given, task.needed) for given in (values, done.shown)]
        short = task.sensitive & ~np.all(safe, axis=0)
        if plain and short.any() and status is not Status.STOPPED and impossible(this):
            status = Status.INFEASIBLE
        return replace(done, short=short, status=status)

    def _limit(self, task: _Task, unit: float) -> Floats:
        """Return the largest change of cells of which only a part is moved, in units.

        In the part a sum may hold nothing but a sensitive cell, and would go where that one goes.
        """
        limit = np.full(task.cells.shape, np.inf)
        if self.above is None:
            return limit
        reach = np.floor(self.capacity * task.cells.values * unit + 1e-6)
        return np.where(task.shown & ~task.alike_sensitive, reach, limit)

    def _counts(self, task: _Task, minimum: int, rng: np.random.Generator) -> AdjustedTable:
        if self != ControlledAdjustment(capacity=self.capacity, coarse=self.coarse):
            raise ParameterError(
                "above, l2, margins, spread and weight are for magnitudes, not for counts."
            )
        cells, shown = task.cells, task.shown
        chosen = np.flatnonzero(shown)
        inner = np.rint(cells.values[np.ix_(*cells.inner)]).astype(np.int64)
        held = CountCells.of(task.system.members[task.system.variable[chosen]])
        # As many whole counts as the capacity has; but for a rounding error.
        share = np.floor(self.capacity * cells.values + 1e-6)
        limit = np.where(task.needed.sensitive, minimum, share).flat[chosen]
        found = adjust_counts(
            CountCells(held.members, cells.order.flat[chosen], None),
            inner.reshape(-1),
            rng,
            minimum,
            fixed=task.still.flat[chosen] if task.still.any() else None,
            capacity=limit.astype(np.int64),
            tell=task.tell,
        )
        values = task.system.values(found.values)
        cost = float((self.weights(cells, shown) * np.abs(values - cells.values)).sum())
        parts = (task.whole, task.whole)
        done = AdjustedTable(
            cells, task.needed, values, np.zeros(cells.shape, bool), shown, found.status, 0, cost,
            np.nan, parts, self.coarse,
        )  # fmt: skip
        small = [(given > 0) & (given < minimum) for given in (values, done.shown)]
        short = shown & np.any(small, axis=0)
        return replace(done, short=short, status=short_status(found.status, short))


@dataclass(frozen=True, eq=False)
class _Task:
    """A table to adjust: what its cells need, which must stay and which are published."""

    cells: CellTable
    needed: Required
    system: TableSystem
    still: Flags
    shown: Flags
    tell: Tell | None

    @property
    def sensitive(self) -> Flags:
        return np.asarray(self.needed.sensitive & self.shown)

    @property
    def alike_sensitive(self) -> Flags:
        """The sensitive cells, and those that are one of them by another name, beside zeros."""
        values = np.zeros(self.system.variables)
        values[self.system.variable] = self.cells.values.reshape(-1)
        if not values.any():
            return self.sensitive
        names = self.system.without_zeros(values[self.system.inner]).variable
        return np.isin(names, names[self.sensitive.reshape(-1)]).reshape(self.cells.shape)

    @property
    def whole(self) -> Part:
        return whole_table(self.system, self.cells.values, self.sensitive)


def of_tables(cells: CellTable, tables: Sequence[Sequence[str]]) -> Flags:
    """Return the cells of the tables by these dimensions, their totals included.

    No dimensions: the grand total. Several tables over common contributors are linked.
    """
    chosen = np.zeros(cells.shape, bool)
    roots = [np.array([parent < 0 for parent in parents]) for parents in cells.parents]
    for table in tables:
        for name in table:
            if name not in cells.variables:
                raise unknown("dimension", name, cells.variables)
        mask = np.ones((), bool)
        for variable, root in zip(cells.variables, roots, strict=True):
            kept = np.ones(len(root), bool) if variable in table else root
            mask = np.logical_and.outer(mask, kept)
        chosen |= mask
    return chosen


def kept_totals(
    cells: CellTable, fix: Sequence[Sequence[str]], tables: Sequence[Sequence[str]]
) -> Flags | None:
    """Return the cells that stay: totals by these dimensions, of none or "total" the grand total.

    They must be published in one of the `tables`, where these are not all.
    """
    kept = [[name for name in names if name != "total"] for names in map(_names, fix)]
    known = {name for table in tables for name in table}
    for names in kept:
        together = any(set(names) <= set(table) for table in tables)
        if tables and known.issuperset(names) and not together:
            raise ParameterError(
                f"fix must name totals that are published. Got {','.join(names)}, which are in no "
                "table together."
            )
    return of_tables(cells, kept) if kept else None


def _names(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) else given


def _of_part(
    part: Part, needed: Required, values: Floats, sensitive: Flags
) -> tuple[Floats, Floats]:
    """Return the protection of the cells of a part.

    Sums that are sensitive in the part alone get the smallest share that a sensitive cell of the
    table has: the rule has no amount for them.
    """
    sides = []
    for side in (needed.lower, needed.upper):
        share = (side[sensitive] / values[sensitive]).min() if sensitive.any() else 0.0
        sides.append(np.where(sensitive, side, np.where(part.sensitive, part.values * share, 0.0)))
    return sides[0], sides[1]


def _proof(found: Adjusted, cost: float, unit: float) -> tuple[Status, float]:
    """Return status and gap of a table of this cost: whole figures may cost more than the proof.

    What no table in decimals undercuts no table in whole numbers of the last decimal does.
    """
    bound = found.bound / unit
    if found.short.any() or not np.isfinite(bound):
        return found.status if found.status is Status.STOPPED else Status.FEASIBLE, np.nan
    if not cost or cost <= bound * (1 + PROVED):
        return Status.SOLVED, 0.0
    gap = cost / bound - 1 if bound > 0 else np.nan
    return Status.FEASIBLE if found.solved else found.status, gap


def short_status(status: Status, short: Flags) -> Status:
    """Return the status of figures: relaxed where cells are short, not proved that any must be."""
    kept = status in (Status.STOPPED, Status.INFEASIBLE, Status.NOT_CONVERGED)
    return Status.RELAXED if short.any() and not kept else status


def _settled(system: TableSystem, values: Floats, decimals: int | None) -> Floats:
    """Return the figures as they are printed: inner ones in decimals, the others their sums."""
    places = MOST_DECIMALS if decimals is None else decimals
    by_variable = np.zeros(system.variables)
    by_variable[system.variable] = np.round(values, places).reshape(-1)
    return np.asarray(np.round(system.values(by_variable[system.inner]), places))


def _protected(true: Floats, values: Floats, needed: Required) -> Flags:
    """Return which figures are at or beyond the edge of what the rules ask; 0 is far enough."""
    down = np.minimum(needed.lower, true) * (1 - NEAR)
    return np.asarray((values - true >= needed.upper * (1 - NEAR)) | (true - values >= down))


def _lacking(cells: CellTable, values: Floats, rules: Sequence[Rule]) -> Flags:
    """Return the sensitive cells that did not move as far as a rule asks."""
    change = added(values, -cells.values)
    below = np.where(change > 0, np.inf, -change)
    above = np.where(change < 0, np.inf, change)
    return np.asarray(np.any([rule.lacks(cells, below, above) for rule in rules], axis=0))


def whole_steps(amounts: Floats, decimals: int) -> Floats:
    """Return amounts filled up to so many decimals, but for the rounding errors of floats."""
    unit = 10.0**decimals
    return np.asarray(np.ceil(amounts * unit * (1 - 1e-12)) / unit)


def _places(values: Floats, smallest: float) -> list[int | None]:
    """Return the numbers of decimals to try; None for more than are kept.

    Figures that all end in zeros would tell by their digits which of them were moved: so the first
    to try are as coarse as those given, where that is at most half of the smallest protection. A
    finer one may protect what a coarse one does not.
    """
    for decimals in range(MOST_DECIMALS + 1):
        if _all_whole(values * 10.0**decimals):
            break
    else:
        return [None]
    coarse = 0
    while decimals == 0 and values.any() and _all_whole(values / 10.0 ** (coarse + 1)):
        coarse += 1
    while coarse and 2 * 10.0**coarse > smallest:
        coarse -= 1
    return [-coarse, 0] if coarse else [decimals]


def _all_whole(scaled: Floats) -> bool:
    return float(scaled.max(initial=0)) < 2**50 and np.allclose(scaled, np.rint(scaled), 0, 1e-6)


def _whole(this: Problem, change: Floats, seed: int) -> Floats | None:
    """Return the changes in units of the last decimal, or None where none were found."""
    by_variable = np.zeros(this.system.variables)
    by_variable[this.system.variable] = change.reshape(-1)
    found = made_whole(this, by_variable[this.kept], seed)
    return None if found is None else this.cells(found)
