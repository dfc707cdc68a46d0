"""The kernels' plain twins, in NumPy: the same arguments, the same results, nothing to compile.

For data so small that loading the kernels would take longer than the work (`compiling.SMALL`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[Any], ...]


def _codes(records: Arrays, wide: Any, row: Any, a: int, b: int) -> NDArray[Any]:
    return records[1 if wide else 0][row, a:b]


def _cells(
    records: Arrays, outer: Arrays, columns: Arrays, areas: Arrays, a: int, b: int
) -> NDArray[np.int64]:
    """Return the cell of each of the records a…b."""
    cells = np.zeros(b - a, np.int64)
    for wide, row, start, _, places in (outer, columns):
        for k in range(len(row)):
            codes = _codes(records, wide[k], row[k], a, b).astype(np.int64)
            cells += places[start[k] + codes].astype(np.int64)
    area_starts, area_cell = areas
    if len(area_cell):
        area = np.searchsorted(area_starts, np.arange(a, b), side="right") - 1
        cells += area_cell[area].astype(np.int64)
    return cells


def _passing(records: Arrays, filters: Arrays, a: int, b: int) -> NDArray[np.int64]:
    """Return which of the records a…b every filter lets pass."""
    wide, row, start, _, _, passes = filters
    through = np.ones(b - a, np.bool_)
    for k in range(len(row)):
        codes = _codes(records, wide[k], row[k], a, b).astype(np.int64)
        through &= passes[start[k] + codes] != 0
    return np.flatnonzero(through)


def scan(
    records: Arrays,
    outer: Arrays,
    columns: Arrays,
    filters: Arrays,
    areas: Arrays,
    stretches: NDArray[np.int64],
    first_area: NDArray[np.int64],
    packed: NDArray[np.uint64],
    sums: NDArray[np.uint64],
    few: int,
    room: Arrays,
) -> None:
    """Add the records of the stretches to the accumulator, one uint64 for each cell."""
    for a, b in stretches.tolist():
        chosen = _passing(records, filters, a, b)
        cells = _cells(records, outer, columns, areas, a, b)[chosen]
        counts, keys = _weights(records, a + chosen)
        if len(sums):
            np.add.at(packed, cells, counts)
            np.add.at(sums, cells, keys)
        else:
            np.add.at(packed, cells, (keys << np.uint64(32)) + counts)


def _weights(records: Arrays, at: NDArray[np.int64]) -> tuple[NDArray[np.uint64], ...]:
    """Return the count and the key of some records."""
    _, _, keys, counts = records
    weights = counts[at].astype(np.uint64) if len(counts) else np.ones(len(at), np.uint64)
    return weights, keys[at].astype(np.uint64)


def count_passing(
    records: Arrays,
    filters: Arrays,
    area_starts: NDArray[np.int64],
    area: int,
    a: int,
    b: int,
    begins: NDArray[np.int64],
    room: Arrays,
) -> int:
    """Return how many of the records a…b pass, and write how many do before each area begins."""
    chosen = a + _passing(records, filters, a, b)
    last = int(np.searchsorted(area_starts, b))
    begins[area:last] = np.searchsorted(chosen, area_starts[area:last])
    return len(chosen)


def copy_passing(
    records: Arrays,
    columns: Arrays,
    filters: Arrays,
    a: int,
    b: int,
    out: Arrays,
    to: int,
    room: Arrays,
) -> None:
    """Copy columns, and keys and counts where there is room, of those of a…b that pass."""
    chosen = a + _passing(records, filters, a, b)
    end = to + len(chosen)
    for wide, row in zip(*columns, strict=True):
        at = 1 if wide else 0
        out[at][row, to:end] = records[at][row, chosen]
    for at in (2, 3):
        if len(out[at]):
            out[at][to:end] = records[at][chosen]


def list_cells(
    records: Arrays,
    outer: Arrays,
    columns: Arrays,
    filters: Arrays,
    areas: Arrays,
    a: int,
    b: int,
    area: int,
    cells: NDArray[np.uint64],
    cell_counts: NDArray[np.uint64],
    cell_keys: NDArray[np.uint64],
    room: Arrays,
) -> int:
    """List cell, count and key of each record of a…b that the filters let pass; return how many."""
    chosen = _passing(records, filters, a, b)
    found = len(chosen)
    cells[:found] = _cells(records, outer, columns, areas, a, b)[chosen].view(np.uint64)
    cell_counts[:found], cell_keys[:found] = _weights(records, a + chosen)
    return found


def add_up(
    order: NDArray[np.int64],
    cells: NDArray[np.uint64],
    counts: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    modulus: np.uint64,
    out_cells: NDArray[np.uint64],
    out_counts: NDArray[np.uint64],
    out_keys: NDArray[np.uint64],
) -> int:
    """Add up counts and keys (modulo) of equal cells, taken in the given order; return how many."""
    if not len(order):
        return 0
    cells = cells[order]
    first = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
    found = len(first)
    out_cells[:found] = cells[first]
    out_counts[:found] = np.add.reduceat(counts[order], first)
    out_keys[:found] = np.add.reduceat(keys[order], first) % modulus
    return found
