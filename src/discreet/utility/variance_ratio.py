"""Variance of a row's cells after protection, relative to before."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import ParameterError
from discreet.utility.rows import Rows, as_rows


def variance_ratio(F: ArrayLike, G: ArrayLike, axis: int = 0) -> Rows:
    """Return the variance of the cells of every row, released over true, with mean and spread.

    For the custodian.

    Notes
    -----
    V(G_k)/V(F_k) with n − 1 [Longhurst2007, §5.2]. Zeros: zero cells are cells; a row whose true
    cells are all equal (all zero among them) has no ratio, NaN, and is left out of the mean.

    >>> dc.utility.variance_ratio([[2, 4], [1, 3]], [[3, 3], [0, 3]]).values.tolist()
    [0.0, 2.25]
    """
    true, released = as_rows(F, G, axis)
    if true.shape[1] < 2:
        raise ParameterError("a row must have at least 2 cells to have a variance. Got 1.")
    start, end = true.var(axis=1, ddof=1), released.var(axis=1, ddof=1)
    return Rows(np.where(start > 0, end / np.where(start > 0, start, 1), np.nan))
