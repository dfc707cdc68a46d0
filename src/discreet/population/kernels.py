"""BLAKE2b over many short messages at once [Saarinen2015, §3].

`hashlib` gives the same digests one at a time; 60 million record ids would take minutes.
Symbols of the RFC: h the state, m the message block, v the working vector, t the byte count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint8, uint64
from numpy.typing import NDArray

from discreet.compiling import inner, njit

IV = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
LANES = 32  # messages that are hashed side by side: fewer are not vectorised
# Numbers of NumPy's: for each constant of Python's a function would be compiled anew.
_16, _24, _32, _63 = uint64(16), uint64(24), uint64(32), uint64(63)
_A0, _A1, _A2, _A3, _B0, _B1, _B2, _B3, _C0, _C1, _C2, _C3, _D0, _D1, _D2, _D3 = np.arange(16)
# The rounds 10 and 11 use the first two rows again.
_SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    np.uint8,
)


@inner(forceinline=True)
def _rotate(x: Any, n: Any) -> Any:
    return (x >> n) | (x << (uint64(64) - n))


@inner(forceinline=True)
def _mix(
    v: NDArray[np.uint64], a: int, b: int, c: int, d: int, m: NDArray[np.uint64], x: int, y: int
) -> None:
    """Mix four rows of v and two of m, in every lane: one instruction for several of them."""
    for i in range(LANES):
        p = v[a, i] + v[b, i] + m[x, i]
        s = _rotate(v[d, i] ^ p, _32)
        r = v[c, i] + s
        q = _rotate(v[b, i] ^ r, _24)
        p = p + q + m[y, i]
        s = _rotate(s ^ p, _16)
        r = r + s
        v[a, i] = p
        v[b, i] = _rotate(q ^ r, _63)
        v[c, i] = r
        v[d, i] = s


@inner()
def _compress(
    h: NDArray[np.uint64],
    m: NDArray[np.uint64],
    v: NDArray[np.uint64],
    t: NDArray[np.uint64],
    last: NDArray[np.uint64],
) -> None:
    """Mix a block into the state in every lane; `last` has all bits set for the last one."""
    for j in range(8):
        for i in range(LANES):
            v[j, i] = h[j, i]
            v[j + 8, i] = IV[j]
    for i in range(LANES):
        v[12, i] ^= t[i]
        v[14, i] ^= last[i]
    for r in range(12):
        s = _SIGMA[r % 10]
        _mix(v, _A0, _B0, _C0, _D0, m, s[0], s[1])
        _mix(v, _A1, _B1, _C1, _D1, m, s[2], s[3])
        _mix(v, _A2, _B2, _C2, _D2, m, s[4], s[5])
        _mix(v, _A3, _B3, _C3, _D3, m, s[6], s[7])
        _mix(v, _A0, _B1, _C2, _D3, m, s[8], s[9])
        _mix(v, _A1, _B2, _C3, _D0, m, s[10], s[11])
        _mix(v, _A2, _B3, _C0, _D1, m, s[12], s[13])
        _mix(v, _A3, _B0, _C1, _D2, m, s[14], s[15])
    for j in range(8):
        for i in range(LANES):
            h[j, i] ^= v[j, i] ^ v[j + 8, i]


@njit(cache=True, nogil=True)
def blake2b_64(
    start: NDArray[np.uint64],
    key: NDArray[np.uint8],
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    digests: NDArray[np.uint64],
) -> None:
    """Write the first 64 bits of the keyed BLAKE2b of each message data[offsets[i]:offsets[i+1]].

    `start` is the initial state for the parameters (digest length, key length, person); the key
    fills a first block of 128 bytes. Messages are hashed side by side; one that has ended goes on
    being mixed, and nobody looks.
    """
    end = uint64(0xFFFFFFFFFFFFFFFF)
    keyed, alone = np.zeros((8, LANES), np.uint64), np.zeros((8, LANES), np.uint64)
    h, m, v = (
        np.zeros((8, LANES), np.uint64),
        np.zeros((16, LANES), np.uint64),
        np.zeros((16, LANES), np.uint64),
    )
    t, last = np.zeros(LANES, np.uint64), np.zeros(LANES, np.uint64)
    for i in range(LANES):
        t[i] = uint64(128)
        for j in range(8):
            keyed[j, i] = alone[j, i] = start[j]
        for j in range(len(key)):
            m[j >> 3, i] |= uint64(key[j]) << uint64(8 * (j & 7))
    _compress(keyed, m, v, t, last)
    for i in range(LANES):
        last[i] = end
    _compress(alone, m, v, t, last)
    for first in range(0, len(digests), LANES):
        n = min(LANES, len(digests) - first)
        longest = 0
        for i in range(n):
            longest = max(longest, offsets[first + i + 1] - offsets[first + i])
            digests[first + i] = alone[0, i]  # of nothing, unless there is something
        for j in range(8):
            for i in range(LANES):
                h[j, i] = keyed[j, i]
        for done in range(0, longest, 128):
            for j in range(16):
                for i in range(LANES):
                    m[j, i] = 0
            for i in range(n):
                left, size = offsets[first + i] + done, offsets[first + i + 1] - offsets[first + i]
                here = min(size - done, 128)
                t[i] = uint64(128 + done + here)
                last[i] = end if done + here == size else uint64(0)
                for j in range(here):
                    m[j >> 3, i] |= uint64(data[left + j]) << uint64(8 * (j & 7))
            _compress(h, m, v, t, last)
            for i in range(n):
                size = offsets[first + i + 1] - offsets[first + i]
                if done < size <= done + 128:
                    digests[first + i] = h[0, i]


@njit(cache=True, nogil=True)
def twice(hashed: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """Return the digests that are there more than once, each as often as it comes again.

    They are divided by their first bits, so that those of a part fit in the processor's cache, and
    looked up among the others of their part.
    """
    by, part = uint64(64 - bits), np.zeros((1 << bits) + 1, np.int64)
    for i in range(len(hashed)):
        part[(hashed[i] >> by if bits > 0 else uint64(0)) + uint64(1)] += 1
    for i in range(1, len(part)):
        part[i] += part[i - 1]
    # Loops, and one way to make an array: what NumPy has for it would take seconds to compile.
    place, divided = np.zeros(len(part), np.int64), np.zeros(len(hashed), np.uint64)
    longest = 0
    for i in range(len(part) - 1):
        place[i] = part[i]
        longest = max(longest, part[i + 1] - part[i])
    for i in range(len(hashed)):
        to = hashed[i] >> by if bits > 0 else uint64(0)
        divided[place[to]] = hashed[i]
        place[to] += 1
    size = uint64(1)
    while size < 2 * longest + 1:
        size *= uint64(2)
    seen, mask = np.zeros(size, np.uint64), size - uint64(1)
    found, again, zeros = divided, 0, 0  # in its place: those that come again are behind
    for p in range(len(part) - 1):
        for i in range(len(seen)):
            seen[i] = 0
        for i in range(part[p], part[p + 1]):
            digest = divided[i]
            at = digest & mask
            while seen[at] != 0 and seen[at] != digest:
                at = (at + uint64(1)) & mask
            zeros += digest == 0
            if seen[at] == digest and (digest != 0 or zeros > 1):
                found[again] = digest
                again += 1
            seen[at] = digest
    return found[:again]


@njit(cache=True, nogil=True)
def mark(values: NDArray[np.int64], seen: NDArray[np.uint8]) -> bool:
    """Set the bit of each value; return whether all have one, and it was not set."""
    bits = 8 * len(seen)
    for i in range(len(values)):
        if values[i] < 0 or values[i] >= bits:
            return False
        bit = uint8(1 << (values[i] & 7))
        if seen[values[i] >> 3] & bit:
            return False
        seen[values[i] >> 3] |= bit
    return True


@njit(cache=True, nogil=True)
def decimals(values: NDArray[np.int64], data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> int:
    """Write whole numbers as decimal text, one after the other, and where each begins and ends."""
    end = 0
    offsets[0] = 0
    for i in range(len(values)):
        left = uint64(values[i]) if values[i] >= 0 else uint64(0) - uint64(values[i])
        if values[i] < 0:
            data[end] = 45  # a minus
            end += 1
        length, bound = 1, uint64(10)
        while length < 19 and left >= bound:
            length += 1
            bound *= uint64(10)
        for j in range(end + length - 1, end - 1, -1):
            rest = left // uint64(10)
            data[j] = uint64(48) + left - rest * uint64(10)
            left = rest
        end += length
        offsets[i + 1] = end
    return end


@njit(cache=True, nogil=True)
def ordered_places(areas: NDArray[np.uint32], next_place: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return where each row goes when rows are put in the order of their areas, stably.

    `next_place` holds the first place of each area and is used up.
    """
    places = np.empty(len(areas), np.uint32)
    for i in range(len(areas)):
        places[i] = next_place[areas[i]]
        next_place[areas[i]] += 1
    return places


@njit(cache=True, nogil=True)
def scatter(values: NDArray[np.unsignedinteger], places: NDArray[np.uint32]) -> NDArray:  # type: ignore[type-arg]
    """Return the values with each in its place."""
    out = np.empty_like(values)
    for i in range(len(values)):
        out[places[i]] = values[i]
    return out


def warm_up() -> None:
    """Call every kernel as a build does, so that it is compiled and kept."""
    start, digests = np.zeros(8, np.uint64), np.empty(1, np.uint64)
    data, offsets = np.zeros(1, np.uint8), np.array([0, 1])
    for array in (data, offsets):
        array.setflags(write=False)  # of one type with what is read from files
    blake2b_64(start, data, data, offsets, digests)
    twice(digests, 0)
    values = np.zeros(1, np.int64)
    values.setflags(write=False)
    mark(values.copy(), np.zeros(1, np.uint8))
    decimals(values, np.empty(20, np.uint8), np.empty(2, np.int64))
    places = ordered_places(np.zeros(1, np.uint32), np.zeros(1, np.int64))
    for kind in (np.uint8, np.uint16, np.uint32):
        scatter(np.zeros(1, kind), places)
