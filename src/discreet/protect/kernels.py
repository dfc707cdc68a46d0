"""Fast loops over cells: the keyed mix of cell keys, and the look-up of changes.

Glossary: v0…v3 the state of SipHash, k0 and k1 the halves of its key, m the message word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from discreet.compiling import njit

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
    last = changes.shape[1] - 1
    for i in range(counts.size):
        count = np.int64(counts[i])
        row = count if count < rows else first + (count - first) % period
        uniform = uniforms[i]
        k = 0
        while k < last and uniform >= bounds[row, k]:
            k += 1
        out[i] = count + changes[row, k]


@njit(cache=True, nogil=True)
def draw_codes(
    codes: NDArray[Any],
    strata: NDArray[np.int64],
    bounds: NDArray[np.float64],
    uniforms: NDArray[np.float64],
    out: NDArray[Any],
) -> None:
    """Write the first category whose bound in the record's stratum and row exceeds the uniform."""
    for i in range(codes.size):
        row = bounds[strata[i], codes[i]]
        k = 0
        while uniforms[i] >= row[k]:
            k += 1
        out[i] = k


@njit(cache=True, nogil=True)
def on_ring_from(
    members: NDArray[Any], ring: NDArray[np.uint64], low: int, high: int, aim: Any
) -> int:
    """Return the first place from low to high whose member stands at or after `aim`."""
    while low < high:
        middle = (low + high) // 2
        if ring[members[middle]] < aim:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def find_donors(
    blanked: NDArray[np.int64],
    classes: NDArray[np.int64],
    donors: NDArray[np.int64],
    starts: NDArray[np.int64],
    ring: NDArray[np.uint64],
    aim: NDArray[np.uint64],
    fixed: NDArray[np.int64],
    changed: NDArray[np.int64],
    widths: NDArray[np.int64],
    offsets: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    tries: int,
    out: NDArray[np.int64],
) -> None:
    """Write a donor for each blanked record that has none yet (−1) and can be given one.

    The donors of class c are donors[starts[c]:starts[c + 1]], in the order of `ring`. A donor
    is taken if every edit rule e allows its part of the cell beside the record's own part.
    """
    edits = len(widths)
    for k in range(len(blanked)):
        if out[k] >= 0:
            continue
        i = blanked[k]
        low, high = starts[classes[i]], starts[classes[i] + 1]
        start = on_ring_from(donors, ring, low, high, aim[i])
        for step in range(min(high - low, tries)):
            at = low + (start - low + step) % (high - low)
            donor = donors[at]
            possible = True
            for e in range(edits):
                if not allowed[offsets[e] + fixed[e, i] * widths[e] + changed[e, donor]]:
                    possible = False
            if possible:
                out[k] = donor
                break


def warm_up() -> None:
    """Load what protects small tables, compiling it if need be: a server asks for them often."""
    words = np.zeros(1, np.int64)
    siphash(words, np.uint64(0), np.uint64(0), np.empty(1, np.uint64))
    changes, bounds = np.zeros((1, 1), np.int64), np.ones((1, 1))
    for array in (changes, bounds):
        array.setflags(write=False)  # of one type with those of look-ups
    look_up(words, np.zeros(1), changes, bounds, 1, np.empty(1, np.int64))
