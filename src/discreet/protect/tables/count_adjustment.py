"""Controlled tabular adjustment of counts: small ones moved to safety, all totals sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import InternalError, Stopped
from discreet.protect.base import (
    Counts,
    Effect,
    Promise,
    check_room,
    checked_counts,
    narrowed,
    whole,
)
from discreet.protect.cells.small_cell import small_multiplier
from discreet.solve.adjust.cells import CountCells
from discreet.solve.adjust.counts import adjust_counts
from discreet.solve.solution import Status


@dataclass(frozen=True)
class CountAdjustment:
    """Moves counts from 1 to below the smallest safe one to 0 or to it; the others move little.

    Zeros stay, no other count becomes a small one, and all totals are sums: a table of released
    counts that looks like one without small counts.

    Notes
    -----
    Controlled tabular adjustment of counts [Dandekar].

    >>> method = dc.protect.CountAdjustment(smallest_safe=3)
    >>> found = method.apply(np.array([[1, 20], [30, 40]]), np.random.default_rng(1))
    >>> int(found[0, 0]) in (0, 3)
    True
    """

    cellwise: ClassVar[bool] = False
    smallest_safe: int = 3

    def __post_init__(self) -> None:
        whole("smallest_safe", self.smallest_safe, 2, 100)

    def apply(self, counts: Counts, rng: np.random.Generator) -> Counts:
        """Return the released counts, in the shape and type of the counts; totals are sums."""
        true = checked_counts(counts)
        check_room(true, self.smallest_safe)
        if not true.any():
            return true.copy()
        shape = true.shape or (1,)
        cells = CountCells.margins(shape, most_axes=len(shape))
        found = adjust_counts(cells, true.reshape(shape), rng, self.smallest_safe)
        if found.status is Status.STOPPED:
            raise Stopped("stopped before it was done")
        if found.status is not Status.FEASIBLE:
            raise InternalError("no adjustment of this table was found; nothing is released.")
        return narrowed(found.values.reshape(true.shape), true.dtype)

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: not known, since a cell goes where the totals need it.

        No small count stays; of larger ones it is not known, and nothing is taken off.
        """
        del dimensions
        return Effect(multiplier=small_multiplier(self.smallest_safe))

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: nothing exactly; totals change little, without a bound."""
        del dimensions
        return Promise(unbiased=False)
