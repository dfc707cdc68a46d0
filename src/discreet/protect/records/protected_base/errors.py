"""How far a protected base is off, by level and order, from true and from noisy figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.protect.records.protected_base.areas import Areas
from discreet.protect.records.protected_base.kernels import compare, tally
from discreet.protect.records.protected_base.ranges import CLASSES, WIDEST, ranges
from discreet.protect.records.protected_base.targets import Noise

MOST_CELLS = 2**22
"""Cells of a table, areas times combinations, that are counted at a level: of so many areas."""


@dataclass(frozen=True, eq=False)
class Side:
    """Records, true or of the base: columns of codes, and the smallest area of each.

    People of a base are copies: `rows` says of which record, so that no column is copied whole.
    """

    codes: Sequence[NDArray[Any]]
    area: NDArray[Any]
    rows: NDArray[Any] | None = None

    def cells(self, table: Sequence[int], sizes: Sequence[int]) -> NDArray[np.int32]:
        """Return the cell of each record in a table, areas aside."""
        found = np.zeros(len(self.area), np.int32)
        for column in table:
            found *= sizes[column]
            found += self.codes[column] if self.rows is None else self.codes[column][self.rows]
        return found


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of cells that have people, of one level and order."""

    cells: int
    people: int
    absolute: float
    squared: float
    large: int  # cells of more than 5 people
    bias: float  # the sum of the errors of these
    small: int  # cells of 1 to 5 people
    exact: int  # of these, those that are as they were
    empty: int
    filled: int

    @classmethod
    def of(cls, sums: NDArray[np.float64]) -> Errors:
        """Return what the kernel added up."""
        whole = [int(x) for x in sums]
        return cls(
            whole[0], whole[1], sums[2], sums[3], whole[4], sums[5], whole[6], whole[7], whole[8],
            whole[9],
        )  # fmt: skip

    def as_dict(self) -> dict[str, float]:
        """Return means and shares."""
        return {
            "mean_count": round(self.people / max(self.cells, 1), 2),
            "mean_absolute": round(self.absolute / max(self.cells, 1), 3),
            "rmse": round((self.squared / max(self.cells, 1)) ** 0.5, 3),
            "bias_above_5": round(self.bias / max(self.large, 1), 3),
            "small": self.small,
            "small_exact": round(self.exact / max(self.small, 1), 3),
            "empty_filled": round(self.filled / max(self.empty, 1), 4),
        }


def chosen_tables(
    sizes: Sequence[int], most: Sequence[int], seed: int = 1
) -> list[tuple[int, ...]]:
    """Return up to so many tables of each order, the same whenever asked, of columns of some sizes.

    One that has too many cells to be counted is not chosen.
    """
    rng = np.random.default_rng(seed)
    found: list[tuple[int, ...]] = []
    for order, number in enumerate(most, 1):
        every = [
            table
            for table in combinations(range(len(sizes)), order)
            if prod(sizes[column] for column in table) <= MOST_CELLS
        ]
        if len(every) > number:
            every = [every[i] for i in sorted(rng.choice(len(every), number, replace=False))]
        found += every
    return found


@dataclass(frozen=True, eq=False)
class Compared:
    """Errors and distances from noisy figures, by level and order."""

    sums: NDArray[np.float64]  # level, order, what the kernel adds up
    distances: NDArray[np.int64]  # level, order, class of figure, distance
    misses: NDArray[np.int64]  # level, order, class of figure, distance from the true count

    def __add__(self, other: Compared) -> Compared:
        """Return what was found in the tables of both."""
        return Compared(
            _added(self.sums, other.sums),
            _added(self.distances, other.distances),
            _added(self.misses, other.misses),
        )

    def errors(self, level: int, order: int) -> Errors:
        """Return the errors of one level and order."""
        return Errors.of(self.sums[level, order - 1])

    def ranges(self, level: int, order: int, noise: Noise) -> list[tuple[int, int]]:
        """Return for each class of figures the ends of a range around them for the true count."""
        return ranges(self.distances[level, order - 1], noise.table)

    def figures(self, level: int) -> int:
        """Return how many figures above 0 there are at a level."""
        return int(self.misses[level, :, 1:].sum())

    def held(self, level: int, noise: Noise) -> float | None:
        """Return the share of figures above 0 whose range holds the true count, at a level.

        From true counts: for the custodian. None where there are no such figures.
        """
        orders = range(1, self.misses.shape[1] + 1)
        inside = sum(held for n in orders for held, _ in self.held_by_class(level, n, noise)[1:])
        number = self.figures(level)
        return inside / number if number else None

    def held_by_class(self, level: int, order: int, noise: Noise) -> list[tuple[int, int]]:
        """Return of how many figures of each class the range holds the true count, and of all."""
        found = []
        told = self.ranges(level, order, noise)
        for own, (low, high) in zip(self.misses[level, order - 1], told, strict=True):
            # Figure − count, from −WIDEST on; a range is of count − figure.
            inside = own[max(WIDEST - high, 0) : WIDEST - low + 1]
            found.append((int(inside.sum()), int(own.sum())))
        return found


def _added(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of two arrays by level and order, of which one may have more orders."""
    more, fewer = (one, other) if one.shape[1] >= other.shape[1] else (other, one)
    found = more.copy()
    found[:, : fewer.shape[1]] += fewer
    return found


def compare_tables(
    true: Side,
    base: Side,
    keys: NDArray[np.uint32],
    sizes: Sequence[int],
    areas: Areas,
    tables: Sequence[tuple[int, ...]],
    noises: Sequence[Noise],
) -> Compared:
    """Return the errors of a base in some tables, at every level of areas.

    `noises` is that of each level; for the ranges other noise, as large, is drawn. Of a level at
    which a table has very many cells, the first areas are compared: areas stand in the order of the
    larger ones, so that they lie together.
    """
    levels, most = len(areas.of), max(map(len, tables))
    sums = np.zeros((levels, most, 10))
    distances = np.zeros((levels, most, len(CLASSES) + 1, 2 * WIDEST + 1), np.int64)
    misses = np.zeros_like(distances)
    edges = np.array(CLASSES, np.int64)
    for table in tables:
        size = prod(sizes[column] for column in table)
        cells = true.cells(table, sizes), base.cells(table, sizes)
        for level, of in enumerate(areas.of):
            shape = min(areas.sizes[level], max(MOST_CELLS // size, 1)), size
            last = int(np.searchsorted(of, shape[0]))
            counts, found = np.zeros((2, *shape), np.int32)
            key_sums = np.zeros(shape, np.uint32)
            tally(cells[0], true.area, of, last, keys, counts, key_sums)
            tally(cells[1], base.area, of, last, keys[:0], found, key_sums)
            noisy = noises[level].beside().figures(counts, key_sums)
            at = level, len(table) - 1
            compare(counts, found, noisy, edges, sums[at], distances[at], misses[at])
    return Compared(sums, distances, misses)
