"""Better certificates for what is protected already: annealing, and cells published again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.desk.suppress.solver.kernels import (
    Cells,
    Certificates,
    Tasks,
    Work,
    ban,
    put,
    reach,
    search,
    take,
)
from discreet.desk.suppress.solver.moves import Moves
from discreet.solve.random import uniform

# Factors beyond this are not worth following: steps are divided by them.
MOST_FACTOR = 1_000


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
    turn = np.empty(wanted, np.int64)
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
        for i in range(n):
            turn[i] = i
        for i in range(n - 1, 0, -1):
            k = int(uniform(work.state) * (i + 1))
            turn[i], turn[k] = turn[k], turn[i]
        for i in range(n):
            task = group[turn[i]]
            ban(task, tasks, limits, whole, held, work)
            _, size = search(
                task, tasks, budget - added, np.int64(-1), moves, limits, whole, held.used, work
            )
            if size == 0:
                break
            added += put(task, work.found, work.found_signs, size, held, limits.cost)
            done += 1
        if done < n:
            for i in range(done):
                take(group[turn[i]], held, limits.cost)
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
    fits = 0 < size <= out_cells.size and largest <= MOST_FACTOR * common
    n, own = np.int64(0), np.int64(0)
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
    if not fits or own == 0:
        return 0
    # What the banned have in the cell itself is in what is asked against them, but for a width.
    spared = -1 if tasks.width[task] > 0 else target
    up, down = reach(out_cells, out_factors, n, own, spared, limits, whole, work.banned)
    if up < tasks.rise[task] or down < tasks.fall[task] or up + down < tasks.width[task]:
        return 0
    return int(n)


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
        done, pivot_size = 0, 0
        if attempt % 2 == 0:
            tasks.cell[probe] = j
            work.banned.clock[0] += 1
            bound = 1e-7 if attempt == 0 else limits.cost[j] * 0.999
            _, pivot_size = search(
                probe, tasks, bound, np.int64(-1), moves, limits, whole, held.used, work
            )
            if pivot_size == 0 and attempt > 0:
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
            ban(task, tasks, limits, whole, held, work)
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
