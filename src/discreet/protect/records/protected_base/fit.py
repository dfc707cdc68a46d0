"""The fit of one larger area: donors in slots, so that the figures come close to the targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.protect.records.protected_base import kernels
from discreet.protect.records.protected_base.areas import Areas
from discreet.protect.records.protected_base.design import Design
from discreet.protect.records.protected_base.narrow import Narrow
from discreet.protect.records.protected_base.search import EMPTY, LARGE, Search, weigh, worth
from discreet.protect.records.protected_base.targets import Figures
from discreet.protect.records.protected_base.uses import Uses

SMALL = 5
"""The largest figure that is small."""

FEW_AREAS = 3
"""In fewer smallest areas that share donors, somebody may come home for each that leaves.

Else nobody could move: of two areas each is the home of one half and the goal of the other. Those
with rare categories come home more often by it than others.
"""


@dataclass(frozen=True, eq=False)
class Unit:
    """Areas that share their donors, and the smaller ones in them: where each has its row.

    Rows are those of the smallest areas, then of each level up to that of donors.
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
        """The first row of each level, and at last how many there are."""
        return np.cumsum([0, *(len(members) for members in self.members)]).astype(np.int64)

    @cached_property
    def chain(self) -> NDArray[np.int64]:
        """The rows of each smallest area and of the areas around it, up to the level of donors."""
        smallest = self.members[0]
        rows = [
            self.first[level] + np.searchsorted(members, self.areas.of[level][smallest])
            for level, members in enumerate(self.members)
        ]
        return np.ascontiguousarray(np.stack(rows, axis=1))

    def sums(self, smallest: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of all levels up to that of donors, from those of smallest areas."""
        found = np.zeros((int(self.first[-1]), *smallest.shape[1:]), smallest.dtype)
        found[: len(smallest)] = smallest
        for level in range(1, len(self.members)):
            np.add.at(found, self.chain[:, level], smallest)
        return found


@dataclass(eq=False)
class Fit:
    """A unit under way: how often its donors are used, and a slot for each use.

    `sizes` says how many records the donor of each slot has, `home` in which smallest area of the
    unit, from 0, each donor lives. `codes`, where they are asked for, are
    those of the donors' records.
    """

    unit: Unit
    design: Design
    uses: Uses
    starts: NDArray[np.int64]
    sizes: NDArray[Any]
    home: NDArray[np.int32]
    wanted: InitVar[Sequence[NDArray[Any]]]  # the targets of each level up to that of donors
    state: NDArray[np.uint64]

    def __post_init__(self, wanted: Sequence[NDArray[Any]]) -> None:
        self.slots = np.zeros(len(self.sizes), np.int32)
        # Level by level: in smallest areas, which are most, nearly all targets fit into a byte.
        self.kept = [Narrow.of(cells) for cells in wanted]

    @property
    def targets(self) -> Figures:
        """The targets, a row for each area up to the level of donors."""
        return np.concatenate([cells.wide() for cells in self.kept])

    @property
    def people(self) -> NDArray[np.int32]:
        """The record that each person to come is a copy of."""
        donors = self.uses.donors
        return donors.rows[donors.members(self.slots)]

    @property
    def places(self) -> NDArray[np.int64]:
        """The smallest area of each person."""
        areas = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return np.repeat(areas, self.sizes)

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """The kind of each cell of the smallest areas, by its target."""
        target, design = self.kept[0].wide(), self.design
        kinds = np.zeros(target.shape, np.uint8)
        kinds[(target > SMALL) & (design.orders > 1)] = LARGE
        for number in design.main:
            own = slice(int(design.offsets[number]), int(design.offsets[number + 1]))
            kinds[:, own][target[:, own] == 0] = EMPTY
        return kinds

    def place(self) -> None:
        """Put the copies of donors into slots of their size, as chance has it."""
        copies, sizes = self.uses.copies, self.uses.donors.sizes
        for size in np.unique(self.sizes):
            own = copies[sizes[copies] == size]
            kernels.shuffle(own, self.state)
            self.slots[self.sizes == size] = own

    def residuals(self, codes: NDArray[np.int32]) -> Figures:
        """Return what is off, a row for each area up to the level of donors."""
        counts = np.zeros(self.kept[0].shape, np.int32)
        area, members = self.places, self.uses.donors.members(self.slots)
        ones = np.ones(len(area), np.int32)
        kernels.add_cells(self.design.cells(codes)[members], area, ones, counts)
        return self.unit.sums(counts) - self.targets

    def search(
        self,
        search: Search,
        temperatures: NDArray[np.float64],
        codes: NDArray[np.int32],
        residuals: Figures,
    ) -> None:
        """Exchange donors between smallest areas; the residuals are kept up to date.

        Who is at home was left to chance when copies were placed, and stays so: figures of an area
        fit best with the people who live there, and whoever came home by it could be told apart.
        """
        levels = search.levels(self.unit.areas.within)
        weights = np.array([weigh(self.design, level) for level in levels])
        apart = np.cumsum([(0, 0, 0), *levels], axis=0).tolist()
        value = np.array([worth(self.design, level) for level in apart])
        order, kinds = np.arange(len(self.starts) - 1), self.kinds
        cells, main = self.design.cells(codes), self.design.bytes_of(codes)
        home = np.full_like(self.home, -1) if search.homing else self.home
        groups = 3 if len(order) < FEW_AREAS else 1
        for temperature in temperatures:
            kernels.shuffle(order, self.state)
            kernels.exchange(
                cells,
                main,
                self.uses.donors.first,
                self.slots,
                self.starts,
                order,
                home,
                groups,
                self.unit.chain,
                residuals,
                weights,
                kinds,
                search.tilts,
                value,
                float(temperature),
                self.state,
            )
