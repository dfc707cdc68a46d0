"""Uses moved between donors until the figures of large areas come close."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.protect.records.protected_base.kernels.cells import triple
from discreet.protect.records.protected_base.kernels.likeness import BLOCK, alike, beside, scores

ROUNDS = 4
"""How often all of a block are gone over."""


@njit(cache=True, nogil=True)
def _even_out(
    near: NDArray[np.int64],
    score: NDArray[np.int64],
    used: NDArray[np.int64],
    even: int,
    change: NDArray[np.int64],
) -> None:
    """Move uses between some donors while the sum of weighted squares falls; scores follow."""
    size = len(score)
    for _ in range(ROUNDS):
        moved = False
        for k in range(size):
            if used[k] + change[k] <= 0:
                continue
            mine = near[k]
            best, least = k, 2 * score[k] - mine[k] - 2 * even
            for e in range(size):
                cost = 2 * (score[e] - mine[e]) + near[e, e]
                if cost < least and e != k:
                    best, least = e, cost
            if best == k:
                continue
            moved = True
            theirs = near[best]
            for e in range(size):
                score[e] += theirs[e] - mine[e]
            score[k] -= even
            score[best] += even
            change[k] -= 1
            change[best] += 1
        if not moved:
            break


@njit(cache=True, nogil=True)
def balance(
    cells: NDArray[Any],
    codes: NDArray[np.int32],
    main: NDArray[np.uint8],
    first: NDArray[np.int64],
    order: NDArray[np.int32],
    times: NDArray[np.int32],
    slope: NDArray[np.int32],
    step: NDArray[np.int32],
    wide: NDArray[np.int32],
    widely: int,
    triples: NDArray[np.int32],
    worth: NDArray[np.int64],
    even: int,
) -> None:
    """Go once over donors of one size, and move uses between those near each other in an order.

    Notes
    -----
    S(d) is the sum over the cells of donor d's records of their residuals times their weights, and
    K(d, e) the sum of the weights of the cells that records of d and e share. One use moved from d
    to e changes the sum of weighted squared residuals by 2·(S(e) − S(d)) + K(d, d) + K(e, e) −
    2·K(d, e), and S(f) by K(f, e) − K(f, d). So with S and K of the donors of a block known, cells
    are not looked at until the block is done. K follows from the number of columns in which
    records differ, where all tables of an order weigh alike; where they do not, it is near enough
    to choose by. A donor that is used u times costs `even` times u²: figures of more variables
    than are fitted come closer where all donors are used alike.
    """
    most = 0
    for k in range(len(order)):
        most = max(most, first[order[k] + 1] - first[order[k]])
    columns = np.empty((main.shape[1], BLOCK * most), np.uint8)
    apart, of = np.empty(BLOCK * most, np.uint8), np.empty(BLOCK * most, np.int64)
    at, score = np.empty(BLOCK + 1, np.int64), np.empty(BLOCK, np.int64)
    used, change = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    near = np.empty((BLOCK, BLOCK), np.int64)
    for start in range(0, len(order), BLOCK):
        who = order[start : start + BLOCK]
        size = len(who)
        beside(main, first, who, columns, of, at)
        scores(cells, codes, first, who, slope, wide, triples, score)
        for k in range(size):
            own = main[first[who[k]] : first[who[k] + 1]]
            alike(own, columns, of, 0, at[size], worth, apart, near[k])
            used[k], change[k] = times[who[k]], 0
            score[k] += even * used[k]
        _even_out(near, score[:size], used, even, change)
        for k in range(size):
            if change[k] == 0:
                continue
            times[who[k]] += change[k]
            for i in range(first[who[k]], first[who[k] + 1]):
                for f in range(cells.shape[1]):
                    slope[cells[i, f]] += change[k] * step[cells[i, f]]
                for t in range(len(triples)):
                    wide[triple(codes[i], triples, t)] += change[k] * widely
