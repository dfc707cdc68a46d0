"""Certificates and the cubes they are first made of: the kernels of the search.

A certificate is a whole-numbered change of the table that keeps every equation: sparse, with a
factor a cell. A task asks for one that moves its cell far enough. What is suppressed is every
cell that a certificate uses. Numbers of cells are positions in the table in C order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.desk.suppress.solver.moves import Moves
from discreet.solve.random import uniform

# A search that has looked at so many partial cubes goes with the best it has.
MOST_NODES = 400_000


class Cells(NamedTuple):
    """What it costs to withhold a cell (infinite: it must stay), how far it may fall and rise.

    `owner` is the number of the one contributor that a cell has, −1 where it has more.
    """

    cost: NDArray[np.float64]
    fall: NDArray[np.float64]
    rise: NDArray[np.float64]
    owner: NDArray[np.int32]


class Tasks(NamedTuple):
    """Which cell must be able to rise and to fall by how much, and by how much in all.

    Of a task and its `mate` (−1: none) no one contributor may know a cell of both.
    """

    cell: NDArray[np.int64]
    rise: NDArray[np.float64]
    fall: NDArray[np.float64]
    width: NDArray[np.float64]
    mate: NDArray[np.int32]


class Certificates(NamedTuple):
    """The certificate of each task, and for each cell the list of the certificates that use it.

    Entry e = task · width + place; `after` and `before` link the entries of a cell from its `head`.
    """

    cells: NDArray[np.int32]
    factors: NDArray[np.int32]
    size: NDArray[np.int32]
    head: NDArray[np.int32]
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    used: NDArray[np.int32]


class Work(NamedTuple):
    """Room to work in, made once: `found` is the cube of the last search."""

    cells: NDArray[np.int32]
    signs: NDArray[np.int32]
    found: NDArray[np.int32]
    found_signs: NDArray[np.int32]
    dense: NDArray[np.int64]
    touched: NDArray[np.int32]
    banned: NDArray[np.int64]
    state: NDArray[np.uint64]


@njit(cache=True, nogil=True)
def search(
    task: int,
    tasks: Tasks,
    bound: float,
    without: int,
    moves: Moves,
    limits: Cells,
    whole: bool,
    used: NDArray[np.int32],
    work: Work,
) -> tuple[float, int]:
    """Return the least cost, below the bound, of a cube for a task and its size (0: none).

    Branch and bound, one dimension after another. The cube is left in `work.found`; cells of an
    owner whom `work.banned` names are out, and so is the cell `without`. Cells in use cost nothing.
    """
    start = tasks.cell[task]
    dimensions = moves.strides.size
    most = work.cells.size
    need_up, need_down, need_width = tasks.rise[task], tasks.fall[task], tasks.width[task]
    mine = limits.owner[start]
    stamp = work.banned[0]
    # The changes of each dimension whose cells beside the start are free to move, cheapest first.
    codes = np.empty(dimensions, np.int64)
    rest = start
    for d in range(dimensions):
        codes[d] = moves.offsets[d] + rest // moves.strides[d]
        rest %= moves.strides[d]
    longest = 0
    for d in range(dimensions):
        longest = max(longest, moves.starts[codes[d] + 1] - moves.starts[codes[d]])
    choice = np.empty((dimensions, longest), np.int64)
    alone = np.empty((dimensions, longest))
    count = np.zeros(dimensions, np.int64)
    least = np.zeros(dimensions + 1)
    for d in range(dimensions):
        n = 0
        for m in range(moves.starts[codes[d]], moves.starts[codes[d] + 1]):
            cost = 0.0
            for e in range(moves.parts[m], moves.parts[m + 1]):
                j = start + moves.deltas[e]
                price = 0.0 if used[j] > 0 else limits.cost[j]
                owner = limits.owner[j]
                if (
                    j == without
                    or limits.cost[j] == np.inf
                    or (owner >= 0 and owner != mine and work.banned[owner + 1] == stamp)
                ):
                    price = np.inf
                cost += price
            if cost < bound:
                alone[d, n] = cost + 1e-9 * uniform(work.state)
                choice[d, n] = m
                n += 1
        if n == 0:
            return np.inf, 0
        count[d] = n
    order = np.argsort(count)
    for place in range(dimensions - 1, -1, -1):
        d = order[place]
        ranked = np.argsort(alone[d, : count[d]])
        choice[d, : count[d]] = choice[d, : count[d]][ranked]
        alone[d, : count[d]] = alone[d, : count[d]][ranked]
        least[place] = least[place + 1] + max(0.0, alone[d, 0] - 1e-9)
    sizes = np.empty(dimensions + 1, np.int64)
    costs = np.empty(dimensions + 1)
    ups = np.empty(dimensions + 1)
    downs = np.empty(dimensions + 1)
    at = np.zeros(dimensions, np.int64)
    work.cells[0], work.signs[0] = start, 1
    sizes[0], costs[0], ups[0], downs[0] = 1, 0.0, limits.rise[start], limits.fall[start]
    best, best_size, nodes = bound, 0, 0
    if ups[0] < need_up or downs[0] < need_down:
        return np.inf, 0
    level = 0
    while level >= 0:
        d = order[level]
        if at[level] == count[d]:
            at[level] = 0
            level -= 1
            continue
        place = at[level]
        m = choice[d, place]
        at[level] += 1
        if costs[level] + alone[d, place] - 1e-9 + least[level + 1] >= best:
            at[level] = count[d]
            continue
        nodes += 1
        if nodes > MOST_NODES:
            break
        n, total = sizes[level], sizes[level]
        cost, up, down = costs[level], ups[level], downs[level]
        open_way = total * (moves.parts[m + 1] - moves.parts[m] + 1) <= most
        limit = best - least[level + 1]
        e = moves.parts[m]
        while open_way and e < moves.parts[m + 1]:
            delta, turn = moves.deltas[e], moves.signs[e]
            for i in range(n):
                j = work.cells[i] + delta
                sign = work.signs[i] * turn
                price = limits.cost[j]
                if price == np.inf or j == without:
                    open_way = False
                    break
                owner = limits.owner[j]
                if owner >= 0 and owner != mine and work.banned[owner + 1] == stamp:
                    open_way = False
                    break
                if used[j] == 0:
                    cost += price
                if sign > 0:
                    up, down = min(up, limits.rise[j]), min(down, limits.fall[j])
                else:
                    up, down = min(up, limits.fall[j]), min(down, limits.rise[j])
                if cost >= limit or up < need_up or down < need_down:
                    open_way = False
                    break
                work.cells[total], work.signs[total] = j, sign
                total += 1
            e += 1
        if not open_way:
            continue
        if level == dimensions - 1:
            reach = np.floor(up) + np.floor(down) if whole else up + down
            if reach >= need_width:
                best, best_size = cost, total
                work.found[:total] = work.cells[:total]
                work.found_signs[:total] = work.signs[:total]
                if best <= 0:
                    break
        else:
            level += 1
            sizes[level], costs[level], ups[level], downs[level] = total, cost, up, down
    return (best, best_size) if best_size else (np.inf, 0)


@njit(cache=True, nogil=True)
def ban(task: int, tasks: Tasks, limits: Cells, held: Certificates, work: Work) -> None:
    """Ban the owners whom the certificates of all mates of a task share, and no others.

    While a mate is without a certificate nobody is banned: the last one to get one sees to it.
    """
    work.banned[0] += 1
    mate = tasks.mate[task]
    while mate >= 0 and mate != task:
        if held.size[mate] == 0:
            work.banned[0] += 1
            return
        mate = tasks.mate[mate]
    mine = limits.owner[tasks.cell[task]]
    mate, first = tasks.mate[task], True
    while mate >= 0 and mate != task:
        before = work.banned[0]
        work.banned[0] += 1
        for i in range(held.size[mate]):
            owner = limits.owner[held.cells[mate, i]]
            if owner >= 0 and owner != mine and (first or work.banned[owner + 1] >= before):
                work.banned[owner + 1] = work.banned[0]
        mate, first = tasks.mate[mate], False


@njit(cache=True, nogil=True)
def shared_owners(
    task: int, tasks: Tasks, limits: Cells, held: Certificates, work: Work
) -> NDArray[np.int64]:
    """Return the owners who may not know a cell of the task's certificate."""
    ban(task, tasks, limits, held, work)
    return np.flatnonzero(work.banned[1:] == work.banned[0])


