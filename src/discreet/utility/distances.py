"""Hellinger distance, RAD and AAD of every row and column of a table at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_pair
from discreet.risk.slots import RowValues, Slots


@dataclass(frozen=True, eq=False)
class DistanceRows:
    """Three distances of every row along every axis, and of the whole table."""

    hellinger: RowValues
    relative_absolute: RowValues
    average_absolute: RowValues


def distance_rows(F: ArrayLike, G: ArrayLike) -> DistanceRows:
    """Return Hellinger distance, RAD and AAD of every row along every axis and of the whole.

    For the custodian.

    Notes
    -----
    [Shlomo2015, eq. 4], [Longhurst2007, §5.2], with the zeros of `hellinger`,
    `relative_absolute` and `average_absolute`.

    >>> found = dc.utility.distance_rows([[4, 2], [5, 0]], [[3, 3], [5, 3]])
    >>> found.average_absolute.axes[0].tolist(), found.average_absolute.whole
    ([1.0, 1.5], 1.25)
    """
    from discreet.utility import kernels  # numba takes longer to import than most work takes

    slots = Slots.of(*checked_pair(F, G))
    squares, relative, absolute = kernels.distance_sums(
        slots.true, slots.released, slots.index, slots.size
    )
    return DistanceRows(
        slots.split(np.sqrt(0.5 * squares)),
        slots.split(relative),
        slots.split(absolute / slots.cells),
    )
