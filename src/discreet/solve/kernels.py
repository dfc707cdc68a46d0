"""Fast loops of the solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.solve.random import uniform


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
def round_cycles(
    part: NDArray[np.float64], uniforms: NDArray[np.float64], top: float, exact: float
) -> bool:
    """Round parts of the top to 0 and the top in place; rows and columns sum to its multiples.

    A path alternates between rows and columns through fractional entries. Where it meets itself
    the cycle is moved: alternately up and down by the largest step that keeps all in [0, top], in
    one of the two directions with the odds that leave every mean as it is. At least one entry
    becomes 0 or the top each time, so the number of entries bounds the number of uniforms used.
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
            if exact <= part[i, j] <= top - exact:
                row_place[i, j] = row_size[i]
                in_row[i, row_size[i]] = j
                row_size[i] += 1
                column_place[j, i] = column_size[j]
                in_column[j, column_size[j]] = i
                column_size[j] += 1
            else:
                part[i, j] = 0.0 if part[i, j] < exact else top
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
        up, down = 2 * top, 2 * top
        for k in range(cycle_from, length + 1):
            following = path_rows[k + 1] if k < length else path_rows[cycle_from]
            p = part[path_rows[k], path_columns[k]]
            q = part[following, path_columns[k]]
            up = min(up, top - p, q)
            down = min(down, p, top - q)
        step = up if uniforms[used] * (up + down) < down else -down
        used += 1
        for k in range(cycle_from, length + 1):
            column = path_columns[k]
            following = path_rows[k + 1] if k < length else path_rows[cycle_from]
            for side in range(2):
                i = path_rows[k] if side == 0 else following
                moved = part[i, column] + (step if side == 0 else -step)
                if moved < exact or moved > top - exact:
                    part[i, column] = 0.0 if moved < exact else top
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


@njit(cache=True, nogil=True)
def tighten(
    starts: NDArray[np.int32],
    entries: NDArray[np.int32],
    factors: NDArray[np.float64],
    sums: NDArray[np.float64],
    column_starts: NDArray[np.int32],
    column_rows: NDArray[np.int32],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    whole: bool,
    exact: float,
    most_visits: int,
) -> tuple[int, int]:
    """Tighten bounds in place until no single equation tightens one further.

    Equations: Σ factors·value = sums, in compressed rows. Returns (row, left): the equation that
    cannot hold, or −1; and how many equations were still waiting when the visits ran out.
    """
    rows = sums.size
    queue = np.arange(rows).astype(np.int32)
    waiting = np.ones(rows, np.bool_)
    head, filled = 0, rows
    visits = 0
    while filled > 0 and visits < most_visits:
        row = queue[head]
        head = head + 1 if head + 1 < rows else 0
        filled -= 1
        waiting[row] = False
        visits += 1
        # The least and the greatest sum, with infinite terms counted apart.
        least, most = 0.0, 0.0
        least_open, most_open = 0, 0
        for k in range(starts[row], starts[row + 1]):
            a, j = factors[k], entries[k]
            lower, upper = (a * low[j], a * high[j]) if a > 0 else (a * high[j], a * low[j])
            if lower == -np.inf:
                least_open += 1
            else:
                least += lower
            if upper == np.inf:
                most_open += 1
            else:
                most += upper
        slack = exact * (1.0 + abs(sums[row]))
        if (least_open == 0 and least > sums[row] + slack) or (
            most_open == 0 and most < sums[row] - slack
        ):
            return row, filled
        if least_open > 1 and most_open > 1:
            continue
        for k in range(starts[row], starts[row + 1]):
            a, j = factors[k], entries[k]
            lower, upper = (a * low[j], a * high[j]) if a > 0 else (a * high[j], a * low[j])
            at_most, at_least = np.inf, -np.inf
            if least_open == 0:
                at_most = sums[row] - (least - lower)
            elif least_open == 1 and lower == -np.inf:
                at_most = sums[row] - least
            if most_open == 0:
                at_least = sums[row] - (most - upper)
            elif most_open == 1 and upper == np.inf:
                at_least = sums[row] - most
            new_low, new_high = (
                (at_least / a, at_most / a) if a > 0 else (at_most / a, at_least / a)
            )
            if whole:
                new_low = np.ceil(new_low - 1e-6) + 0.0  # never a minus zero
                new_high = np.floor(new_high + 1e-6) + 0.0
            changed = False
            if new_low > low[j] + slack:
                low[j] = new_low
                changed = True
            if new_high < high[j] - slack:
                high[j] = new_high
                changed = True
            if changed:
                if low[j] > high[j]:
                    if low[j] > high[j] + slack:
                        return row, filled
                    low[j] = high[j]
                for c in range(column_starts[j], column_starts[j + 1]):
                    other = column_rows[c]
                    if other != row and not waiting[other]:
                        waiting[other] = True
                        end = head + filled
                        queue[end if end < rows else end - rows] = other
                        filled += 1
    return -1, filled


