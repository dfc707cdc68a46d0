"""Fast loops of the protected base: cells of records, and the fit.

Glossary: a table has cells, which lie one after the other in a vector of all tables' cells; F
tables, C cells in all; `cells[i, f]` is the cell of record i in table f. Residuals are those of
the base less the targets, a row for each area of each level. `chain[a, l]` is the row of the area
of level l around smallest area a. Donor d is records first[d] to first[d + 1], and donors of size k
are those from bounds[k] to bounds[k + 1].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.protect.records.protected_base.steps import below, next_word

BLOCK = 128
"""Donors between whom uses are moved at a time."""

ROUNDS = 4
"""How often all of a block are gone over."""


@njit(cache=True, nogil=True, inline="always")
def _patience(state: Any, temperature: Any) -> Any:
    """Return the loss up to which a change is taken this time."""
    chance = ((next_word(state) >> uint64(11)) + uint64(1)) * 2.0**-53
    return -temperature * np.log(chance)


@njit(cache=True, nogil=True)
def table_cells(
    codes: NDArray[np.int32],
    columns: NDArray[np.int64],
    sizes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Write the cell of each record in each table: columns[f] are its columns, then −1."""
    for i in range(codes.shape[0]):
        for f in range(columns.shape[0]):
            cell = np.int64(0)
            for k in range(columns.shape[1]):
                column = columns[f, k]
                if column >= 0:
                    cell = cell * sizes[column] + codes[i, column]
            out[i, f] = offsets[f] + cell


@njit(cache=True, nogil=True)
def add_cells(
    cells: NDArray[Any], area: NDArray[np.int64], values: NDArray[Any], out: NDArray[Any]
) -> None:
    """Add the value of every record to its cells, in the row of its area."""
    for i in range(cells.shape[0]):
        row = area[i]
        for f in range(cells.shape[1]):
            out[row, cells[i, f]] += values[i]


@njit(cache=True, nogil=True, inline="always")
def _triple(codes: Any, tables: Any, t: Any) -> Any:
    """Return the cell of a record in a table: its columns, steps of the first two, and begin."""
    i, j, k = tables[t, 0], tables[t, 1], tables[t, 2]
    return tables[t, 5] + codes[i] * tables[t, 3] + codes[j] * tables[t, 4] + codes[k]


@njit(cache=True, nogil=True)
def add_triples(
    codes: NDArray[np.int32],
    values: NDArray[np.uint32],
    tables: NDArray[np.int32],
    out: NDArray[np.uint32],
) -> None:
    """Add the value of each record to its cells of the tables of three columns."""
    for i in range(len(codes)):
        for t in range(len(tables)):
            out[_triple(codes[i], tables, t)] += values[i]


@njit(cache=True, nogil=True)
def shuffle(values: NDArray[Any], state: NDArray[np.uint64]) -> None:
    """Put values into a random order."""
    for k in range(len(values) - 1, 0, -1):
        other = below(state, k + 1)
        values[k], values[other] = values[other], values[k]


@njit(cache=True, nogil=True)
def _score(slope: NDArray[np.int32], row: NDArray[Any]) -> Any:
    found = np.int32(0)
    for f in range(len(row)):
        found += slope[row[f]]
    return np.int64(found)


@njit(cache=True, nogil=True)
def _beside(
    main: NDArray[np.uint8],
    first: NDArray[np.int64],
    who: NDArray[np.int32],
    columns: NDArray[np.uint8],
    of: NDArray[np.int64],
    at: NDArray[np.int64],
) -> None:
    """Write the records of some donors column by column, whose they are, and where each begins."""
    number = 0
    for k in range(len(who)):
        at[k] = number
        for i in range(first[who[k]], first[who[k] + 1]):
            of[number] = k
            for c in range(main.shape[1]):
                columns[c, number] = main[i, c]
            number += 1
    at[len(who)] = number


@njit(cache=True, nogil=True)
def _alike(
    own: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    of: NDArray[np.int64],
    begin: int,
    end: int,
    worth: NDArray[np.int64],
    apart: NDArray[np.uint8],
    out: NDArray[np.int64],
) -> None:
    """Write what the records of one donor have in common with those of others, begin to end.

    `worth` is the weight of all tables in which two records are in one cell, by the number of the
    first columns in which they differ; at last, of each further column that they share.
    """
    first = len(worth) - 2
    size, whose, differ = end - begin, of[begin:end], apart[begin:end]
    for k in range(size):
        out[whose[k]] = 0
    for i in range(len(own)):
        differ[:] = 0
        for c in range(first):
            mine, column = own[i, c], columns[c, begin:end]
            for k in range(size):  # so written that many bytes are compared at a time
                differ[k] = differ[k] + (1 if column[k] != mine else 0)
        for k in range(size):
            out[whose[k]] += worth[differ[k]]
        for c in range(first, own.shape[1]):
            mine, column = own[i, c], columns[c, begin:end]
            for k in range(size):
                if column[k] == mine:
                    out[whose[k]] += worth[-1]


