"""Certificates, found by cubes and improved by annealing: the kernels of the heuristic.

A certificate is a whole-numbered change of the table that keeps every equation: sparse, with a
factor a cell. A task asks for one that moves its cell far enough. What is suppressed is every
cell that a certificate uses. Numbers of cells are positions in the table in C order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.solve.suppress.moves import Moves

# A search that has looked at so many partial cubes goes with the best it has.
MOST_NODES = 400_000
# Factors beyond this are not worth following: steps are divided by them.
MOST_FACTOR = 1_000


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
def uniform(state: NDArray[np.uint64]) -> float:
    """Return a uniform number and move the state on (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True, nogil=True)
def _steps(
    cells: NDArray[np.int32],
    factors: NDArray[np.int32],
    size: int,
    own: int,
    limits: Cells,
    whole: bool,
) -> tuple[float, float]:
    """Return how far a certificate lets its cell rise and fall; `own` is the cell's factor."""
    up, down = np.inf, np.inf
    for i in range(size):
        f = float(factors[i])
        j = cells[i]
        if f > 0:
            up, down = min(up, limits.rise[j] / f), min(down, limits.fall[j] / f)
        else:
            up, down = min(up, limits.fall[j] / -f), min(down, limits.rise[j] / -f)
    if whole:
        up, down = np.floor(up), np.floor(down)
    up, down = up * abs(own), down * abs(own)
    return (up, down) if own > 0 else (down, up)


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
def _ban(task: int, tasks: Tasks, limits: Cells, held: Certificates, work: Work) -> None:
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
    _ban(task, tasks, limits, held, work)
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
        _ban(task, tasks, limits, held, work)
        _, size = search(task, tasks, np.inf, -1, moves, limits, whole, held.used, work)
        if size == 0:
            return task
        put(task, work.found, work.found_signs, size, held, limits.cost)
    return -1


@njit(cache=True, nogil=True)
def _gather(
    first: int, wanted: int, held: Certificates, work: Work, group: NDArray[np.int64]
) -> int:
    """Fill `group` with tasks near the first: each shares a cell with one before it."""
    width = held.cells.shape[1]
    group[0] = first
    n = 1
    for _ in range(4 * wanted):
        if n == wanted:
            break
        task = group[int(uniform(work.state) * n)]
        j = held.cells[task, int(uniform(work.state) * held.size[task])]
        e = held.head[j]
        for _ in range(int(uniform(work.state) * min(held.used[j], 16))):
            e = held.after[e]
        other = e // width
        new = True
        for i in range(n):
            new = new and group[i] != other
        if new:
            group[n] = other
            n += 1
    return n


@njit(cache=True, nogil=True)
def anneal(
    trials: int,
    hot: float,
    cold: float,
    wanted: int,
    tasks: Tasks,
    moves: Moves,
    limits: Cells,
    whole: bool,
    held: Certificates,
    work: Work,
) -> float:
    """Take certificates of neighbouring tasks away and put cheaper ones in, over and over.

    A change for the worse by Δ is kept with the odds exp(−Δ/temperature), drawn before the search
    so that it bounds the search. Returns the change of the cost.
    """
    count = tasks.cell.size
    width = held.cells.shape[1]
    group = np.empty(wanted, np.int64)
    old_cells = np.empty((wanted, width), np.int32)
    old_factors = np.empty((wanted, width), np.int32)
    old_sizes = np.empty(wanted, np.int64)
    change = 0.0
    for trial in range(trials):
        temperature = hot * (cold / hot) ** (trial / trials)
        first = int(uniform(work.state) * count)
        n = _gather(first, 1 + int(uniform(work.state) * wanted), held, work, group)
        saved = 0.0
        for i in range(n):
            task = group[i]
            size = held.size[task]
            old_sizes[i] = size
            old_cells[i, :size] = held.cells[task, :size]
            old_factors[i, :size] = held.factors[task, :size]
            saved += take(task, held, limits.cost)
        budget = saved - temperature * np.log(1.0 - uniform(work.state)) + 1e-7
        added, done = 0.0, 0
        # The order in which tasks come back is drawn: the first finds the most room.
        for i in range(n - 1, 0, -1):
            k = int(uniform(work.state) * (i + 1))
            group[i], group[k] = group[k], group[i]
            old_sizes[i], old_sizes[k] = old_sizes[k], old_sizes[i]
            for c in range(width):
                old_cells[i, c], old_cells[k, c] = old_cells[k, c], old_cells[i, c]
                old_factors[i, c], old_factors[k, c] = old_factors[k, c], old_factors[i, c]
        for i in range(n):
            task = group[i]
            _ban(task, tasks, limits, held, work)
            _, size = search(task, tasks, budget - added, -1, moves, limits, whole, held.used, work)
            if size == 0:
                break
            added += put(task, work.found, work.found_signs, size, held, limits.cost)
            done += 1
        if done < n:
            for i in range(done):
                take(group[i], held, limits.cost)
            for i in range(n):
                put(group[i], old_cells[i], old_factors[i], old_sizes[i], held, limits.cost)
        else:
            change += added - saved
    return change


