"""Small changes of what is withheld that move a cell by 1, by linear programmes over few columns.

Where an equation has two withheld cells, one moves as the other does: such cells are one column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.desk.suppress.solver.undoing import Change
from discreet.solve.linear import LinearProgram
from discreet.types import Flags, Floats, Integers

# How far a cell moves at most where one moves by 1, and what makes the corners of programmes whole.
FAR, MULTIPLES = 2.0, (1, 2, 3, 4, 6)
# What a unit of change costs beside the one that is asked for.
TRIFLE = 1e-5
# Corners looked at, where they are not whole, before a change is given up.
TRIES = 4
# Changes that move as many cells as they can, before cells are looked at one by one.
CIRCULATIONS = 5
NEAR = 1e-6


class Steps:
    """The changes of some variables that keep the equations; `kept` are the variables.

    `rises` and `falls` say how far each can move.
    """

    def __init__(self, equations: Any, kept: Integers, rises: Floats, falls: Floats) -> None:
        self.kept, self.rises, self.falls = kept, rises, falls
        block = equations[:, kept].tocsr()
        self.block = block[np.diff(block.indptr) > 0]
        self.group, self.sign, rows = grouped(self.block)
        count = rows.shape[1]
        above, below = np.full(count, FAR), np.full(count, FAR)
        for sign, up, down in ((1, rises, falls), (-1, falls, rises)):
            there = self.sign == sign
            np.minimum.at(above, self.group[there], up[there])
            np.minimum.at(below, self.group[there], down[there])
        still = self.group[self.sign == 0]
        above[still] = below[still] = 0.0
        self.most = np.concatenate([above, below])
        self.rng = np.random.default_rng(len(kept))
        self.cost = np.tile(TRIFLE * np.bincount(self.group, minlength=count), 2)
        zero = np.zeros(rows.shape[0])
        both = sparse.hstack([rows, -rows], "csc")
        none = np.zeros(2 * count)
        self.programme = LinearProgram(both, zero, zero, none, self.most, self.cost)
        self.programme.keep_basis()

    def change(self, own: int, tries: int = TRIES) -> Change | None:
        """Return a small change, in whole numbers, that moves a variable, or None.

        `tries` corners are looked at.
        """
        at = int(np.searchsorted(self.kept, own))
        for _ in range(tries):
            for sense in (1.0, -1.0):
                part = self._run(at, sense)
                if abs(part[at]) >= 1 - NEAR:
                    moved = np.flatnonzero(np.abs(part) > NEAR)
                    factor = _whole(part[moved])
                    if factor is not None and self._possible(moved, factor):
                        return self.kept[moved], factor
            # Another corner next time.
            self._shake()
        return None

    def reaches(self, own: int) -> bool:
        """Return whether a variable moves by 1, one way, in real numbers."""
        at = int(np.searchsorted(self.kept, own))
        return any(abs(self._run(at, sense)[at]) >= 1 - NEAR for sense in (1.0, -1.0))

    def moved(self, own: Integers) -> Flags:
        """Return which variables move by 1 in a few changes, each of as many as it can."""
        at = np.searchsorted(self.kept, own)
        left = np.ones(len(own), bool)
        count = len(self.cost) // 2
        for _ in range(CIRCULATIONS):
            pull = np.bincount(
                self.group[at], left * self.sign[at] * self.rng.choice([-1.0, 1.0], len(at)), count
            )
            self.programme.set_costs(self.cost + np.concatenate([-pull, pull]))
            values = self.programme.run().values
            if len(values):
                part = (values[:count] - values[count:])[self.group[at]] * self.sign[at]
                left &= np.abs(part) < 1 - NEAR
            if not left.any():
                break
        self.programme.set_costs(self.cost)
        return ~left

    def _shake(self) -> None:
        count = len(self.cost) // 2
        self.cost = np.tile(self.cost[:count] * self.rng.uniform(0.7, 1.4, count), 2)
        self.programme.set_costs(self.cost)

    def _run(self, at: int, sense: float) -> Floats:
        """Return the change that moves a variable furthest, up to 1, at the least cost."""
        if self.sign[at] == 0:
            return np.zeros(len(self.kept))
        count, own = len(self.most) // 2, int(self.group[at])
        forth, back = (own, own + count) if sense * self.sign[at] > 0 else (own + count, own)
        self.programme.set_bounds(back, 0.0, 0.0)
        self.programme.set_bounds(forth, 0.0, min(1.0, float(self.most[forth])))
        self.programme.set_cost(forth, -1.0)
        values = self.programme.run().values
        self.programme.set_cost(forth, float(self.cost[forth]))
        for one in (forth, back):
            self.programme.set_bounds(one, 0.0, float(self.most[one]))
        if not len(values):
            return np.zeros(len(self.kept))
        return np.asarray((values[:count] - values[count:])[self.group] * self.sign)

    def _possible(self, moved: Integers, factor: Integers) -> bool:
        """Return whether a change keeps the equations and, one way, what cells can move."""
        if (self.block[:, moved].astype(np.int64) @ factor).any():
            return False
        low, high = self.falls[moved], self.rises[moved]
        return any((way <= high).all() and (-way <= low).all() for way in (factor, -factor))


def grouped(block: Any) -> tuple[Integers, Integers, Any]:
    """Return a column for each variable, its sense, and the equations between columns.

    Variables of a column move together, or against each other; one of sense 0 cannot move.
    """
    size = block.shape[1]
    group, sign = np.arange(size), np.ones(size, np.int64)
    rows = block.tocsr()
    while True:
        rows = rows[np.diff(rows.indptr) > 0]
        counts, start = np.diff(rows.indptr), rows.indptr[:-1]
        one = rows.indices[start[counts == 1]]
        two = start[counts == 2]
        two = two[np.abs(rows.data[two]) == np.abs(rows.data[two + 1])]
        if not len(one) and not len(two):
            return group, sign, rows
        label, sense = _merged(
            rows.shape[1], one, rows.indices[two], rows.indices[two + 1],
            rows.data[two] * rows.data[two + 1] > 0,
        )  # fmt: skip
        sign, group = sign * sense[group], label[group]
        count = int(label.max()) + 1
        columns = np.arange(len(label))
        into = sparse.csr_matrix((sense.astype(np.float64), (columns, label)), (len(label), count))
        rows = (rows @ into).tocsr()
        rows.eliminate_zeros()


def _merged(
    size: int, still: Integers, first: Integers, second: Integers, against: Any
) -> tuple[Integers, Integers]:
    """Return groups of columns that move together or against each other, and their senses.

    Each column stands twice, moving either way; who is found on both sides of a group is still.
    """
    mirrored = np.where(against, size + second, second)
    other = np.where(against, second, size + second)
    rows = np.concatenate([first, size + first, still])
    ends = np.concatenate([mirrored, other, size + still])
    links = sparse.coo_matrix((np.ones(len(rows)), (rows, ends)), (2 * size, 2 * size))
    _, part = connected_components(links, directed=False)
    ahead, behind = part[:size], part[size:]
    sense = np.where(ahead < behind, 1, np.where(ahead > behind, -1, 0))
    label = np.unique(np.minimum(ahead, behind), return_inverse=True)[1]
    return label.astype(np.int64), sense.astype(np.int64)


def _whole(part: Floats) -> Integers | None:
    """Return the smallest whole numbers in the same proportions, or None."""
    for multiple in MULTIPLES:
        whole = np.rint(part * multiple)
        if (np.abs(whole - part * multiple) <= 10 * NEAR).all():
            factor = whole.astype(np.int64)
            return np.asarray(factor // max(1, int(np.gcd.reduce(np.abs(factor)))))
    return None
