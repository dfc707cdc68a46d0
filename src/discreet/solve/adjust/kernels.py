"""Kernels of the adjustment of counts: annealing over inner cells, alone and in pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.solve.random import uniform
from discreet.types import Flags, Floats, Integers

# What a broken limit costs for each unit: more than any sum of weights a move can gain.
BROKEN = 1e6


@njit(cache=True, nogil=True)
def change_cost(change: int, free: int, limit: int, weight: float, leaving: float) -> float:
    """Return the cost of a cell's change: nothing up to `free`, then `leaving` and every unit."""
    size = abs(change)
    cost = weight * (leaving + size - free) if size > free else 0.0
    if size > limit:
        cost += BROKEN * (size - limit)
    return cost


@njit(cache=True, nogil=True)
def _step(
    i: int,
    x: Integers,
    low: Integers,
    high: Integers,
    whole: Flags,
    base: int,
    state: NDArray[np.uint64],
) -> int:
    """Return a step that keeps inner cell i within its bounds, or 0.

    Cells marked whole jump from one bound to the other. Others move by 1, or by up to the base.
    """
    if whole[i]:
        return low[i] - x[i] if x[i] == high[i] else high[i] - x[i]
    size = 1 if uniform(state) < 0.75 else 1 + int(uniform(state) * base)
    step = size if uniform(state) < 0.5 else -size
    if low[i] <= x[i] + step <= high[i]:
        return step
    return 0


@njit(cache=True, nogil=True)
def _own(i: int, x: Integers, true: Integers, own: Floats, step: int) -> float:
    """Return what a step of inner cell i costs by itself."""
    return own[i] * (abs(x[i] + step - true[i]) - abs(x[i] - true[i]))


@njit(cache=True, nogil=True)
def _row_cost(
    r: int,
    step: int,
    values: Integers,
    change: Integers,
    free: Integers,
    limit: Integers,
    weight: Floats,
    leaving: float,
    base: int,
) -> float:
    """Return what a step costs cell r; infinite if it would become one of 1 to base − 1."""
    if 0 < values[r] + change[r] + step < base:
        return np.inf
    return change_cost(change[r] + step, free[r], limit[r], weight[r], leaving) - change_cost(
        change[r], free[r], limit[r], weight[r], leaving
    )


@njit(cache=True, nogil=True)
def anneal_counts(
    starts: NDArray[np.int32],
    rows: NDArray[np.int32],
    group_starts: NDArray[np.int32],
    groups: NDArray[np.int32],
    line_starts: NDArray[np.int32],
    lines: NDArray[np.int32],
    x: Integers,
    true: Integers,
    low: Integers,
    high: Integers,
    whole: Flags,
    own: Floats,
    values: Integers,
    change: Integers,
    free: Integers,
    limit: Integers,
    weight: Floats,
    leaving: float,
    base: int,
    pairs: float,
    hot: float,
    cold: float,
    trials: int,
    state: NDArray[np.uint64],
) -> None:
    """Move inner cells x, and with them the `change` of all cells, towards the least cost.

    Inner cell i counts in the cells rows[starts[i]:starts[i+1]] (ascending) and is in the lines
    groups[group_starts[i]:…], whose cells are lines[line_starts[g]:…]. Each trial moves one cell,
    or with the chance `pairs` two of a line in opposite directions, which leaves the cells that
    both count in as they are. No move makes a cell one of 1 to base − 1. The temperature falls
    from hot to cold in proportion; with hot = 0 no move up the cost is made.
    """
    n = x.size
    cooling = (cold / hot) ** (1.0 / max(1, trials)) if hot > 0 else 1.0
    temperature = hot
    for _ in range(trials):
        temperature *= cooling
        i = int(uniform(state) * n)
        step = _step(i, x, low, high, whole, base, state)
        if step == 0:
            continue
        j, opposite = -1, 0
        if uniform(state) < pairs and group_starts[i] < group_starts[i + 1]:
            among = group_starts[i + 1] - group_starts[i]
            g = groups[group_starts[i] + int(uniform(state) * among)]
            j = lines[line_starts[g] + int(uniform(state) * (line_starts[g + 1] - line_starts[g]))]
            if j == i:
                continue
            opposite = -step
            if whole[j]:
                opposite = low[j] - x[j] if x[j] == high[j] else high[j] - x[j]
                if opposite * step >= 0:
                    continue
                if not whole[i]:
                    step = -opposite
                    if not low[i] <= x[i] + step <= high[i]:
                        continue
            elif not low[j] <= x[j] + opposite <= high[j]:
                continue
        cost = _own(i, x, true, own, step)
        k, end = starts[i], starts[i + 1]
        if j < 0:
            while k < end and cost < np.inf:
                cost += _row_cost(rows[k], step, values, change, free, limit, weight, leaving, base)
                k += 1
        else:
            cost += _own(j, x, true, own, opposite)
            q, last = starts[j], starts[j + 1]
            # Both lists ascend: what is in both changes by the sum of the steps.
            while (k < end or q < last) and cost < np.inf:
                if q == last or (k < end and rows[k] < rows[q]):
                    r, moved = rows[k], step
                    k += 1
                elif k == end or rows[q] < rows[k]:
                    r, moved = rows[q], opposite
                    q += 1
                else:
                    r, moved = rows[k], step + opposite
                    k += 1
                    q += 1
                    if moved == 0:
                        continue
                cost += _row_cost(r, moved, values, change, free, limit, weight, leaving, base)
        if cost <= 0 or (temperature > 0 and uniform(state) < np.exp(-cost / temperature)):
            x[i] += step
            for k in range(starts[i], starts[i + 1]):
                change[rows[k]] += step
            if j >= 0:
                x[j] += opposite
                for q in range(starts[j], starts[j + 1]):
                    change[rows[q]] += opposite