@njit(cache=True, nogil=True)
def _combined(
    task: int,
    other_cells: NDArray[np.int32],
    other_factors: NDArray[np.int32],
    other_size: int,
    at: int,
    tasks: Tasks,
    limits: Cells,
    whole: bool,
    held: Certificates,
    work: Work,
    out_cells: NDArray[np.int32],
    out_factors: NDArray[np.int32],
) -> int:
    """Return the size of task's certificate freed of cell `at` by another change, 0 if unfit."""
    mine, theirs = 0, 0
    for i in range(held.size[task]):
        if held.cells[task, i] == at:
            mine = held.factors[task, i]
    for i in range(other_size):
        if other_cells[i] == at:
            theirs = other_factors[i]
    if mine == 0 or theirs == 0:
        return 0
    # theirs · own − mine · other has no part in `at`.
    touched = 0
    for i in range(held.size[task]):
        j = held.cells[task, i]
        work.dense[j] = np.int64(theirs) * held.factors[task, i]
        work.touched[touched] = j
        touched += 1
    for i in range(other_size):
        j = other_cells[i]
        if work.dense[j] == 0:
            work.touched[touched] = j
            touched += 1
        work.dense[j] -= np.int64(mine) * other_factors[i]
    common, size, largest = np.int64(0), 0, np.int64(0)
    for i in range(touched):
        f = abs(work.dense[work.touched[i]])
        if f > 0:
            a, b = common, f
            while b > 0:
                a, b = b, a % b
            common = a
            size += 1
            largest = max(largest, f)
    fits = 0 < size <= out_cells.size and largest // max(common, 1) <= MOST_FACTOR
    n, own = 0, 0
    owner_ok = True
    target = tasks.cell[task]
    for i in range(touched):
        j = work.touched[i]
        f = work.dense[j]
        work.dense[j] = 0
        if fits and f != 0:
            f //= common
            out_cells[n], out_factors[n] = j, f
            n += 1
            if j == target:
                own = f
            owner = limits.owner[j]
            if (
                owner >= 0
                and owner != limits.owner[target]
                and work.banned[owner + 1] == work.banned[0]
            ):
                owner_ok = False
    if not fits or own == 0 or not owner_ok:
        return 0
    up, down = _steps(out_cells, out_factors, n, own, limits, whole)
    if up < tasks.rise[task] or down < tasks.fall[task] or up + down < tasks.width[task]:
        return 0
    return n


@njit(cache=True, nogil=True)
def _users(j: int, held: Certificates, users: NDArray[np.int64]) -> int:
    """Fill `users` with the tasks whose certificates use a cell; return how many (0: too many)."""
    width = held.cells.shape[1]
    n, e = 0, held.head[j]
    while e >= 0:
        if n == users.size:
            return 0
        users[n] = e // width
        n += 1
        e = held.after[e]
    return n


