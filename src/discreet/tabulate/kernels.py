"""The scan: records to cells, in blocks that stay in the processor's first cache.

A block of records first gets its cell indices, column by column, in a buffer; then the counts are
scattered. `acc[cell] += key << 32 | 1` counts and sums keys modulo 2^32 in one addition.

What the kernels read comes in tuples:
records: codes8, codes16, keys, counts (empty: each record counts once)
columns: for each column of the cell index whether its codes are in codes16, their row there, where
    in `places` its look-up begins, and a stride to multiply the code by instead, or 0
filters: the same for the columns that leave records out, with the look-up `passes`; `low` is the
    first code of a filter that lets one run of codes pass, or −1, and `span` how many follow it
areas: where the records of each area begin, and the part of the cell index that an area has

The type of `places` is the type of a cell index: two bytes where the table allows it, because
narrow indices are built faster.
"""

from __future__ import annotations

import numpy as np
from numpy import uint8, uint16, uint32, uint64

from discreet.compiling import fetch, inner, njit

BLOCK = 1024
VECTOR = 64  # records that are counted at once in registers
FAR = 2**20  # cells (8 MiB) above which most are in no near cache: they are sent for…
AHEAD = 256  # …so many records before their turn
FEW_PASS = 32  # below this share of a block the cells of the others are not looked at


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
def _cells(records, columns, areas, area, a, n, out):
    """Write the cell index of records a…a+n to `out`; return the area that record a+n is in."""
    _inner(records, columns, a, n, out)
    area_starts, area_cell = areas
    if len(area_cell) > 0:
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
def _passing(records, filters, a, n, out):
    """Write 1 for the records of a…a+n that every filter lets pass, else 0; return how many pass.

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
    passing = uint32(0)
    for j in range(n):
        passing = uint32(passing + uint32(out[j]))
    return passing


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
    """Add records to the first cells, one cell after another: many records at once.

    Records that fill no vector are counted with those before them, which are then left out.
    """
    high, one, size = uint64(32), uint64(1), len(cell)
    if size < VECTOR:
        for j in range(size):
            if cell[j] < few:
                packed[cell[j]] += (uint64(key[j]) << high) | one
        return
    whole = size - size % VECTOR
    last_cell, last_key = cell[size - VECTOR :], key[size - VECTOR :]
    before = uint8(VECTOR - size % VECTOR)
    for c in range(few):
        wanted, counted, total = cell.dtype.type(c), uint32(0), uint32(0)
        for j in range(whole):
            mine = uint32(uint32(0) - uint32(cell[j] == wanted))
            counted = uint32(counted - mine)
            total = uint32(total + (key[j] & mine))
        if whole < size:
            for i in range(VECTOR):
                mine = uint32(last_cell[i] == wanted) & uint32(uint8(i) >= before)
                mine = uint32(uint32(0) - mine)
                counted = uint32(counted - mine)
                total = uint32(total + (last_key[i] & mine))
        packed[c] += (uint64(total) << high) | uint64(counted)


@inner()
def _far(cell, key, n, packed):
    """Add records to cells all over a table that no near cache holds, without waiting for each."""
    for j in range(min(n, AHEAD)):
        fetch(packed, cell[j])
    for j in range(n - AHEAD):
        fetch(packed, cell[j + AHEAD])
        packed[cell[j]] += (uint64(key[j]) << uint64(32)) | uint64(1)
    for j in range(max(n - AHEAD, 0), n):
        packed[cell[j]] += (uint64(key[j]) << uint64(32)) | uint64(1)


@njit(inline="always")
def _few(records, columns, filters, areas, area, a, n, few, cell, pass_, packed):
    """Add records a…a+n to the few cells of their areas; return the area that record a+n is in."""
    area_starts, area_cell = areas
    key, index = records[2][a : a + n], cell.dtype.type
    _inner(records, columns, a, n, cell)
    if len(filters[1]) > 0:
        _passing(records, filters, a, n, pass_)
        for j in range(n):
            cell[j] |= index(index(pass_[j]) - index(1))  # all bits where it does not pass
    if len(area_cell) == 0:
        _in_registers(cell[:n], key, few, packed)
        return area
    j = 0
    while j < n:
        while area_starts[area + 1] <= a + j:
            area += 1
        stop = min(n, area_starts[area + 1] - a)
        _in_registers(cell[j:stop], key[j:stop], few, packed[area_cell[area] :])
        j = stop
    return area


@njit(cache=True, nogil=True)
def scan(records, columns, filters, areas, stretches, first_area, packed, sums, lanes, few):
    """Add the records of the stretches to the accumulator, one uint64 for each cell.

    `packed` has `lanes` accumulators (1 or 4) one after the other; four let neighbouring
    records of the same cell be added without waiting for each other. `sums` is empty when the
    key sum rides in the high half, and otherwise takes the key sums (moduli that do not
    divide 2^32). `few` is the number of cells of an area where they are few, else 0.
    """
    codes8, codes16, keys, counts = records
    wide, row, start, _, places = columns
    area_starts, area_cell = areas
    cell = np.empty(BLOCK, places.dtype)
    pass_ = np.empty(BLOCK, np.uint8)
    chosen = np.empty(BLOCK + 1, np.uint16)
    filtered = len(filters[1]) > 0
    weighted = len(counts) > 0
    apart = len(sums) > 0
    size = len(packed) // lanes
    lane0 = packed[:size]
    lane1 = packed[(1 % lanes) * size :]
    lane2 = packed[(2 % lanes) * size :]
    lane3 = packed[(3 % lanes) * size :]
    high, one = uint64(32), uint64(1)
    for s in range(len(stretches)):
        area = first_area[s]
        for a in range(stretches[s, 0], stretches[s, 1], BLOCK):
            n = min(BLOCK, stretches[s, 1] - a)
            if few > 0:
                area = _few(records, columns, filters, areas, area, a, n, few, cell, pass_, packed)
                continue
            found = uint64(n)
            if filtered:
                if _passing(records, filters, a, n, pass_) == 0:
                    continue
                found = _listed(pass_, n, chosen)
                if FEW_PASS * found < n and not (apart or weighted or len(area_cell) > 0):
                    # Few records: their cells one by one, and nobody else's.
                    for i in range(found):
                        cell[i] = 0
                    for k in range(len(row)):
                        place = places[start[k] :]
                        if wide[k]:
                            column16 = codes16[row[k], a : a + n]
                            for i in range(found):
                                cell[i] += place[column16[chosen[i]]]
                        else:
                            column8 = codes8[row[k], a : a + n]
                            for i in range(found):
                                cell[i] += place[column8[chosen[i]]]
                    key = keys[a : a + n]
                    for i in range(found):
                        packed[cell[i]] += (uint64(key[chosen[i]]) << high) | one
                    continue
            if len(area_cell) > 0:
                while area_starts[area + 1] <= a:
                    area += 1
            area = _cells(records, columns, areas, area, a, n, cell)
            key = keys[a : a + n]
            if apart or weighted:
                for i in range(found):
                    j = uint64(chosen[i]) if filtered else uint64(i)
                    count = uint64(counts[uint64(a) + j]) if weighted else one
                    if apart:
                        packed[cell[j]] += count
                        sums[cell[j]] += uint64(key[j])
                    else:
                        packed[cell[j]] += (uint64(key[j]) << high) + count
            elif filtered:
                for i in range(found):
                    j = chosen[i]
                    packed[cell[j]] += (uint64(key[j]) << high) | one
            elif size > FAR and len(area_cell) == 0:
                _far(cell, key, n, packed)
            else:
                # Unsigned subscripts: signed ones are tested for wrapping around.
                for quad in range(n // 4):
                    j = uint64(quad) * uint64(4)
                    lane0[cell[j]] += (uint64(key[j]) << high) | one
                    j += one
                    lane1[cell[j]] += (uint64(key[j]) << high) | one
                    j += one
                    lane2[cell[j]] += (uint64(key[j]) << high) | one
                    j += one
                    lane3[cell[j]] += (uint64(key[j]) << high) | one
                for rest in range(n - n % 4, n):
                    lane0[cell[rest]] += (uint64(key[rest]) << high) | one


@njit(cache=True, nogil=True)
def list_passing(records, filters, a, b, out):
    """List the records of a…b that every filter lets pass; return how many. `out` has one more."""
    pass_ = np.empty(BLOCK, np.uint8)
    found = uint64(0)
    for block in range(a, b, BLOCK):
        n = min(BLOCK, b - block)
        if _passing(records, filters, block, n, pass_) == 0:
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


@njit(cache=True, nogil=True)
def list_cells(records, columns, filters, areas, a, b, area, cells, cell_counts, cell_keys):
    """List cell, count and key of each record of a…b that the filters let pass; return how many.

    For tables too large to hold: the caller sorts the list and adds up equal cells. `area` is
    the area that record a is in.
    """
    _, _, keys, counts = records
    cell = np.empty(BLOCK, np.uint64)
    pass_ = np.empty(BLOCK, np.uint8)
    chosen = np.arange(BLOCK + 1).astype(np.uint16)
    found = 0
    for block in range(a, b, BLOCK):
        n = min(BLOCK, b - block)
        area = _cells(records, columns, areas, area, block, n, cell)
        passing = n
        if len(filters[1]) > 0:
            _passing(records, filters, block, n, pass_)
            passing = _listed(pass_, n, chosen)
        for i in range(passing):
            j = chosen[i]
            cells[found] = cell[j]
            cell_counts[found] = counts[block + j] if len(counts) > 0 else uint32(1)
            cell_keys[found] = keys[block + j]
            found += 1
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
