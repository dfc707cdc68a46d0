"""The kernel that lists the contributors of every published cell, each different set once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit

# Below so many records an insertion sort is faster than counting codes.
_FEW = 24


@njit(cache=True, nogil=True)
def _split(
    records: NDArray[np.int32],
    first: int,
    last: int,
    path: NDArray[np.int32],
    out: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> int:
    """Put the records first…last that have a code into `out`, ordered by it; return how many."""
    kept = 0
    if last - first <= _FEW:
        for k in range(first, last):
            record = records[k]
            code = path[record]
            if code < 0:
                continue
            at = kept
            while at > 0 and path[out[at - 1]] > code:
                out[at] = out[at - 1]
                at -= 1
            out[at] = record
            kept += 1
        return kept
    counts[:] = 0
    for k in range(first, last):
        code = path[records[k]]
        if code >= 0:
            counts[code] += 1
            kept += 1
    total = 0
    for code in range(counts.size):
        size = counts[code]
        counts[code] = total
        total += size
    for k in range(first, last):
        record = records[k]
        code = path[record]
        if code >= 0:
            out[counts[code]] = record
            counts[code] += 1
    return kept


@njit(cache=True, nogil=True)
def _count_alone(
    record: int,
    dimension: int,
    depths: NDArray[np.int32],
    has_total: NDArray[np.bool_],
    most: int,
    ways: NDArray[np.int64],
    alone: NDArray[np.int64],
) -> int:
    """Count the cells that a record alone fills from a dimension on; return their equations.

    `ways[0, o]` is the number of cells so far that keep o dimensions, `ways[1]` and `ways[2]` how
    many codes they have that are split further and are no total, or are one.
    """
    dimensions = depths.shape[0]
    for d in range(dimension, dimensions):
        below = depths[d, record] - 1 if has_total[d] else depths[d, record]
        for o in range(min(d, most), -1, -1):
            cells, inner, totals = ways[0, o], ways[1, o], ways[2, o]
            if cells == 0:
                continue
            if has_total[d]:
                if below > 0:
                    ways[2, o] += cells
            else:
                ways[0, o] = ways[1, o] = ways[2, o] = 0
            if o < most and below > 0:
                ways[0, o + 1] += cells * below
                ways[1, o + 1] += inner * below + cells * (below - 1)
                ways[2, o + 1] += totals * below
    equations = 0
    for o in range(most + 1):
        alone[o] += ways[0, o]
        equations += ways[1, o]
        if o < most:
            equations += ways[2, o]
    return equations


@njit(cache=True, nogil=True)
def _grown_keys(
    keys: NDArray[np.uint64], rows: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return the table of set hashes with twice the space."""
    size = keys.size * 2
    mask = np.uint64(size - 1)
    new_keys = np.zeros(size, np.uint64)
    new_rows = np.full(size, -1, np.int32)
    for k in range(keys.size):
        if rows[k] >= 0:
            at = keys[k] & mask
            while new_rows[at] >= 0:
                at = (at + np.uint64(1)) & mask
            new_keys[at] = keys[k]
            new_rows[at] = rows[k]
    return new_keys, new_rows


