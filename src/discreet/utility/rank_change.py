"""How many cells change their decile among the cells of their column."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import whole
from discreet.utility.rows import Rows, as_rows


def rank_change(F: ArrayLike, G: ArrayLike, axis: int = 0, groups: int = 10) -> Rows:
    """Return the share of cells of each column that change their decile; `.mean` averages them.

    The cells of a column lie along `axis`.

    For the custodian.

    Notes
    -----
    [Longhurst2007, §5.2]: cells are sorted by true count, ties in the order of the table, and cut
    into ten equal groups; then by released count, ties in the order of the first sort. Of n cells
    the one of rank r (from 0) is in group ⌊10·r/n⌋. Zeros: zero cells are cells and tie with each
    other; 1 → 0 and 0 → 1 can change ranks like any other change.

    >>> dc.utility.rank_change([1, 2, 3, 4], [2, 1, 3, 4], groups=4).mean
    0.5
    """
    true, released = as_rows(F, G, axis)
    whole("groups", groups, 2)
    number = len(true)
    first = np.argsort(true, axis=0, kind="stable")
    # Sorting the released counts in the order of the first sort, stably, keeps ties in that order.
    again = np.argsort(np.take_along_axis(released, first, axis=0), axis=0, kind="stable")
    group = groups * np.arange(number) // number
    # again[r] is the rank before of the cell that has rank r now.
    return Rows((group[again] != group[:, None]).mean(axis=0))
