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
from numpy import uint8, uint16, uint32, uint64
from numpy.typing import NDArray

from discreet.compiling import fetch, fetch_far, inner, njit

BLOCK = 256
SOON = 384  # records ahead of a block whose codes and keys are sent for
LINE = 64  # bytes that come at once
FAR = 2**20  # cells (8 MiB) above which most are in no near cache: they are sent for…
AHEAD = 256  # …so many records before their turn,…
LONG = 4096  # …in longer blocks
FEW_PASS = 32  # below this share of a block the cells of the others are not looked at
REGISTERS = 4  # cells up to which they are counted one after the other
LANES = 64  # cells up to which there are four accumulators, against waiting on one cell


def room() -> tuple[NDArray[Any], ...]:
    """Return the buffers of a scan, which takes no memory itself.

    What is made of an array within a kernel that could take memory is counted, a few hundred times
    for each block.
    """
    return (
        np.empty(LONG, uint16),
        np.empty(LONG, uint32),
        np.empty(LONG, uint8),
        np.empty(LONG + 1, uint16),
        np.zeros(4 * (LANES + 1), uint64),
    )


@njit(inline="always")
def _send_for_codes(records, columns, a, n):
    """Begin to bring the codes of records a…a+n."""
    codes8, codes16, _, _ = records
    wide, row = columns[0], columns[1]
    for k in range(len(row)):
        if wide[k]:
            column16 = codes16[row[k]]
            for j in range(a, a + n, LINE // 2):
                fetch(column16, j)
        else:
            column8 = codes8[row[k]]
            for j in range(a, a + n, LINE):
                fetch(column8, j)


@njit(inline="always")
def _send_for(records, outer, columns, filters, a, n, passing):
    """Begin to bring what is read of records a…a+n.

    Where nobody passed the filters last, the codes of the cells may not be read at all.
    """
    _send_for_codes(records, filters, a, n)
    if passing:
        _send_for_codes(records, outer, a, n)
        _send_for_codes(records, columns, a, n)
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
def _picked(records, columns, a, chosen, found, out):
    """Add the cell index of the chosen records after a to `out`."""
    codes8, codes16, _, _ = records
    wide, row, start, _, places = columns
    for k in range(len(row)):
        place = places[start[k] :]
        if wide[k]:
            column16 = codes16[row[k], a:]
            for i in range(found):
                out[i] += place[column16[chosen[i]]]
        else:
            column8 = codes8[row[k], a:]
            for i in range(found):
                out[i] += place[column8[chosen[i]]]


@njit(inline="always")
def _passing(records, filters, a, n, out):
    """Write 1 for the records of a…a+n that every filter lets pass, else 0.

    A filter that lets one run of codes pass (`low` and `span` more) is two comparisons, many
    records at once; others are looked up.
    """
    codes8, codes16, _, _ = records
    wide, row, start, low, span, passes = filters
    for j in range(n):
        out[j] = 1
    for k in range(len(row)):
        p = passes[start[k] :]
        if wide[k] and low[k] >= 0:
            first16, span16 = uint16(low[k]), uint16(span[k])
            column16 = codes16[row[k], a : a + n]
            for j in range(n):
                out[j] &= uint8(uint16(column16[j] - first16) <= span16)
        elif wide[k]:
            column16 = codes16[row[k], a : a + n]
            for j in range(n):
                out[j] &= p[column16[j]]
        elif low[k] >= 0:
            first8, span8 = uint8(low[k]), uint8(span[k])
            column8 = codes8[row[k], a : a + n]
            for j in range(n):
                out[j] &= uint8(uint8(column8[j] - first8) <= span8)
        else:
            column8 = codes8[row[k], a : a + n]
            for j in range(n):
                out[j] &= p[column8[j]]


@njit(inline="always")
def _nobody(out, n):
    """Whether none of n records passes."""
    passing = uint32(0)
    for j in range(n):
        passing = uint32(passing + uint32(out[j]))
    return passing == 0


@njit(inline="always")
def _listed(out, n, chosen):
    """List in `chosen` which of n records pass; return how many.

    Without a branch: each record is written down, and the next one over it if it does not pass.
    """
    found = uint64(0)
    for j in range(n):
        chosen[found] = j
        found += uint64(out[j])
    return found


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
def _few(records, columns, filters, areas, area, a, n, few, near, pass_, lanes, packed):
    """Add records a…a+n to accumulators of their area's cells; return the area of the last.

    What they hold goes to the table when another area begins.
    """
    area_starts, area_cell = areas
    key, index, cells = records[2][a : a + n], near.dtype.type, few
    _inner(records, columns, a, n, near)
    if len(filters[1]) > 0:
        _passing(records, filters, a, n, pass_)
        cells = few + 1  # those who do not pass have a cell of their own, which is left behind
        for j in range(n):
            near[j] = min(index(near[j] | index(index(pass_[j]) - index(1))), index(few))
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


@njit(cache=True, nogil=True, _nrt=False)
def scan(records, outer, columns, filters, areas, stretches, first_area, packed, sums, few, room):
    """Add the records of the stretches to the accumulator, one uint64 for each cell.

    `sums` is empty when the key sum rides in the high half, and otherwise takes the key sums
    (moduli that do not divide 2^32). `few` is the number of cells of an area where they are few,
    else 0.
    """
    _, _, keys, counts = records
    area_cell = areas[1]
    near, cell, pass_, chosen, lanes = room
    filtered = len(filters[1]) > 0
    weighted = len(counts) > 0
    apart = len(sums) > 0
    plain = not (filtered or weighted or apart)
    far = plain and len(packed) > FAR and len(area_cell) == 0
    step = LONG if far else BLOCK
    soon = max(SOON, step)
    high, one = uint64(32), uint64(1)
    for s in range(len(stretches)):
        area, some = first_area[s], True
        for a in range(stretches[s, 0], stretches[s, 1], step):
            n = min(step, stretches[s, 1] - a)
            _send_for(records, outer, columns, filters, a + soon, n, some)
            if few > 0:
                area = _few(
                    records, columns, filters, areas, area, a, n, few, near, pass_, lanes, packed
                )
                continue
            found = uint64(n)
            key = keys[a : a + n]
            if filtered:
                _passing(records, filters, a, n, pass_)
                some = not _nobody(pass_, n)
                if not some:
                    continue
                found = _listed(pass_, n, chosen)
                if FEW_PASS * found < n and not (apart or weighted or len(area_cell) > 0):
                    # Few records: their cells one by one, and nobody else's.
                    for i in range(found):
                        cell[i] = 0
                    _picked(records, outer, a, chosen, found, cell)
                    _picked(records, columns, a, chosen, found, cell)
                    for i in range(found):
                        packed[cell[i]] += (uint64(key[chosen[i]]) << high) | one
                    continue
            _cells(records, outer, columns, a, n, near, cell)
            if plain and len(area_cell) > 0:
                area = _by_area(areas, area, a, n, cell, key, packed)
                continue
            if len(area_cell) > 0:
                area = _to_areas(areas, area, a, n, cell)
            if apart or weighted:
                for i in range(found):
                    j = uint64(chosen[i]) if filtered else uint64(i)
                    count = uint64(counts[uint64(a) + j]) if weighted else one
                    packed[cell[j]] += count if apart else (uint64(key[j]) << high) + count
                    if apart:
                        sums[cell[j]] += uint64(key[j])
            elif filtered:
                for i in range(found):
                    j = chosen[i]
                    packed[cell[j]] += (uint64(key[j]) << high) | one
            elif far:
                _far(cell, key, n, packed)
            else:
                for i in range(n):
                    packed[cell[i]] += (uint64(key[i]) << high) | one
        if few > 0:
            _emptied(lanes, few, packed[area_cell[area] if len(area_cell) > 0 else 0 :])


@njit(cache=True, nogil=True, _nrt=False)
def list_passing(records, filters, a, b, out, room):
    """List the records of a…b that every filter lets pass; return how many. `out` has one more."""
    pass_ = room[2]
    found = uint64(0)
    for block in range(a, b, BLOCK):
        n = min(BLOCK, b - block)
        _send_for_codes(records, filters, block + SOON, n)
        _passing(records, filters, block, n, pass_)
        if _nobody(pass_, n):
            continue
        for j in range(n):  # without a branch, as `_listed`
            out[found] = uint32(block + j)
            found += uint64(pass_[j])
    return found


@njit(cache=True, nogil=True)
def take(column, at, out):
    """Copy what stands at some places of a column."""
    for i in range(len(at)):
        out[i] = column[at[i]]


@njit(cache=True, nogil=True, _nrt=False)
def list_cells(
    records, outer, columns, filters, areas, a, b, area, cells, cell_counts, cell_keys, room
):
    """List cell, count and key of each record of a…b that the filters let pass; return how many.

    For tables too large to hold: the caller sorts the list and adds up equal cells. `area` is
    the area that record a is in.
    """
    _, _, keys, counts = records
    near, _, pass_, chosen, _ = room
    found = uint64(0)
    for block in range(a, b, BLOCK):
        n = min(BLOCK, b - block)
        cell, passing = cells[found:], uint64(n)
        _cells(records, outer, columns, block, n, near, cell)
        if len(areas[1]) > 0:
            area = _to_areas(areas, area, block, n, cell)
        if len(filters[1]) > 0:
            _passing(records, filters, block, n, pass_)
            passing = _listed(pass_, n, chosen)
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
