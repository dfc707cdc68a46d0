"""The scan: records to cells, in blocks that stay in the processor's first cache.

A block of records first gets its cell indices, column by column, in a buffer; then the counts are
scattered. `acc[cell] += key << 32 | 1` counts and sums keys modulo 2^32 in one addition.

A column of the table is described by three numbers: the row of `codes8` or `codes16` that holds
its codes, and where its weights start in `weights`, which gives for each code the place of its
category times the stride of its axis (or 0 where a filter leaves it out, see `pass_`).
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint32, uint64

BLOCK = 4096


@njit(inline="always")
def _cells(codes8, codes16, wide, row, start, multiply, weights, areas, area_cell, area, a, n, out):
    """Write the cell index of records a…a+n to `out`; return the area that record a+n is in."""
    for j in range(n):
        out[j] = 0
    for k in range(len(row)):
        if wide[k]:
            w = weights[start[k] :]
            column16 = codes16[row[k], a : a + n]
            for j in range(n):
                out[j] += w[column16[j]]
        elif multiply[k] > 0:
            stride = multiply[k]
            column8 = codes8[row[k], a : a + n]
            for j in range(n):
                out[j] += stride * column8[j]
        else:
            w = weights[start[k] :]
            column8 = codes8[row[k], a : a + n]
            for j in range(n):
                out[j] += w[column8[j]]
    if len(area_cell) > 0:
        j = 0
        while j < n:
            while areas[area + 1] <= a + j:
                area += 1
            stop = min(n, areas[area + 1] - a)
            base = area_cell[area]
            while j < stop:
                out[j] += base
                j += 1
    return area


@njit(inline="always")
def _passing(codes8, codes16, wide, row, start, passes, a, n, out):
    """Write 1 to `out` for each record that every filter lets pass, 0 for the others."""
    for j in range(n):
        out[j] = 1
    for k in range(len(row)):
        p = passes[start[k] :]
        if wide[k]:
            column16 = codes16[row[k], a : a + n]
            for j in range(n):
                out[j] &= p[column16[j]]
        else:
            column8 = codes8[row[k], a : a + n]
            for j in range(n):
                out[j] &= p[column8[j]]


@njit(cache=True, nogil=True)
def scan(
    codes8, codes16, keys, counts, wide, row, start, multiply, weights,
    f_wide, f_row, f_start, passes, areas, area_cell, stretches, first_area, packed, sums, lanes,
):  # fmt: skip
    """Add the records of the stretches to the accumulator, one uint64 a cell.

    `packed` has `lanes` accumulators (1 or 2) of cells uint64 each; two let neighbouring records
    of the same cell be added without waiting for each other. `sums` is empty when the key sum
    rides in the high half, and otherwise takes the key sums (moduli that do not divide 2^32).
    """
    cell = np.empty(BLOCK, np.uint32)
    value = np.empty(BLOCK, np.uint64)
    pass_ = np.empty(BLOCK, np.uint8)
    filtered = len(f_row) > 0
    weighted = len(counts) > 0
    apart = len(sums) > 0
    half = len(packed) // lanes
    one, other = packed[:half], packed[len(packed) - half :]
    for s in range(len(stretches)):
        area = first_area[s]
        for a in range(stretches[s, 0], stretches[s, 1], BLOCK):
            n = min(BLOCK, stretches[s, 1] - a)
            area = _cells(
                codes8, codes16, wide, row, start, multiply, weights, areas, area_cell, area,
                a, n, cell,
            )  # fmt: skip
            key = keys[a : a + n]
            if not apart and not weighted and not filtered:
                for j in range(0, n - 1, 2):
                    one[cell[j]] += (uint64(key[j]) << uint64(32)) | uint64(1)
                    other[cell[j + 1]] += (uint64(key[j + 1]) << uint64(32)) | uint64(1)
                if n % 2:
                    one[cell[n - 1]] += (uint64(key[n - 1]) << uint64(32)) | uint64(1)
                continue
            if weighted:
                count = counts[a : a + n]
                for j in range(n):
                    value[j] = count[j]
            else:
                for j in range(n):
                    value[j] = 1
            if filtered:
                _passing(codes8, codes16, f_wide, f_row, f_start, passes, a, n, pass_)
                if apart:
                    for j in range(n):
                        packed[cell[j]] += value[j] * pass_[j]
                        sums[cell[j]] += uint64(key[j]) * pass_[j]
                else:
                    for j in range(n):
                        value[j] = ((uint64(key[j]) << uint64(32)) + value[j]) * pass_[j]
                    for j in range(n):
                        packed[cell[j]] += value[j]
            elif apart:
                for j in range(n):
                    packed[cell[j]] += value[j]
                    sums[cell[j]] += uint64(key[j])
            else:
                for j in range(n):
                    packed[cell[j]] += (uint64(key[j]) << uint64(32)) + value[j]


@njit(cache=True, nogil=True)
def list_cells(
    codes8, codes16, keys, counts, wide, row, start, multiply, weights,
    f_wide, f_row, f_start, passes, areas, area_cell, a, b, first_area,
    cells, cell_counts, cell_keys,
):  # fmt: skip
    """List cell, count and key of each record of a…b that the filters let pass; return how many.

    For tables too large to hold: the caller sorts the list and adds up equal cells.
    """
    cell = np.empty(BLOCK, np.uint64)
    pass_ = np.ones(BLOCK, np.uint8)
    area = first_area
    found = 0
    for block in range(a, b, BLOCK):
        n = min(BLOCK, b - block)
        area = _cells(
            codes8, codes16, wide, row, start, multiply, weights, areas, area_cell, area,
            block, n, cell,
        )  # fmt: skip
        if len(f_row) > 0:
            _passing(codes8, codes16, f_wide, f_row, f_start, passes, block, n, pass_)
        for j in range(n):
            if pass_[j]:
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