@njit(cache=True, nogil=True)
def put(
    task: int,
    cells: NDArray[np.int32],
    factors: NDArray[np.int32],
    size: int,
    held: Certificates,
    cost: NDArray[np.float64],
) -> float:
    """Give a task that has none a certificate; return what the cells it newly uses cost."""
    width = held.cells.shape[1]
    added = 0.0
    for i in range(size):
        j, e = cells[i], task * width + i
        held.cells[task, i], held.factors[task, i] = j, factors[i]
        first = held.head[j]
        held.after[e], held.before[e] = first, -1
        if first >= 0:
            held.before[first] = e
        held.head[j] = e
        if held.used[j] == 0:
            added += cost[j]
        held.used[j] += 1
    held.size[task] = size
    return added


@njit(cache=True, nogil=True)
def take(task: int, held: Certificates, cost: NDArray[np.float64]) -> float:
    """Take a task's certificate away; return what the cells no longer used had cost."""
    width = held.cells.shape[1]
    saved = 0.0
    for i in range(held.size[task]):
        j, e = held.cells[task, i], task * width + i
        after, before = held.after[e], held.before[e]
        if after >= 0:
            held.before[after] = before
        if before >= 0:
            held.after[before] = after
        else:
            held.head[j] = after
        held.used[j] -= 1
        if held.used[j] == 0:
            saved += cost[j]
    held.size[task] = 0
    return saved


@njit(cache=True, nogil=True)
def fill(
    order: NDArray[np.int64],
    tasks: Tasks,
    moves: Moves,
    limits: Cells,
    whole: bool,
    held: Certificates,
    work: Work,
) -> int:
    """Give each task in turn its cheapest cube; return the first that has none, or −1."""
    for task in order:
        if held.size[task] > 0:
            continue
        ban(task, tasks, limits, held, work)
        _, size = search(task, tasks, np.inf, -1, moves, limits, whole, held.used, work)
        if size == 0:
            return task
        put(task, work.found, work.found_signs, size, held, limits.cost)
    return -1
