"""The fit of one larger area: donors in slots, so that the figures come close to the targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.protect.records.protected_base import kernels
from discreet.protect.records.protected_base.areas import Areas
from discreet.protect.records.protected_base.design import Design
from discreet.protect.records.protected_base.donors import Donors
from discreet.protect.records.protected_base.targets import Figures
from discreet.protect.records.protected_base.triples import Triples

EMPTY = 1
"""The kind of a cell of one column whose category must stay empty in a smallest area."""
LARGE = 2
"""The kind of a cell of more columns that is larger than small."""
RINGS = 5
"""In so many orders donors are neighbours of those with whom they have much in common."""
SMALL = 5
"""The largest figure that is small."""


@dataclass(frozen=True)
class Stage:
    """A part of the search: sweeps from a hot to a cold temperature, and what counts in it.

    At a temperature t a loss of t is taken once in e times. `between`, `top` and `around` are the
    shares of their weight with which larger areas count. The smallest count in full throughout:
    what they agree on, larger areas nearly have, and where those count from the start, no single
    exchange can better a small area without costing more in the large one.
    """

    sweeps: int
    hot: float
    cold: float
    between: float = 1.0
    top: float = 1.0
    around: float = 1.0
    triples: float = 0.0


@dataclass(frozen=True)
class Search:
    """What a squared residual costs, by the order of its table, and how long is searched."""

    smallest: tuple[int, ...] = (48, 24, 12)
    between: tuple[int, ...] = (600, 28, 12)
    top: tuple[int, ...] = (2400, 120, 24)
    around: tuple[int, ...] = (12000, 800, 64)
    # People of a large cell are worth more than its residual says: else such cells come out too
    # small, because donors who fit exactly are rare, and the others fill small and empty cells.
    lift: float = 3.5
    # Tables of any three columns, in the areas that share donors and in the whole.
    triples: tuple[int, int] = (12, 60)
    # Donors used alike: u times costs so many times u².
    even: int = 150
    # What tables of one and two columns may lose, where those of three gain more.
    slack: int = 10_000
    tries: int = 8
    alone: tuple[Stage, ...] = (
        Stage(5, 800, 200, 0, 0),
        Stage(10, 200, 80, 0.25, 0.05),
        Stage(10, 200, 40, 0.5, 0.2),
        Stage(7, 80, 16),
        Stage(3, 16, 8, triples=1),
    )
    # Each goes over all areas that share donors; only in the last do they take all that is off.
    together: tuple[Stage, ...] = (Stage(6, 40, 12, triples=1), Stage(6, 12, 4, triples=1))

    def weights(self, design: Design, areas: Areas, stage: Stage, around: bool) -> Figures:
        """Return the weight of each cell, for the levels from the smallest to the largest."""
        rows = []
        for level in range(len(areas.of) if around else areas.within + 1):
            if level == 0:
                weight, share = self.smallest, 1.0
            elif level < areas.within:
                weight, share = self.between, stage.between
            elif level == areas.within:
                weight, share = self.top, stage.top
            else:
                weight, share = self.around, stage.around
            rows.append(np.rint(np.array(weight)[design.orders - 1] * share))
        return np.array(rows, np.int32)

    def tilts(self, levels: int, within: int) -> NDArray[np.int32]:
        """Return what a person costs in a cell of each kind, beside its residual."""
        tilts = np.zeros((levels, 3), np.int32)
        tilts[0, EMPTY] = kernels.FORBIDDEN
        tilts[0, LARGE] = round(-self.lift * self.smallest[1])
        return tilts


@dataclass(frozen=True, eq=False)
class Unit:
    """Areas that share their donors, and the smaller ones in them: where each has its row.

    Rows are those of the smallest areas, then of each level up to that of donors, then, one a
    level, of the areas around.
    """

    areas: Areas
    tops: NDArray[np.int64]

    @cached_property
    def members(self) -> tuple[NDArray[np.int64], ...]:
        """The areas of each level up to that of donors."""
        inside = np.isin(self.areas.of[self.areas.within], self.tops)
        return tuple(np.unique(of[inside]) for of in self.areas.of[: self.areas.within + 1])

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first row of each level."""
        lengths = [len(m) for m in self.members]
        lengths += [1] * (len(self.areas.of) - len(lengths))
        return np.cumsum([0, *lengths]).astype(np.int64)

    @cached_property
    def chain(self) -> NDArray[np.int64]:
        """The rows of each smallest area and of the areas around it."""
        smallest = self.members[0]
        rows = [
            self.first[level] + np.searchsorted(members, self.areas.of[level][smallest])
            for level, members in enumerate(self.members)
        ]
        rows += [np.full(len(smallest), row) for row in self.first[len(self.members) : -1]]
        return np.ascontiguousarray(np.stack(rows, axis=1))

    def sums(self, smallest: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of all levels up to that of donors, from those of smallest areas."""
        found = np.zeros((int(self.first[len(self.members)]), *smallest.shape[1:]), smallest.dtype)
        found[: len(smallest)] = smallest
        for level in range(1, len(self.members)):
            np.add.at(found, self.chain[:, level], smallest)
        return found


@dataclass(frozen=True, eq=False)
class Wide:
    """Tables of three columns of a unit and of the whole: what they are to be.

    `codes` are those of the donors' records. `rest` is what is off in the whole without the people
    of the unit; it is None as long as the unit is fitted alone.
    """

    triples: Triples
    donors: Donors
    codes: NDArray[np.int32]
    target: Figures
    rest: Figures | None = None

    def slope(self, slots: NDArray[np.int32], search: Search, share: float) -> tuple[Figures, int]:
        """Return residuals times their weights, and the sum of the weights."""
        unit, whole = (round(share * weight) for weight in search.triples)
        if self.rest is None:
            whole = 0
        if not unit + whole:
            return np.zeros(0, np.int32), 0
        own = self.triples.tally(self.codes[self.donors.members(slots)])
        slope = unit * (own - self.target)
        if self.rest is not None:
            slope += whole * (own + self.rest)
        return slope, unit + whole

    @cached_property
    def agreeing(self) -> NDArray[np.int64]:
        """How often two records of a donor, or one with itself, are in one cell."""
        found = kernels.triple_squares(self.codes, self.donors.first, self.triples.columns)
        return np.asarray(found)


@dataclass(eq=False)
class Fit:
    """A unit under way: its donors, a slot for each one to come, and what is off.

    `cells` are those of the donors' records, `sizes` how many records the donor of each slot has.
    """

    unit: Unit
    design: Design
    donors: Donors
    cells: NDArray[Any]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    wanted: Sequence[NDArray[Any]]  # the targets of each level up to that of donors
    state: NDArray[np.uint64]

    def __post_init__(self) -> None:
        self.slots = np.zeros(len(self.sizes), np.int32)
        # Level by level: in smallest areas, which are most, all targets fit into two bytes.
        kinds = [np.min_scalar_type(int(cells.max(initial=0))) for cells in self.wanted]
        self.wanted = [cells.astype(k) for cells, k in zip(self.wanted, kinds, strict=True)]

    @cached_property
    def targets(self) -> Figures:
        """The targets, a row for each area up to the level of donors."""
        return np.concatenate([cells.astype(np.int32) for cells in self.wanted])

    @property
    def people(self) -> NDArray[np.int64]:
        """The record that each person to come is a copy of."""
        return self.donors.rows[self.donors.members(self.slots)]

    @property
    def places(self) -> NDArray[np.int64]:
        """The smallest area of each person."""
        areas = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return np.repeat(areas, self.sizes)

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """The kind of each cell, by its target; a row for each area."""
        smallest, orders = len(self.unit.members[0]), self.design.orders
        kinds = np.zeros((int(self.unit.first[-1]), self.design.size), np.uint8)
        kinds[:smallest][(self.targets[:smallest] > SMALL) & (orders > 1)] = LARGE
        main = np.zeros(self.design.size, bool)
        for number, column in enumerate(self.design.columns):
            if column.coarser is None:
                main[self.design.offsets[number] : self.design.offsets[number + 1]] = True
        kinds[:smallest][(self.targets[:smallest] == 0) & main] = EMPTY
        return kinds

    @cached_property
    def rings(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Orders of the donors in which those with much in common stand together; and places.

        Each order begins with other columns, of a donor's first record, after the donor's size.
        """
        columns = len(self.design.columns)
        codes = self.cells[self.donors.first[:-1], :columns].T
        turned = (np.roll(codes, k * columns // RINGS, axis=0) for k in range(RINGS))
        rings = [np.lexsort((*turn, self.donors.sizes)) for turn in turned]
        return np.array(rings, np.int32), np.argsort(rings, axis=1).astype(np.int32)

    def forget(self) -> None:
        """Drop what can be made again, while other units have their turn."""
        self.cells = self.cells[:0].copy()
        for made in ("kinds", "rings", "targets"):
            self.__dict__.pop(made, None)

    def draw(self) -> None:
        """Draw the first donors."""
        kernels.first_donors(
            self.cells,
            self.donors.first,
            self.donors.bounds,
            self.kinds,
            EMPTY,
            self.starts,
            self.sizes,
            self.state,
            self.slots,
        )

    def residuals(self, around: Figures) -> Figures:
        """Return what is off, a row for each area; `around` are the rows of the areas around."""
        smallest = len(self.unit.members[0])
        counts = np.zeros((smallest, self.design.size), np.int32)
        area, members = self.places, self.donors.members(self.slots)
        kernels.add_cells(self.cells[members], area, np.ones(len(area), np.int32), counts)
        return np.concatenate([self.unit.sums(counts) - self.targets, around]).astype(np.int32)

    def search(
        self, search: Search, stages: tuple[Stage, ...], residuals: Figures, wide: Wide
    ) -> None:
        """Exchange donors through some stages; the residuals are kept up to date."""
        levels = len(self.unit.areas.of)
        around = len(residuals) > len(self.targets)
        chain = self.unit.chain if around else self.unit.chain[:, : len(self.unit.members)].copy()
        tilts = search.tilts(levels, self.unit.areas.within)
        for stage in stages:
            weights = search.weights(self.design, self.unit.areas, stage, around)
            slope, widely = wide.slope(self.slots, search, stage.triples)
            for temperature in np.geomspace(stage.hot, stage.cold, stage.sweeps):
                kernels.anneal(
                    self.cells,
                    self.donors.first,
                    self.donors.bounds,
                    self.slots,
                    self.starts,
                    chain,
                    residuals,
                    weights,
                    self.kinds,
                    tilts,
                    *self.rings,
                    float(temperature),
                    search.tries,
                    self.state,
                    wide.codes,
                    wide.triples.columns,
                    self.design.sizes,
                    wide.triples.offsets,
                    slope,
                    widely,
                    wide.agreeing,
                    search.even,
                    search.slack if widely else 0,
                )
