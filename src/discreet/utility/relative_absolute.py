"""Relative absolute distance between a true and a released table."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_pair
from discreet.utility.rows import Rows, as_rows


def relative_absolute(F: ArrayLike, G: ArrayLike) -> float:
    """Return RAD, the sum over cells of the change relative to the true count.

    For the custodian.

    Notes
    -----
    Σ|G − F|/F over the cells with F > 0 [Longhurst2007, §5.2; Shlomo2010, §4.2]. Zeros: a true
    zero is left out whatever it becomes (0 → 1 adds nothing); 1 → 0 adds 1.

    >>> dc.utility.relative_absolute([4, 2, 0], [3, 3, 1])
    0.75
    """
    return float(relative_changes(*checked_pair(F, G)).sum())


def relative_absolute_rows(F: ArrayLike, G: ArrayLike, axis: int = 0) -> Rows:
    """Return RAD of every row along an axis, with mean and standard error.

    Notes
    -----
    `relative_absolute` of each row [Longhurst2007, §5.2]. Zeros: a row of true zeros counts as 0.

    >>> F, G = [[4, 2], [5, 0]], [[3, 3], [5, 3]]
    >>> dc.utility.relative_absolute_rows(F, G).values.tolist()
    [0.75, 0.0]
    """
    return Rows(relative_changes(*as_rows(F, G, axis)).sum(axis=1))


def relative_changes(true: NDArray[np.int64], released: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return |G − F|/F of each cell, 0 where F is 0."""
    return np.asarray(np.where(true > 0, np.abs(released - true) / np.maximum(true, 1), 0.0))
