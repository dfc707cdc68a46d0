"""Fast loops of the solvers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.solve.random import uniform
from discreet.types import Flags, Floats, Integers

Indices = NDArray[np.int32]


class Lists(NamedTuple):
    """Lists one after the other: list i is items[starts[i]:starts[i + 1]]."""

    starts: Indices
    items: Indices

    @classmethod
    def of_rows(cls, matrix: Any) -> Lists:
        """Return the columns in which each row of a sparse matrix has an entry."""
        rows = matrix.tocsr()
        return cls(rows.indptr.astype(np.int32), rows.indices.astype(np.int32))


@njit(inline="always")
def _forget(
    starts: Indices, sizes: Indices, lists: Indices, places: Indices, node: int, half: int
) -> None:
    """Take a half-edge from the list of its node; the last one moves into its place."""
    end, place = starts[node] + sizes[node] - 1, places[half]
    lists[place, 0], lists[place, 1] = lists[end, 0], lists[end, 1]
    places[lists[end, 0]] = place
    sizes[node] -= 1


@njit(cache=True, nogil=True)
def round_network(
    ends: Indices,
    nodes: int,
    first_head: int,
    part: Floats,
    uniforms: Floats,
    top: float,
    exact: float,
) -> bool:
    """Round parts of the top in a flow to 0 and the top, in place, keeping what nodes conserve.

    Edge e carries part[e] from node ends[e, 0] to ends[e, 1]; what enters a node and what leaves it
    differ by a multiple of the top. A path through open edges that meets itself is a cycle: it is
    moved by the largest step that keeps all in [0, top], in one of the two directions, with the
    odds that leave every mean as it is. At least one edge becomes 0 or the top each time, so the
    number of edges bounds the number of uniforms used. Parts within `exact` of 0 or the top are
    that. Nodes from `first_head` on are heads alone, as the columns of a matrix are; a cycle that
    begins in one is taken from the node after it.
    """
    # An edge has two halves: 2e leaves its tail and 2e + 1 its head. A node lists its open halves,
    # each with the node at the other end: to walk along a path nothing else need be looked up.
    node_of = ends.reshape(-1)
    degree = np.zeros(nodes + 1, np.int32)
    for e in range(part.size):
        if part[e] < exact or part[e] > top - exact:
            part[e] = 0.0 if part[e] < exact else top
        elif ends[e, 0] != ends[e, 1]:
            degree[ends[e, 0] + 1] += 1
            degree[ends[e, 1] + 1] += 1
    starts = np.cumsum(degree).astype(np.int32)
    lists = np.empty((starts[nodes], 2), np.int32)
    sizes = np.zeros(nodes, np.int32)
    places = np.empty(node_of.size, np.int32)
    for half in range(node_of.size):
        node, other = node_of[half], node_of[half ^ 1]
        if 0 < part[half >> 1] < top and node != other:
            places[half] = starts[node] + sizes[node]
            lists[places[half], 0], lists[places[half], 1] = half, other
            sizes[node] += 1
    path_nodes = np.empty(nodes + 2, np.int32)
    path_halves = np.empty(nodes + 2, np.int32)
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
        if sizes[node] < 2:  # what it conserves was no multiple of the top
            return False
        at = starts[node]
        if length > 0 and lists[at, 0] == path_halves[length - 1] ^ 1:
            at += 1
        path_halves[length] = lists[at, 0]
        following = lists[at, 1]
        path_nodes[length + 1] = following
        if seen[following] < 0:
            length += 1
            seen[following] = length
            continue
        first = seen[following]
        up, down = 2 * top, 2 * top
        for k in range(first, length + 1):
            carried = part[path_halves[k] >> 1]
            if path_halves[k] & 1:
                up, down = min(up, carried), min(down, top - carried)
            else:
                up, down = min(up, top - carried), min(down, carried)
        step = up if uniforms[used] * (up + down) < down else -down
        used += 1
        late = 1 if following >= first_head else 0
        for place in range(first + late, length + 1 + late):
            k = place if place <= length else first
            half = path_halves[k]
            moved = part[half >> 1] + (-step if half & 1 else step)
            part[half >> 1] = moved
            if moved < exact or moved > top - exact:
                part[half >> 1] = 0.0 if moved < exact else top
                _forget(starts, sizes, lists, places, path_nodes[k], half)
                _forget(starts, sizes, lists, places, path_nodes[k + 1], half ^ 1)
        for k in range(first + 1, length + 1):
            seen[path_nodes[k]] = -1
        length = first
        if length == 0:
            seen[path_nodes[0]] = -1
    return True


@njit(cache=True, nogil=True)
def walk_moves(
    cells: Integers,
    strides: Integers,
    pairs: Integers,
    uniforms: Floats,
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
    entries: Lists,
    factors: Floats,
    sums: Floats,
    rows_of: Lists,
    low: Floats,
    high: Floats,
    whole: bool,
    exact: float,
    most_visits: int,
) -> tuple[int, int]:
    """Tighten bounds in place until no single equation tightens one further.

    Equation r: Σ factors[k]·value[entries.items[k]] = sums[r] over its list of entries; `rows_of`
    lists the equations of each value. Returns (row, left): the equation that cannot hold, or −1;
    and how many equations were still waiting when the visits ran out.
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
        for k in range(entries.starts[row], entries.starts[row + 1]):
            a, j = factors[k], entries.items[k]
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
        for k in range(entries.starts[row], entries.starts[row + 1]):
            a, j = factors[k], entries.items[k]
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
            raised, lowered = new_low > low[j] + slack, new_high < high[j] - slack
            if not (raised or lowered):
                continue
            if raised:
                low[j] = new_low
            if lowered:
                high[j] = new_high
            if low[j] > high[j]:
                if low[j] > high[j] + slack:
                    return row, filled
                low[j] = high[j]
            for c in range(rows_of.starts[j], rows_of.starts[j + 1]):
                other = rows_of.items[c]
                if other != row and not waiting[other]:
                    waiting[other] = True
                    end = head + filled
                    queue[end if end < rows else end - rows] = other
                    filled += 1
    return -1, filled


