"""Kernels of the distances: one pass over the populated cells for every row along every axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit


@njit(cache=True, nogil=True)
def distance_sums(
    f: NDArray[np.int64], g: NDArray[np.int64], slots: NDArray[np.int32], size: int
) -> NDArray[np.float64]:
    """Return, for each slot, Σ(√F − √G)², Σ|G − F|/F over F > 0, and Σ|G − F|."""
    sums = np.zeros((3, size))
    for cell in range(f.size):
        if f[cell] == g[cell]:
            continue
        x, y = float(f[cell]), float(g[cell])
        square = (np.sqrt(x) - np.sqrt(y)) ** 2
        change = abs(x - y)
        relative = change / x if x > 0 else 0.0
        for axis in range(slots.shape[0]):
            slot = slots[axis, cell]
            sums[0, slot] += square
            sums[1, slot] += relative
            sums[2, slot] += change
    return sums
