"""Plain twins of the kernels that protect a table, in NumPy: the same numbers from the same.

For tables so small that loading the kernels would take longer than the work (`compiling.SMALL`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.types import Floats, Integers

Words = NDArray[np.uint64]


def _rotate(x: Words, left: int) -> Words:
    return (x << np.uint64(left)) | (x >> np.uint64(64 - left))


def _rounds(v0: Words, v1: Words, v2: Words, v3: Words, times: int) -> tuple[Words, ...]:
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


def siphash(words: NDArray[Any], k0: np.uint64, k1: np.uint64, out: Words) -> None:
    """Write SipHash-2-4 of each 8-byte word, little-endian, under the key (k0, k1)."""
    m = words.astype(np.uint64)
    length = np.uint64(8 << 56)
    start = np.full(len(m), k0), np.full(len(m), k1)
    v0, v1 = start[0] ^ np.uint64(0x736F6D6570736575), start[1] ^ np.uint64(0x646F72616E646F6D)
    v2, v3 = start[0] ^ np.uint64(0x6C7967656E657261), start[1] ^ np.uint64(0x7465646279746573)
    v0, v1, v2, v3 = _rounds(v0, v1, v2, v3 ^ m, 2)
    v0, v1, v2, v3 = _rounds(v0 ^ m, v1, v2, v3 ^ length, 2)
    v0, v1, v2, v3 = _rounds(v0 ^ length, v1, v2 ^ np.uint64(0xFF), v3, 4)
    out[:] = v0 ^ v1 ^ v2 ^ v3


def look_up(
    counts: Integers, uniforms: Floats, changes: Integers, bounds: Floats, period: int,
    out: Integers,
) -> None:  # fmt: skip
    """Write count + change of the first interval whose upper bound exceeds the uniform."""
    counts = counts.astype(np.int64)
    first = len(changes) - period
    row = np.where(counts < len(changes), counts, first + (counts - first) % period)
    exceeds = uniforms[:, None] < bounds[row]
    exceeds[:, -1] = True
    out[:] = counts + changes[row, exceeds.argmax(axis=1)]
