"""Rounding under control: everything published adds up and is close to its count."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.errors import InternalError, Stopped
from discreet.protect.base import Effect, Kept
from discreet.protect.cells.rounding import Rounding, small_multiplier
from discreet.protect.lookup import rounding
from discreet.solve.rounding import controlled_rounding
from discreet.solve.small import round_small_counts
from discreet.solve.solution import Solution, Status
from discreet.solve.system import TableSystem
from discreet.types import Integers


@dataclass(frozen=True)
class ControlledRounding(Rounding):
    """Rounds all cells and all totals to neighbouring multiples of the base, so that all adds up.

    Multiples stay as they are, zeros among them. Up to two dimensions every cell keeps its mean.
    With three and more it is close to it, and where no such table exists, or none is found, some
    totals are one multiple further away.

    Notes
    -----
    Two dimensions: [Cox1987]. More: [Salazar2005], by a search and an integer programme.

    >>> rounding = dc.protect.ControlledRounding(base=3)
    >>> found = rounding.apply(np.array([[1, 2], [2, 1]]), np.random.default_rng(1))
    >>> found.sum(axis=0).tolist(), found.sum(axis=1).tolist()
    ([3, 3], [3, 3])
    """

    cellwise = False

    def draw(self, counts: Integers, rng: np.random.Generator, /) -> Integers:
        """Return the released counts, whose sums are the totals, or raise what `keeps` misses."""
        found = controlled_rounding(counts.reshape(counts.shape or 1), self.base, rng)
        return released(found).reshape(counts.shape)

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: that of random rounding, up to two dimensions.

        Two neighbouring multiples and a kept mean leave no other chances. With three and more the
        mean is not kept exactly, and a cell may be one multiple further away.
        """
        if dimensions > 2:
            return Effect(None, 2 * self.base - 1, self.multiplier)
        return Effect.of(rounding(self.base).transition(), self.multiplier)

    def keeps(self, dimensions: int) -> Kept:
        """Return what is kept: all totals to less than the base, or twice it beyond two-way."""
        margins = tuple(
            axes for size in range(dimensions) for axes in combinations(range(dimensions), size)
        )
        flat = dimensions <= 2
        return Kept(flat, margins, self.base if flat else 2 * self.base)


@dataclass(frozen=True)
class SmallCountRounding(Rounding):
    """Rounds the counts from 1 to base − 1 to 0 or the base, so that all totals change little.

    Larger counts stay. The choice of which go up is made for the whole table: the changes of all
    cells and totals have a small mean square and a small maximum.

    >>> method = dc.protect.SmallCountRounding(base=3)
    >>> found = method.apply(np.array([[1, 2], [2, 10]]), np.random.default_rng(1))
    >>> sorted(found.ravel().tolist())
    [0, 3, 3, 10]
    """

    cellwise = False

    def draw(self, counts: Integers, rng: np.random.Generator, /) -> Integers:
        """Return the released counts, whose sums are the totals."""
        cells = counts.reshape(counts.shape or 1)
        found = round_small_counts(TableSystem.of(cells.shape), cells, self.base, rng)
        return released(found).reshape(counts.shape)

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: a bound, since a small cell goes where totals need it."""
        del dimensions
        kept = small_multiplier(self.base)
        return Effect(None, self.base - 1, kept, exact_above=self.base)


def released(found: Solution) -> Integers:
    """Return the values of a solution that may be released, or raise."""
    if found.status is Status.STOPPED:
        raise Stopped("stopped before it was done")
    if found.status not in (Status.SOLVED, Status.RELAXED, Status.FEASIBLE):
        raise InternalError("no such table was found; nothing is released.")
    return np.asarray(found.values, np.int64)
