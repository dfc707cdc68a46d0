"""Controlled tabular adjustment of counts: small ones moved to safety, all totals sums."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.checks import whole
from discreet.protect.base import Method, Multiplier
from discreet.protect.cells.rounding import small_multiplier
from discreet.protect.tables.controlled import released
from discreet.solve.adjust.cells import CountCells
from discreet.solve.adjust.counts import adjust_counts
from discreet.types import Integers


@dataclass(frozen=True)
class CountAdjustment(Method):
    """Moves counts from 1 to below the smallest safe one to 0 or to it; the others move little.

    Zeros stay, no other count becomes a small one, and all totals are sums: a table of released
    counts that looks like one without small counts. A cell goes where the totals need it: its
    chances are not known, nor is a bound on its change or that of a total.

    Notes
    -----
    Controlled tabular adjustment of counts [Dandekar].

    >>> method = dc.protect.CountAdjustment(smallest_safe=3)
    >>> found = method.apply(np.array([[1, 20], [30, 40]]), np.random.default_rng(1))
    >>> int(found[0, 0]) in (0, 3)
    True
    """

    cellwise = False
    smallest_safe: int = 3

    def __post_init__(self) -> None:
        whole("smallest_safe", self.smallest_safe, 2, 100)

    def draw(self, counts: Integers, rng: np.random.Generator, /) -> Integers:
        """Return the released counts, whose sums are the totals."""
        table = counts.reshape(counts.shape or 1)
        cells = CountCells.margins(table.shape, most_axes=table.ndim)
        return released(adjust_counts(cells, table, rng, self.smallest_safe)).reshape(counts.shape)

    @property
    def multiplier(self) -> Multiplier:
        """No small count stays; of larger ones it is not known, and nothing is taken off."""
        safe = self.smallest_safe
        source = (
            f"of the counts 1 to {safe} only {safe} may be left as counted; of larger ones it is "
            "not known, and nothing is taken off"
        )
        return replace(small_multiplier(safe), source=source)