@njit(cache=True, nogil=True)
def apart(wanted: Integers, rows_of: Lists, rows: int) -> Flags:
    """Return which of the wanted columns, taken in turn, share no row with one taken before."""
    taken = np.zeros(wanted.size, np.bool_)
    used = np.zeros(rows, np.bool_)
    for i in range(wanted.size):
        mine = rows_of.items[rows_of.starts[wanted[i]] : rows_of.starts[wanted[i] + 1]]
        if not used[mine].any():
            taken[i] = True
            used[mine] = True
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
    cells_of: Lists,
    steps: Integers,
    x: Integers,
    low: Integers,
    high: Integers,
    y: Integers,
    least: Integers,
    most: Integers,
    weights: Floats,
    own: Floats,
    square: bool,
    limit: int,
    heavy: float,
    free: Indices,
    hot: float,
    cold: float,
    trials: int,
    until_none: bool,
    state: NDArray[np.uint64],
) -> float:
    """Move inner cells x (in place, with all cells y) towards the least cost; return all misses.

    Inner cell i is counted by the cells of list i, moves by ±steps[i] and stays in low…high;
    `free` lists those that may move. Cost: what cells miss of least…most, or its square, with
    `heavy` on what is beyond the limit; and own·x. A move up the cost by Δ is made with the odds
    exp(−Δ/temperature), the temperature falling from hot to cold in proportion; with hot = 0
    never. `until_none` ends the search once nothing is missed.
    """
    starts, cells = cells_of
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
def mend(
    entries: Lists,
    rows_of: Lists,
    factors: Integers,
    row_factors: Integers,
    x: Integers,
    low: Integers,
    high: Integers,
    held: Flags,
    off: Integers,
    heat: float,
    trials: int,
    state: NDArray[np.uint64],
) -> int:
    """Move whole columns x, in place, until no row is off; return the trials, −1 if too many.

    `off` is what each row is above its sum. A trial takes a row that is off and one of its
    columns, and moves it within low…high so that the row is off by less; more by Δ over all rows is
    taken with the odds exp(−Δ/heat). Columns that are `held` stay.
    """
    odds = np.exp(-np.arange(64) / heat)
    wrong = np.empty(off.size, np.int32)
    place = np.empty(off.size, np.int32)
    count = 0
    for r in range(off.size):
        if off[r] != 0:
            wrong[count], place[r] = r, count
            count += 1
    for trial in range(trials):
        if count == 0:
            return trial
        r = wrong[int(uniform(state) * count)]
        first, last = entries.starts[r], entries.starts[r + 1]
        if first == last:
            return -1
        k = first + int(uniform(state) * (last - first))
        c = entries.items[k]
        if held[c]:
            continue
        step = 1
        if abs(off[r]) > 1:
            step += int(uniform(state) * abs(off[r]))
        step = -step if (off[r] > 0) == (factors[k] > 0) else step
        if not low[c] <= x[c] + step <= high[c]:
            continue
        more = 0
        for e in range(rows_of.starts[c], rows_of.starts[c + 1]):
            old = off[rows_of.items[e]]
            more += abs(old + step * row_factors[e]) - abs(old)
        if more > 0 and (more >= odds.size or uniform(state) >= odds[more]):
            continue
        x[c] += step
        for e in range(rows_of.starts[c], rows_of.starts[c + 1]):
            row = rows_of.items[e]
            old = off[row]
            off[row] = old + step * row_factors[e]
            if old == 0:
                wrong[count], place[row] = row, count
                count += 1
            elif off[row] == 0:
                count -= 1
                wrong[place[row]] = wrong[count]
                place[wrong[count]] = place[row]
    return trials if count == 0 else -1
