"""A protected base: one population of whole records, fitted to noisy figures, for all tables.

[Voas2000] select whole records so that small areas have given margins; here the margins are noisy,
and the records are a keyed share of the larger area's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from threading import Event, Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.checks import number, whole
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.protect.keys import KeyMix
from discreet.protect.lookup import max_entropy
from discreet.protect.records.protected_base import kernels
from discreet.protect.records.protected_base.areas import Areas
from discreet.protect.records.protected_base.choice import taken
from discreet.protect.records.protected_base.design import Design
from discreet.protect.records.protected_base.donors import Donors
from discreet.protect.records.protected_base.fit import Fit, Unit
from discreet.protect.records.protected_base.households import Households
from discreet.protect.records.protected_base.records import Records
from discreet.protect.records.protected_base.search import Search, worth
from discreet.protect.records.protected_base.targets import Figures, Maker, Noise, Targets
from discreet.protect.records.protected_base.triples import Triples
from discreet.protect.records.protected_base.uses import Off, Uses

Found = TypeVar("Found")

MOST_SHARE = 0.8
"""With so many of the records as donors half of the small figures by their areas are as they were.

Of censuses of 20,000 and of 60,000 people 44 to 52%; with half of the records 16 to 27%, and with
all of them 74 to 94%.
"""

LEAST_VARIANCE = 1.0
"""With less noise most small figures of one and of two variables would be as they were."""

LEAST_BOUND = 2
"""Noise of at most 1 has a variance of at most 2/3."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A base: for each of its people the record they are a copy of, and their smallest area."""

    donor: NDArray[np.unsignedinteger[Any]]
    area: NDArray[np.int32]
    units: tuple[NDArray[np.int64], ...]
    # Root mean squares of the residuals, a row for each level and a column for each order.
    residuals: NDArray[np.float64]
    # Whether the search was ended before its time. The same records then give another base.
    stopped: bool = False
    # The household of each of its people, from 0, if households were copied whole.
    household: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class ProtectedBase:
    """Makes a population that adds up in all tables, from a share of the records as donors.

    Notes
    -----
    Figures of one and two columns get noise by their cell keys, and are moved by steps of one until
    they fit together. How often each donor is used is settled for larger areas and the whole, and
    then the copies change places until the counts of smaller areas come close too.

    >>> dc.protect.ProtectedBase(share=0.6).variance
    3.5
    """

    share: float = 0.5
    bound: int = 5
    variance: float = 3.5
    # Noise of the smallest areas, which the fit follows most closely.
    variance_smallest: float = 4.5
    search: Search = field(default_factory=Search)

    def __post_init__(self) -> None:
        if self.search.plain:
            return
        number("share", self.share, 0, MOST_SHARE)
        if not self.share:
            raise ParameterError("share must be above 0: without donors there is no base.")
        whole("bound", self.bound, LEAST_BOUND)
        for name in ("variance", "variance_smallest"):
            variance = number(name, getattr(self, name), LEAST_VARIANCE, 1e6)
            max_entropy(self.bound, variance)  # refuses what cannot be

    def noise(self, level: int, secret: bytes) -> Noise:
        """Return the noise of the areas of a level; the whole and large areas share one."""
        variance = self.variance if level else self.variance_smallest
        table = None if self.search.plain else max_entropy(self.bound, variance)
        return Noise(table, KeyMix(secret, "protected base: noise"))

    def apply(
        self,
        records: Records,
        areas: Areas,
        design: Design,
        secret: bytes,
        tell: Tell = lambda stage, done, total: None,
        threads: int | None = None,
    ) -> Fitted:
        """Return the base of some records; the order of the records does not matter."""
        return _Work(self, records, areas, design, secret, tell, threads).run()


