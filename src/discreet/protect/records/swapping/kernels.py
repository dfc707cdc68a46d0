"""Pairing of households within one larger area.

The households of one profile stand on a ring, in the order of a keyed number. A household that is
to be swapped looks from a keyed point of its own for the next household on the ring that is free
and lives elsewhere. Partners are thus random, and yet a correction of a few records moves only
few pairs: who has built twice must not have drawn twice.

Glossary: n households, p profiles, the strictest first; `ring` and `aim` the keyed numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.protect.kernels import on_ring_from

ALONE = 1
"""No household of any of its profiles lives elsewhere in the larger area."""
TAKEN = 2
"""There are such households, but all were swapped before its turn."""


@njit(cache=True, nogil=True)
def _dense(values: NDArray[np.int64], out: NDArray[np.int32]) -> int:
    """Write the rank of each value among the distinct ones; return how many there are."""
    order = np.argsort(values)
    rank = -1
    for k in range(len(order)):
        if k == 0 or values[order[k]] != values[order[k - 1]]:
            rank += 1
        out[order[k]] = rank
    return rank + 1


@njit(cache=True, nogil=True)
def _free(after: NDArray[np.int32], place: int) -> int:
    """Return the first free place from here on, shortening the way for the next search."""
    end = place
    while after[end] != end:
        end = after[end]
    while after[place] != end:
        onwards = after[place]
        after[place] = end
        place = onwards
    return end


@njit(cache=True, nogil=True)
def pair(
    area: NDArray[np.int64],
    profiles: NDArray[np.int64],
    ring: NDArray[np.uint64],
    aim: NDArray[np.uint64],
    turns: NDArray[np.int64],
    pairs: int,
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int8]]:
    """Pair households in the order of `turns` until there are enough pairs.

    Return the partner of each household (−1: none), the profile that a pair agrees on, and why a
    household whose turn came has no partner.
    """
    p, n = profiles.shape
    partner, profile_of = np.full(n, -1, np.int64), np.full(n, -1, np.int8)
    reason = np.zeros(n, np.int8)
    group = np.empty((p, n), np.int32)
    run = np.empty((p, n), np.int32)
    place = np.empty((p, n), np.int32)
    members = np.empty((p, n), np.int32)
    first = np.zeros((p, n + 1), np.int32)
    in_group = np.zeros((p, n), np.int32)
    in_run = np.zeros((p, n), np.int32)
    after = np.empty((p, n + 1), np.int32)
    on_ring = np.argsort(ring)
    where = np.empty(n, np.int32)
    areas = _dense(area, where)
    both = np.empty(n, np.int64)
    for k in range(p):
        _dense(profiles[k], group[k])
        for h in range(n):
            both[h] = np.int64(group[k, h]) * areas + where[h]
        _dense(both, run[k])
        for h in range(n):
            in_group[k, group[k, h]] += 1
            in_run[k, run[k, h]] += 1
        for g in range(n):
            first[k, g + 1] = first[k, g] + in_group[k, g]
        filled = first[k].copy()
        for h in on_ring:
            at = filled[group[k, h]]
            members[k, at] = h
            place[k, h] = at
            filled[group[k, h]] += 1
        for at in range(n + 1):
            after[k, at] = at
    elsewhere = np.zeros(n, np.bool_)
    for h in turns:
        for k in range(p):
            if in_group[k, group[k, h]] > in_run[k, run[k, h]]:
                elsewhere[h] = True
    done = 0
    for h in turns:
        if done == pairs:
            break
        if partner[h] >= 0:
            continue
        found, agreed = -1, 0
        for k in range(p):
            g = group[k, h]
            if in_group[k, g] == in_run[k, run[k, h]]:
                continue
            low, high = first[k, g], first[k, g + 1]
            at = on_ring_from(members[k], ring, low, high, aim[h])
            while found < 0:
                at = _free(after[k], at)
                if at >= high:
                    at = low
                    continue
                if where[members[k, at]] != where[h]:
                    found, agreed = members[k, at], k
                at += 1
            break
        if found < 0:
            reason[h] = TAKEN if elsewhere[h] else ALONE
            continue
        partner[h], partner[found] = found, h
        profile_of[h] = profile_of[found] = agreed
        reason[found] = 0
        for one in (h, found):
            for k in range(p):
                in_group[k, group[k, one]] -= 1
                in_run[k, run[k, one]] -= 1
                after[k, place[k, one]] = place[k, one] + 1
        done += 1
    return partner, profile_of, reason


@njit(cache=True, nogil=True)
def small_cells(cells: NDArray[Any], number: int, below: int, out: NDArray[np.bool_]) -> None:
    """Mark the records in cells of fewer than `below` records."""
    counts = np.zeros(number, np.uint32)
    for cell in cells:
        counts[cell] += 1
    for i in range(len(cells)):
        if counts[cells[i]] < below:
            out[i] = True
