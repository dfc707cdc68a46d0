"""Who passes the filters of a question: records told apart, and copied close together.

A stretch of records first gets a flag for each, column by column; then the columns that are asked
for are copied, those who pass alone, and the scan counts the copies as if nobody else were there.
Where the processor squeezes 64 records at a time, a column is copied as fast as it is read. Else,
and where few pass, those who do are listed, and their codes fetched one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import int64, uint8, uint16, uint32, uint64
from numpy.typing import NDArray

from discreet.compiling import fetch, inner, njit, squeeze, squeezes

STRETCH = 2**14  # records told apart before any is copied: flags and copies stay in near caches
ROOM = STRETCH + 64  # of what is written to 64 places at a time
BLOCK = 256
LONG = 2048  # records told apart at once, whose codes are sent for…
SOON = 4096  # …so many before their turn,…
LINES = 128  # …and lines of a column that is copied: it takes no time but that of memory
LINE = 64  # bytes that come at once
FEW_PASS = 64  # below this share of a stretch who passes is listed
NEXT = 16  # of a list, whose codes are sent for

Arrays = tuple[NDArray[Any], ...]


def room_to_copy(records: Arrays, filters: Arrays) -> tuple[Any, ...]:
    """Return the buffers for a stretch: flags, numbers, a list of them, where areas begin, copies,
    and these again.

    The second time they are as the scan reads them: of one type with mapped columns.
    """
    size = ROOM if len(filters[1]) else 0
    copies = tuple(
        np.empty((*column.shape[:-1], size if column.size else 0), column.dtype)
        for column in records
    )
    seen = tuple(copy.view() for copy in copies)
    for column in seen:
        column.setflags(write=False)
    numbers, chosen = np.arange(size, dtype=uint16), np.empty(size, uint16)
    return np.empty(size, uint8), numbers, chosen, np.empty(size, int64), copies, seen


@njit(inline="always")
def flag(records, filters, a, n, out):
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
def passing(flags, n):
    """Return how many of n records pass."""
    found = uint32(0)
    for j in range(n):
        found = uint32(found + uint32(flags[j]))
    return found


@njit(inline="always")
def listed(flags, n, chosen):
    """List in `chosen` which of n records pass; return how many.

    Without a branch: each record is written down, and the next one over it if it does not pass.
    """
    found = uint64(0)
    for block in range(0, n, BLOCK):
        some = min(BLOCK, n - block)
        if passing(flags[block:], some) == 0:
            continue
        for j in range(block, block + some):
            chosen[found] = j
            found += uint64(flags[j])
    return found


@njit(inline="always")
def send_for_codes(records, columns, a, n):
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


@inner(_nrt=False)
def flag_all(records, filters, a, n, flags):
    """Write 1 for the records of a…a+n that pass, else 0; return how many pass."""
    found = int64(0)
    for block in range(0, n, LONG):
        some = min(LONG, n - block)
        send_for_codes(records, filters, a + block + SOON, some)
        out = flags[block:]
        flag(records, filters, a + block, some, out)
        found += int64(passing(out, some))
    return found


@njit(inline="always")
def begin_among(areas, area, a, n, flags, found, out):
    """Write where areas begin among those of a…a+n that pass, from the area of record a on."""
    area_starts, area_cell = areas
    if len(area_cell) == 0:
        return
    at, rank, k = 0, int64(0), 1
    out[0] = 0
    while area_starts[area + k] < a + n:
        end = area_starts[area + k] - a
        rank += int64(passing(flags[at:end], end - at))
        at = end
        out[k] = rank
        k += 1
    out[k] = found


@inner(_nrt=False)
def _squeezed(column, a, n, flags, out):
    """Copy those of a…a+n that pass, 64 at a time."""
    size, found = column.itemsize, uint64(0)
    whole = n - n % 64
    for j in range(0, whole, 64):
        for line in range(size):
            fetch(column, a + j + (LINES + line) * LINE // size)
        found += squeeze(column, a + j, flags, j, out, found)
    for j in range(whole, n):
        out[found] = column[a + j]
        found += uint64(flags[j])


@inner(_nrt=False)
def _gathered(column, a, chosen, found, out):
    """Copy the chosen records after a."""
    codes = column[a:]
    for i in range(found - NEXT):
        fetch(codes, chosen[i + NEXT])
        out[i] = codes[chosen[i]]
    for i in range(max(found - NEXT, 0), found):
        out[i] = codes[chosen[i]]


@njit(inline="always")
def _copied(column, a, n, flags, chosen, found, squeezing, out):
    if squeezing:
        _squeezed(column, a, n, flags, out)
    else:
        _gathered(column, a, chosen, found, out)


@njit(inline="always")
def _copy_columns(records, columns, a, n, flags, chosen, found, squeezing, copies):
    codes8, codes16, _, _ = records
    copies8, copies16, _, _ = copies
    wide, row = columns[0], columns[1]
    for k in range(len(row)):
        if wide[k]:
            column16, out16 = codes16[row[k]], copies16[row[k]]
            _copied(column16, a, n, flags, chosen, found, squeezing, out16)
        else:
            column8, out8 = codes8[row[k]], copies8[row[k]]
            _copied(column8, a, n, flags, chosen, found, squeezing, out8)


@njit(inline="always")
def _whether_to_squeeze(n, flags, numbers, chosen, found):
    """Return whether columns are squeezed; else list who passes."""
    squeezing = False
    if squeezes():
        squeezing = FEW_PASS * found >= n
    if squeezing:
        return True
    if squeezes() and BLOCK * found >= n:
        _squeezed(numbers, 0, n, flags, chosen)
    else:  # by blocks, most of which have nobody
        listed(flags, n, chosen)
    return False


@inner(_nrt=False)
def copy(records, outer, columns, a, n, flags, numbers, chosen, found, copies):
    """Copy codes, keys and counts of those of a…a+n that pass, who are `found`, to `copies`."""
    squeezing = _whether_to_squeeze(n, flags, numbers, chosen, found)
    _copy_columns(records, outer, a, n, flags, chosen, found, squeezing, copies)
    _copy_columns(records, columns, a, n, flags, chosen, found, squeezing, copies)
    _copied(records[2], a, n, flags, chosen, found, squeezing, copies[2])
    if len(records[3]) > 0:
        _copied(records[3], a, n, flags, chosen, found, squeezing, copies[3])


@njit(cache=True, nogil=True, _nrt=False)
def count_passing(records, filters, area_starts, area, a, b, begins, room):
    """Return how many of the records a…b pass, and write how many do before each area begins.

    `area` is the first that begins at a or later.
    """
    flags = room[1][0]
    found = 0
    for stretch in range(a, b, STRETCH):
        n = min(STRETCH, b - stretch)
        some, at, rank = flag_all(records, filters, stretch, n, flags), 0, int64(0)
        while area < len(area_starts) and area_starts[area] < stretch + n:
            end = area_starts[area] - stretch
            rank += int64(passing(flags[at:end], end - at))
            at = end
            begins[area] = found + rank
            area += 1
        found += some
    return found


@njit(inline="always")
def _write(copies, found, out, to):
    target = out[to : to + found]
    for i in range(len(target)):  # which is shorter if somebody wrote to the columns meanwhile
        target[i] = copies[i]


@njit(cache=True, nogil=True, _nrt=False)
def copy_passing(records, columns, filters, a, b, out, to, room):
    """Copy columns, and keys and counts where there is room, of those of a…b that pass.

    The first goes to place `to`. What is squeezed writes more than it copies: it goes to a buffer.
    """
    flags, numbers, chosen, _, copies, _ = room[1]
    wide, row = columns[0], columns[1]
    for stretch in range(a, b, STRETCH):
        n = min(STRETCH, b - stretch)
        found = flag_all(records, filters, stretch, n, flags)
        if found == 0:
            continue
        squeezing = _whether_to_squeeze(n, flags, numbers, chosen, found)
        _copy_columns(records, columns, stretch, n, flags, chosen, found, squeezing, copies)
        for k in range(len(row)):
            if wide[k]:
                _write(copies[1][row[k]], found, out[1][row[k]], to)
            else:
                _write(copies[0][row[k]], found, out[0][row[k]], to)
        if len(out[2]) > 0:
            _copied(records[2], stretch, n, flags, chosen, found, squeezing, copies[2])
            _write(copies[2], found, out[2], to)
        if len(out[3]) > 0:
            _copied(records[3], stretch, n, flags, chosen, found, squeezing, copies[3])
            _write(copies[3], found, out[3], to)
        to += found