# What `sweep_records` and `mend_rows` keep of a row: its change, the price of a unit of change that
# is not needed, and the protection that it needs.
CHANGE, UNIT, NEEDED = 0, 1, 2
_CANDIDATES = 10


@njit(cache=True, nogil=True)
def _within(value: float, least: float, most: float) -> float:
    """Return the nearest value on the same side of 0 whose size is from least to most."""
    return min(max(value, least), most) if value >= 0 else max(min(value, -least), -most)


@njit(cache=True, nogil=True)
def _row_price(change: float, unit: float, needed: float, price: float) -> float:
    """Return the cost of a row: what it changes beyond its need, or `price` times the shortfall."""
    beyond = abs(change) - needed
    return unit * beyond if beyond >= 0 else -price * unit * beyond


@njit(cache=True, nogil=True)
def sweep_records(
    starts: Integers,
    rows: NDArray[np.int32],
    order: Integers,
    a: Floats,
    values: Floats,
    least: Floats,
    most: Floats,
    data: Floats,
    price: float,
    temperature: float,
    reach: float,
    state: NDArray[np.uint64],
) -> int:
    """Give every record in `order` a better adjustment; return how many changed.

    Tried for each: the opposite, its two smallest sizes, a step up and down of at most `reach` of
    its value, and the adjustments that put four of its rows at their need. At a temperature of 0
    the best is taken, else one by its odds exp(−cost/temperature).
    """
    tried = np.empty(_CANDIDATES)
    cost = np.empty(_CANDIDATES)
    moved = 0
    for place in range(order.size):
        i = order[place]
        size = starts[i + 1] - starts[i]
        if size == 0:
            # Nothing but the record's own cells: the smallest size is best.
            if abs(a[i]) != least[i]:
                a[i] = _within(np.copysign(0.0, a[i]), least[i], most[i])
                moved += 1
            continue
        now = a[i]
        step = reach * np.exp(-4.0 * uniform(state)) * values[i]
        tried[0] = now
        tried[1] = -now
        tried[2] = now + step
        tried[3] = now - step
        tried[4] = least[i]
        tried[5] = -least[i]
        for c in range(6, _CANDIDATES):
            # Of two rows at random the one that costs more for each unit.
            r = rows[starts[i] + int(uniform(state) * size)]
            other = rows[starts[i] + int(uniform(state) * size)]
            if data[other, UNIT] > data[r, UNIT]:
                r = other
            up = (data[r, CHANGE] >= 0) == (uniform(state) < 0.8)
            tried[c] = now + (data[r, NEEDED] if up else -data[r, NEEDED]) - data[r, CHANGE]
        for c in range(1, _CANDIDATES):
            tried[c] = _within(tried[c], least[i], most[i]) - now
        tried[0] = 0.0
        cost[:] = 0.0
        for k in range(starts[i], starts[i + 1]):
            r = rows[k]
            change, unit, needed = data[r, CHANGE], data[r, UNIT], data[r, NEEDED]
            for c in range(_CANDIDATES):
                cost[c] += _row_price(change + tried[c], unit, needed, price)
        best = 0
        if temperature > 0:
            lowest = cost.min()
            odds = 0.0
            for c in range(_CANDIDATES):
                cost[c] = np.exp(-(cost[c] - lowest) / temperature)
                odds += cost[c]
            left = uniform(state) * odds
            while best < _CANDIDATES - 1 and left > cost[best]:
                left -= cost[best]
                best += 1
        else:
            for c in range(1, _CANDIDATES):
                if cost[c] < cost[best] - 1e-12:
                    best = c
        if tried[best] != 0.0:
            moved += 1
            a[i] += tried[best]
            for k in range(starts[i], starts[i + 1]):
                data[rows[k], CHANGE] += tried[best]
    return moved


