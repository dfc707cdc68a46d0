"""Average absolute distance per cell between a true and a released table."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_pair
from discreet.utility.rows import Rows, as_rows


def average_absolute(F: ArrayLike, G: ArrayLike) -> float:
    """Return AAD, the mean absolute change of a cell.

    For the custodian.

    Notes
    -----
    Σ|G − F|/cells [Longhurst2007, §5.2]. Zeros: zero cells count as cells; 1 → 0 and 0 → 1 add 1
    each to the sum.

    >>> dc.utility.average_absolute([4, 2, 0, 10], [3, 3, 0, 12])
    1.0
    """
    true, released = checked_pair(F, G)
    return float(np.abs(released - true).mean())


def average_absolute_rows(F: ArrayLike, G: ArrayLike, axis: int = 0) -> Rows:
    """Return AAD of every row along an axis, with mean and standard error.

    Notes
    -----
    `average_absolute` of each row [Longhurst2007, §5.2]. Zeros: a row of zeros counts as 0.

    >>> F, G = [[4, 2], [5, 0]], [[3, 3], [5, 3]]
    >>> dc.utility.average_absolute_rows(F, G).values.tolist()
    [1.0, 1.5]
    """
    true, released = as_rows(F, G, axis)
    return Rows(np.abs(released - true).mean(axis=1))