@njit(cache=True, nogil=True)
def free(
    j: int,
    probe: int,
    tries: int,
    tasks: Tasks,
    moves: Moves,
    limits: Cells,
    whole: bool,
    held: Certificates,
    work: Work,
    users: NDArray[np.int64],
    old_cells: NDArray[np.int32],
    old_factors: NDArray[np.int32],
    old_sizes: NDArray[np.int64],
) -> float:
    """Publish cell j again if every certificate that uses it can do without; return what it saves.

    Each user in turn is given another cube, or what is left when a change through j is subtracted
    from its certificate: a cube in use, or another user's certificate. New cells may be used as
    long as all of them together cost less than j. The task `probe` stands for no cell of its own.
    """
    count = _users(j, held, users)
    if count == 0:
        return 0.0
    width = held.cells.shape[1]
    pivot_cells = np.empty(width, np.int32)
    pivot_factors = np.empty(width, np.int32)
    out_cells = np.empty(width, np.int32)
    out_factors = np.empty(width, np.int32)
    for i in range(count):
        size = held.size[users[i]]
        old_sizes[i] = size
        old_cells[i, :size] = held.cells[users[i], :size]
        old_factors[i, :size] = held.factors[users[i], :size]
    for attempt in range(tries):
        # The pivot: first a cube through j, then the users' own certificates.
        spent, saved, done, pivot_size = 0.0, 0.0, 0, 0
        if attempt % 2 == 0:
            tasks.cell[probe] = j
            work.banned[0] += 1
            bound = 1e-7 if attempt == 0 else limits.cost[j] * 0.999
            spent, pivot_size = search(
                probe, tasks, bound, -1, moves, limits, whole, held.used, work
            )
            if pivot_size == 0:
                spent = 0.0
                if attempt > 0:
                    continue
            pivot_cells[:pivot_size] = work.found[:pivot_size]
            pivot_factors[:pivot_size] = work.found_signs[:pivot_size]
        else:
            chosen = int(uniform(work.state) * count)
            pivot_size = old_sizes[chosen]
            pivot_cells[:pivot_size] = old_cells[chosen, :pivot_size]
            pivot_factors[:pivot_size] = old_factors[chosen, :pivot_size]
        pivot_put = attempt % 2 == 0 and pivot_size > 0
        total = 0.0
        if pivot_put:
            total += put(probe, pivot_cells, pivot_factors, pivot_size, held, limits.cost)
        for i in range(count):
            task = users[i]
            _ban(task, tasks, limits, held, work)
            size = 0
            if pivot_size > 0:
                size = _combined(
                    task, pivot_cells, pivot_factors, pivot_size, j, tasks, limits, whole, held,
                    work, out_cells, out_factors,
                )  # fmt: skip
            if size == 0:
                room = max(limits.cost[j] - max(total, 0.0), 0.0) + 1e-7
                _, size = search(task, tasks, room, j, moves, limits, whole, held.used, work)
                if size == 0:
                    break
                out_cells[:size] = work.found[:size]
                out_factors[:size] = work.found_signs[:size]
            total -= take(task, held, limits.cost)
            total += put(task, out_cells, out_factors, size, held, limits.cost)
            done += 1
        if pivot_put:
            total -= take(probe, held, limits.cost)
        if done == count and total < -1e-9:
            return -total
        for i in range(done):
            take(users[i], held, limits.cost)
        for i in range(done):
            put(users[i], old_cells[i], old_factors[i], old_sizes[i], held, limits.cost)
    return 0.0


@njit(cache=True, nogil=True)
def clean(
    order: NDArray[np.int64],
    probe: int,
    tries: int,
    most_users: int,
    tasks: Tasks,
    moves: Moves,
    limits: Cells,
    whole: bool,
    held: Certificates,
    work: Work,
) -> float:
    """Publish again, in the order given, the cells that can be; return what it saves."""
    width = held.cells.shape[1]
    users = np.empty(most_users, np.int64)
    old_cells = np.empty((most_users, width), np.int32)
    old_factors = np.empty((most_users, width), np.int32)
    old_sizes = np.empty(most_users, np.int64)
    saved = 0.0
    for j in order:
        if held.used[j] > 0 and 0.0 < limits.cost[j] < np.inf:
            saved += free(
                j, probe, tries, tasks, moves, limits, whole, held, work, users, old_cells,
                old_factors, old_sizes,
            )  # fmt: skip
    return saved
