"""Hellinger, RAD and AAD of every slice along every axis at once. For the custodian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_pair
from discreet.risk.slots import SliceValues, Slots


@dataclass(frozen=True, eq=False)
class DistanceSlices:
    """Three distances of every slice along every axis, and of the whole table."""

    hellinger: SliceValues
    relative_absolute: SliceValues
    average_absolute: SliceValues


def all_slices(F: ArrayLike, G: ArrayLike) -> DistanceSlices:
    """Return Hellinger distance, RAD and AAD of every slice along every axis and of the whole.

    Notes
    -----
    [Shlomo2015, eq. 4], [Longhurst2007, §5.2], with the zeros of `hellinger`,
    `relative_absolute` and `average_absolute`.

    >>> found = dc.utility.all_slices([[4, 2], [5, 0]], [[3, 3], [5, 3]])
    >>> found.average_absolute.axes[0].tolist(), found.average_absolute.whole
    ([1.0, 1.5], 1.25)
    """
    from discreet.utility import kernels  # numba takes longer to import than most work takes

    true, released = checked_pair(F, G)
    slots = Slots.of(true, released)
    squares, relative, absolute = kernels.distance_sums(
        slots.true, slots.released, slots.index, slots.size
    )
    return DistanceSlices(
        slots.split(np.sqrt(0.5 * squares)),
        slots.split(relative),
        slots.split(absolute / slots.cells),
    )
