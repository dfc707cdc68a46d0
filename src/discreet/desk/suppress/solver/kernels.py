"""Certificates and the cubes they are first made of: the kernels of the search.

A certificate is a whole-numbered change of the table that keeps every equation: sparse, with a
factor a cell. A task asks for one that moves its cell far enough. What is suppressed is every
cell that a certificate uses. Numbers of cells are positions in the table in C order.

Where a kernel calls another with a number that is written down, it is made an int64: for a literal
the other kernel would be compiled once more.
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


# Sums of decimals are off by less than this share.
CLOSE = 1e-12


class Insiders(NamedTuple):
    """Who has something in a cell, with the least room first; and the cells of each contributor.

    `room`, `own_room`: how far the cell can fall for all he knows; below 0 he knows it. `own_rise`,
    `own_fall`, `out_rise` and `out_fall`: what is asked of a cell against him, and against those
    who have nothing in it.
    """

    starts: NDArray[np.int64]
    who: NDArray[np.int64]
    room: NDArray[np.float64]
    own_starts: NDArray[np.int64]
    own_cell: NDArray[np.int64]
    own_room: NDArray[np.float64]
    own_rise: NDArray[np.float64]
    own_fall: NDArray[np.float64]
    out_rise: NDArray[np.float64]
    out_fall: NDArray[np.float64]


class Cells(NamedTuple):
    """What it costs to withhold a cell (infinite: it must stay), how far it may fall and rise."""

    cost: NDArray[np.float64]
    fall: NDArray[np.float64]
    rise: NDArray[np.float64]
    insiders: Insiders


class Sight(NamedTuple):
    """How far cells can fall for all that somebody knows, where `marked` is the `clock`."""

    room: NDArray[np.float64]
    marked: NDArray[np.int64]
    clock: NDArray[np.int64]


class Tasks(NamedTuple):
    """Which cell must be able to rise and to fall by how much, and by how much in all.

    No one contributor may undo the certificates of both a task and its `mate` (−1: none).
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
    """Room to work in, made once: `found` is the cube of the last search.

    `banned` is what those know who undo all other certificates of a need, `undoing` lists them.
    """

    cells: NDArray[np.int32]
    signs: NDArray[np.int32]
    found: NDArray[np.int32]
    found_signs: NDArray[np.int32]
    dense: NDArray[np.int64]
    touched: NDArray[np.int32]
    banned: Sight
    one: Sight
    seen: NDArray[np.int64]
    undoing: NDArray[np.int64]
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

    Branch and bound, one dimension after another. The cube is left in `work.found`; it withstands
    whoever is banned, and goes without the cell `without`. Cells in use cost nothing.
    """
    start = tasks.cell[task]
    dimensions = moves.strides.size
    most = work.cells.size
    need_up, need_down, need_width = tasks.rise[task], tasks.fall[task], tasks.width[task]
    banned, now = work.banned, work.banned.clock[0]
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
                known = banned.marked[j] == now and banned.room[j] < 0
                if j == without or limits.cost[j] == np.inf or known:
                    price = np.inf
                cost += price
            if cost < bound:
                alone[d, n] = cost + 1e-9 * uniform(work.state)
                choice[d, n] = m
                n += 1
        if n == 0:
            return np.inf, 0
        count[d] = n
    order = np.argsort(count.astype(np.float64))  # a sort of integers would be compiled too
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
    if need_width > 0 and banned.marked[start] == now:
        downs[0] = min(downs[0], banned.room[start])
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
                fall = limits.fall[j]
                if banned.marked[j] == now:
                    fall = min(fall, banned.room[j])
                    if fall < 0:
                        open_way = False
                        break
                if used[j] == 0:
                    cost += price
                if sign > 0:
                    up, down = min(up, limits.rise[j]), min(down, fall)
                else:
                    up, down = min(up, fall), min(down, limits.rise[j])
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
def reach(
    cells: NDArray[np.int32],
    factors: NDArray[np.int32],
    size: int,
    own: int,
    free: int,
    limits: Cells,
    whole: bool,
    view: Sight,
) -> tuple[float, float]:
    """Return how far a certificate lets its cell rise and fall, in somebody's view.

    `own` is the factor of the cell; what is known of the cell `free` is left out.
    """
    up, down = np.inf, np.inf
    for i in range(size):
        j, f = cells[i], abs(float(factors[i]))
        rise, fall = limits.rise[j], limits.fall[j]
        if j != free and view.marked[j] == view.clock[0]:
            fall = min(fall, view.room[j])
            if fall < 0:
                return 0.0, 0.0
        if factors[i] > 0:
            up, down = min(up, rise / f), min(down, fall / f)
        else:
            up, down = min(up, fall / f), min(down, rise / f)
    if whole:
        up, down = np.floor(up), np.floor(down)
    up, down = up * abs(own), down * abs(own)
    return (up, down) if own > 0 else (down, up)


@njit(cache=True, nogil=True)
def look(who: int, insiders: Insiders, view: Sight, alone: bool) -> None:
    """Add what a contributor knows to a view; with `alone` it is his and nobody else's."""
    if alone:
        view.clock[0] += 1
    for e in range(insiders.own_starts[who], insiders.own_starts[who + 1]):
        j = insiders.own_cell[e]
        if view.marked[j] != view.clock[0] or insiders.own_room[e] < view.room[j]:
            view.room[j] = insiders.own_room[e]
        view.marked[j] = view.clock[0]


