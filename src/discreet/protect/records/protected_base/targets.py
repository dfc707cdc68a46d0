"""Targets of a protected base: noisy figures, moved by steps of one until they fit together.

From the whole to its parts: totals of areas to the total of the larger one, one-way figures to
these and to those of the larger area, two-way figures of an area to its one-way figures. Tables of
three columns are left as the noise makes them: most could not be made to fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.protect.keys import KeyMix, purposes
from discreet.protect.lookup import LookupTable
from discreet.protect.records.protected_base.design import Design
from discreet.protect.records.protected_base.steps import apportion, transport, transport_pairs

Figures = NDArray[np.int32]
"""A row of cells for each area."""


@dataclass(frozen=True)
class Noise:
    """Noise by the people in a cell: the same people, the same figure."""

    table: LookupTable | None
    mix: KeyMix

    def figures(self, counts: Figures, sums: NDArray[np.uint32]) -> Figures:
        """Return noisy counts; nobody stays nobody."""
        if self.table is None:
            return counts.copy()
        found = np.zeros_like(counts)
        held = np.nonzero(counts)
        drawn = self.table.draw(counts[held].astype(np.int64), self.mix.uniforms(sums[held]))
        found[held] = drawn
        return found

    def beside(self) -> Noise:
        """Return noise as large that is independent of this, for ranges alone."""
        return Noise(self.table, KeyMix(self.mix.secret, "protected base: ranges"))


def likeliest_total(people: int, noisy: Figures, design: Design) -> int:
    """Return how many people there are, as all tables of an area say it together.

    The noisy figures of a table of K cells with people add up to the number of all people with K
    times the noise of one figure, so that the table weighs 1/K. The noise of `people` alone would
    be in every table, and its bias.
    """
    total, weight = float(people), 1.0
    for first, last in pairwise(design.offsets.tolist()):
        held = int((noisy[first:last] > 0).sum())
        if held:
            total += int(noisy[first:last].sum()) / held
            weight += 1 / held
    return round(total / weight)


@dataclass(frozen=True, eq=False)
class Targets:
    """How many people each area is to have, and how many in each cell."""

    people: NDArray[np.int64]
    cells: Figures


@dataclass(frozen=True)
class Maker:
    """Makes targets; `words` gives random words for the ties of an area of a level."""

    design: Design
    words: KeyMix

    def whole(self, people: int, noisy: Figures) -> Targets:
        """Return the targets of the largest area from its noisy figures, one row of them."""
        total = likeliest_total(people, noisy[0], self.design)
        cells = noisy.astype(np.int64)
        state = self._state(0, 0)
        for number, column in enumerate(self.design.columns):
            own = self._own(cells, number)
            if column.coarser is None:
                apportion(own[0], total, state)
                continue
            coarse = self._own(cells, column.coarser)
            for group in range(coarse.shape[1]):
                members = np.flatnonzero(column.of == group)
                part = own[0, members]
                if len(part):
                    apportion(part, int(coarse[0, group]), state)
                    own[0, members] = part
        self._pairs(cells[0], state)
        return Targets(np.array([total]), cells.astype(np.int32))

    def parts(
        self,
        level: int,
        numbers: NDArray[np.int64],
        people: NDArray[np.int64],
        noisy: Figures,
        around: Targets,
        parent: int,
    ) -> Targets:
        """Return the targets of the areas in a larger one; `numbers` are theirs in their level."""
        state = self._state(level, int(numbers[0]))
        people = people.astype(np.int64)
        apportion(people, int(around.people[parent]), state)
        cells = noisy.astype(np.int64)
        above = around.cells[parent].astype(np.int64)
        for number, column in enumerate(self.design.columns):
            own, whole = self._own(cells, number), self._own(above[None], number)[0]
            if column.coarser is None:
                part = np.ascontiguousarray(own)
                transport(part, people.copy(), whole.copy(), state)
                own[:] = part
                continue
            coarse = self._own(cells, column.coarser)
            for group in range(coarse.shape[1]):
                members = np.flatnonzero(column.of == group)
                if len(members):
                    part = np.ascontiguousarray(own[:, members])
                    transport(part, coarse[:, group].copy(), whole[members], state)
                    own[:, members] = part
        for i, area in enumerate(numbers.tolist()):
            self._pairs(cells[i], self._state(level, area))
        return Targets(people, cells.astype(np.int32))

    def _own(self, cells: NDArray[np.int64], table: int) -> NDArray[np.int64]:
        return cells[:, self.design.offsets[table] : self.design.offsets[table + 1]]

    def _pairs(self, cells: NDArray[np.int64], state: NDArray[np.uint64]) -> None:
        """Move the two-way figures of an area to its one-way figures."""
        design = self.design
        transport_pairs(cells, design.numbers, design.sizes, design.offsets, state)

    def _state(self, level: int, area: int) -> NDArray[np.uint64]:
        word = self.words.words(np.array([level << 32 | area], np.uint64))
        return purposes(word, 1)
