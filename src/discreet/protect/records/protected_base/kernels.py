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

FORBIDDEN = 1 << 24
"""What a person costs in a category that must stay empty in an area."""

NEAR = 32
"""Donors on a ring around one that stand near it."""

MOST_DRAWS = 200
"""Draws for one slot, before any donor is taken."""


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


@njit(cache=True, nogil=True)
def first_donors(
    cells: NDArray[Any],
    first: NDArray[np.int64],
    bounds: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    empty: int,
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    state: NDArray[np.uint64],
    slots: NDArray[np.int32],
) -> None:
    """Draw a donor of its size for every slot, again while it has a category to stay empty.

    Where an area has none of its kind, the search that follows looks for the nearest.
    """
    for a in range(len(starts) - 1):
        for s in range(starts[a], starts[a + 1]):
            low, high = bounds[sizes[s]], bounds[sizes[s] + 1]
            for _ in range(MOST_DRAWS):
                donor = low + below(state, high - low)
                fits = True
                for cell in cells[first[donor] : first[donor + 1]].flat:
                    if kinds[a, cell] == empty:
                        fits = False
                        break
                if fits:
                    break
            slots[s] = donor


@njit(cache=True, nogil=True)
def gradient(
    residuals: NDArray[np.int32],
    weights: NDArray[np.int32],
    rows: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    tilts: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the weighted residuals of an area and of those around it, cell by cell, and tilts."""
    out[:] = 0
    for level in range(len(rows)):
        row = residuals[rows[level]]
        kind = kinds[rows[level]]
        tilt = tilts[level]
        for c in range(len(out)):
            out[c] += weights[level, c] * row[c] + tilt[kind[c]]


@njit(cache=True, nogil=True)
def _score(slope: NDArray[np.int32], row: NDArray[Any]) -> Any:
    found = np.int32(0)
    for f in range(len(row)):
        found += slope[row[f]]
    return np.int64(found)


@njit(cache=True, nogil=True)
def _score_all(
    slope: NDArray[np.int32],
    cells: NDArray[Any],
    begins: NDArray[np.int64],
    length: int,
    out: NDArray[np.int64],
) -> None:
    """Write the scores of some donors, four at a time: their rows are then fetched together.

    Each has so many cells, one after the other from where they begin.
    """
    last = len(begins) - len(begins) % 4
    for k in range(0, last, 4):
        one, two = cells[begins[k] :], cells[begins[k + 1] :]
        three, four = cells[begins[k + 2] :], cells[begins[k + 3] :]
        a, b, c, d = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
        for f in range(length):
            a += slope[one[f]]
            b += slope[two[f]]
            c += slope[three[f]]
            d += slope[four[f]]
        out[k], out[k + 1], out[k + 2], out[k + 3] = a, b, c, d
    for k in range(last, len(begins)):
        out[k] = _score(slope, cells[begins[k] : begins[k] + length])


@njit(cache=True, nogil=True)
def squares(
    cells: NDArray[Any], first: NDArray[np.int64], step: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return for each donor the squares of how many of its records each cell has, times steps."""
    found = np.zeros(len(first) - 1, np.int64)
    times = np.zeros(len(step), np.int64)
    for d in range(len(found)):
        own = cells[first[d] : first[d + 1]]
        for cell in own.flat:
            found[d] += step[cell] * (2 * times[cell] + 1)
            times[cell] += 1
        for cell in own.flat:
            times[cell] = 0
    return found


@njit(cache=True, nogil=True, inline="always")
def _triple(codes: Any, tables: Any, sizes: Any, offsets: Any, t: Any) -> Any:
    """Return the cell of a record in a table of three columns."""
    i, j, k = tables[t, 0], tables[t, 1], tables[t, 2]
    return offsets[t] + (codes[i] * sizes[j] + codes[j]) * sizes[k] + codes[k]


@njit(cache=True, nogil=True)
def add_triples(
    codes: NDArray[np.int32],
    values: NDArray[np.uint32],
    tables: NDArray[np.int64],
    sizes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.uint32],
) -> None:
    """Add the value of each record to its cells of the tables of three columns."""
    for i in range(len(codes)):
        for t in range(len(tables)):
            out[_triple(codes[i], tables, sizes, offsets, t)] += values[i]


