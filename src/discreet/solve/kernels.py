"""Fast loops of the solvers."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def _drop(
    members: NDArray[np.int32], places: NDArray[np.int32], sizes: NDArray[np.int32], a: int, b: int
) -> None:
    """Take b from the list of line a; the last member moves into its place."""
    last = members[a, sizes[a] - 1]
    place = places[a, b]
    members[a, place] = last
    places[a, last] = place
    sizes[a] -= 1


@njit(cache=True, nogil=True)
def round_cycles(part: NDArray[np.float64], uniforms: NDArray[np.float64], exact: float) -> bool:
    """Round the fractional parts to 0 and 1 in place, keeping integer row and column sums.

    A path alternates between rows and columns through fractional entries. Where it meets itself
    the cycle is moved: alternately up and down by the largest step that keeps all in [0, 1], in
    one of the two directions with the odds that leave every mean as it is. At least one entry
    becomes an integer each time, so the number of entries bounds the number of uniforms used.
    """
    rows, columns = part.shape
    in_row = np.zeros((rows, columns), np.int32)
    in_column = np.zeros((columns, rows), np.int32)
    row_place = np.zeros((rows, columns), np.int32)
    column_place = np.zeros((columns, rows), np.int32)
    row_size = np.zeros(rows, np.int32)
    column_size = np.zeros(columns, np.int32)
    for i in range(rows):
        for j in range(columns):
            if exact <= part[i, j] <= 1 - exact:
                row_place[i, j] = row_size[i]
                in_row[i, row_size[i]] = j
                row_size[i] += 1
                column_place[j, i] = column_size[j]
                in_column[j, column_size[j]] = i
                column_size[j] += 1
            else:
                part[i, j] = np.rint(part[i, j])
    # Path: row r[0] – column c[0] – row r[1] – …; seen_… is the position of a line on it.
    path_rows = np.empty(rows + columns + 2, np.int32)
    path_columns = np.empty(rows + columns + 2, np.int32)
    seen_row = np.full(rows, -1, np.int32)
    seen_column = np.full(columns, -1, np.int32)
    used = 0
    length = 0
    start = 0
    while start < rows:
        if length == 0:
            if row_size[start] == 0:
                start += 1
                continue
            path_rows[0] = start
            seen_row[start] = 0
        row = path_rows[length]
        came = path_columns[length - 1] if length > 0 else -1
        if row_size[row] < 2:  # a sum that was no integer
            return False
        column = in_row[row, 0]
        if column == came:
            column = in_row[row, 1]
        if column_size[column] < 2:
            return False
        # Where the path meets a line again: the first row of the cycle, and what stays of the path.
        if seen_column[column] >= 0:
            cycle_from = seen_column[column] + 1
            keep = seen_column[column]
        else:
            next_row = in_column[column, 0]
            if next_row == row:
                next_row = in_column[column, 1]
            if seen_row[next_row] < 0:
                seen_column[column] = length
                path_columns[length] = column
                length += 1
                seen_row[next_row] = length
                path_rows[length] = next_row
                continue
            cycle_from = seen_row[next_row]
            keep = cycle_from
        path_columns[length] = column
        up, down = 2.0, 2.0
        for k in range(cycle_from, length + 1):
            following = path_rows[k + 1] if k < length else path_rows[cycle_from]
            p = part[path_rows[k], path_columns[k]]
            q = part[following, path_columns[k]]
            up = min(up, 1 - p, q)
            down = min(down, p, 1 - q)
        step = up if uniforms[used] * (up + down) < down else -down
        used += 1
        for k in range(cycle_from, length + 1):
            column = path_columns[k]
            following = path_rows[k + 1] if k < length else path_rows[cycle_from]
            for side in range(2):
                i = path_rows[k] if side == 0 else following
                moved = part[i, column] + (step if side == 0 else -step)
                if moved < exact or moved > 1 - exact:
                    part[i, column] = np.rint(moved)
                    _drop(in_row, row_place, row_size, i, column)
                    _drop(in_column, column_place, column_size, column, i)
                else:
                    part[i, column] = moved
        for k in range(keep, length):
            seen_row[path_rows[k + 1]] = -1
            seen_column[path_columns[k]] = -1
        length = keep
    return True


@njit(cache=True, nogil=True)
def walk_moves(
    cells: NDArray[np.int64],
    strides: NDArray[np.int64],
    pairs: NDArray[np.int64],
    uniforms: NDArray[np.float64],
    slack: float,
    wanted: int,
) -> int:
    """Walk through tables with the same margins; return how many admissible tables were met.

    Each row of `pairs` is a move: two codes for each dimension, whose 2^k cells change by +1 and
    −1 in turn. A cell may be −1 on the way, at the weight `slack`; only tables without negative
    cells count, and the walk ends in one. Target of these: Π 1/n!, by Metropolis steps.
    """
    dimensions = strides.size
    corners = 1 << dimensions
    where = np.empty(corners, np.int64)
    negative = 0
    for cell in range(cells.size):
        negative += cells[cell] < 0
    met = 0
    for t in range(pairs.shape[0]):
        for corner in range(corners):
            cell = 0
            for d in range(dimensions):
                cell += pairs[t, 2 * d + ((corner >> d) & 1)] * strides[d]
            where[corner] = cell
        ratio = 1.0
        for corner in range(corners):
            odd = 0
            for d in range(dimensions):
                odd ^= (corner >> d) & 1
            n = cells[where[corner]]
            if odd == 0:  # up: w(n+1)/w(n) with w(n) = 1/n! and w(-1) = slack
                ratio *= 1.0 / slack if n < 0 else 1.0 / (n + 1)
            elif n < 0:
                ratio = 0.0
            else:  # down: w(n-1)/w(n)
                ratio *= slack if n == 0 else float(n)
        if uniforms[t] < ratio:
            for corner in range(corners):
                odd = 0
                for d in range(dimensions):
                    odd ^= (corner >> d) & 1
                n = cells[where[corner]]
                if odd == 0:
                    negative -= n < 0
                    cells[where[corner]] = n + 1
                else:
                    negative += n == 0
                    cells[where[corner]] = n - 1
        if negative == 0:
            met += 1
            if met == wanted:
                return met
    return met