@njit(cache=True, nogil=True)
def undoes(
    who: int,
    cells: NDArray[np.int32],
    factors: NDArray[np.int32],
    size: int,
    own: int,
    need: tuple[int, float, float, float],
    limits: Cells,
    whole: bool,
    view: Sight,
) -> bool:
    """Return whether a contributor narrows a cell down too far, in spite of a certificate.

    `need` is the cell and the rise, fall and width that are asked of it against anybody.
    """
    known = limits.insiders
    target = need[0]
    rise, fall = known.out_rise[target], known.out_fall[target]
    for e in range(known.own_starts[who], known.own_starts[who + 1]):
        if known.own_cell[e] == target:
            if known.own_room[e] < 0:
                return False
            rise, fall = known.own_rise[e], known.own_fall[e]
    rise, fall, width = min(rise, need[1]), min(fall, need[2]), need[3]
    if rise <= 0 and fall <= 0 and width <= 0:
        return False
    look(who, known, view, True)
    up, down = reach(cells, factors, size, own, np.int64(-1), limits, whole, view)
    most = 1 - CLOSE
    return up < rise * most or down < fall * most or up + down < width * most


@njit(cache=True, nogil=True)
def undone(
    cells: NDArray[np.int32],
    factors: NDArray[np.int32],
    size: int,
    need: tuple[int, float, float, float],
    limits: Cells,
    whole: bool,
    view: Sight,
    seen: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    """Fill `out` with those who narrow a cell down too far in spite of a certificate of it."""
    own = np.int64(0)
    for i in range(size):
        if cells[i] == need[0]:
            own = factors[i]
    steps = max(need[1], need[2], need[3]) / abs(own)
    if whole:
        steps = np.ceil(steps)
    known = limits.insiders
    count = 0
    view.clock[0] += 1
    up, down = reach(cells, factors, size, own, np.int64(-1), limits, whole, view)
    if up < need[1] * (1 - CLOSE) or down < need[2] * (1 - CLOSE):
        # Too short for anybody: made for some contributors, of whom less is asked.
        for who in range(known.own_starts.size - 1):
            if undoes(who, cells, factors, size, own, need, limits, whole, view):
                out[count] = who
                count += 1
        return count
    view.clock[1] += 1
    for i in range(size):
        j, f = cells[i], abs(factors[i])
        # A cell that only rises is undone by who knows it, and by nobody else.
        same = (factors[i] > 0) == (own > 0)
        falls = need[3] > 0 or (need[1] > 0 and not same) or (need[2] > 0 and same)
        most = f * steps if falls else 0.0
        for e in range(known.starts[j], known.starts[j + 1]):
            if known.room[e] >= most:
                break
            who = known.who[e]
            if seen[who] != view.clock[1]:
                seen[who] = view.clock[1]
                if undoes(who, cells, factors, size, own, need, limits, whole, view):
                    out[count] = who
                    count += 1
    return count


@njit(cache=True, nogil=True)
def ban(task: int, tasks: Tasks, limits: Cells, whole: bool, held: Certificates, work: Work) -> int:
    """Ban those who undo the certificates of all mates of a task, and no others; return how many.

    While a mate is without a certificate nobody is banned: the last one to get one sees to it.
    """
    work.banned.clock[0] += 1
    mate = tasks.mate[task]
    while mate >= 0 and mate != task:
        if held.size[mate] == 0:
            return 0
        mate = tasks.mate[mate]
    need = (tasks.cell[task], tasks.rise[task], tasks.fall[task], tasks.width[task])
    out = work.undoing
    mate, first, count = tasks.mate[task], True, 0
    while mate >= 0 and mate != task and (first or count > 0):
        cells, factors, size = held.cells[mate], held.factors[mate], np.int64(held.size[mate])
        if first:
            count = undone(cells, factors, size, need, limits, whole, work.one, work.seen, out)
        else:
            own, kept = np.int64(0), 0
            for i in range(size):
                if cells[i] == need[0]:
                    own = factors[i]
            for i in range(count):
                if undoes(out[i], cells, factors, size, own, need, limits, whole, work.one):
                    out[kept] = out[i]
                    kept += 1
            count = kept
        mate, first = tasks.mate[mate], False
    for i in range(count):
        look(out[i], limits.insiders, work.banned, False)
    return count


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
        ban(task, tasks, limits, whole, held, work)
        _, size = search(task, tasks, np.inf, np.int64(-1), moves, limits, whole, held.used, work)
        if size == 0:
            return task
        put(task, work.found, work.found_signs, size, held, limits.cost)
    return -1