@njit(cache=True, nogil=True)
def _triple_cells(
    codes: NDArray[np.int32],
    tables: NDArray[np.int64],
    sizes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the cells of some records in the tables of three columns, one after the other."""
    for i in range(len(codes)):
        for t in range(len(tables)):
            out[i * len(tables) + t] = _triple(codes[i], tables, sizes, offsets, t)


@njit(cache=True, nogil=True)
def triple_squares(
    codes: NDArray[np.int32], first: NDArray[np.int64], tables: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each donor the squares of how many of its records each cell of three columns has.

    They are the pairs of its records, in any order, that agree in the columns of a table.
    """
    found = np.zeros(len(first) - 1, np.int64)
    for d in range(len(found)):
        found[d] = (first[d + 1] - first[d]) * len(tables)
        for i in range(first[d], first[d + 1]):
            for j in range(i + 1, first[d + 1]):
                for t in range(len(tables)):
                    same = True
                    for k in range(tables.shape[1]):
                        same &= codes[i, tables[t, k]] == codes[j, tables[t, k]]
                    found[d] += 2 * same
    return found


@njit(cache=True, nogil=True)
def _add_at(values: NDArray[np.int32], places: NDArray[np.int32], step: int) -> None:
    for t in range(len(places)):
        values[places[t]] += step


@njit(cache=True, nogil=True)
def _candidates(
    state: NDArray[np.uint64],
    rings: NDArray[np.int32],
    places: NDArray[np.int32],
    donor: int,
    low: int,
    high: int,
    out: NDArray[np.int32],
) -> None:
    """Draw other donors for a slot: any one, then one that stands near the present on a ring.

    All are of its size; those stand from `low` to `high`, on rings too.
    """
    size = high - low
    for k in range(len(out)):
        if k % 2 == 0:
            out[k] = low + below(state, size)
        else:
            ring = below(state, rings.shape[0])
            place = places[ring, donor] - low + 1 + below(state, NEAR)
            out[k] = rings[ring, low + (place - NEAR // 2) % size]


@njit(cache=True, nogil=True)
def anneal(
    cells: NDArray[Any],
    first: NDArray[np.int64],
    bounds: NDArray[np.int64],
    slots: NDArray[np.int32],
    starts: NDArray[np.int64],
    chain: NDArray[np.int64],
    residuals: NDArray[np.int32],
    weights: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    tilts: NDArray[np.int32],
    rings: NDArray[np.int32],
    places: NDArray[np.int32],
    temperature: float,
    tries: int,
    state: NDArray[np.uint64],
    codes: NDArray[np.int32],
    triples: NDArray[np.int64],
    sizes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    wide: NDArray[np.int32],
    widely: int,
    agreeing: NDArray[np.int64],
    even: int,
    slack: int,
) -> int:
    """Go once over all slots, trying other donors in each; return how many were exchanged.

    Every other donor that is tried stands near the present one on a ring: they have much in
    common, so that exchanging them changes few figures.

    Notes
    -----
    With a slot emptied, the sum of weighted squared residuals with donor b in it differs from that
    with donor a by 2·(S(b) − S(a)) + Q(b) − Q(a). S(b) is the sum over the cells of b's records of
    the residuals of the area and of those around it, times their weights, so one vector for each
    area is all that the inner loop reads. Q(b) is the sum of the weights times the squares of how
    many of b's records a cell has; it is the same for all donors of one record.

    Tables of three columns count in large areas alone: `wide` has their residuals there times
    their weights, which add up to `widely`, and `agreeing` has their squares. They take long, so
    the other tables screen who is tried [Christen2005]: only donors by whom these lose less than
    `slack` beyond the patience are looked at, and then the sum of both decides.

    A donor that is used u times costs `even` times u²: figures of more variables than are fitted
    come closer where all donors are used alike.
    """
    tables, size = cells.shape[1], residuals.shape[1]
    flat = cells.reshape(-1)
    slope = np.empty(size, np.int32)
    change = np.zeros(size, np.int32)
    step = np.empty(size, np.int32)
    for c in range(size):
        step[c] = weights[:, c].sum()
    own = squares(cells, first, step)
    used = np.zeros(len(own), np.int64)
    for s in range(len(slots)):
        used[slots[s]] += 2 * even
    tried, scores = np.empty(tries, np.int32), np.empty(tries, np.int64)
    begins = np.empty(tries, np.int64)
    now, then = np.empty((2, (len(bounds) - 2) * len(triples)), np.int32)
    exchanged = 0
    for a in range(len(starts) - 1):
        gradient(residuals, weights, chain[a], kinds, tilts, slope)
        for s in range(starts[a], starts[a + 1]):
            old = slots[s]
            people = first[old + 1] - first[old]
            length, wider = people * tables, people * len(triples)
            before = flat[first[old] * tables : first[old] * tables + length]
            for f in range(length):
                slope[before[f]] -= step[before[f]]
            used[old] -= 2 * even
            best, held = old, 2 * _score(slope, before) + own[old] + used[old]
            known, held_widely = False, np.int64(0)
            low, high = bounds[people], bounds[people + 1]
            _candidates(state, rings, places, old, low, high, tried)
            for k in range(tries):
                begins[k] = first[tried[k]] * tables
            _score_all(slope, flat, begins, length, scores)
            for k in range(tries):
                donor = tried[k]
                cost = 2 * scores[k] + own[donor] + used[donor]
                worse = cost - held
                patience = 0.0
                if worse > 0 or widely:
                    patience = _patience(state, temperature)
                    if worse >= patience + slack:
                        continue
                if widely and donor != best:
                    if not known:
                        known = True
                        mine = codes[first[best] : first[best + 1]]
                        _triple_cells(mine, triples, sizes, offsets, now)
                        _add_at(wide, now[:wider], -widely)
                        held_widely = 2 * _score(wide, now[:wider]) + widely * agreeing[best]
                    theirs = codes[first[donor] : first[donor + 1]]
                    _triple_cells(theirs, triples, sizes, offsets, then)
                    found = 2 * _score(wide, then[:wider]) + widely * agreeing[donor]
                    if worse + found - held_widely >= patience:
                        continue
                    now, then, held_widely = then, now, found
                best, held = donor, cost
            if known:
                _add_at(wide, now[:wider], widely)
            used[best] += 2 * even
            after = flat[first[best] * tables : first[best] * tables + length]
            for f in range(length):
                slope[after[f]] += step[after[f]]
            if best != old:
                exchanged += 1
                slots[s] = best
                for f in range(length):
                    change[before[f]] -= 1
                    change[after[f]] += 1
        for level in range(chain.shape[1]):
            row = residuals[chain[a, level]]
            for c in range(size):
                row[c] += change[c]
        for c in range(size):
            change[c] = 0
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
    figures: NDArray[np.int64],
    misses: NDArray[np.int64],
) -> None:
    """Add errors to `sums`, distances from noisy figures by class, and noisy figures.

    To `misses`, add distances from true counts by class.
    """
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
            if noisy[i, j] < len(figures):
                figures[noisy[i, j]] += 1
