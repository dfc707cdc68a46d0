"""Figures of a protected base, moved by steps of one until they fit together; and random words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from discreet.compiling import njit

MOST_STEPS = 100_000
"""Households added or removed in an area, before it keeps the number of people that it has."""

MOST_RESIZED = 3
"""People by whom a household becomes larger or smaller at a time."""


@njit(cache=True, nogil=True, inline="always")
def next_word(state: Any) -> Any:
    """Return the next random word, by SplitMix64; the state is one word."""
    state[0] = state[0] + uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@njit(cache=True, nogil=True, inline="always")
def below(state: Any, size: Any) -> Any:
    """Return a random number from 0 to size − 1, for sizes below 2^31."""
    return np.int64(((next_word(state) >> uint64(32)) * uint64(size)) >> uint64(32))


@njit(cache=True, nogil=True)
def apportion(noisy: NDArray[np.int64], total: int, state: NDArray[np.uint64]) -> None:
    """Move figures by steps of one until they have a total: populated ones first, never below 0."""
    size = len(noisy)
    left = total - noisy.sum()
    while left != 0:
        step = 1 if left > 0 else -1
        start = below(state, size)
        moved = False
        for k in range(size):
            i = (start + k) % size
            if noisy[i] > 0:
                noisy[i] += step
                left -= step
                moved = True
                break
        if not moved:
            noisy[start] += 1  # all are empty, so that the total is above them
            left -= 1


@njit(cache=True, nogil=True)
def _together(
    noisy: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    state: NDArray[np.uint64],
) -> None:
    """Step on populated cells whose row and column both want more, or both want less."""
    n, m = noisy.shape
    for i in range(n):
        if rows[i] == 0:
            continue
        step = 1 if rows[i] > 0 else -1
        again = True
        while again and rows[i] != 0:
            again = False
            start = below(state, m)
            for k in range(m):
                j = (start + k) % m
                if noisy[i, j] > 0 and columns[j] * step > 0:
                    noisy[i, j] += step
                    rows[i] -= step
                    columns[j] -= step
                    again = True
                    if rows[i] == 0:
                        break


@njit(cache=True, nogil=True)
def _exchange(noisy: Any, rows: NDArray[np.int64], state: NDArray[np.uint64], fill: bool) -> None:
    """Move units within a column from rows that want less to rows that want more.

    Between populated cells, unless empty ones are to be filled as well.
    """
    n, m = noisy.shape
    for i in range(n):
        for k in range(n):
            if rows[i] <= 0:
                break
            start = below(state, m)
            if rows[k] >= 0:
                continue
            for j in range(m):
                column = (start + j) % m
                while (
                    rows[i] > 0
                    and rows[k] < 0
                    and noisy[k, column] > 0
                    and (fill or noisy[i, column] > 0)
                ):
                    noisy[i, column] += 1
                    noisy[k, column] -= 1
                    rows[i] -= 1
                    rows[k] += 1
                    if not fill:
                        break


@njit(cache=True, nogil=True)
def _rectangle(noisy: NDArray[np.int64], i: int, j: int, step: int, start: int) -> bool:
    """Step row i and column j over a third, populated cell; return whether there was one.

    With step 1: +1 at (i, b) and (a, j), −1 at (a, b), all of them populated. With step −1 the
    other way round, where (a, b) may be filled if nothing else is found.
    """
    n, m = noisy.shape
    for fill in range(1 if step > 0 else 2):
        for k in range(n):
            a = (start + k) % n
            if a == i or noisy[a, j] <= 0:
                continue
            for c in range(m):
                b = (start + c) % m
                if b == j or noisy[i, b] <= 0 or (noisy[a, b] <= 0 and fill == 0):
                    continue
                noisy[i, b] += step
                noisy[a, j] += step
                noisy[a, b] -= step
                return True
    return False


@njit(cache=True, nogil=True)
def transport(
    noisy: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    state: NDArray[np.uint64],
) -> None:
    """Move figures by steps of one until they have the sums of rows and columns.

    The sums must have one total, and are used up.
    """
    n, m = noisy.shape
    for i in range(n):
        rows[i] -= noisy[i].sum()
    for j in range(m):
        columns[j] -= noisy[:, j].sum()
    _together(noisy, rows, columns, state)
    for fill in range(2):
        _exchange(noisy, rows, state, fill == 1)
        _exchange(noisy.T, columns, state, fill == 1)
        _together(noisy, rows, columns, state)
    # All rows that are left want the same, and so do all columns, as often.
    for i in range(n):
        for j in range(m):
            while rows[i] * columns[j] > 0:
                step = 1 if rows[i] > 0 else -1
                direct = noisy[i, j] > 0
                if direct or not _rectangle(noisy, i, j, step, below(state, n + m)):
                    noisy[i, j] += step
                rows[i] -= step
                columns[j] -= step


@njit(cache=True, nogil=True)
def transport_pairs(
    cells: NDArray[np.int64],
    tables: NDArray[np.int64],
    sizes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    state: NDArray[np.uint64],
) -> None:
    """Move the figures of every table of two columns to those of its columns."""
    for f in range(len(tables)):
        a, b = tables[f, 0], tables[f, 1]
        if b < 0 or tables[f, 2] >= 0:
            continue
        pair = cells[offsets[f] : offsets[f + 1]].reshape(sizes[a], sizes[b])
        rows = cells[offsets[a] : offsets[a + 1]].copy()
        columns = cells[offsets[b] : offsets[b + 1]].copy()
        transport(pair, rows, columns, state)


@njit(cache=True, nogil=True)
def _resize(numbers: NDArray[np.int64], held: NDArray[np.bool_], by: int, start: int) -> bool:
    """Make one household larger, or smaller; return whether there is one."""
    size = len(numbers)
    for k in range(size):
        old = (start + k) % size
        new = old + by
        if numbers[old] > 0 and 0 < new < size and held[new]:
            numbers[old] -= 1
            numbers[new] += 1
            return True
    return False


@njit(cache=True, nogil=True)
def _drawn_size(numbers: NDArray[np.int64], state: NDArray[np.uint64]) -> Any:
    """Return the size of one of the households; 0 if there are none."""
    total = numbers.sum()
    if total == 0:
        return 0
    place = below(state, total)
    size = 0
    while place >= numbers[size]:
        place -= numbers[size]
        size += 1
    return size


@njit(cache=True, nogil=True)
def house(
    numbers: NDArray[np.int64], people: int, held: NDArray[np.bool_], state: NDArray[np.uint64]
) -> None:
    """Add, remove and resize households until they have so many people, if it can be.

    `numbers` are the households of each size from 0, and `held` says which sizes donors have.
    """
    left = people
    for size in range(len(numbers)):
        if not held[size]:
            numbers[size] = 0
        left -= size * numbers[size]
    for _ in range(MOST_STEPS):
        if left == 0:
            return
        sign = 1 if left > 0 else -1
        size = _drawn_size(numbers, state)
        if size == 0 or (size > sign * left and left > 0):
            # One of those there is would be too large: another one grows, or a small one is added.
            if _resize(numbers, held, left, below(state, len(numbers))):
                return
            size = min(left, len(numbers) - 1)
            while size > 0 and not held[size]:
                size -= 1
            if size == 0:
                return
        elif size > sign * left and _resize(numbers, held, left, below(state, len(numbers))):
            return
        numbers[size] += sign
        left -= sign * size


@njit(cache=True, nogil=True)
def even_out(
    numbers: NDArray[np.int64],
    wanted: NDArray[np.int64],
    together: NDArray[np.int64],
    held: NDArray[np.bool_],
    weight: int,
    tries: int,
    state: NDArray[np.uint64],
) -> None:
    """Resize two households of an area at a time, one up and one down, so that figures come close.

    `wanted` are households by area and size, `together` those of all areas, which count `weight`
    times. Every area keeps its people. Only what does not raise the squares of what is off, times
    the size, is done: sizes then share what the number of people takes or gives.
    """
    areas, sizes = numbers.shape
    off = numbers.sum(axis=0) - together
    change = np.zeros(sizes, np.int64)
    for _ in range(tries):
        a, by = below(state, areas), 1 + below(state, MOST_RESIZED)
        low, high = 1 + below(state, sizes - 1), 1 + below(state, sizes - 1)
        if low + by >= sizes or high - by < 1 or not (held[low + by] and held[high - by]):
            continue
        if numbers[a, low] < 1 or numbers[a, high] < 1 + (low == high):
            continue
        around = (low, low + by, high, high - by)
        for i in range(4):
            change[around[i]] += 2 * (i % 2) - 1
        worse = 0
        for k in range(sizes):
            each = 2 * (numbers[a, k] - wanted[a, k] + weight * off[k]) + (1 + weight) * change[k]
            worse += k * change[k] * each
        for k in around:
            if worse <= 0:
                numbers[a, k] += change[k]
                off[k] += change[k]
            change[k] = 0
