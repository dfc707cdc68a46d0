"""Which of two donors that are much the same is taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.protect.records.protected_base.kernels.likeness import BLOCK, alike, beside
from discreet.protect.records.protected_base.steps import below


@njit(cache=True, nogil=True)
def _decide(
    one: int, other: int, chances: NDArray[np.int64], whole: int, words: NDArray[np.uint64]
) -> None:
    """Let the words of two donors decide about one of them; their chances keep their sum."""
    a, b = (one, other) if words[one] < words[other] else (other, one)
    both = chances[a] + chances[b]
    state = np.array([words[a] ^ words[b]])
    if both <= whole:
        first = below(state, both) < chances[a]
        chances[a], chances[b] = (both, 0) if first else (0, both)
    else:
        first = below(state, 2 * whole - both) < whole - chances[b]
        rest = both - whole
        chances[a], chances[b] = (whole, rest) if first else (rest, whole)


@njit(cache=True, nogil=True)
def pivot(
    main: NDArray[np.uint8],
    first: NDArray[np.int64],
    order: NDArray[np.int32],
    words: NDArray[np.uint64],
    worth: NDArray[np.int64],
    differ: int,
    chances: NDArray[np.int64],
    whole: int,
) -> None:
    """Decide between donors near each other in an order, whose records are much the same.

    Notes
    -----
    `chances` are those of each donor to be taken, out of `whole`. Two donors at a time, each with
    the nearest that is left, one is decided on: it is taken, or it is not, and the other has what
    is left of both chances [Grafstrom2012]. Two are near that are apart by no more than records
    that differ in so many columns, K(d, d) + K(e, e) − 2·K(d, e) with K as in `balance`.
    """
    most = 0
    for k in range(len(order)):
        most = max(most, first[order[k] + 1] - first[order[k]])
    columns = np.empty((main.shape[1], BLOCK * most), np.uint8)
    apart, of = np.empty(BLOCK * most, np.uint8), np.empty(BLOCK * most, np.int64)
    at, free = np.empty(BLOCK + 1, np.int64), np.empty(BLOCK, np.bool_)
    own, near = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for start in range(0, len(order), BLOCK):
        who = order[start : start + BLOCK]
        size = len(who)
        beside(main, first, who, columns, of, at)
        for k in range(size):
            mine = main[first[who[k]] : first[who[k] + 1]]
            alike(mine, columns, of, at[k], at[k + 1], worth, apart, own)
            free[k] = True
        for k in range(size):
            if not free[k]:
                continue
            mine = main[first[who[k]] : first[who[k] + 1]]
            alike(mine, columns, of, 0, at[size], worth, apart, near)
            best, least = k, 2 * len(mine) * (worth[0] - worth[differ]) + 1
            for e in range(k + 1, size):  # one before, if still free, has nobody near
                cost = own[k] + own[e] - 2 * near[e]
                if free[e] and (cost < least or (differ == len(worth) - 2 and best == k)):
                    best, least = e, cost
            if best > k:
                free[best] = False
                _decide(who[k], who[best], chances, whole, words)
