"""Rounding of counts to multiples of a base: at random, to the nearest, or of small counts only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.checks import whole
from discreet.protect.base import Method, Multiplier
from discreet.protect.cells.cell_key import ByLookup
from discreet.protect.lookup import LookupTable, rounding


@dataclass(frozen=True)
class Rounding(Method):
    """What all roundings to a base have in common, of cells or of tables."""

    base: int = 3

    def __post_init__(self) -> None:
        whole("base", self.base, 2, 100)

    @property
    def multiplier(self) -> Multiplier:
        """That of a rounding of all counts: 1 / base.

        Notes
        -----
        Multiples stay with probability 1 and others never do, so that the mean over one round of
        remainders is 1/b: 0.33 in print for base 3 [Shlomo2015, §5.2]. Where a multiple may move
        as well this is the most that it can be.
        """
        source = f"of {self.base} remainders one is left as counted [Shlomo2015, §4.2]"
        return Multiplier(1 / self.base, 1 / self.base, source)


@dataclass(frozen=True)
class RandomRounding(Rounding, ByLookup):
    """Unbiased random rounding of each cell by itself.

    Notes
    -----
    x = q·b + r becomes q·b + b with probability r/b, q·b otherwise; multiples of b, zeros among
    them, stay [Shlomo2015, sec. 3.2]. No total is kept exactly; every one is kept in expectation.
    The same uniform number gives the same result, so uniforms from cell keys make it consistent
    across tables. Its transition has one row for each remainder, repeated with period b.

    >>> rounding = dc.protect.RandomRounding(base=3)
    >>> rounding.apply(np.array([0, 1, 3, 5]), np.array([0.9, 0.2, 0.5, 0.8])).tolist()
    [0, 0, 3, 6]
    >>> rounding.transition().matrix(3)[1].round(2).tolist()
    [0.67, 0.0, 0.0, 0.33]
    """

    @cached_property
    def _lookup(self) -> LookupTable:
        return rounding(self.base)


@dataclass(frozen=True)
class ConventionalRounding(Rounding, ByLookup):
    """Rounds each count to the nearest multiple of the base, half-way counts up.

    Nothing is drawn: the same count has the same figure everywhere, and a released figure is
    certain to stand for one of `base` neighbouring counts (fewer at 0).

    Notes
    -----
    x = q·b + r becomes q·b where 2r < b and q·b + b elsewhere [Domingo2002, §4.2]. Each count has
    a bias of its own, −r or b − r; totals are kept neither exactly nor in expectation. Zeros stay.

    >>> rounding = dc.protect.ConventionalRounding(base=5)
    >>> rounding.apply(np.array([2, 3, 7]), np.zeros(3)).tolist()
    [0, 5, 5]
    """

    @cached_property
    def _lookup(self) -> LookupTable:
        matrix = np.zeros((self.base, self.base + 1))
        up = 2 * np.arange(self.base) >= self.base
        matrix[:, 0], matrix[:, self.base] = ~up, up
        return LookupTable.from_matrix(matrix, period=self.base)


@dataclass(frozen=True)
class SmallCellAdjustment(Rounding, ByLookup):
    """Rounds the counts below the base at random to 0 or the base; larger counts stay.

    Without bias: x becomes the base with probability x / base.

    >>> method = dc.protect.SmallCellAdjustment(base=3)
    >>> method.apply(np.array([1, 2, 4]), np.array([0.5, 0.5, 0.5])).tolist()
    [0, 3, 4]
    """

    @cached_property
    def _lookup(self) -> LookupTable:
        rows: list[tuple[list[int], list[float]]] = [
            ([-x, self.base - x], [1 - x / self.base, 1]) if x else ([0], [1])
            for x in range(self.base)
        ]
        return LookupTable.from_rows([*rows, ([0], [1])])

    @property
    def multiplier(self) -> Multiplier:
        """That of any method that leaves no small count."""
        return small_multiplier(self.base)


def small_multiplier(base: int) -> Multiplier:
    """Return the multiplier of methods that leave no count below the base: 1 for larger figures.

    Notes
    -----
    Of the counts 1…b only b can stay, so that their mean is at most 1/b. A figure above b takes
    nothing off: in a table without small figures nothing was hidden.
    """
    source = f"of the counts 1 to {base} only {base} is left as counted, and larger ones are"
    return Multiplier(1 / base, 1.0, source, base)
