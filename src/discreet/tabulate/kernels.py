"""The scan: records to cells, in blocks that stay in the processor's first cache.

A block of records first gets its cell indices, column by column, in buffers; then the counts are
scattered. `packed[cell] += key << 32 | 1` counts and sums keys modulo 2^32 in one addition. What
the next blocks need is sent for meanwhile: the processor's own guess stops at the end of a block.

What the kernels read comes in tuples:
records: codes8, codes16, keys, counts (empty: each record counts once)
columns: for each column of the cell index whether its codes are in codes16, their row there, where
    in `places` its look-up begins, and a stride to multiply the code by instead, or 0
outer: the same for the columns before them, whose part of the index takes more than two bytes
filters: the same for the columns that leave records out, with the look-up `passes`; `low` is the
    first code of a filter that lets one run of codes pass, or −1, and `span` how many follow it
areas: where the records of each area begin, and the part of the cell index that an area has

The type of `places` is the type of that part of the index: two bytes for `columns`, because narrow
indices are built faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import int64, uint8, uint16, uint32, uint64
from numpy.typing import NDArray

from discreet.compiling import fetch, fetch_far, inner, njit, squeezes
from discreet.tabulate.passing.kernels import (
    FEW_PASS,
    STRETCH,
    begin_among,
    copy,
    copy_passing,
    count_passing,
    flag,
    flag_all,
    listed,
    room_to_copy,
    send_for_codes,
)

__all__ = ["add_up", "copy_passing", "count_passing", "list_cells", "room", "scan"]

Arrays = tuple[NDArray[Any], ...]

BLOCK = 256
SOON = 384  # records ahead of a block whose codes and keys are sent for
LINE = 64  # bytes that come at once
FAR = 2**20  # cells (8 MiB) above which most are in no near cache: they are sent for…
AHEAD = 256  # …so many records before their turn,…
LONG = 4096  # …in longer blocks
MANY_PASS = 256  # the share of a stretch from which few cells have one more for the others
REGISTERS = 4  # cells up to which they are counted one after the other
LANES = 64  # cells up to which there are four accumulators, against waiting on one cell


def room(records: Arrays, filters: Arrays) -> tuple[Any, ...]:
    """Return the buffers of a scan, which takes no memory itself.

    What is made of an array within a kernel that could take memory is counted, a few hundred times
    for each block.
    """
    own = (
        np.empty(LONG, uint16),
        np.empty(LONG, uint32),
        np.empty(LONG, uint8),
        np.empty(LONG + 1, uint16),
        np.zeros(4 * (LANES + 1), uint64),
    )
    return own, room_to_copy(records, filters)


@njit(inline="always")
def _send_for(records, outer, columns, filters, a, n):
    """Begin to bring what is read of records a…a+n."""
    send_for_codes(records, filters, a, n)
    send_for_codes(records, outer, a, n)
    send_for_codes(records, columns, a, n)
    keys = records[2]
    for j in range(a, a + n, LINE // 4):
        fetch(keys, j)


@njit(inline="always")
def _look_up(place, codes, out, add):
    """Write the place of each code to `out`, or add it."""
    index = place.dtype.type
    if add:
        for j in range(len(codes)):
            out[j] = index(out[j] + place[codes[j]])
    else:
        for j in range(len(codes)):
            out[j] = place[codes[j]]


@njit(inline="always")
def _multiply(stride, codes, out, add):
    """Write each code times the stride to `out`, or add it.

    Every product is cut to the type of an index at once: wider arithmetic would not be vectorised.
    """
    index = out.dtype.type
    if add:
        for j in range(len(codes)):
            out[j] = index(out[j] + index(stride * index(codes[j])))
    else:
        for j in range(len(codes)):
            out[j] = index(stride * index(codes[j]))


@njit(inline="always")
def _inner(records, columns, a, n, out):
    """Write the cell index of records a…a+n within their area to `out`.

    The type of an index is that of `places` and no variable of a closure, by which a kernel kept
    on disk would not be recognised in another process.
    """
    codes8, codes16, _, _ = records
    wide, row, start, multiply, places = columns
    index = places.dtype.type
    for k in range(len(row)):
        place = places[start[k] :]
        stride = index(multiply[k])
        if wide[k] and stride > 0:
            _multiply(stride, codes16[row[k], a : a + n], out, k > 0)
        elif wide[k]:
            _look_up(place, codes16[row[k], a : a + n], out, k > 0)
        elif stride > 0:
            _multiply(stride, codes8[row[k], a : a + n], out, k > 0)
        else:
            _look_up(place, codes8[row[k], a : a + n], out, k > 0)
    if len(row) == 0:
        out[:n] = 0


@njit(inline="always")
def _cells(records, outer, columns, a, n, near, out):
    """Write the cell index of records a…a+n within their area to `out`.

    `near` is a buffer for the part of the index that takes two bytes.
    """
    _inner(records, columns, a, n, near)
    index = out.dtype.type
    if len(outer[1]) > 0:
        _inner(records, outer, a, n, out)
        for j in range(n):
            out[j] = index(out[j] + index(near[j]))
    else:
        for j in range(n):
            out[j] = index(near[j])


@njit(inline="always")
def _to_areas(areas, area, a, n, out):
    """Add to `out` where the cells of the areas of records a…a+n begin; return the last area."""
    area_starts, area_cell = areas
    index = out.dtype.type
    j = 0
    while j < n:
        while area_starts[area + 1] <= a + j:
            area += 1
        stop = min(n, area_starts[area + 1] - a)
        base = index(area_cell[area])
        for i in range(j, stop):
            out[i] = index(out[i] + base)
        j = stop
    return area


@njit(inline="always")
def _by_area(areas, area, a, n, cell, key, packed):
    """Add records a…a+n to the cells of their areas; return the last area."""
    area_starts, area_cell = areas
    j = 0
    while j < n:
        while area_starts[area + 1] <= a + j:
            area += 1
        stop = min(n, area_starts[area + 1] - a)
        cells = packed[area_cell[area] :]
        for i in range(j, stop):
            cells[cell[i]] += (uint64(key[i]) << uint64(32)) | uint64(1)
        j = stop
    return area


@njit(inline="always")
def _in_registers(cell, key, few, packed):
    """Add records to a few cells, one cell after another: many records at once.

    The last cell has what is left over of all.
    """
    high, rest, rest_keys = uint64(32), uint32(len(cell)), uint32(0)
    counted, total = uint32(0), uint32(0)
    for j in range(len(cell)):  # the first cell, and the sum of all
        mine = uint32(uint32(cell[j] != 0) - uint32(1))
        counted = uint32(counted - mine)
        total = uint32(total + (key[j] & mine))
        rest_keys = uint32(rest_keys + key[j])
    for c in range(1, few):
        packed[c - 1] += (uint64(total) << high) | uint64(counted)
        rest, rest_keys = uint32(rest - counted), uint32(rest_keys - total)
        if c == few - 1:
            break
        wanted, counted, total = cell.dtype.type(c), uint32(0), uint32(0)
        for j in range(len(cell)):
            mine = uint32(uint32(0) - uint32(cell[j] == wanted))
            counted = uint32(counted - mine)
            total = uint32(total + (key[j] & mine))
    packed[few - 1] += (uint64(rest_keys) << high) | uint64(rest)


@njit(inline="always")
def _in_lanes(cell, key, lanes):
    """Add records to four accumulators in turn: neighbours of one cell need not wait."""
    high, one, size = uint64(32), uint64(1), len(lanes) // 4
    lane0, lane1, lane2, lane3 = lanes, lanes[size:], lanes[2 * size :], lanes[3 * size :]
    # Unsigned subscripts: signed ones are tested for wrapping around.
    for quad in range(len(cell) // 4):
        j = uint64(quad) * uint64(4)
        lane0[cell[j]] += (uint64(key[j]) << high) | one
        j += one
        lane1[cell[j]] += (uint64(key[j]) << high) | one
        j += one
        lane2[cell[j]] += (uint64(key[j]) << high) | one
        j += one
        lane3[cell[j]] += (uint64(key[j]) << high) | one
    for rest in range(len(cell) - len(cell) % 4, len(cell)):
        lane0[cell[rest]] += (uint64(key[rest]) << high) | one


@njit(inline="always")
def _emptied(lanes, few, packed):
    """Add what four accumulators hold to the cells, and empty them."""
    size = len(lanes) // 4
    for c in range(few):
        total = uint64(0)
        for at in range(c, len(lanes), size):
            total += lanes[at]
            lanes[at] = 0
        packed[c] += total


@inner(_nrt=False)
def _far(cell, key, n, packed):
    """Add records to cells all over a table that no near cache holds, without waiting for each."""
    for j in range(min(n, AHEAD)):
        fetch_far(packed, cell[j])
    for j in range(n - AHEAD):
        fetch_far(packed, cell[j + AHEAD])
        packed[cell[j]] += (uint64(key[j]) << uint64(32)) | uint64(1)
    for j in range(max(n - AHEAD, 0), n):
        packed[cell[j]] += (uint64(key[j]) << uint64(32)) | uint64(1)


@njit(inline="always")
def _few(records, columns, filters, areas, area, a, n, few, near, flags, lanes, packed):
    """Add records a…a+n to accumulators of their area's cells; return the area of the last.

    What they hold goes to the table when another area begins. Those who do not pass the filters
    have a cell of their own, which is left behind.
    """
    area_starts, area_cell = areas
    key, index, cells = records[2][a : a + n], near.dtype.type, few
    _inner(records, columns, a, n, near)
    if len(filters[1]) > 0:
        flag(records, filters, a, n, flags)
        cells = few + 1
        for j in range(n):
            near[j] = min(index(near[j] | index(index(flags[j]) - index(1))), index(few))
    j = 0
    while j < n:
        stop = n
        if len(area_cell) > 0:
            if area_starts[area + 1] <= a + j:
                _emptied(lanes, few, packed[area_cell[area] :])
                while area_starts[area + 1] <= a + j:
                    area += 1
            stop = min(n, area_starts[area + 1] - a)
        if cells <= REGISTERS:
            _in_registers(near[j:stop], key[j:stop], cells, lanes)
        else:
            _in_lanes(near[j:stop], key[j:stop], lanes)
        j = stop
    return area


@inner(_nrt=False)
def _run(records, outer, columns, filters, areas, area, begin, end, packed, sums, few, room):
    """Add those of records begin…end who pass to their cells; return the area of the last.

    Where the processor squeezes, filters are left for tables of few cells alone.
    """
    _, _, keys, counts = records
    near, cell, flags, chosen, lanes = room
    filtered = not squeezes() and len(filters[1]) > 0
    shown, weighted, apart = len(areas[1]) > 0, len(counts) > 0, len(sums) > 0
    plain = not (filtered or weighted or apart)
    far = plain and len(packed) > FAR and not shown
    step = LONG if far else BLOCK
    soon = max(SOON, step)
    high, one = uint64(32), uint64(1)
    for a in range(begin, end, step):
        n = min(step, end - a)
        _send_for(records, outer, columns, filters, a + soon, n)
        if few > 0:
            area = _few(
                records, columns, filters, areas, area, a, n, few, near, flags, lanes, packed
            )
            continue
        key = keys[a : a + n]
        _cells(records, outer, columns, a, n, near, cell)
        if plain and shown:
            area = _by_area(areas, area, a, n, cell, key, packed)
            continue
        if shown:
            area = _to_areas(areas, area, a, n, cell)
        found = uint64(n)
        if filtered:
            flag(records, filters, a, n, flags)
            found = listed(flags, n, chosen)
        if weighted or apart:
            for i in range(found):
                j = uint64(chosen[i]) if filtered else uint64(i)
                count = uint64(counts[uint64(a) + j]) if weighted else one
                packed[cell[j]] += count if apart else (uint64(key[j]) << high) + count
                if apart:
                    sums[cell[j]] += uint64(key[j])
        elif filtered:
            for i in range(found):
                j = uint64(chosen[i])
                packed[cell[j]] += (uint64(key[j]) << high) | one
        elif far:
            _far(cell, key, n, packed)
        else:
            for i in range(n):
                packed[cell[i]] += (uint64(key[i]) << high) | one
    if few > 0:
        _emptied(lanes, few, packed[areas[1][area] if shown else 0 :])
    return area


@njit(inline="always")
def _stretch(areas, area, a, b):
    """Return the area of record a, and how many records of a…b are told apart at once."""
    area_starts, area_cell = areas
    if len(area_cell) == 0:
        return area, min(b - a, STRETCH)
    while area_starts[area + 1] <= a:
        area += 1
    last = area_starts[min(area + STRETCH, len(area_starts) - 1)]
    return area, min(b - a, STRETCH, last - a)


@njit(cache=True, nogil=True, _nrt=False)
def scan(records, outer, columns, filters, areas, stretches, first_area, packed, sums, few, room):
    """Add the records of the stretches to the accumulator, one uint64 for each cell.

    `sums` is empty when the key sum rides in the high half, and otherwise takes the key sums
    (moduli that do not divide 2^32). `few` is the number of cells of an area where they are few,
    else 0. Those who pass filters are copied and the copies counted, unless the processor does not
    squeeze, or cells are so few that one more for the others costs less.
    """
    area_cell = areas[1]
    own, (flags, numbers, chosen, begins, copies, seen) = room
    wide, row, start, low, span, passes = filters
    none = wide, row[:0], start, low, span, passes
    zero = int64(0)  # of the type of places: a 0 as such would be compiled for once more
    for s in range(len(stretches)):
        area, a, b = first_area[s], stretches[s, 0], stretches[s, 1]
        apart = len(filters[1]) > 0
        while a < b and apart:
            area, n = _stretch(areas, area, a, b)
            found = flag_all(records, filters, a, n, flags)
            apart = (FEW_PASS if few == 0 else MANY_PASS) * found < n
            if squeezes():
                apart = apart or few == 0 or few >= REGISTERS
            if apart and found > 0:
                copy(records, outer, columns, a, n, flags, numbers, chosen, found, copies)
                begin_among(areas, area, a, n, flags, found, begins)
                among = begins, area_cell[area:]
                _run(seen, outer, columns, none, among, zero, zero, found, packed, sums, few, own)
            if apart:
                a += n
        if a < b:
            _run(records, outer, columns, filters, areas, area, a, b, packed, sums, few, own)


@njit(cache=True, nogil=True, _nrt=False)
def list_cells(
    records, outer, columns, filters, areas, a, b, area, cells, cell_counts, cell_keys, room
):
    """List cell, count and key of each record of a…b that the filters let pass; return how many.

    For tables too large to hold: the caller sorts the list and adds up equal cells. `area` is
    the area that record a is in.
    """
    _, _, keys, counts = records
    (near, _, _, _, _), (pass_, _, chosen, _, _, _) = room
    found = uint64(0)
    for block in range(a, b, BLOCK):
        n = min(BLOCK, b - block)
        cell, passing = cells[found:], uint64(n)
        _cells(records, outer, columns, block, n, near, cell)
        if len(areas[1]) > 0:
            area = _to_areas(areas, area, block, n, cell)
        if len(filters[1]) > 0:
            flag(records, filters, block, n, pass_)
            passing = listed(pass_, n, chosen)
        for i in range(passing):
            j = uint64(chosen[i]) if len(filters[1]) > 0 else uint64(i)
            cells[found] = cell[j]  # which is the place itself or a later one
            cell_counts[found] = counts[uint64(block) + j] if len(counts) > 0 else uint32(1)
            cell_keys[found] = keys[uint64(block) + j]
            found += uint64(1)
    return found


@njit(cache=True, nogil=True)
def add_up(order, cells, counts, keys, modulus, out_cells, out_counts, out_keys):
    """Add up counts and keys (modulo) of equal cells, taken in the given order; return how many."""
    found = -1
    for i in order:
        if found < 0 or out_cells[found] != cells[i]:
            found += 1
            out_cells[found] = cells[i]
            out_counts[found] = 0
            out_keys[found] = 0
        out_counts[found] += counts[i]
        out_keys[found] = (out_keys[found] + keys[i]) % modulus
    return found + 1
