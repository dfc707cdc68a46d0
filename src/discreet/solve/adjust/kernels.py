"""Kernels of the adjustment of counts: annealing over inner cells, alone and in pairs."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

# What a broken limit costs for each unit: more than any sum of weights a move can gain.
BROKEN = 1e6


@njit(cache=True, nogil=True)
def uniform(state: NDArray[np.uint64]) -> float:
    """Return a uniform number and move the state on (xorshift64*): no state but the caller's."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


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
    x: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    whole: NDArray[np.bool_],
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
def _own(
    i: int, x: NDArray[np.int64], true: NDArray[np.int64], own: NDArray[np.float64], step: int
) -> float:
    """Return what a step of inner cell i costs by itself."""
    return own[i] * (abs(x[i] + step - true[i]) - abs(x[i] - true[i]))


@njit(cache=True, nogil=True)
def _row_cost(
    r: int,
    step: int,
    values: NDArray[np.int64],
    change: NDArray[np.int64],
    free: NDArray[np.int64],
    limit: NDArray[np.int64],
    weight: NDArray[np.float64],
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
    x: NDArray[np.int64],
    true: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    whole: NDArray[np.bool_],
    own: NDArray[np.float64],
    values: NDArray[np.int64],
    change: NDArray[np.int64],
    free: NDArray[np.int64],
    limit: NDArray[np.int64],
    weight: NDArray[np.float64],
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