@dataclass(eq=False)
class _Work:
    """A base in the making."""

    method: ProtectedBase
    records: Records
    areas: Areas
    design: Design
    secret: bytes
    tell: Tell
    threads: int | None
    stopping: Event = field(default_factory=Event)
    adding: Lock = field(default_factory=Lock)

    def run(self) -> Fitted:
        upper = self._upper()
        _ = self.households  # made before threads need it
        units = [(unit, upper) for unit in range(len(self.units))]
        fits = self._each(lambda found: "choosing donors", self._alone, units)
        self._together(fits, upper)
        for fit in fits:
            fit.uses.settle()
        off = self._each(lambda found: "fitting", self._fit, [(fit,) for fit in fits])
        stopped = self._polish(fits, off)
        residuals = self._means(fits, upper)
        kind = np.min_scalar_type(len(self.records.area))
        donors = [fit.people.astype(kind) for fit in fits]
        places = [fit.unit.members[0][fit.places].astype(np.int32) for fit in fits]
        household = None
        if self.records.household is not None:
            sizes = np.concatenate([fit.sizes for fit in fits])
            household = np.repeat(np.arange(len(sizes)), sizes)
        return Fitted(
            np.concatenate(donors),
            np.concatenate(places),
            tuple(self.units),
            residuals,
            stopped,
            household,
        )

    def _together(self, fits: Sequence[Fit], upper: list[Targets]) -> None:
        """Even out what is off around the units, one after the other.

        At first a unit takes its share of what is off around: the units after it take theirs, so
        that no unit is bent by what is off in all. At last, when less is off, it takes what it can.
        """
        areas, within, passes = self.areas, self.areas.within, self.search.together
        if within == len(areas.of) - 1:
            return
        above = range(within + 1, len(areas.of))
        around, triples = self._off_around(fits, upper)
        steps = list(product(range(len(passes)), range(len(fits))))
        for done, (turn, unit) in enumerate(steps):
            self.tell("evening out", done, len(steps))
            fit, last = fits[unit], turn == len(passes) - 1
            place = [areas.around(level, int(fit.unit.tops[0])) for level in above]
            left = [1 if last else self._left(unit, *at) for at in zip(above, place, strict=True)]
            told = [off[at] for off, at in zip(around, place, strict=True)]
            shares = np.array([part(off, n) for off, n in zip(told, left, strict=True)], np.int32)
            change = self._balance(fit, passes[turn], Off(shares, part(triples, left[-1])))
            for each in told:
                each += change.cells
            triples += change.triples

    def _off_around(
        self, fits: Sequence[Fit], upper: list[Targets]
    ) -> tuple[list[Figures], Figures]:
        """Return what is off above the level of donors, and in the whole in tables of three."""
        base = np.zeros_like(upper[0].cells)
        counts, sums = self.whole
        triples = -self._noisy(len(self.areas.of) - 1, counts.view(np.int32), sums)
        for fit in fits:
            codes = self.records.matrix(fit.uses.donors.rows)
            base[fit.unit.tops[0]], own = fit.uses.tally(self.design, self.triples, codes)
            triples += own
        return self._above(base, upper), triples

    def _balance(self, fit: Fit, sweeps: int, around: Off | None = None) -> Off:
        """Settle how often the donors of a unit are used; return what that changed."""
        codes = self.records.matrix(fit.uses.donors.rows)
        return fit.uses.balance(
            self.search, sweeps, self.design, self.triples, codes, fit.state, around
        )

    def _fit(self, fit: Fit) -> float:
        """Place the donors of a unit; return how far its smallest areas are off."""
        fit.place()
        return self._search(fit, slice(0, self.search.fitting))

    def _polish(self, fits: Sequence[Fit], off: list[float]) -> bool:
        """Better all units; return whether Ctrl-C ended it. `off` is how far they were off."""

        def stage(found: list[float]) -> str:
            return f"polishing: off by {np.mean(found + off[len(found) :]):.2f}"

        rest = slice(self.search.fitting, None)
        try:
            self.tell(stage([]), 0, len(fits))
            self._each(stage, self._search, [(fit, rest) for fit in fits])
        except KeyboardInterrupt:
            return True
        return False

    def _search(self, fit: Fit, sweeps: slice) -> float:
        """Exchange donors of a unit; return how far its smallest areas are off."""
        search, codes = self.search, self.records.matrix(fit.uses.donors.rows)
        off = fit.residuals(codes)
        for temperature in search.temperatures[sweeps]:
            if not self.stopping.is_set():
                fit.search(search, np.array([temperature]), codes, off)
        return _root_mean_square(off[: len(fit.unit.members[0])])

    @cached_property
    def search(self) -> Search:
        search = self.method.search
        return search if self.records.household is None else search.of_households()

    @cached_property
    def units(self) -> list[NDArray[np.int64]]:
        areas = self.areas
        people = np.bincount(self._top(), minlength=areas.sizes[areas.within])
        return areas.units(people)

    def _top(self, rows: NDArray[np.int32] | slice = slice(None)) -> NDArray[np.int32]:
        """Return the area of the level of donors around some records, or around all."""
        top = self.areas.of[self.areas.within].astype(np.int32)
        return np.asarray(top[self.records.area[rows]])

    @cached_property
    def rows(self) -> list[NDArray[np.int32]]:
        """The records of each unit, in the order of their words; households stand together."""
        unit = np.zeros(self.areas.sizes[self.areas.within], np.int32)
        for i, tops in enumerate(self.units):
            unit[tops] = i
        of = unit[self._top()]
        order = np.lexsort((self.records.words, self.records.homes, of)).astype(np.int32)
        return np.split(order, np.cumsum(np.bincount(of, minlength=len(self.units)))[:-1])

    def _donors(self, rows: NDArray[np.int32]) -> Donors:
        """Return the donors among the records of a unit: a keyed share of every pattern."""
        records, top = self.records, self.search.large(self.design)[0]
        every = Donors.persons(rows)
        if records.household is not None:
            every = Donors.households(rows, records.household)
        main = self.design.bytes_of(records.matrix(every.rows))
        words = records.homes[every.rows[every.first[:-1]]]
        return every.some(taken(every, main, words, self.method.share, worth(self.design, top)))

    def _each(
        self,
        stage: Callable[[list[Found]], str],
        work: Callable[..., Found],
        items: Sequence[tuple[Any, ...]],
    ) -> list[Found]:
        """Return what the work makes of each item, in their order, whatever the threads."""
        found: list[Found] = []
        with ThreadPoolExecutor(self.threads or len(os.sched_getaffinity(0))) as pool:
            try:
                for done, one in enumerate(pool.map(lambda item: work(*item), items)):
                    found.append(one)
                    self.tell(stage(found), done + 1, len(items))
            except BaseException:
                self.stopping.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return found

    def _tally(
        self, rows: NDArray[np.int32], area: NDArray[np.int64], size: int
    ) -> tuple[Figures, NDArray[np.uint32]]:
        """Return counts and key sums: all people of an area in the first column, then cells."""
        counts = np.zeros((size, self.design.size), np.int32)
        sums = np.zeros((size, self.design.size), np.uint32)
        keys = self.records.keys[rows]
        cells = self.design.cells(self.records.matrix(rows))
        kernels.add_cells(cells, area, np.ones(len(rows), np.int32), counts)
        kernels.add_cells(cells, area, keys, sums)
        total = np.bincount(area, minlength=size).astype(np.int32)
        key = np.zeros(size, np.uint32)
        np.add.at(key, area, keys)
        return np.column_stack([total, counts]), np.column_stack([key, sums])

    def _upper(self) -> list[Targets]:
        """Return the targets of the whole and of its parts down to the level of donors."""
        areas, within = self.areas, self.areas.within
        counts = np.zeros((areas.sizes[within], self.design.size + 1), np.int32)
        sums = np.zeros(counts.shape, np.uint32)
        for tops, rows in zip(self.units, self.rows, strict=True):
            area = np.searchsorted(tops, self._top(rows))
            counts[tops], sums[tops] = self._tally(rows, area, len(tops))
        noisy = {within: self._noisy(within, counts, sums)}
        for level in range(within + 1, len(areas.of)):
            parent, size = areas.parents[level - 1], areas.sizes[level]
            more = np.zeros((size, counts.shape[1]), np.int32)
            keys = np.zeros(more.shape, np.uint32)
            np.add.at(more, parent, counts)
            np.add.at(keys, parent, sums)
            counts, sums = more, keys
            noisy[level] = self._noisy(level, counts, sums)
        whole = noisy[len(areas.of) - 1]
        found = [self.maker.whole(int(whole[0, 0]), whole[:, 1:])]
        for level in range(len(areas.of) - 2, within - 1, -1):
            found.insert(0, self._parts(level, noisy[level], areas.parents[level], found[0]))
        return found

    @property
    def maker(self) -> Maker:
        return Maker(self.design, KeyMix(self.secret, "protected base: ties"))

    def _noisy(self, level: int, counts: Figures, sums: NDArray[np.uint32]) -> Figures:
        return self.method.noise(level, self.secret).figures(counts, sums)

    def _parts(
        self,
        level: int,
        noisy: Figures,
        parents: NDArray[np.int64],
        above: Targets,
        members: NDArray[np.int64] | None = None,
    ) -> Targets:
        """Return the targets of all areas of a level, or of some, from those around them."""
        people = np.zeros(len(noisy), np.int64)
        cells = np.zeros((len(noisy), self.design.size), np.int32)
        numbers = np.arange(len(noisy)) if members is None else members
        for parent in range(len(above.people)):
            own = np.flatnonzero(parents == parent)
            if len(own):
                part = self.maker.parts(
                    level,
                    numbers[own],
                    noisy[own, 0].astype(np.int64),
                    noisy[own, 1:],
                    above,
                    parent,
                )
                people[own], cells[own] = part.people, part.cells
        return Targets(people, cells)

    def _alone(self, number: int, upper: list[Targets]) -> Fit:
        """Return a unit with its targets, and how often its donors are used for it alone."""
        unit, rows = Unit(self.areas, self.units[number]), self.rows[number]
        targets = self._targets(unit, rows, upper[0])
        words = KeyMix(self.secret, "protected base: search").words(
            np.array([unit.tops[0]], np.uint64)
        )
        donors = self._donors(rows)
        starts, sizes = self._slots(number, unit, donors, targets[0].people)
        top = upper[0].cells[unit.tops].sum(axis=0, dtype=np.int32)
        uses = Uses.alike(donors, sizes, top, self._noisy_triples(rows))
        held = [target.cells for target in targets]
        living = self.records.area[donors.rows[donors.first[:-1]]]
        home = np.searchsorted(unit.members[0], living).astype(np.int32)
        fit = Fit(unit, self.design, uses, starts, sizes, home, held, words)
        self._balance(fit, self.search.alone)
        return fit

    def _slots(
        self, number: int, unit: Unit, donors: Donors, people: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return where the slots of each smallest area begin, and how many people each is for."""
        if self.households is not None:
            return self.households.slots(number, unit.members[0], donors, people)
        starts = np.concatenate([[0], np.cumsum(people)]).astype(np.int64)
        return starts, np.ones(starts[-1], np.int8)

    @cached_property
    def households(self) -> Households | None:
        records = self.records
        if records.household is None:
            return None
        levels = (self.areas.within, len(self.areas.of) - 1)
        words = KeyMix(self.secret, "protected base: households")
        return Households(
            records.household, records.area, records.keys, self.rows, self._noisy, levels, words
        )

    @cached_property
    def triples(self) -> Triples:
        return Triples(self.design)

    def _noisy_triples(self, rows: NDArray[np.int32]) -> Figures:
        """Return noisy figures of three columns, of the people of a unit."""
        codes = self.records.matrix(rows)
        counts, sums = self.triples.tally(codes), self.triples.added(codes, self.records.keys[rows])
        with self.adding:
            self.whole[0] += counts.view(np.uint32)
            self.whole[1] += sums
        return self._noisy(self.areas.within, counts, sums)

    @cached_property
    def whole(self) -> NDArray[np.uint32]:
        """Counts and sums of keys of all people in tables of three columns, unit by unit."""
        return np.zeros((2, int(self.triples.offsets[-1])), np.uint32)

    def _targets(self, unit: Unit, rows: NDArray[np.int32], top: Targets) -> list[Targets]:
        """Return the targets of the areas of a unit, the smallest first."""
        members = unit.members
        area = np.searchsorted(members[0], self.records.area[rows])
        counts, sums = (unit.sums(a) for a in self._tally(rows, area, len(members[0])))
        found = [Targets(top.people[unit.tops], top.cells[unit.tops])]
        for level in range(self.areas.within - 1, -1, -1):
            own = slice(int(unit.first[level]), int(unit.first[level + 1]))
            noisy = self._noisy(level, counts[own], sums[own])
            parents = np.searchsorted(members[level + 1], self.areas.parents[level][members[level]])
            found.insert(0, self._parts(level, noisy, parents, found[0], members[level]))
        return found

    def _above(self, base: Figures, upper: list[Targets]) -> list[Figures]:
        """Return what is off in every level above that of donors, from the counts at that level."""
        areas, within, found = self.areas, self.areas.within, []
        for level in range(within + 1, len(areas.of)):
            above = np.zeros((areas.sizes[level], self.design.size), np.int32)
            np.add.at(above, areas.parents[level - 1], base)
            base = above
            found.append(base - upper[level - within].cells)
        return found

    def _left(self, number: int, level: int, area: int) -> int:
        """Return how many units of an area have not been polished, with one that is about to."""
        return sum(self.areas.around(level, int(tops[0])) == area for tops in self.units[number:])

    def _means(self, fits: Sequence[Fit], upper: list[Targets]) -> NDArray[np.float64]:
        """Return root mean squares of the residuals by level and order."""
        within, squares = self.areas.within, np.zeros((len(self.areas.of), 3))
        base = upper[0].cells.copy()
        for fit in fits:
            off, first = fit.residuals(self.records.matrix(fit.uses.donors.rows)), fit.unit.first
            base[fit.unit.tops] += off[first[within] :]
            for level in range(within + 1):
                squares[level] += self._by_order(off[first[level] : first[level + 1]])
        for level, off in enumerate(self._above(base, upper), within + 1):
            squares[level] = self._by_order(off)
        cells = np.bincount(self.design.orders - 1, minlength=3)
        number_of = np.array(self.areas.sizes)[:, None] * np.maximum(cells, 1)
        return np.asarray(np.sqrt(squares / number_of))

    def _by_order(self, off: Figures) -> NDArray[np.float64]:
        total = (off.astype(np.int64) ** 2).sum(axis=0).astype(np.float64)
        return np.asarray(np.bincount(self.design.orders - 1, total, 3), np.float64)


def part(off: Figures, units: int) -> Figures:
    """Return what one of some units is to take of what is off."""
    return np.rint(off / units).astype(np.int32)


def _root_mean_square(off: Figures) -> float:
    return float(np.sqrt((off.astype(np.float64) ** 2).mean()))
