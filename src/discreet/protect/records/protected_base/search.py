"""What a residual costs in the search for a protected base, and how long is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from discreet.protect.records.protected_base.design import Design

FORBIDDEN = 1 << 22
"""What a person costs in a category that must stay empty in an area."""

EMPTY = 1
"""The kind of a cell of one column whose category must stay empty in a smallest area."""

LARGE = 2
"""The kind of a cell of more columns that is larger than small."""

Weights = Sequence[int] | NDArray[np.int64]
"""What a squared residual costs in tables of one, two and three columns."""

USUAL = 15
"""Columns for which the weights of large areas are meant."""

LONGER = 2
"""How many times as many sweeps households have: fewer of them fit, and there are fewer of them."""


@dataclass(frozen=True)
class Search:
    """What a squared residual costs, by the number of columns of its table; sweeps over donors.

    First it is settled how often each donor is used, for `top`, the areas that share donors, each
    `alone`, and then for those `around` them, in passes over all units, `together`. Then the uses
    are placed in smaller areas, and change places: at a temperature t, which falls from `hot` to
    `cold`, a loss of t is taken once in e times.
    """

    smallest: tuple[int, int, int] = (48, 24, 12)
    between: tuple[int, int, int] = (200, 28, 12)
    top: tuple[int, int, int] = (2400, 120, 24)
    around: tuple[int, int, int] = (8000, 600, 200)
    # An area between these and the whole weighs more: tables of three columns, which hold the pairs
    # of the whole, are not counted in it.
    middle: int = 4
    # People of a large cell are worth more than its residual says: else such cells come out too
    # small, because donors who fit exactly are rare, and the others fill small and empty cells.
    lift: float = 5.5
    # Of households fewer fit, and more of a large cell is lost; a higher one loses accuracy.
    lift_households: float = 12.0
    # Donors used alike: u times costs u² times this share of all that a record weighs in `top`.
    even: float = 0.12
    alone: int = 4
    together: tuple[int, ...] = (4, 4)
    fitting: int = 40
    polishing: int = 20
    hot: float = 2000.0
    cold: float = 20.0
    # Whether donors come home where they fit best, more often than by chance: to see what it costs
    # that they do not.
    homing: bool = False
    # Whether figures get no noise and all records may be donors: to see that nothing else is off.
    # No description can ask for it.
    plain: bool = False

    def of_households(self) -> Search:
        """Return the search for whole households as donors."""
        return replace(
            self,
            lift=self.lift_households,
            fitting=LONGER * self.fitting,
            polishing=LONGER * self.polishing,
        )

    @property
    def temperatures(self) -> NDArray[np.float64]:
        """The temperature of each sweep over smaller areas."""
        return np.geomspace(self.hot, self.cold, self.fitting + self.polishing)

    @property
    def tilts(self) -> NDArray[np.int32]:
        """What a person costs in a cell of each kind, beside its residual, in smallest areas."""
        tilts = np.zeros(3, np.int32)
        tilts[EMPTY] = FORBIDDEN
        tilts[LARGE] = round(-self.lift * self.smallest[1])
        return tilts

    def large(self, design: Design) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the weights of the areas that share donors, and of those around them.

        A column in fewer pairs weighs less beside them: else no use could be moved for a pair.
        """
        found = np.array([self.top, self.around])
        others = max(len(design.paired) - 1, 1)
        found[:, 0] = np.rint(found[:, 0] * others / (USUAL - 1))
        return found[0], found[1]

    def levels(self, within: int) -> list[tuple[int, int, int]]:
        """Return the weights of each level in which areas that share donors differ."""
        return [self.smallest] + [self.between] * within


def weigh(design: Design, weights: Weights) -> NDArray[np.int32]:
    """Return the weight of each cell."""
    return np.array(weights, np.int32)[design.orders - 1]


def worth(design: Design, weights: Weights, triples: int = 0) -> NDArray[np.int64]:
    """Return the weight of all tables in which two records share a cell.

    By the number of columns in every pair that they differ in; at last, of each other column that
    they share. Where all tables of some columns are there, and no others, it is exact.
    """
    columns = len(design.paired)
    tables = np.bincount([len(table) for table in design.tables], minlength=4)
    tables[1], tables[3] = columns, tables[3] + triples
    found = np.zeros(columns + 1)
    for order, weight in enumerate(weights, 1):
        every = max(comb(columns, order), 1)
        shared = np.array([comb(columns - k, order) for k in range(columns + 1)])
        found += weight * tables[order] * shared / every
    return np.rint([*found, weights[0]]).astype(np.int64)
