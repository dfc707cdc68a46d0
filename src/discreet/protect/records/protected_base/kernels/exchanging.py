"""Donors of two smallest areas in each other's place, where figures come closer by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.protect.records.protected_base.kernels.likeness import alike, beside, scores
from discreet.protect.records.protected_base.steps import below, next_word


@njit(cache=True, nogil=True, inline="always")
def _patience(state: Any, temperature: Any) -> Any:
    """Return the loss up to which a change is taken this time."""
    chance = ((next_word(state) >> uint64(11)) + uint64(1)) * 2.0**-53
    return -temperature * np.log(chance)


@njit(cache=True, nogil=True)
def shuffle(values: NDArray[Any], state: NDArray[np.uint64]) -> None:
    """Put values into a random order."""
    for k in range(len(values) - 1, 0, -1):
        other = below(state, k + 1)
        values[k], values[other] = values[other], values[k]


@njit(cache=True, nogil=True)
def _differences(
    residuals: NDArray[np.int32],
    weights: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    tilts: NDArray[np.int32],
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    """Write by how much more each cell is off in one area than in another, and around them.

    Weighted, with tilts in the smallest. Returns in how many levels the two are apart.
    """
    row, beside = residuals[one[0]], residuals[other[0]]
    kind, kind_beside = kinds[one[0]], kinds[other[0]]
    for c in range(len(out)):
        out[c] = weights[0, c] * (row[c] - beside[c]) + tilts[kind[c]] - tilts[kind_beside[c]]
    for level in range(1, len(one)):
        if one[level] == other[level]:
            return level
        row, beside = residuals[one[level]], residuals[other[level]]
        for c in range(len(out)):
            out[c] += weights[level, c] * (row[c] - beside[c])
    return len(one)


@njit(cache=True, nogil=True)
def _exchange_two(
    cells: NDArray[Any],
    main: NDArray[np.uint8],
    first: NDArray[np.int64],
    who: NDArray[np.int32],
    here: int,
    score: NDArray[np.int64],
    worth: NDArray[np.int64],
    temperature: float,
    state: NDArray[np.uint64],
    change: NDArray[np.int32],
) -> int:
    """Exchange donors of two areas: the first so many are the one's; return how often."""
    both, records, exchanged = len(who), np.int64(0), 0
    for k in range(both):
        records += first[who[k] + 1] - first[who[k]]
    columns, apart = np.empty((main.shape[1], records), np.uint8), np.empty(records, np.uint8)
    of, at = np.empty(records, np.int64), np.empty(both + 1, np.int64)
    own, near, theirs = np.empty((3, both), np.int64)
    beside(main, first, who, columns, of, at)
    for k in range(both):
        mine = main[first[who[k]] : first[who[k] + 1]]
        alike(mine, columns, of, at[k], at[k + 1], worth, apart, own)
    low = high = here
    for k in range(here):
        donor, people = who[k], at[k + 1] - at[k]
        while low < both and at[low + 1] - at[low] < people:
            low += 1
        high = max(low, high)
        while high < both and at[high + 1] - at[high] == people:
            high += 1
        if low == high:
            continue
        mine = main[first[donor] : first[donor + 1]]
        alike(mine, columns, of, at[low], at[high], worth, apart, near)
        best, least = low, score[low] + own[low] - 2 * near[low]
        for e in range(low + 1, high):
            cost = score[e] + own[e] - 2 * near[e]
            if cost < least:
                best, least = e, cost
        worse = 2 * (least - score[k] + own[k])
        if worse >= 0 and worse >= _patience(state, temperature):
            continue
        exchanged += 1
        other = who[best]
        who[k], who[best] = other, donor
        score[k], score[best] = score[best], score[k]
        own[k], own[best] = own[best], own[k]
        for c in range(main.shape[1]):
            for i in range(people):
                columns[c, at[k] + i] = main[first[other] + i, c]
                columns[c, at[best] + i] = main[first[donor] + i, c]
        alike(mine, columns, of, 0, records, worth, apart, near)
        yours = main[first[other] : first[other + 1]]
        alike(yours, columns, of, 0, records, worth, apart, theirs)
        for e in range(both):
            score[e] += 2 * (theirs[e] - near[e])
        for i in range(people):
            for f in range(cells.shape[1]):
                change[cells[first[donor] + i, f]] -= 1
                change[cells[first[other] + i, f]] += 1
    return exchanged


@njit(cache=True, nogil=True)
def _gather(
    slots: NDArray[np.int32],
    first: int,
    last: int,
    home: NDArray[np.int32],
    a: int,
    b: int,
    group: int,
    out: NDArray[np.int64],
) -> int:
    """Write the slots from first to last whose donors are of a group; return how many.

    Donors of group 0 live neither in a nor in b, those of group 1 in a, and those of group 2 in b.
    """
    number = 0
    for slot in range(first, last):
        lives = home[slots[slot]]
        if group == (1 if lives == a else 2 if lives == b else 0):
            out[number] = slot
            number += 1
    return number


@njit(cache=True, nogil=True)
def exchange(
    cells: NDArray[Any],
    main: NDArray[np.uint8],
    first: NDArray[np.int64],
    slots: NDArray[np.int32],
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    home: NDArray[np.int32],
    groups: int,
    chain: NDArray[np.int64],
    residuals: NDArray[np.int32],
    weights: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    tilts: NDArray[np.int32],
    worth: NDArray[np.int64],
    temperature: float,
    state: NDArray[np.uint64],
) -> int:
    """Exchange donors between areas, taken two by two in an order; return how many.

    Notes
    -----
    With S(d) and K(d, e) as in `balance`, but S of the differences of the two areas' residuals and
    K of the levels in which they are apart, donor d of the one and e of the other in each other's
    place change the sum of weighted squares by 2·(S(e) − S(d)) + 2·(K(d, d) + K(e, e) − 2·K(d, e)),
    and S(f) by 2·(K(f, e) − K(f, d)). All pairs of donors are weighed so, at the price of looking
    up the cells of each once. What the areas around both have stays as it is.

    Donor d lives in home[d], and is exchanged only with donors of its group (`_gather`), of the
    first so many groups. With one group nobody comes home and nobody leaves it; with three, one
    comes for each that leaves.
    """
    size = residuals.shape[1]
    slope, change = np.empty(size, np.int32), np.zeros(size, np.int32)
    wide, none = np.empty(0, np.int32), np.empty((0, 6), np.int32)
    no_codes = np.empty((len(main), 0), np.int32)
    most = np.diff(starts).max()
    at = np.empty(2 * most, np.int64)
    exchanged = 0
    for step in range(len(order) // 2 * groups):
        pair, group = step // groups, step % groups
        a, b = order[2 * pair], order[2 * pair + 1]
        here = _gather(slots, starts[a], starts[a + 1], home, a, b, group, at)
        both = here + _gather(slots, starts[b], starts[b + 1], home, a, b, group, at[here:])
        if here == 0 or here == both:
            continue
        apart = _differences(residuals, weights, kinds, tilts, chain[a], chain[b], slope)
        who, score = slots[at[:both]], np.empty(both, np.int64)
        scores(cells, no_codes, first, who, slope, wide, none, score)
        some = _exchange_two(
            cells, main, first, who, here, score, worth[apart], temperature, state, change
        )
        if some == 0:
            continue
        exchanged += some
        slots[at[:both]] = who
        for level in range(apart):
            row, beside = residuals[chain[a, level]], residuals[chain[b, level]]
            for c in range(size):
                row[c] += change[c]
                beside[c] -= change[c]
        change[:] = 0
    return exchanged