@njit(cache=True, nogil=True)
def list_rows(
    paths: NDArray[np.int32],
    depths: NDArray[np.int32],
    levels: NDArray[np.int32],
    has_total: NDArray[np.bool_],
    codes: NDArray[np.int32],
    most: int,
    marks: NDArray[np.uint64],
    top_level: int,
    keys: NDArray[np.uint64],
    slots: NDArray[np.int32],
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
    cells: NDArray[np.int32],
    rows: int,
    alone: NDArray[np.int64],
) -> tuple[
    NDArray[np.uint64],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int32],
    int,
    int,
]:
    """List the sets of two and more contributors of the cells at one level of the first dimension.

    `paths[d, l]` are the codes of the records at level l of dimension d, −1 where a record's own
    code is above; `depths[d]` how many levels each record has there; level 0 is the total where
    `has_total`. `most` dimensions may be kept. Sets are known by the sum of the marks of their
    records; a new one becomes a row: its records in members[starts[row]:starts[row + 1]], and
    cells[row, o] counts the cells that keep o dimensions. Cells of one record are counted in
    `alone`. Returns the arrays, which may have grown, the number of rows, and the equations.

    A walk down the dimensions: the records of a cell so far are split by the next dimension at
    each of its levels. What is down to one record is not split but counted.
    """
    dimensions, n = depths.shape
    held = np.empty((dimensions + 1, n), np.int32)
    held[0] = np.arange(n)
    counts = np.zeros(codes.max(), np.int32)
    level = np.full(dimensions + 1, -1, np.int32)
    at = np.zeros(dimensions + 1, np.int64)
    end = np.zeros(dimensions + 1, np.int64)
    first = np.zeros(dimensions + 1, np.int64)
    last = np.zeros(dimensions + 1, np.int64)
    kept = np.zeros(dimensions + 1, np.int32)
    inner = np.zeros(dimensions + 1, np.int32)
    totals = np.zeros(dimensions + 1, np.int32)
    ways = np.zeros((3, most + 2), np.int64)
    equations = 0
    last[0] = n
    level[0] = top_level - 1
    d = 0
    while d >= 0:
        if d == dimensions:
            mark = np.uint64(0)
            for k in range(first[d], last[d]):
                mark += marks[held[d, k]]
            size = last[d] - first[d]
            mask = np.uint64(keys.size - 1)
            slot = mark & mask
            while slots[slot] >= 0 and keys[slot] != mark:
                slot = (slot + np.uint64(1)) & mask
            row = slots[slot]
            if row < 0:
                row = rows
                keys[slot], slots[slot] = mark, row
                rows += 1
                if rows > cells.shape[0]:
                    more = np.empty(2 * cells.shape[0] + 1, np.int64)
                    more[: starts.size] = starts
                    starts = more
                    wider = np.zeros((2 * cells.shape[0], cells.shape[1]), np.int32)
                    wider[: cells.shape[0]] = cells
                    cells = wider
                if starts[row] + size > members.size:
                    longer = np.empty(max(members.size * 2, starts[row] + size), np.int32)
                    longer[: starts[row]] = members[: starts[row]]
                    members = longer
                for k in range(size):
                    members[starts[row] + k] = held[d, first[d] + k]
                starts[row + 1] = starts[row] + size
                if 2 * rows > keys.size:
                    keys, slots = _grown_keys(keys, slots)
            cells[row, kept[d]] += 1
            equations += inner[d] + (totals[d] if kept[d] < most else 0)
            d -= 1
            continue
        if at[d] < end[d]:
            start = at[d]
            record = held[d + 1, start]
            now = level[d]
            code = paths[d, now, record]
            stop = start + 1
            while stop < end[d] and paths[d, now, held[d + 1, stop]] == code:
                stop += 1
            at[d] = stop
            is_total = has_total[d] and now == 0
            split_further = depths[d, record] > now + 1
            kept[d + 1] = kept[d] + (0 if is_total else 1)
            inner[d + 1] = inner[d] + (1 if split_further and not is_total else 0)
            totals[d + 1] = totals[d] + (1 if split_further and is_total else 0)
            if stop - start == 1:
                ways[:] = 0
                ways[0, kept[d + 1]] = 1
                ways[1, kept[d + 1]] = inner[d + 1]
                ways[2, kept[d + 1]] = totals[d + 1]
                equations += _count_alone(
                    record, d + 1, depths, has_total, most, ways, alone[record]
                )
                continue
            d += 1
            first[d], last[d] = start, stop
            level[d] = -1
            at[d] = end[d] = 0
            continue
        if d == 0 and level[0] == top_level:
            break
        level[d] += 1
        if level[d] >= levels[d]:
            d -= 1
            continue
        if kept[d] == most and not (has_total[d] and level[d] == 0):
            d -= 1
            continue
        end[d] = _split(
            held[d], first[d], last[d], paths[d, level[d]], held[d + 1], counts[: codes[d]]
        )
        at[d] = 0
    return keys, slots, starts, members, cells, rows, equations


@njit(cache=True, nogil=True)
def rank_holders(
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
    values: NDArray[np.float64],
    holder: NDArray[np.int32],
    holders: int,
    total: NDArray[np.float64],
    ranked: NDArray[np.float64],
    contributors: NDArray[np.int64],
) -> None:
    """Set sum, largest contributions and their number for each row, those of one holder as one."""
    held = np.zeros(holders)
    seen = np.zeros(holders, np.bool_)
    ranks = ranked.shape[1]
    for row in range(total.size):
        for k in range(starts[row], starts[row + 1]):
            held[holder[members[k]]] += values[members[k]]
            seen[holder[members[k]]] = False
        whole = 0.0
        number = 0
        for k in range(starts[row], starts[row + 1]):
            h = holder[members[k]]
            whole += values[members[k]]
            if seen[h]:
                continue  # counted: further records of the holder add nothing
            seen[h] = True
            number += 1
            amount = held[h]
            held[h] = 0.0
            at = ranks
            while at > 0 and ranked[row, at - 1] < amount:
                if at < ranks:
                    ranked[row, at] = ranked[row, at - 1]
                at -= 1
            if at < ranks:
                ranked[row, at] = amount
        total[row], contributors[row] = whole, number


@njit(cache=True, nogil=True)
def by_record(
    starts: NDArray[np.int64], members: NDArray[np.int32], records: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the rows of each record, ascending: the listing turned around."""
    at = np.zeros(records + 1, np.int64)
    for k in range(starts[-1]):
        at[members[k] + 1] += 1
    for record in range(records):
        at[record + 1] += at[record]
    rows = np.empty(starts[-1], np.int32)
    place = at[:-1].copy()
    for row in range(starts.size - 1):
        for k in range(starts[row], starts[row + 1]):
            rows[place[members[k]]] = row
            place[members[k]] += 1
    return at, rows
