"""Fast loops over cells: the keyed mix of cell keys, and the look-up of changes.

Glossary: v0…v3 the state of SipHash, k0 and k1 the halves of its key, m the message word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

_LENGTH_8 = np.uint64(8 << 56)


@njit(cache=True, nogil=True, inline="always")
def _rotate(x: Any, left: Any) -> Any:
    return (x << uint64(left)) | (x >> uint64(64 - left))


@njit(cache=True, nogil=True, inline="always")
def _rounds(v0: Any, v1: Any, v2: Any, v3: Any, times: int) -> Any:
    for _ in range(times):
        v0 = v0 + v1
        v1 = _rotate(v1, 13) ^ v0
        v0 = _rotate(v0, 32)
        v2 = v2 + v3
        v3 = _rotate(v3, 16) ^ v2
        v0 = v0 + v3
        v3 = _rotate(v3, 21) ^ v0
        v2 = v2 + v1
        v1 = _rotate(v1, 17) ^ v2
        v2 = _rotate(v2, 32)
    return v0, v1, v2, v3


@njit(cache=True, nogil=True)
def siphash(words: NDArray[Any], k0: Any, k1: Any, out: NDArray[np.uint64]) -> None:
    """Write SipHash-2-4 of each 8-byte word, little-endian, under the key (k0, k1)."""
    a0 = uint64(k0) ^ uint64(0x736F6D6570736575)
    a1 = uint64(k1) ^ uint64(0x646F72616E646F6D)
    a2 = uint64(k0) ^ uint64(0x6C7967656E657261)
    a3 = uint64(k1) ^ uint64(0x7465646279746573)
    for i in range(words.size):
        m = uint64(words[i])
        v0, v1, v2, v3 = _rounds(a0, a1, a2, a3 ^ m, 2)
        v0, v1, v2, v3 = _rounds(v0 ^ m, v1, v2, v3 ^ _LENGTH_8, 2)
        v0, v1, v2, v3 = _rounds(v0 ^ _LENGTH_8, v1, v2 ^ uint64(0xFF), v3, 4)
        out[i] = v0 ^ v1 ^ v2 ^ v3


@njit(cache=True, nogil=True)
def look_up(
    counts: NDArray[Any],
    uniforms: NDArray[np.float64],
    changes: NDArray[np.int64],
    bounds: NDArray[np.float64],
    period: int,
    out: NDArray[Any],
) -> None:
    """Write count + change of the first interval whose upper bound exceeds the uniform."""
    rows = changes.shape[0]
    first = rows - period
    for i in range(counts.size):
        count = np.int64(counts[i])
        row = count if count < rows else first + (count - first) % period
        uniform = uniforms[i]
        k = 0
        while uniform >= bounds[row, k]:
            k += 1
        out[i] = count + changes[row, k]
