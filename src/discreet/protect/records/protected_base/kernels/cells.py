"""The cells of records in tables, and counts by area and cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit


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
def triple(codes: Any, tables: Any, t: Any) -> Any:
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
            out[triple(codes[i], tables, t)] += values[i]


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
