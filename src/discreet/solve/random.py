"""Random numbers inside kernels: no state but the caller's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit


@njit(cache=True, nogil=True)
def uniform(state: NDArray[np.uint64]) -> float:
    """Return a uniform number and move the state on (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0