@njit(cache=True, nogil=True)
def apart(
    wanted: NDArray[np.int64],
    column_starts: NDArray[np.int32],
    column_rows: NDArray[np.int32],
    rows: int,
) -> NDArray[np.bool_]:
    """Return which of the wanted columns, taken in turn, share no row with one taken before."""
    taken = np.zeros(wanted.size, np.bool_)
    used = np.zeros(rows, np.bool_)
    for i in range(wanted.size):
        j = wanted[i]
        free = True
        for k in range(column_starts[j], column_starts[j + 1]):
            if used[column_rows[k]]:
                free = False
                break
        if free:
            taken[i] = True
            for k in range(column_starts[j], column_starts[j + 1]):
                used[column_rows[k]] = True
    return taken


@njit(cache=True, nogil=True)
def _miss(
    y: int, least: int, most: int, weight: float, square: bool, limit: int, heavy: float
) -> float:
    """Return the cost of a cell: its distance from the interval it should lie in."""
    d = least - y if y < least else (y - most if y > most else 0)
    cost = weight * (d * d if square else d)
    if d > limit:
        cost += heavy * (d - limit) * (d - limit)
    return cost


@njit(cache=True, nogil=True)
def anneal(
    starts: NDArray[np.int32],
    cells: NDArray[np.int32],
    steps: NDArray[np.int64],
    x: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    y: NDArray[np.int64],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
    weights: NDArray[np.float64],
    own: NDArray[np.float64],
    square: bool,
    limit: int,
    heavy: float,
    free: NDArray[np.int32],
    hot: float,
    cold: float,
    trials: int,
    until_none: bool,
    state: NDArray[np.uint64],
) -> float:
    """Move inner cells x (in place, with all cells y) towards the least cost; return all misses.

    Inner cell i is counted by the cells cells[starts[i]:starts[i+1]], moves by ±steps[i] and stays
    in low…high; `free` lists those that may move. Cost: what cells miss of least…most, or its
    square, with `heavy` on what is beyond the limit; and own·x. A move up the cost by Δ is made
    with the odds exp(−Δ/temperature), the temperature falling from hot to cold in proportion;
    with hot = 0 never. `until_none` ends the search once nothing is missed.
    """
    missed = 0.0
    for c in range(y.size):
        missed += _miss(y[c], least[c], most[c], weights[c], square, limit, heavy)
    if free.size == 0:
        return missed
    cooling = (cold / hot) ** (1.0 / max(1, trials)) if hot > 0 else 1.0
    temperature = hot
    for _ in range(trials):
        if until_none and missed < 1e-9:
            break
        temperature *= cooling
        i = free[int(uniform(state) * free.size)]
        step = steps[i] if uniform(state) < 0.5 else -steps[i]
        if not low[i] <= x[i] + step <= high[i]:
            step = -step
            if not low[i] <= x[i] + step <= high[i]:
                continue
        change = 0.0
        for k in range(starts[i], starts[i + 1]):
            c = cells[k]
            change += _miss(
                y[c] + step, least[c], most[c], weights[c], square, limit, heavy
            ) - _miss(y[c], least[c], most[c], weights[c], square, limit, heavy)
        cost = change + own[i] * step
        if cost <= 0 or (temperature > 0 and uniform(state) < np.exp(-cost / temperature)):
            x[i] += step
            for k in range(starts[i], starts[i + 1]):
                y[cells[k]] += step
            missed += change
    return missed