@njit(cache=True, nogil=True)
def mend_rows(
    row_starts: Integers,
    members: NDArray[np.int32],
    starts: Integers,
    rows: NDArray[np.int32],
    a: Floats,
    least: Floats,
    most: Floats,
    data: Floats,
    price: float,
    largest: int,
) -> int:
    """Try each record of each row short of its need; return how many rows were moved.

    A row of at most `largest` records moves to its need, on either side, by the record for which
    all its rows together cost least, if they cost less than before.
    """
    mended = 0
    for r in range(row_starts.size - 1):
        short = abs(data[r, CHANGE]) < data[r, NEEDED] * (1 - 1e-12)
        if not short or row_starts[r + 1] - row_starts[r] > largest:
            continue
        best, best_record, best_step = -1e-9, -1, 0.0
        for k in range(row_starts[r], row_starts[r + 1]):
            i = members[k]
            for side in (-1.0, 1.0):
                step = side * data[r, NEEDED] - data[r, CHANGE]
                if _within(a[i] + step, least[i], most[i]) != a[i] + step:
                    continue
                cost = 0.0
                for q in range(starts[i], starts[i + 1]):
                    s = rows[q]
                    change, unit, needed = data[s, CHANGE], data[s, UNIT], data[s, NEEDED]
                    cost += _row_price(change + step, unit, needed, price)
                    cost -= _row_price(change, unit, needed, price)
                if cost < best:
                    best, best_record, best_step = cost, i, step
        if best_record >= 0:
            mended += 1
            a[best_record] += best_step
            for q in range(starts[best_record], starts[best_record + 1]):
                data[rows[q], CHANGE] += best_step
    return mended


@njit(cache=True, nogil=True)
def smooth_records(
    row_starts: Integers,
    members: NDArray[np.int32],
    starts: Integers,
    rows: NDArray[np.int32],
    a: Floats,
    low: Floats,
    high: Floats,
    step: Floats,
    unit: Floats,
    width: Floats,
    needed: Floats,
    side: Floats,
    price: float,
    momentum: float,
    ahead: Floats,
) -> float:
    """Make one accelerated projected gradient step on the smoothed cost; return the new momentum.

    Rows stay on their `side`; within `width` of its kink the cost is rounded off (Huber).
    `ahead` is the point from which the step is made, moved on in place. Momentum starts anew
    where it would lead up the cost.
    """
    slope = np.empty(unit.size)
    for r in range(unit.size):
        change = 0.0
        for k in range(row_starts[r], row_starts[r + 1]):
            change += ahead[members[k]]
        if needed[r] > 0:
            z = (side[r] * change - needed[r]) / width[r]
            slope[r] = side[r] * unit[r] * (min(z, 1.0) if z >= 0 else price * max(z, -1.0))
        else:
            slope[r] = unit[r] * min(max(change / width[r], -1.0), 1.0)
    following = (1 + np.sqrt(1 + 4 * momentum * momentum)) / 2
    against = 0.0
    for i in range(a.size):
        gradient = 0.0
        for k in range(starts[i], starts[i + 1]):
            gradient += slope[rows[k]]
        new = min(max(ahead[i] - step[i] * gradient, low[i]), high[i])
        moved = new - a[i]
        if step[i] > 0:
            against += (ahead[i] - new) * moved / step[i]
        a[i] = new
        ahead[i] = new + (momentum - 1) / following * moved
    if against > 0:
        ahead[:] = a
        return 1.0
    return following


@njit(cache=True, nogil=True)
def lift_rows(
    row_starts: Integers,
    members: NDArray[np.int32],
    rows: Integers,
    side: Floats,
    aim: Floats,
    a: Floats,
    values: Floats,
    low: Floats,
    high: Floats,
) -> int:
    """Move rows that are short to their aim, on their side; return how many were short.

    The records of a row share what is missing in proportion to their values, within their bounds:
    a projection onto each row in turn.
    """
    short = 0
    for k in range(rows.size):
        r = rows[k]
        change, room = 0.0, 0.0
        for q in range(row_starts[r], row_starts[r + 1]):
            i = members[q]
            change += a[i]
            if (a[i] < high[i]) if side[k] > 0 else (a[i] > low[i]):
                room += values[i]
        missing = aim[k] - side[k] * change
        if missing <= 1e-12 * aim[k] or room == 0.0:
            continue
        short += 1
        for q in range(row_starts[r], row_starts[r + 1]):
            i = members[q]
            if (a[i] < high[i]) if side[k] > 0 else (a[i] > low[i]):
                a[i] = min(max(a[i] + side[k] * missing * values[i] / room, low[i]), high[i])
    return short
