"""Tables behind equations: dimensions and codes, found from which cell is a sum of which others.

Nobody says in a list of cells and equations what the cells stand for. Where all margins are there,
it can be seen: what is no part of anything is a grand total, each of its equations is a dimension,
and a cell within a table is where the lines of its codes meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.table.hierarchy import Hierarchy
from discreet.types import Integers

# Empty cells may be left out of a list, but not most of them: tables are dense here.
MOST_EMPTY = 4
# The odds that two different equations share a sum of random 64-bit numbers are 2^-64 a pair.
_SEED = 20_020_716

Codes = frozenset[int]


@dataclass(frozen=True, eq=False)
class Laid:
    """A table that was found: its dimensions by number, their codes as trees, and its cells.

    `cells` has the number of each cell, in the shape of the codes; −1 where it is not in the list.
    """

    dimensions: tuple[int, ...]
    trees: tuple[Hierarchy, ...]
    cells: Integers


def laid_out(equations: Any) -> list[Laid] | None:
    """Return the tables whose equations are these, not one more nor less; None if there are none.

    Cells are the columns; every equation must be a total and its parts. Tables that share
    dimensions share their codes.
    """
    matrix = equations.tocsr()
    matrix.sort_indices()
    totals = _totals(matrix)
    if totals is None:
        return None
    found = _Found(matrix, totals)
    if not found.label():
        return None
    tables = found.tables()
    if tables is None or _keys_of(tables, matrix.shape[1]) != _keys(matrix, totals):
        return None
    return tables


def _totals(matrix: Any) -> Integers | None:
    """Return the total of each equation: the one cell with a sign of its own, the same in all."""
    if not matrix.shape[0] or (np.abs(matrix.data) != 1).any():
        return None
    lengths = np.diff(matrix.indptr)
    plus = np.add.reduceat(matrix.data > 0, matrix.indptr[:-1], dtype=np.int64)
    if lengths.min() < 2:
        return None
    for sign, number in ((-1, lengths - plus), (1, plus)):
        if (number == 1).all():
            return np.asarray(matrix.indices[matrix.data == sign], np.int64)
    return None


class _Found:
    """Codes by number, the dimension of each and the code it is part of; the codes of each cell."""

    def __init__(self, matrix: Any, totals: Integers) -> None:
        self.cells = matrix.shape[1]
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        part = matrix.indices != totals[row]
        order = np.argsort(matrix.indices[part], kind="stable")
        # The equations that each cell is a part of.
        self.rows = row[part][order]
        self.starts = np.searchsorted(matrix.indices[part][order], np.arange(self.cells + 1))
        self.matrix, self.totals = matrix, totals
        self.dimension: list[int] = []
        self.above: list[int] = []
        self.alone: list[int] = []  # the cell that has this code and no other
        self.codes: list[Codes | None] = [None] * self.cells
        self.number = 0

    def label(self) -> bool:
        """Give every cell its codes, totals before their parts; return whether that can be done."""
        own: dict[int, int] = {}
        left = np.diff(self.starts).tolist()
        ready = [cell for cell, above in enumerate(left) if not above]
        starts, rows, totals = self.starts.tolist(), self.rows.tolist(), self.totals.tolist()
        by_total: dict[int, list[int]] = {}
        for row, total in enumerate(totals):
            by_total.setdefault(total, []).append(row)
        ends, indices = self.matrix.indptr.tolist(), self.matrix.indices.tolist()
        done = 0
        while ready:
            cell = ready.pop()
            done += 1
            above = rows[starts[cell] : starts[cell + 1]]
            if not above:
                self.codes[cell] = frozenset()
            elif not self._take(cell, above, totals, own):
                return False
            for row in by_total.get(cell, ()):
                for one in indices[ends[row] : ends[row + 1]]:
                    if one == cell:
                        continue
                    left[one] -= 1
                    if not left[one]:
                        ready.append(one)
        return bool(done == self.cells)

    def _take(self, cell: int, above: list[int], totals: list[int], own: dict[int, int]) -> bool:
        """Give a cell the codes of its totals, or a new code."""
        if len(above) > 1:
            met: set[int] = set()
            for row in above:
                met |= self.codes[totals[row]] or frozenset()
            over = {self.above[code] for code in met}
            while over - {-1}:
                met -= over
                over = {self.above[code] for code in over if code >= 0}
            if len({self.dimension[code] for code in met}) < len(met):
                return False
            self.codes[cell] = frozenset(met)
            return True
        codes = self.codes[totals[above[0]]] or frozenset()
        if len(codes) > 1:
            return False
        for code in codes:
            self.dimension.append(self.dimension[code])
            self.above.append(code)
        if not codes:
            # Each equation of a grand total is a dimension.
            if above[0] not in own:
                own[above[0]] = self.number
                self.number += 1
            self.dimension.append(own[above[0]])
            self.above.append(-1)
        self.codes[cell] = frozenset([len(self.above) - 1])
        self.alone.append(cell)
        return True

    def _trees(self) -> tuple[Integers, list[Hierarchy]]:
        """Return the place of each code in its dimension, and the dimensions, the total last.

        In the order of the list: what is far apart in it comes first, as in tables line by line.
        """
        dimension, alone = np.array(self.dimension), np.array(self.alone)
        parts = []
        for d in range(self.number):
            mine = np.flatnonzero(dimension == d)
            parts.append(mine[np.argsort(alone[mine])])
        apart = [-np.median(np.diff(alone[mine])) if len(mine) > 1 else 0 for mine in parts]
        place, trees = np.zeros(len(dimension), np.int64), []
        for d, old in enumerate(np.argsort(apart, kind="stable").tolist()):
            mine = parts[old]
            place[mine], dimension[mine] = np.arange(len(mine)), d
            up = [self.above[code] for code in mine.tolist()]
            parents = [int(place[code]) if code >= 0 else len(mine) for code in up]
            trees.append(Hierarchy((*parents, -1)))
        self.dimension = dimension.tolist()
        return place, trees

    def tables(self) -> list[Laid] | None:
        """Return the largest tables with these codes, or None if two cells have the same."""
        place, trees = self._trees()
        kinds: dict[tuple[int, ...], list[int]] = {}
        where: list[list[int]] = []
        for cell, codes in enumerate(self.codes):
            assert codes is not None
            pairs = sorted((self.dimension[code], int(place[code])) for code in codes)
            kinds.setdefault(tuple(d for d, _ in pairs), []).append(cell)
            where.append([at for _, at in pairs])
        if len(kinds.get((), ())) != 1:
            return None  # several grand totals: what is below them cannot be told apart
        sets = {kind: set(kind) for kind in kinds}
        largest = [one for one in kinds if not any(sets[one] < other for other in sets.values())]
        there = sum(
            len(kinds[kind]) for one in largest for kind in kinds if sets[kind] <= sets[one]
        )
        if sum(prod(len(trees[d]) for d in one) for one in largest) > MOST_EMPTY * there:
            return None
        at = {kind: np.array([where[c] for c in cells]).T for kind, cells in kinds.items()}
        out = []
        for one in largest:
            array = np.full([len(trees[d]) for d in one], -1, np.int64)
            for kind, cells in kinds.items():
                if not sets[kind] <= sets[one]:
                    continue
                inside = dict(zip(kind, at[kind], strict=True))
                last = [np.full(len(cells), len(trees[d]) - 1) for d in one]
                index = tuple(inside.get(d, end) for d, end in zip(one, last, strict=True))
                array[index] = cells
                if (array[index] != cells).any():
                    return None
            out.append(Laid(one, tuple(trees[d] for d in one), array))
        return out


def _draws(cells: int) -> NDArray[np.int64]:
    """Return two random numbers for each cell, as a part and as a total; 0 for one left out."""
    draws = np.random.default_rng(_SEED).integers(-(2**63), 2**63 - 1, (2, cells + 1), np.int64)
    draws[:, -1] = 0
    return draws


def _keys(matrix: Any, totals: Integers) -> set[int]:
    """Return a number for each equation, whatever the order of its parts."""
    part, total = _draws(matrix.shape[1])
    sums = np.add.reduceat(part[matrix.indices], matrix.indptr[:-1])
    return set((sums - part[totals] + total[totals]).tolist())


def _keys_of(tables: list[Laid], cells: int) -> set[int]:
    """Return these numbers for the equations of tables; lines without any cell have none."""
    part, total = _draws(cells)
    found: set[int] = set()
    for table in tables:
        for axis, tree in enumerate(table.trees):
            across = np.moveaxis(table.cells, axis, 0).reshape(len(tree), -1)
            for parent, children in tree.families:
                sums = part[across[children]].sum(axis=0) + total[across[parent]]
                empty = (across[children] < 0).all(axis=0) & (across[parent] < 0)
                found |= set(sums[~empty].tolist())
    return found