@njit(cache=True, nogil=True)
def _scores(
    cells: NDArray[Any],
    codes: NDArray[np.int32],
    first: NDArray[np.int64],
    who: NDArray[np.int32],
    slope: NDArray[np.int32],
    wide: NDArray[np.int32],
    triples: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """Write the weighted residuals of the cells of some donors."""
    for k in range(len(who)):
        out[k] = 0
        for i in range(first[who[k]], first[who[k] + 1]):
            found, row = _score(slope, cells[i]), codes[i]
            for t in range(len(triples)):
                found += wide[_triple(row, triples, t)]
            out[k] += found


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
        _beside(main, first, who, columns, of, at)
        for k in range(size):
            mine = main[first[who[k]] : first[who[k] + 1]]
            _alike(mine, columns, of, at[k], at[k + 1], worth, apart, own)
            free[k] = True
        for k in range(size):
            if not free[k]:
                continue
            mine = main[first[who[k]] : first[who[k] + 1]]
            _alike(mine, columns, of, 0, at[size], worth, apart, near)
            best, least = k, 2 * len(mine) * (worth[0] - worth[differ]) + 1
            for e in range(k + 1, size):  # one before, if still free, has nobody near
                cost = own[k] + own[e] - 2 * near[e]
                if free[e] and (cost < least or (differ == len(worth) - 2 and best == k)):
                    best, least = e, cost
            if best > k:
                free[best] = False
                _decide(who[k], who[best], chances, whole, words)


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
        _beside(main, first, who, columns, of, at)
        _scores(cells, codes, first, who, slope, wide, triples, score)
        for k in range(size):
            own = main[first[who[k]] : first[who[k] + 1]]
            _alike(own, columns, of, 0, at[size], worth, apart, near[k])
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
                    wide[_triple(codes[i], triples, t)] += change[k] * widely


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
    _beside(main, first, who, columns, of, at)
    for k in range(both):
        mine = main[first[who[k]] : first[who[k] + 1]]
        _alike(mine, columns, of, at[k], at[k + 1], worth, apart, own)
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
        _alike(mine, columns, of, at[low], at[high], worth, apart, near)
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
        _alike(mine, columns, of, 0, records, worth, apart, near)
        yours = main[first[other] : first[other + 1]]
        _alike(yours, columns, of, 0, records, worth, apart, theirs)
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
        _scores(cells, no_codes, first, who, slope, wide, none, score)
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


@njit(cache=True, nogil=True)
def tally(
    cells: NDArray[np.int32],
    area: NDArray[np.int64],
    of: NDArray[np.int64],
    last: int,
    keys: NDArray[np.uint32],
    counts: NDArray[np.int32],
    sums: NDArray[np.uint32],
) -> None:
    """Count the records of the smallest areas before `last`, by area of a level and cell.

    Adds up their keys too, if there are any. Nothing is made as long as the records.
    """
    for i in range(len(cells)):
        if area[i] < last:
            row = of[area[i]]
            counts[row, cells[i]] += 1
            if len(keys):
                sums[row, cells[i]] += keys[i]


@njit(cache=True, nogil=True)
def compare(
    true: NDArray[np.int32],
    base: NDArray[np.int32],
    noisy: NDArray[np.int32],
    edges: NDArray[np.int64],
    sums: NDArray[np.float64],
    distances: NDArray[np.int64],
    misses: NDArray[np.int64],
) -> None:
    """Add errors to `sums`, and distances by class: from noisy figures, and from true counts."""
    widest = distances.shape[1] // 2
    for i in range(true.shape[0]):
        for j in range(true.shape[1]):
            count, figure = true[i, j], base[i, j]
            if count == 0:
                sums[8] += 1
                sums[9] += figure > 0
            else:
                error = figure - count
                sums[0] += 1
                sums[1] += count
                sums[2] += abs(error)
                sums[3] += error * error
                if count > 5:
                    sums[4] += 1
                    sums[5] += error
                else:
                    sums[6] += 1
                    sums[7] += error == 0
            k = np.searchsorted(edges, figure)
            distance = min(max(figure - noisy[i, j], -widest), widest)
            distances[k, distance + widest] += 1
            misses[k, min(max(figure - count, -widest), widest) + widest] += 1
