"""The kernel that looks for combinations of codes whose cells, in all tables, have room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit

# What a cell adds to the worth of a combination: 1 where it lacks no more than is brought, less by
# this power where it lacks more, and less than nothing where it lacks nothing and has little room.
POWER, TIGHT = 3.0, 0.5


@njit(cache=True, nogil=True)
def _worth(
    codes: NDArray[np.int64],
    amount: float,
    asked: NDArray[np.int64],
    dimensions: NDArray[np.int64],
    strides: NDArray[np.int64],
    starts: NDArray[np.int64],
    cells: NDArray[np.int64],
    room: NDArray[np.float64],
    lack: NDArray[np.float64],
) -> float:
    """Return what the cells of those asked tables add that have all codes; −∞ without room."""
    worth = 0.0
    for t in asked:
        if t < 0:
            break
        at = starts[t]
        for k in range(dimensions.shape[1]):
            d = dimensions[t, k]
            if d < 0:
                break
            if codes[d] < 0:
                at = -1
                break
            at += codes[d] * strides[t, k]
        if at < 0:
            continue
        cell = cells[at]
        if room[cell] < amount:
            return -np.inf
        if lack[cell] > 0:
            worth += min(1.0, amount / lack[cell]) ** POWER
        else:
            worth -= TIGHT * amount / room[cell]
    return worth


@njit(cache=True, nogil=True)
def best_codes(
    codes: NDArray[np.int64],
    amount: float,
    leaves: NDArray[np.int64],
    order: NDArray[np.int64],
    held: NDArray[np.int64],
    dimensions: NDArray[np.int64],
    strides: NDArray[np.int64],
    starts: NDArray[np.int64],
    cells: NDArray[np.int64],
    room: NDArray[np.float64],
    lack: NDArray[np.float64],
    width: int,
) -> float:
    """Fill the codes that are −1 so that each cell has room for the amount; return their worth.

    Dimensions go in `order`; `leaves[d]` are the inner codes of one and `held[d]` the tables with
    it, both filled up with −1. Table t has the dimensions `dimensions[t]`, and its cell of given
    codes is cells[starts[t] + codes · strides[t]]. After each dimension the `width` best
    combinations go on. −∞: none was found.
    """
    size = codes.size
    now, then = np.empty((width, size), np.int64), np.empty((width, size), np.int64)
    worth, next_worth = np.zeros(width), np.zeros(width)
    now[0] = codes
    many = 1
    for d in order:
        if codes[d] >= 0:
            continue
        kept, worst = 0, 0
        for b in range(many):
            for code in leaves[d]:
                if code < 0:
                    break
                now[b, d] = code
                found = worth[b] + _worth(
                    now[b], amount, held[d], dimensions, strides, starts, cells, room, lack
                )
                if found == -np.inf or (kept == width and found <= next_worth[worst]):
                    continue
                place = worst
                if kept < width:
                    place = kept
                    kept += 1
                then[place] = now[b]
                next_worth[place] = found
                if kept == width:
                    worst = int(np.argmin(next_worth))
            now[b, d] = -1
        if kept == 0:
            return -np.inf
        now, then = then, now
        worth, next_worth = next_worth, worth
        many = kept
    best = np.argmax(worth[:many])
    codes[:] = now[best]
    return worth[best]


@njit(cache=True, nogil=True)
def take_carriers(
    wanted: NDArray[np.int64],
    given: NDArray[np.int64],
    leaves: NDArray[np.int64],
    order: NDArray[np.int64],
    held: NDArray[np.int64],
    dimensions: NDArray[np.int64],
    strides: NDArray[np.int64],
    starts: NDArray[np.int64],
    cells: NDArray[np.int64],
    room: NDArray[np.float64],
    lack: NDArray[np.float64],
    width: int,
    least: float,
    nothing: float,
    codes: NDArray[np.int64],
    amounts: NDArray[np.float64],
) -> int:
    """Find carriers for the cells wanted, in turn; return how many.

    `given[k]` are the codes of cell wanted[k], −1 where it is in no table with the dimension. A
    carrier brings what the cell lacks, as far as it has room; one of at least this worth takes that
    from room and lack of all its cells.
    """
    many = 0
    for k in range(wanted.size):
        amount = min(lack[wanted[k]], room[wanted[k]])
        if amount <= nothing or many == amounts.size:
            continue
        found = given[k].copy()
        worth = best_codes(
            found, amount, leaves, order, held, dimensions, strides, starts, cells, room, lack,
            width,
        )  # fmt: skip
        # Where no combination has room some codes are open still, however little is asked.
        if worth == -np.inf or worth < least:
            continue
        for t in range(starts.size):
            at = starts[t]
            for d in range(dimensions.shape[1]):
                if dimensions[t, d] >= 0:
                    at += found[dimensions[t, d]] * strides[t, d]
            room[cells[at]] -= amount
            lack[cells[at]] -= amount
        codes[many] = found
        amounts[many] = amount
        many += 1
    return many
