"""Rounding of every count to a multiple of a base: at random, or conventionally the nearest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.protect.base import Counts, Effect, Multiplier, Promise, Transition, whole
from discreet.protect.lookup import LookupTable, rounding


@dataclass(frozen=True)
class RandomRounding:
    """Unbiased random rounding of each cell by itself.

    Notes
    -----
    x = q·b + r becomes q·b + b with probability r/b, q·b otherwise; multiples of b, zeros among
    them, stay [Shlomo2015, sec. 3.2]. No total is kept exactly; every one is kept in expectation.
    The same uniform number gives the same result, so uniforms from cell keys make it consistent
    across tables.

    >>> rounding = dc.protect.RandomRounding(base=3)
    >>> rounding.apply(np.array([0, 1, 3, 5]), np.array([0.9, 0.2, 0.5, 0.8])).tolist()
    [0, 0, 3, 6]
    >>> rounding.transition().matrix(3)[1].round(2).tolist()
    [0.67, 0.0, 0.0, 0.33]
    """

    cellwise: ClassVar[bool] = True
    base: int = 3

    def __post_init__(self) -> None:
        whole("base", self.base, 2, 100)

    @cached_property
    def _lookup(self) -> LookupTable:
        return rounding(self.base)

    def apply(self, counts: Counts, uniforms: NDArray[np.float64]) -> Counts:
        """Return the rounded counts; uniforms in [0, 1), one a cell."""
        return self._lookup.draw(counts, uniforms)

    def transition(self) -> Transition:
        """Return Pr(released j | true i): one row for each remainder, repeated with period b."""
        return self._lookup.transition()

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: every total in expectation."""
        return Promise(unbiased=True)

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: its transition."""
        del dimensions
        return Effect.of(self.transition(), rounding_multiplier(self.base))


@dataclass(frozen=True)
class ConventionalRounding:
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

    cellwise: ClassVar[bool] = True
    base: int = 3

    def __post_init__(self) -> None:
        whole("base", self.base, 2, 100)

    @cached_property
    def _lookup(self) -> LookupTable:
        matrix = np.zeros((self.base, self.base + 1))
        up = 2 * np.arange(self.base) >= self.base
        matrix[:, 0], matrix[:, self.base] = ~up, up
        return LookupTable.from_matrix(matrix, period=self.base)

    def apply(self, counts: Counts, uniforms: NDArray[np.float64]) -> Counts:
        """Return the rounded counts; the uniforms, one a cell, play no part."""
        return self._lookup.draw(counts, uniforms)

    def transition(self) -> Transition:
        """Return Pr(released j | true i), 0 or 1 throughout."""
        return self._lookup.transition()

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: nothing."""
        return Promise(unbiased=False)

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: its transition."""
        del dimensions
        return Effect.of(self.transition(), rounding_multiplier(self.base))


def rounding_multiplier(base: int) -> Multiplier:
    """Return the multiplier of any rounding of all counts: 1 / base.

    Notes
    -----
    Multiples stay with probability 1 and others never do, so that the mean over one round of
    remainders is 1/b: 0.33 in print for base 3 [Shlomo2015, §5.2]. Where a multiple may move as
    well this is the most that it can be.
    """
    source = f"of {base} remainders one is left as counted [Shlomo2015, §4.2]"
    return Multiplier(1 / base, 1 / base, source)
