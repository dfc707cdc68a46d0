"""Kernels over the populated cells of a table: the sums of every row along every axis at once.

A slot is a row: those along axis 0 come first, then axis 1's, …; the last slot is the whole table.
`slots[a, c]` is the slot of cell c along axis a. f is a true count, g a released one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from discreet.compiling import inner, njit
from discreet.types import Floats, Integers

_SHORT = 8  # cells after an axis from which rows are added up as they lie


@njit(cache=True, nogil=True)
def sums(f: Integers, g: Integers, slots: NDArray[np.int32], size: int) -> Floats:
    """Return, for each slot, the sums that the terms of the risk are made of.

    Rows: populated cells of F; N; Σ F·log F; cells populated in either table; in both; M.
    """
    found = np.zeros((6, size))
    for cell in range(f.size):
        x = float(f[cell])
        log = x * np.log(x) if x > 0 else 0.0
        held = 1.0 if x > 0 else 0.0
        both = 1.0 if x > 0 and g[cell] > 0 else 0.0
        for axis in range(slots.shape[0]):
            slot = slots[axis, cell]
            found[0, slot] += held
            found[1, slot] += x
            found[2, slot] += log
            found[3, slot] += 1
            found[4, slot] += both
            found[5, slot] += g[cell]
    return found


@njit(cache=True, nogil=True)
def conditional_entropy(
    f: Integers, g: Integers, slots: NDArray[np.int32], totals: Floats, released: Floats
) -> Floats:
    """Return H(X|Y) of each slot from its totals N and M, 0 where either is 0."""
    found, lost = np.zeros(totals.size), np.zeros(totals.size)
    log_n, log_m = np.zeros(totals.size), np.zeros(totals.size)
    for slot in range(totals.size):
        if totals[slot] > 0 and released[slot] > 0:
            log_n[slot] = np.log(totals[slot])
            log_m[slot] = np.log(released[slot])
    for cell in range(f.size):
        x, y = float(f[cell]), float(g[cell])
        log_x = np.log(x) if x > 0 else 0.0
        log_y = np.log(y) if y > 0 else 0.0
        for axis in range(slots.shape[0]):
            slot = slots[axis, cell]
            n, m = totals[slot], released[slot]
            if n == 0 or m == 0:
                continue
            a, b = x / n, y / m
            if a > b:
                found[slot] -= (a - b) * np.log(a - b)
                lost[slot] += a - b
            elif a < b:
                found[slot] += b * (log_y - log_m[slot]) - (b - a) * np.log(b - a)
                if a > 0:
                    found[slot] -= a * (log_x - log_n[slot])
    for slot in range(totals.size):
        if lost[slot] > 0:
            found[slot] += lost[slot] * np.log(lost[slot])
    return found


@njit(cache=True, nogil=True)
def contents_sums(
    f_id: NDArray[np.int32],
    g_id: NDArray[np.int32],
    slots: NDArray[np.int32],
    cells: Integers,
    values: Integers,
    targets: NDArray[np.int32],
    chances: Floats,
    observed: bool,
    counted: NDArray[np.bool_],
) -> Floats:
    """Return, for each slot, Σ content, Σ content·log content, and 1 where a value is impossible.

    `values[f_id]` is the true count; true counts of id k become the released id `targets[k, w]`
    (−1: not in the released table) with probability `chances[k, w]`; id 0 is the count 0 in both.
    `cells` is the number of cells of each slot. Only cells whose released id is `counted` are
    summed: the small ones, the large ones, or all.
    """
    size = cells.size
    released = g_id.max() + 1 if g_id.size else 1
    for row in range(targets.shape[0]):
        for w in range(targets.shape[1]):
            released = max(released, targets[row, w] + 1)
    sums = np.zeros((3, size))
    mu = np.zeros(released)
    held = np.zeros(released)
    number = np.zeros(released)
    order = np.empty(f_id.size, np.int64)
    for axis in range(slots.shape[0]):
        first = size
        last = 0
        for cell in range(f_id.size):
            first = min(first, slots[axis, cell])
            last = max(last, slots[axis, cell] + 1)
        if last <= first:
            continue
        # A counting sort puts the cells of a row together, so that one row's accumulators do.
        starts = np.zeros(last - first + 1, np.int64)
        for cell in range(f_id.size):
            starts[slots[axis, cell] - first + 1] += 1
        for slot in range(last - first):
            starts[slot + 1] += starts[slot]
        fill = starts.copy()
        for cell in range(f_id.size):
            slot = slots[axis, cell] - first
            order[fill[slot]] = cell
            fill[slot] += 1
        for slot in range(last - first):
            _row_contents(
                order[starts[slot] : starts[slot + 1]], f_id, g_id, cells[first + slot], values,
                targets, chances, observed, counted, mu, held, number, sums[:, first + slot],
            )  # fmt: skip
    return sums


@njit(cache=True, nogil=True)
def _row_contents(
    order: Integers,
    f_id: NDArray[np.int32],
    g_id: NDArray[np.int32],
    cells: int,
    values: Integers,
    targets: NDArray[np.int32],
    chances: Floats,
    observed: bool,
    counted: NDArray[np.bool_],
    mu: Floats,
    held: Floats,
    number: Floats,
    sums: Floats,
) -> None:
    true_zeros = cells
    released_zeros = cells
    for cell in order:
        k = f_id[cell]
        if k > 0:
            true_zeros -= 1
            for w in range(targets.shape[1]):
                j = targets[k, w]
                if j >= 0:
                    mu[j] += chances[k, w]
                    held[j] += values[k] * chances[k, w]
        if g_id[cell] > 0:
            released_zeros -= 1
            number[g_id[cell]] += counted[g_id[cell]]
    for w in range(targets.shape[1]):
        if targets[0, w] >= 0:
            mu[targets[0, w]] += true_zeros * chances[0, w]
    number[0] = released_zeros * counted[0]
    for cell in order:
        _add_content(g_id[cell], mu, held, number, observed, sums)
    _add_content(0, mu, held, number, observed, sums)
    for cell in order:
        k = f_id[cell]
        for w in range(targets.shape[1]):
            if targets[k, w] >= 0:
                mu[targets[k, w]] = 0
                held[targets[k, w]] = 0
    for w in range(targets.shape[1]):
        if targets[0, w] >= 0:
            mu[targets[0, w]] = 0


@njit(cache=True, nogil=True)
def _add_content(
    j: int, mu: Floats, held: Floats, number: Floats, observed: bool, sums: Any
) -> None:
    """Add the contents of all cells of released id j, once: the number is cleared."""
    if number[j] == 0:
        return
    if observed:
        content = held[j] / number[j]
    elif mu[j] > 0:
        content = held[j] / mu[j]
    else:
        content = 0.0
        sums[2] = 1
    if content > 0:
        sums[0] += number[j] * content
        sums[1] += number[j] * content * np.log(content)
    number[j] = 0


@inner()
def _added_up(held: Any, people: Any, sizes: Any, all_held: Any, all_people: Any) -> None:
    """Add up populated cells and people along an axis; `sizes` are before it, its own, after it."""
    before, length, after = sizes
    for a in range(before):
        if after < _SHORT:
            for c in range(after):
                one, some = 0, 0
                for i in range(length):
                    place = uint64((a * length + i) * after + c)
                    one += held[place]
                    some += people[place]
                all_held[a * after + c] = one
                all_people[a * after + c] = some
            continue
        of_held, of_people = all_held[a * after :], all_people[a * after :]
        of_held[:after] = 0
        of_people[:after] = 0
        for i in range(length):
            row = (a * length + i) * after
            next_held, next_people = held[row : row + after], people[row : row + after]
            for c in range(after):
                of_held[c] += next_held[c]
                of_people[c] += next_people[c]


@inner()
def _tallied(held: Any, people: Any, lines: int, populated: int, found: Any) -> None:
    """Add the lines that hold anybody, the near-empty ones, and their people."""
    some, near, inside = 0, 0, 0
    for line in range(lines):
        some += held[line] > 0
        if 0 < held[line] <= populated:
            near += 1
            inside += people[line]
    found[0] += some
    found[1] += near
    found[2] += inside


@njit(cache=True, nogil=True)
def lines(tables: Any, shape: Any, populated: int, found: Any) -> None:
    """Add up, for each table, the lines that hold anybody, the near-empty ones, and their people.

    `found` has a place for the lines along each axis, then for those along each pair of axes, whose
    sums are those along the first of them added up along the second.
    """
    cells = tables.shape[1]
    most = cells // shape.min()
    held = np.empty(cells, np.int32)
    held1, held2 = np.empty(most, np.int32), np.empty(most, np.int32)
    people1, people2 = np.empty(most, np.int64), np.empty(most, np.int64)
    for table in range(len(tables)):
        people = tables[table]
        for cell in range(cells):
            held[cell] = people[cell] > 0
        pair = len(shape)
        for d in range(len(shape)):
            before, after = shape[:d].prod(), shape[d + 1 :].prod()
            _added_up(held, people, (before, shape[d], after), held1, people1)
            _tallied(held1, people1, before * after, populated, found[:, d, table])
            for e in range(d + 1, len(shape)):
                before, after = cells // shape[d:].prod(), shape[e + 1 :].prod()
                before *= shape[d + 1 : e].prod()
                _added_up(held1, people1, (before, shape[e], after), held2, people2)
                _tallied(held2, people2, before * after, populated, found[:, pair, table])
                pair += 1


@njit(cache=True, nogil=True)
def pair(f: Integers, g: Integers) -> tuple[Integers, Floats]:
    """Return what a true and a released table differ by.

    Cells that are zero in F, in either table and in both, and Σ|G − F|; Σ F·log F and Σ(√F − √G)².
    """
    d = either = both = moved = 0
    log = apart = 0.0
    for cell in range(f.size):
        x, y = f[cell], g[cell]
        moved += abs(y - x)
        d += x == 0
        either += x == 0 or y == 0
        both += x == 0 and y == 0
        if x > 0:
            log += x * np.log(x)
        if x != y:
            apart += (np.sqrt(x) - np.sqrt(y)) ** 2
    return np.array([d, either, both, moved]), np.array([log, apart])


@njit(cache=True, nogil=True)
def contents(
    values: Integers,
    number: Integers,
    shown: Integers,
    many: Integers,
    changes: Integers,
    chances: Floats,
    period: int,
) -> Floats:
    """Return Σ content and Σ content·log content over released cells, NaN where one is impossible.

    `number` true cells have each of the `values` and `many` released ones each figure `shown`, both
    increasing; the rows of a transition are in `changes` and `chances`, as it has them.
    """
    mu, held = np.zeros(shown.size), np.zeros(shown.size)
    rows = len(changes)
    lowest = changes.min()
    first = 0  # no figure before it comes of this value or a larger one
    for i in range(values.size):
        value = values[i]
        row = value if value < rows else rows - period + (value - rows) % period
        while first < shown.size and shown[first] < value + lowest:
            first += 1
        place = first
        for w in range(changes.shape[1]):
            flow = number[i] * chances[row, w]
            if flow > 0:
                while place < shown.size and shown[place] < value + changes[row, w]:
                    place += 1
                if place < shown.size and shown[place] == value + changes[row, w]:
                    mu[place] += flow
                    held[place] += value * flow
    total = logs = 0.0
    for j in range(shown.size):
        if mu[j] <= 0:
            return np.full(2, np.nan)
        content = held[j] / mu[j]
        total += many[j] * content
        if content > 0:
            logs += many[j] * content * np.log(content)
    return np.array([total, logs])


def warm_up() -> None:
    """Load the kernels that judge and measure a table, compiled if they never were."""
    cells = np.zeros((1, 1), np.int64)
    lines(cells, np.ones(1, np.int64), 1, np.zeros((3, 1, 1), np.int64))
    pair(cells[0], cells[0])
    contents(cells[0], cells[0], cells[0], cells[0], cells, np.ones((1, 1)), 1)
