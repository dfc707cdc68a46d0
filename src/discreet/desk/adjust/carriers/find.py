"""Combinations of codes, in all dimensions of linked tables, that can carry what cells need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.desk.adjust.carriers import kernels
from discreet.solve.layout import Laid
from discreet.types import Floats, Integers

# Combinations that go on after each dimension. More find hardly more.
WIDTH = 20
# The worth that a carrier must have, as a share of the tables: the surest are taken first. A record
# that is alone in a cell leaves its own value there, and so in several tables the same value.
SHARES = (0.2, 0.1, 0.05, 0.0)
# How far a carrier may change, as a share of its value, and how many times what a cell needs its
# carriers are to have in reach.
REACH, NEEDS = 0.3, 2.0
# Rounds of looking for what cells still lack, each with more combinations.
WIDTHS = (20, 100, 400)
# A carrier for each inner cell would be many times too many.
MOST = 4
# Carriers through a cell that was left short.
AGAIN = 4
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Carriers:
    """Combinations of codes by dimension, the value of each, and how far it may change.

    No cell of any table has carriers that together may change by more than its room.
    """

    codes: Integers
    values: Floats
    most: Floats

    def joined(self, codes: Integers, amounts: Floats) -> Carriers:
        """Return these carriers, and others that may change by these amounts."""
        return Carriers(
            np.concatenate([self.codes, codes]),
            np.concatenate([self.values, amounts / REACH]),
            np.concatenate([self.most, amounts]),
        )


def carriers_of(
    tables: Sequence[Laid], values: Floats, room: Floats, need: Floats, whole: bool = False
) -> Carriers:
    """Return carriers for the cells of tables, which may change by `room` and must by `need`.

    If these are `whole` numbers, so is how far carriers may change.

    Notes
    -----
    First values are shared out as records might have made them: from the smallest cell on, a
    combination of codes through it whose cells hold as much, and most of them no more. Carriers may
    change by a share of that. Then further ones are looked for where cells lack what they need, in
    the room that is left. Zeros: have no room.
    """
    search = Search(tables, len(values))
    rest = np.append(np.minimum(values, room), 0.0)
    lack, inner = rest.copy(), search.inner
    nothing = NOTHING * float(rest.max(initial=1.0))
    for share in SHARES:
        wanted = inner[np.argsort(lack[inner], kind="stable")]
        search.take(wanted, rest, lack, WIDTH, share * len(tables), nothing)
    codes, own = search.found()
    # Small carriers would not move at all if this were rounded down.
    most = np.ceil(REACH * own) if whole else REACH * own
    left = np.append(room, 0.0) - search.covered(codes, most)
    lack = np.zeros(len(left))
    lack[inner] = NEEDS * need[inner]
    lack = np.where(lack > 0, lack - search.covered(codes, most), 0.0)
    search.clear()
    for width in WIDTHS:
        wanted = inner[np.argsort(-lack[inner], kind="stable")]
        search.take(wanted, left, lack, width, -np.inf, nothing)
    return Carriers(codes, own, most).joined(*search.found())


def further(tables: Sequence[Laid], carriers: Carriers, room: Floats, need: Floats) -> Carriers:
    """Return the carriers and more, in the room that is left, through cells that need these."""
    search = Search(tables, len(need))
    left = np.append(room, 0.0) - search.covered(carriers.codes, carriers.most)
    wanted = np.flatnonzero((need > 0) & search.known)
    for _ in range(AGAIN):
        lack = np.append(need, 0.0)
        search.take(wanted, left, lack, WIDTH, -np.inf, NOTHING * float(room.max(initial=1.0)))
    return carriers.joined(*search.found())


class Search:
    """Tables as arrays: where the cell of given codes is, and the codes of each inner cell."""

    def __init__(self, tables: Sequence[Laid], cells: int) -> None:
        number = 1 + max(max(one.dimensions) for one in tables)
        widest = max(len(one.dimensions) for one in tables)
        self.dimensions = np.full((len(tables), widest), -1, np.int64)
        self.strides = np.zeros((len(tables), widest), np.int64)
        held: list[list[int]] = [[] for _ in range(number)]
        leaves: list[list[int]] = [[] for _ in range(number)]
        # One more cell stands for all that are not in the list: it has no room.
        self.cells = np.concatenate(
            [np.where(one.cells < 0, cells, one.cells).reshape(-1) for one in tables]
        )
        self.starts = np.cumsum([0, *(one.cells.size for one in tables[:-1])])
        self.given = np.full((cells, number), -1, np.int64)
        inner, known = np.zeros(cells + 1, bool), np.zeros(cells + 1, bool)
        for t, one in enumerate(tables):
            many = len(one.dimensions)
            self.dimensions[t, :many] = one.dimensions
            self.strides[t, :many] = np.array(one.cells.strides) // one.cells.itemsize
            at = np.indices(one.cells.shape).reshape(many, -1)
            leaf, total = np.zeros((2, *at.shape), bool)
            for k, (d, tree) in enumerate(zip(one.dimensions, one.trees, strict=True)):
                held[d].append(t)
                leaves[d] = tree.leaves.tolist()
                leaf[k] = np.isin(at[k], tree.leaves)
                total[k] = np.array(tree.parents)[at[k]] < 0
            mine = self.cells[self.starts[t] : self.starts[t] + one.cells.size]
            inner[mine[leaf.all(axis=0)]] = True
            # Sums by dimensions, not those within one, can be given carriers too.
            there = (leaf | total).all(axis=0) & (mine < cells)
            known[mine[there]] = True
            self.given[mine[there][:, None], list(one.dimensions)] = np.where(leaf, at, -1).T[there]
        self.inner, self.known = np.flatnonzero(inner[:-1]), known[:-1]
        self.held, self.leaves = _filled(held), _filled(leaves)
        # What is in the most tables is decided first: there most is known of it.
        self.order = np.argsort([-len(one) for one in held], kind="stable")
        self.clear()

    def clear(self) -> None:
        """Forget what was found."""
        self.parts: list[tuple[Integers, Floats]] = []

    def take(
        self, wanted: Integers, room: Floats, lack: Floats, width: int, least: float, nothing: float
    ) -> None:
        """Find carriers for what these cells lack, and take that from room and lack."""
        wanted = wanted[lack[wanted] > nothing]
        codes = np.empty((MOST * len(wanted), self.given.shape[1]), np.int64)
        amounts = np.empty(len(codes))
        many = kernels.take_carriers(
            wanted, self.given[wanted], self.leaves, self.order, self.held, self.dimensions,
            self.strides, self.starts, self.cells, room, lack, width, least, nothing, codes,
            amounts,
        )  # fmt: skip
        self.parts.append((codes[:many].copy(), amounts[:many].copy()))

    def through(self, cell: int, amount: float, room: Floats, width: int) -> Integers | None:
        """Return the codes of a carrier through a cell all of whose cells have room, or None."""
        codes = self.given[cell].copy()
        worth = kernels.best_codes(
            codes, amount, self.leaves, self.order, self.held, self.dimensions, self.strides,
            self.starts, self.cells, np.append(room, 0.0), np.zeros(len(room) + 1), width,
        )  # fmt: skip
        return None if worth == -np.inf else codes

    def found(self) -> tuple[Integers, Floats]:
        """Return the codes and amounts of all that was found."""
        codes, amounts = zip(*self.parts, strict=True)
        return np.concatenate(codes), np.concatenate(amounts)

    def covered(self, codes: Integers, amounts: Floats) -> Floats:
        """Return the sum of amounts in every inner cell, and 0 for what is not in the list."""
        sums = np.zeros(len(self.given) + 1)
        for start, dimensions, strides in zip(
            self.starts, self.dimensions, self.strides, strict=True
        ):
            kept = dimensions >= 0
            at = start + codes[:, dimensions[kept]] @ strides[kept]
            np.add.at(sums, self.cells[at], amounts)
        return sums


def _filled(lists: list[list[int]]) -> NDArray[np.int64]:
    """Return lists as rows of one array, filled up with −1."""
    out: Any = np.full((len(lists), max(map(len, lists)) + 1), -1, np.int64)
    for row, one in zip(out, lists, strict=True):
        row[: len(one)] = one
    return np.asarray(out)
