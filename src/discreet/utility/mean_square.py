"""The reciprocal of the mean squared error, the crudest measure of what is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_pair


def reciprocal_mean_square(F: ArrayLike, G: ArrayLike) -> float:
    """Return 1/MSE, one over the mean squared change of a cell: larger is closer.

    For the custodian.

    Notes
    -----
    K/Σ(G − F)² [Domingo2002, §1], a crude measure by its authors' own word: a change of 1 counts
    alike in a cell of 1 and in one of 1,000. Zeros: zero cells count as cells, 1 → 0 and 0 → 1
    weigh the same. Equal tables have no error: infinite.

    >>> dc.utility.reciprocal_mean_square([1, 5], [0, 6])
    1.0
    """
    true, released = checked_pair(F, G)
    square = float(np.square((released - true).astype(np.float64)).sum())
    return true.size / square if square else float("inf")
