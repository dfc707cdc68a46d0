"""A protected base: one population of whole records, fitted to noisy figures, for all tables.

[Voas2000] select whole records so that small areas have given margins; here the margins are noisy,
and the records are a keyed half of the larger area's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.checks import number
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.protect.keys import KeyMix, purposes
from discreet.protect.lookup import max_entropy
from discreet.protect.records.protected_base import kernels
from discreet.protect.records.protected_base.areas import Areas
from discreet.protect.records.protected_base.design import Design
from discreet.protect.records.protected_base.fit import Fit, Search, Unit
from discreet.protect.records.protected_base.targets import Figures, Maker, Noise, Targets

Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Records:
    """Records as columns of codes; `words` are random words made of the secret and their ids."""

    codes: Sequence[NDArray[Any]]
    area: NDArray[Any]
    words: NDArray[np.uint64]

    def matrix(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the codes of some records, a row for each."""
        found = np.empty((len(rows), len(self.codes)), np.int32)
        for i, column in enumerate(self.codes):
            found[:, i] = column[rows]
        return found

    @cached_property
    def keys(self) -> NDArray[np.uint32]:
        """Record keys, whose sums key the noise."""
        return purposes(self.words, 1).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A base: for each of its people the record they are a copy of, and their smallest area."""

    donor: NDArray[np.int64]
    area: NDArray[np.int64]
    units: tuple[NDArray[np.int64], ...]
    # Root mean squares of the residuals, a row for each level and a column for each order.
    residuals: NDArray[np.float64]


@dataclass(frozen=True)
class ProtectedBase:
    """Makes a population that adds up in all tables, from a share of the records as donors.

    Notes
    -----
    Figures of one and two columns get noise by their cell keys, are moved by steps of one until
    they fit together, and donors are exchanged until their counts come close to them.

    >>> dc.protect.ProtectedBase(share=0.5).variance
    3.0
    """

    share: float = 0.5
    bound: int = 5
    variance: float = 3.0
    # Noise of the smallest areas, which the fit follows most closely.
    variance_smallest: float = 4.0
    search: Search = field(default_factory=Search)

    def __post_init__(self) -> None:
        number("share", self.share, 0, 1)
        if not self.share:
            raise ParameterError("share must be above 0: without donors there is no base.")
        for variance in (self.variance, self.variance_smallest):
            number("variance", variance, 0, 1e6)
            if variance:
                max_entropy(self.bound, variance)  # refuses what cannot be

    def noise(self, level: int, secret: bytes) -> Noise:
        """Return the noise of the areas of a level; the whole and large areas share one."""
        variance = self.variance if level else self.variance_smallest
        table = max_entropy(self.bound, variance) if variance else None
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

    def run(self) -> Fitted:
        upper = self._upper()
        made = self._each("fitting", self._alone, [(u, upper) for u in range(len(self.units))])
        around = self._off_around(upper, [found[1] for found in made])
        squares = np.zeros((len(self.areas.of), 3))
        for done, (fit, _) in enumerate(made):
            self.tell("polishing", done, len(made))
            squares += self._together(fit, around)
        donors, places = [], []
        for (fit, _), rows in zip(made, self.rows, strict=True):
            donors.append(self._pool(rows)[fit.slots])
            places.append(np.repeat(fit.unit.members[0], np.diff(fit.starts)))
        return Fitted(
            np.concatenate(donors),
            np.concatenate(places),
            tuple(self.units),
            self._means(squares, around),
        )

    @cached_property
    def units(self) -> list[NDArray[np.int64]]:
        areas = self.areas
        people = np.bincount(self._tops, minlength=areas.sizes[areas.within])
        return areas.units(people)

    @cached_property
    def _tops(self) -> NDArray[np.int64]:
        return np.asarray(self.areas.of[self.areas.within][self.records.area])

    @cached_property
    def rows(self) -> list[NDArray[np.int64]]:
        """The records of each unit, in the order of their words."""
        unit = np.zeros(self.areas.sizes[self.areas.within], np.int32)
        for i, tops in enumerate(self.units):
            unit[tops] = i
        of = unit[self._tops]
        order = np.lexsort((self.records.words, of))
        return np.split(order, np.cumsum(np.bincount(of, minlength=len(self.units)))[:-1])

    def _pool(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the donors among the records of a unit: the first in keyed order."""
        return rows[: ceil(self.method.share * len(rows))]

    def _each(
        self, stage: str, work: Callable[..., Found], items: Sequence[tuple[Any, ...]]
    ) -> list[Found]:
        """Return what the work makes of each item, in their order, whatever the threads."""
        found = []
        with ThreadPoolExecutor(self.threads or len(os.sched_getaffinity(0))) as pool:
            try:
                for done, one in enumerate(pool.map(lambda item: work(*item), items)):
                    found.append(one)
                    self.tell(stage, done + 1, len(items))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return found

    def _tally(
        self, rows: NDArray[np.int64], area: NDArray[np.int64], size: int
    ) -> tuple[Figures, NDArray[np.uint32]]:
        """Return counts and key sums: all people of an area in the first column, then cells."""
        counts = np.zeros((size, self.design.size), np.int32)
        sums = np.zeros((size, self.design.size), np.uint32)
        keys = self.records.keys[rows]
        kernels.tally(self.design.cells(self.records.matrix(rows)), area, keys, counts, sums)
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
            area = np.searchsorted(tops, self._tops[rows])
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
        found = [self.maker.whole(whole[:, 0].astype(np.int64), whole[:, 1:])]
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

    def _alone(self, number: int, upper: list[Targets]) -> tuple[Fit, Figures]:
        """Return the fit of a unit without the areas around it, and what is off in its areas."""
        unit, rows = Unit(self.areas, self.units[number]), self.rows[number]
        targets = self._targets(unit, rows, upper[0])
        people = targets[0].people
        starts = np.concatenate([[0], np.cumsum(people)]).astype(np.int64)
        words = KeyMix(self.secret, "protected base: search").words(
            np.array([unit.tops[0]], np.uint64)
        )
        cells = self.design.cells(self.records.matrix(self._pool(rows)))
        held = np.concatenate([target.cells for target in targets])
        fit = Fit(unit, self.design, cells, starts, np.zeros(starts[-1], np.int32), held, words)
        fit.draw()
        off = fit.residuals(np.zeros((0, self.design.size), np.int32))
        fit.search(self.method.search, self.method.search.alone, off)
        return self._lighter(fit), off[unit.first[self.areas.within] :]

    def _lighter(self, fit: Fit) -> Fit:
        """Return a fit as it waits for its turn, without what can be made again."""
        kind = np.int16 if fit.targets.max(initial=0) < 2**15 else np.int32
        none = np.empty((0, len(self.design.tables)), fit.donors.dtype)
        return Fit(
            fit.unit, fit.design, none, fit.starts, fit.slots, fit.targets.astype(kind), fit.state
        )

    def _targets(self, unit: Unit, rows: NDArray[np.int64], top: Targets) -> list[Targets]:
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

    def _off_around(self, upper: list[Targets], off: Iterable[Figures]) -> list[Figures]:
        """Return what is off in every level above that of donors, all units taken together."""
        areas, within = self.areas, self.areas.within
        base = upper[0].cells.copy()
        for tops, rows in zip(self.units, off, strict=True):
            base[tops] += rows
        found = []
        for level in range(within + 1, len(areas.of)):
            above = np.zeros((areas.sizes[level], self.design.size), np.int32)
            np.add.at(above, areas.parents[level - 1], base)
            base = above
            found.append(base - upper[level - within].cells)
        return found

    def _together(self, fit: Fit, around: list[Figures]) -> NDArray[np.float64]:
        """Better the areas around one unit, and its own; return its squared residuals."""
        areas, within = self.areas, self.areas.within
        number = next(i for i, u in enumerate(self.units) if u[0] == fit.unit.tops[0])
        fit.donors = self.design.cells(self.records.matrix(self._pool(self.rows[number])))
        fit.targets = fit.targets.astype(np.int32)
        place = [areas.around(level, int(fit.unit.tops[0])) for level in range(len(areas.of))]
        above = range(within + 1, len(areas.of))
        rows = [around[level - within - 1][place[level]] for level in above]
        none = np.zeros((0, self.design.size), np.int32)
        off = fit.residuals(np.array(rows, np.int32) if rows else none)
        if rows:
            fit.search(self.method.search, self.method.search.together, off)
        for row, level in enumerate(above, int(fit.unit.first[within + 1])):
            around[level - within - 1][place[level]] = off[row]
        squares = np.zeros((len(areas.of), 3))
        for level in range(within + 1):
            own = off[fit.unit.first[level] : fit.unit.first[level + 1]].astype(np.int64) ** 2
            squares[level] = self._by_order(own)
        fit.donors, fit.targets = fit.donors[:0], fit.targets[:0]
        for made in ("kinds", "rings"):
            fit.__dict__.pop(made, None)
        return squares

    def _by_order(self, squares: NDArray[np.int64]) -> NDArray[np.float64]:
        total = squares.sum(axis=0).astype(np.float64)
        return np.asarray(np.bincount(self.design.orders - 1, total, 3), np.float64)

    def _means(self, squares: NDArray[np.float64], around: list[Figures]) -> NDArray[np.float64]:
        """Return root mean squares of the residuals by level and order."""
        for level, off in enumerate(around, self.areas.within + 1):
            squares[level] = self._by_order(off.astype(np.int64) ** 2)
        cells = np.bincount(self.design.orders - 1, minlength=3)
        number = np.array(self.areas.sizes)[:, None] * np.maximum(cells, 1)
        return np.asarray(np.sqrt(squares / number))