@njit(cache=True, nogil=True)
def _forget(
    lists: NDArray[np.int32],
    starts: NDArray[np.int32],
    sizes: NDArray[np.int32],
    places: NDArray[np.int32],
    node: int,
    side: int,
    edge: int,
) -> None:
    """Take an edge from a node's list; the last one moves into its place."""
    last = lists[starts[node] + sizes[node] - 1]
    place = places[side, edge]
    lists[place] = last
    # An edge is in the lists of both its ends: the end that moved is the one with this place.
    end = starts[node] + sizes[node] - 1
    if places[0, last] == end:
        places[0, last] = place
    else:
        places[1, last] = place
    sizes[node] -= 1


@njit(cache=True, nogil=True)
def round_network(
    tails: NDArray[np.int32],
    heads: NDArray[np.int32],
    nodes: int,
    part: NDArray[np.float64],
    uniforms: NDArray[np.float64],
    top: float,
) -> bool:
    """Round whole parts of the top in a flow to 0 and the top, keeping what nodes conserve.

    Edge e carries part[e] from tails[e] to heads[e]; what enters a node and what leaves it differ
    by a multiple of the top. A path through open edges that meets itself is a cycle: it is moved
    by the largest step in one of the two directions, with the odds that leave every mean as it is.
    All numbers are integers, so nothing is lost to rounding errors.
    """
    edges = part.size
    degree = np.zeros(nodes + 1, np.int32)
    for e in range(edges):
        if 0 < part[e] < top and tails[e] != heads[e]:
            degree[tails[e] + 1] += 1
            degree[heads[e] + 1] += 1
    starts = np.cumsum(degree).astype(np.int32)
    lists = np.empty(starts[nodes], np.int32)
    sizes = np.zeros(nodes, np.int32)
    places = np.full((2, edges), -1, np.int32)
    for e in range(edges):
        if 0 < part[e] < top and tails[e] != heads[e]:
            for side in range(2):
                node = tails[e] if side == 0 else heads[e]
                places[side, e] = starts[node] + sizes[node]
                lists[starts[node] + sizes[node]] = e
                sizes[node] += 1
    path_nodes = np.empty(nodes + 2, np.int32)
    path_edges = np.empty(nodes + 2, np.int32)
    seen = np.full(nodes, -1, np.int32)
    used, length, start = 0, 0, 0
    while start < nodes:
        if length == 0:
            if sizes[start] == 0:
                start += 1
                continue
            path_nodes[0] = start
            seen[start] = 0
        node = path_nodes[length]
        came = path_edges[length - 1] if length > 0 else -1
        if sizes[node] < 2:
            return False
        edge = lists[starts[node]]
        if edge == came:
            edge = lists[starts[node] + 1]
        following = heads[edge] if tails[edge] == node else tails[edge]
        path_edges[length] = edge
        if seen[following] < 0:
            length += 1
            path_nodes[length] = following
            seen[following] = length
            continue
        first = seen[following]
        up, down = 2 * top, 2 * top
        for k in range(first, length + 1):
            e = path_edges[k]
            if tails[e] == path_nodes[k]:
                up, down = min(up, top - part[e]), min(down, part[e])
            else:
                up, down = min(up, part[e]), min(down, top - part[e])
        step = up if uniforms[used] * (up + down) < down else -down
        used += 1
        for k in range(first, length + 1):
            e = path_edges[k]
            moved = part[e] + (step if tails[e] == path_nodes[k] else -step)
            part[e] = moved
            if moved <= 0 or moved >= top:
                _forget(lists, starts, sizes, places, tails[e], 0, e)
                _forget(lists, starts, sizes, places, heads[e], 1, e)
        for k in range(first + 1, length + 1):
            seen[path_nodes[k]] = -1
        length = first
        if length == 0:
            seen[path_nodes[0]] = -1
    return True
