"""How many households of each size the areas of a base have, so that they have its people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.protect.keys import KeyMix
from discreet.protect.records.protected_base import steps
from discreet.protect.records.protected_base.donors import Donors
from discreet.protect.records.protected_base.targets import Figures

Noisy = Callable[[int, Figures, NDArray[np.uint32]], Figures]
"""Returns noisy figures of areas of a level, from counts and sums of keys."""

TOGETHER = 10
"""How much a household too many in the areas that share donors counts, beside one in an area."""

TRIES = 300
"""Tries to even out the households of each area."""


@dataclass(frozen=True, eq=False)
class Households:
    """The households of all records; `rows` are the records of each unit, households together.

    Numbers of households get noise by the people in them, as figures of people do.
    """

    household: NDArray[np.int64]
    area: NDArray[np.int64]
    keys: NDArray[np.uint32]
    rows: Sequence[NDArray[np.int32]]
    noisy: Noisy
    levels: tuple[int, int]  # that of donors, and the whole
    words: KeyMix

    def slots(
        self, unit: int, areas: NDArray[np.int64], donors: Donors, people: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the slots of each area begin, and how many people each is for.

        An area has as many people as it is told, as far as donors are of sizes that make it so.
        """
        held = np.diff(donors.bounds) > 0
        own, size, keys = self._of(self.rows[unit], len(held) - 1)
        place = np.searchsorted(areas, own)
        wanted = self._figures(0, place, size, keys, (len(areas), len(held))).astype(np.int64)
        numbers = wanted.copy()
        states = self.words.words(areas.astype(np.uint64))
        for i in range(len(areas)):
            steps.house(numbers[i], int(people[i]), held, states[i : i + 1])
        together = np.add.reduceat(self._by_unit[unit], np.arange(len(held)))
        tries = TRIES * len(areas)
        steps.even_out(numbers, wanted, together, held, TOGETHER, tries, states[:1])
        starts = np.concatenate([[0], np.cumsum(numbers.sum(axis=1))]).astype(np.int64)
        return starts, np.repeat(np.tile(np.arange(len(held)), len(areas)), numbers.ravel())

    def _of(
        self, rows: NDArray[np.int32], largest: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
        """Return the area, the size and the sum of keys of the households of some records."""
        starts = np.flatnonzero(np.diff(self.household[rows], prepend=-1))
        size = np.minimum(np.diff(starts, append=len(rows)), largest)
        return self.area[rows[starts]], size, np.add.reduceat(self.keys[rows], starts)

    def _figures(
        self,
        level: int,
        place: NDArray[np.int64],
        size: NDArray[np.int64],
        keys: NDArray[np.uint32],
        shape: tuple[int, int],
    ) -> Figures:
        counts, sums = np.zeros(shape, np.int32), np.zeros(shape, np.uint32)
        np.add.at(counts, (place, size), 1)
        np.add.at(sums, (place, size), keys)
        return self.noisy(level, counts, sums)

    @cached_property
    def _by_unit(self) -> NDArray[np.int64]:
        """Noisy numbers by unit and size, moved until they add up to those of the whole."""
        largest = int(np.bincount(self.household).max(initial=0))
        parts = [self._of(rows, largest)[1:] for rows in self.rows]
        unit = np.repeat(np.arange(len(parts)), [len(size) for size, _ in parts])
        size, keys = (np.concatenate(each) for each in zip(*parts, strict=True))
        within, whole = self.levels
        shape = (len(parts), largest + 1)
        found = self._figures(within, unit, size, keys, shape).astype(np.int64)
        if whole > within:
            total = self._figures(whole, np.zeros_like(unit), size, keys, (1, largest + 1))[0]
            state = self.words.words(np.array([2**63], np.uint64))
            for k in range(1, largest + 1):
                column = found[:, k].copy()
                steps.apportion(column, int(total[k]), state)
                found[:, k] = column
        return found
