"""Compiled search for senses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit


@njit(cache=True, nogil=True)
def _uniform(state: NDArray[np.uint64]) -> float:
    """Return a number in [0, 1) (SplitMix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def _price(
    change: float, weight: float, lower: float, upper: float, sensitive: bool, heavy: float
) -> float:
    """Return what a change of a cell costs; short of its protection it costs more."""
    price = weight * abs(change)
    if sensitive:
        missing = upper - change if change >= 0 else lower + change
        if missing > 0:
            price += heavy * missing
    return price


@njit(cache=True, nogil=True)
def _shift(
    cells: NDArray[np.int32],
    change: NDArray[np.float64],
    by: float,
    weights: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    sensitive: NDArray[np.bool_],
    heavy: float,
) -> float:
    """Change cells; return what that costs more."""
    more = 0.0
    for c in cells:
        more -= _price(change[c], weights[c], lower[c], upper[c], sensitive[c], heavy)
        change[c] += by
        more += _price(change[c], weights[c], lower[c], upper[c], sensitive[c], heavy)
    return more


@njit(cache=True, nogil=True)
def anneal_senses(
    starts: NDArray[np.int32],
    cells: NDArray[np.int32],
    up: NDArray[np.bool_],
    ups: NDArray[np.float64],
    downs: NDArray[np.float64],
    change: NDArray[np.float64],
    weights: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    sensitive: NDArray[np.bool_],
    heavy: float,
    hot: float,
    cold: float,
    trials: int,
    state: NDArray[np.uint64],
) -> float:
    """Search for senses of the movers, with nothing else moving; return the least cost met.

    Mover m goes up by ups[m] or down by downs[m], and takes cells[starts[m]:starts[m + 1]] with
    it. `up` and `change` hold the start, and the best at the end. A trial turns one mover, or two
    of opposite senses, which keeps the totals that both are in.
    """
    movers = len(up)
    cost = 0.0
    for c in range(len(change)):
        cost += _price(change[c], weights[c], lower[c], upper[c], sensitive[c], heavy)
    least, best = cost, up.copy()
    for trial in range(trials):
        heat = hot * (cold / hot) ** (trial / trials)
        first = int(_uniform(state) * movers)
        second = -1
        if _uniform(state) < 0.5:
            other = int(_uniform(state) * movers)
            if up[other] != up[first]:
                second = other
        more = 0.0
        for mover in (first, second):
            if mover >= 0:
                by = ups[mover] + downs[mover]
                more += _shift(
                    cells[starts[mover] : starts[mover + 1]], change, -by if up[mover] else by,
                    weights, lower, upper, sensitive, heavy,
                )  # fmt: skip
        taken = more <= 0 or _uniform(state) < np.exp(-more / heat)
        for mover in (first, second):
            if mover < 0:
                continue
            if taken:
                up[mover] = not up[mover]
            else:
                by = ups[mover] + downs[mover]
                for c in cells[starts[mover] : starts[mover + 1]]:
                    change[c] += by if up[mover] else -by
        if taken:
            cost += more
            if cost < least:
                least = cost
                best[:] = up
    up[:] = best
    return least


@njit(cache=True, nogil=True)
def _apart(
    row: int,
    starts: NDArray[np.int32],
    cells: NDArray[np.int32],
    factors: NDArray[np.float64],
    up: NDArray[np.bool_],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
) -> float:
    """Return how far an equation is from holding, whatever its cells do with their senses."""
    low, high = 0.0, 0.0
    for k in range(starts[row], starts[row + 1]):
        c = cells[k]
        sense = 1 if up[c] else 0
        first, last = factors[k] * least[sense, c], factors[k] * most[sense, c]
        low += min(first, last)
        high += max(first, last)
    return max(low, -high, 0.0)


@njit(cache=True, nogil=True)
def agree(
    starts: NDArray[np.int32],
    cells: NDArray[np.int32],
    factors: NDArray[np.float64],
    row_starts: NDArray[np.int32],
    rows: NDArray[np.int32],
    up: NDArray[np.bool_],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
    sensitive: NDArray[np.bool_],
    trials: int,
    state: NDArray[np.uint64],
) -> int:
    """Turn senses, in place, until no equation alone rules them out; return how many still do.

    A cell with the sense s (1: up) may change by least[s] to most[s]. Each trial takes the
    equations that cannot hold, and turns of the sensitive cells of each the one that leaves least
    missing in all equations that it is in, or now and then any.
    """
    count = starts.size - 1
    wrong = np.empty(count, np.int32)
    for _ in range(trials):
        left = 0
        for row in range(count):
            if _apart(row, starts, cells, factors, up, least, most) > 1e-9:
                wrong[left] = row
                left += 1
        if left == 0:
            return 0
        # All that are wrong now, in turn; some of them mend one another.
        for k in range(left):
            row = wrong[k]
            if _apart(row, starts, cells, factors, up, least, most) <= 1e-9:
                continue
            best, gain = -1, np.inf
            for p in range(starts[row], starts[row + 1]):
                c = cells[p]
                if not sensitive[c]:
                    continue
                more = 0.0
                for e in range(row_starts[c], row_starts[c + 1]):
                    more -= _apart(rows[e], starts, cells, factors, up, least, most)
                up[c] = not up[c]
                for e in range(row_starts[c], row_starts[c + 1]):
                    more += _apart(rows[e], starts, cells, factors, up, least, most)
                up[c] = not up[c]
                if _uniform(state) < 0.05:
                    more = -np.inf
                if more < gain:
                    best, gain = c, more
            if best >= 0:
                up[best] = not up[best]
    left = 0
    for row in range(count):
        left += _apart(row, starts, cells, factors, up, least, most) > 1e-9
    return left
