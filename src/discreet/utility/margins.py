"""What protection does to margins: their relative change, and whether the table still adds up."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_counts, checked_pair
from discreet.errors import ParameterError
from discreet.types import Floats


def margin_differences(
    F: ArrayLike, G: ArrayLike, most_axes: int | None = None
) -> dict[tuple[int, ...], Floats]:
    """Return the relative difference (released − true)/true of every margin summed from cells.

    The key is the axes that the margin keeps, () for the total. `most_axes` leaves out margins of
    more axes.

    For the custodian.

    Notes
    -----
    [Longhurst2007, §5.2: the distances "for sub-totals and totals"]. Zeros: 0 where a margin is 0
    in both; infinite where a true 0 is released as more, since no ratio describes it; 1 → 0 is −1.

    >>> found = dc.utility.margin_differences([[4, 6], [5, 5]], [[3, 6], [6, 6]])
    >>> found[(0,)].tolist(), float(found[()])
    ([-0.1, 0.2], 0.05)
    """
    true, released = checked_pair(F, G)
    axes = range(true.ndim)
    most = true.ndim - 1 if most_axes is None else min(most_axes, true.ndim - 1)
    differences = {}
    for number in range(most + 1):
        for kept in combinations(axes, number):
            summed = tuple(axis for axis in axes if axis not in kept)
            differences[kept] = _relative(true.sum(axis=summed), released.sum(axis=summed))
    return differences


def additivity_gap(cells: ArrayLike, margins: Mapping[tuple[int, ...], ArrayLike]) -> int:
    """Return Σ|margin − sum of its cells| of a released table with the margins released beside it.

    The key of a margin is the axes that it keeps, () for the total. This is a function of what
    is released alone, so anyone may know it.

    Notes
    -----
    0 for a table that adds up. Zeros: a margin of 0 over cells of 0 has no gap.

    >>> dc.utility.additivity_gap([[3, 3], [0, 6]], {(0,): [6, 6], (): 15})
    3
    """
    counts = checked_counts(cells, "the released table")
    gap = 0
    for kept, margin in margins.items():
        summed = tuple(axis for axis in range(counts.ndim) if axis not in kept)
        sums = counts.sum(axis=summed)
        given = checked_counts(margin, "a margin")
        if given.size != np.size(sums):
            raise ParameterError(
                f"the margin that keeps the axes {kept} must have {np.size(sums)} values. "
                f"Got {given.size}."
            )
        gap += int(np.abs(given.ravel() - np.ravel(sums)).sum())
    return gap


def _relative(true: ArrayLike, released: ArrayLike) -> Floats:
    base, value = np.asarray(true), np.asarray(released)
    ratio = (value - base) / np.where(base > 0, base, 1)
    return np.asarray(np.where(base > 0, ratio, np.where(value > 0, np.inf, 0.0)))
