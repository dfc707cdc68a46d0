"""Compiled searches for changes of linked tables: two codes of one, two or three dimensions.

Variables are numbered; `room` is how far each can fall, and how far it can rise, `closed` ones do
not change at all, and `price` is what it costs to withhold one more. Every axis has its total last.
The variable `own` is what is to move: nothing is asked of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit

Ids = NDArray[np.int64]
Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def _price(
    one: int, falls: bool, own: int, ask: float, room: Reals, closed: Bools, price: Reals
) -> float:
    """Return what a variable costs that rises or falls by `ask`; infinite if it cannot."""
    if one == own:
        return 0.0
    if closed[one] or room[0 if falls else 1, one] < ask:
        return np.inf
    return price[one]


@njit(cache=True, nogil=True)
def cube(
    index: Ids, i: int, j: int, k: int, rises: bool, ask: float, room: Reals, closed: Bools,
    price: Reals, most: float, out: Ids,
) -> float:  # fmt: skip
    """Return the least cost below `most` of a cube through a cell of a three-way table.

    `out` gets the other code of each dimension. Cells an odd number of codes away move against it.
    """
    own = index[i, j, k]
    best = most
    n0, n1, n2 = index.shape[0] - 1, index.shape[1] - 1, index.shape[2] - 1
    for c in range(n2):
        if c == k:
            continue
        first = _price(index[i, j, c], rises, own, ask, room, closed, price)
        if first >= best:
            continue
        for b in range(n1):
            if b == j:
                continue
            two = first + _price(index[i, b, k], rises, own, ask, room, closed, price)
            if two >= best:
                continue
            two += _price(index[i, b, c], not rises, own, ask, room, closed, price)
            if two >= best:
                continue
            for a in range(n0):
                if a == i:
                    continue
                all_ = two + _price(index[a, j, k], rises, own, ask, room, closed, price)
                if all_ >= best:
                    continue
                all_ += _price(index[a, b, k], not rises, own, ask, room, closed, price)
                if all_ >= best:
                    continue
                all_ += _price(index[a, j, c], not rises, own, ask, room, closed, price)
                if all_ >= best:
                    continue
                all_ += _price(index[a, b, c], rises, own, ask, room, closed, price)
                if all_ < best:
                    best = all_
                    out[0], out[1], out[2] = a, b, c
                    if best <= 0.0:
                        return best
    return best


@njit(cache=True, nogil=True)
def pair(
    flat: Ids, offsets: Ids, shapes: Ids, i: int, j: int, fixed: Ids, own: int, rises: bool,
    ask: float, room: Reals, closed: Bools, price: Reals, most: float, out: Ids,
) -> float:  # fmt: skip
    """Return the least cost below `most` of a rectangle of two dimensions, in all their tables.

    Table u is flat[offsets[u]:], in the order of the two dimensions and a third, with `shapes[u]`;
    its third code is fixed[u] where that is not −1. `out` gets the two other codes, and the third
    of each table.
    """
    tables = len(offsets)
    n0, n1 = shapes[0, 0] - 1, shapes[0, 1] - 1
    best = most
    rest = np.zeros(tables, np.int64)
    for a in range(n0):
        if a == i:
            continue
        for b in range(n1):
            if b == j:
                continue
            total = 0.0
            for u in range(tables):
                width, depth = shapes[u, 1], shapes[u, 2]
                at = offsets[u]
                starts = (
                    at + (i * width + j) * depth,
                    at + (a * width + j) * depth,
                    at + (i * width + b) * depth,
                    at + (a * width + b) * depth,
                )
                if u == 0:
                    for v in range(4):
                        falls = rises == (v == 1 or v == 2)
                        total += _price(
                            flat[starts[v] + depth - 1], falls, own, ask, room, closed, price
                        )
                if depth == 1 or total >= best:
                    continue
                least = np.inf
                for c in range(depth - 1):
                    if fixed[u] >= 0 and c != fixed[u]:
                        continue
                    cost = 0.0
                    for v in range(4):
                        falls = rises == (v == 1 or v == 2)
                        cost += _price(flat[starts[v] + c], falls, own, ask, room, closed, price)
                        if cost >= least:
                            break
                    if cost < least:
                        least = cost
                        rest[u] = c
                total += least
                if total >= best:
                    break
            if total < best:
                best = total
                out[0], out[1] = a, b
                out[2 : 2 + tables] = rest
                if best <= 0.0:
                    return best
    return best


@njit(cache=True, nogil=True)
def single(
    flat: Ids, offsets: Ids, shapes: Ids, axes: Ids, sizes: Ids, i: int, fixed: Ids, own: int,
    rises: bool, ask: float, room: Reals, closed: Bools, price: Reals, most: float, out: Ids,
) -> float:  # fmt: skip
    """Return a low cost below `most` of moving from one code of a dimension to another.

    Table u has that dimension first, and then axes[u], −1 for none; dimension d has sizes[d] codes,
    0 if it is in none of the tables, and the code fixed[d] where that is not −1. Codes of the
    others are chosen one after another: the cheapest, not the best together. `out` gets the other
    code, and one of each dimension.
    """
    best = most
    rest = np.zeros(len(sizes), np.int64)
    for a in range(shapes[0, 0] - 1):
        if a == i:
            continue
        rest[:] = -1
        end = shapes[0, 1] * shapes[0, 2]
        start = offsets[0]
        total = _price(flat[start + i * end + end - 1], not rises, own, ask, room, closed, price)
        total += _price(flat[start + a * end + end - 1], rises, own, ask, room, closed, price)
        for d in range(len(sizes)):
            if sizes[d] == 0 or total >= best:
                continue
            least = np.inf
            for c in range(sizes[d]):
                if fixed[d] >= 0 and c != fixed[d]:
                    continue
                cost = 0.0
                for u in range(len(offsets)):
                    for side in range(2):
                        if axes[u, side] != d:
                            continue
                        other = axes[u, 1 - side]
                        ends = (shapes[u, 1] - 1, shapes[u, 2] - 1)
                        for step in range(2):
                            if step == 1 and (other < 0 or rest[other] < 0):
                                continue
                            across = ends[1 - side] if step == 0 else rest[other]
                            place = (
                                c * shapes[u, 2] + across if side == 0
                                else across * shapes[u, 2] + c
                            )  # fmt: skip
                            block = shapes[u, 1] * shapes[u, 2]
                            for x in range(2):
                                at = offsets[u] + (i if x == 0 else a) * block + place
                                falls = rises == (x == 1)
                                cost += _price(flat[at], falls, own, ask, room, closed, price)
                    if cost >= least:
                        break
                if cost < least:
                    least = cost
                    rest[d] = c
            total += least
        if total < best:
            best = total
            out[0] = a
            out[1 : 1 + len(sizes)] = rest
            if best <= 0.0:
                return best
    return best
