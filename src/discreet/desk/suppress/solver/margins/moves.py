"""Changes of linked tables: cubes of up to three dimensions, in all the tables that have them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np

from discreet.desk.suppress.solver.margins import kernels
from discreet.types import Flags, Floats, Integers

# Cells of each table from which codes of all dimensions are filled up.
STARTS = 3
# Codes tried where the largest lead nowhere.
TRIES = 300

Cell = dict[int, int]
"""The code of a cell in each of its dimensions that is not a total."""

Move = tuple[Integers, Integers]
"""Variables, and the way each of them goes: 1 or −1."""


class Moves:
    """The tables by their dimensions, as arrays of variables, every axis with its total last."""

    def __init__(self, dimensions: Sequence[tuple[int, ...]], index: Sequence[Integers]) -> None:
        self.tables = {
            tuple(sorted(table)): np.ascontiguousarray(array.transpose(np.argsort(table)))
            for table, array in zip(dimensions, index, strict=True)
        }
        self.number = 1 + max(d for table in dimensions for d in table)
        self.pairs: dict[tuple[int, int], tuple[list[int], Integers, Integers, Integers]] = {}
        self.singles: dict[int, tuple[Integers, Integers, Integers, Integers, Integers]] = {}
        self.sizes = np.zeros(self.number, np.int64)
        for table, array in self.tables.items():
            for axis, d in enumerate(table):
                self.sizes[d] = array.shape[axis] - 1

    def cheapest(
        self,
        cell: Cell,
        own: int,
        rises: bool,
        ask: float,
        limits: tuple[Floats, Flags, Floats],
    ) -> Move | None:
        """Return a cheap change that moves a cell up or down by `ask`; None if there is none.

        `limits` are how far variables can fall and rise, which do not change, and what they cost.
        All of the cell's dimensions are changed if that can be; fewer, if not.
        """
        for size in range(len(cell), 0, -1):
            best, found = np.inf, None
            for chosen in combinations(sorted(cell), size):
                cost, move = self._along(chosen, cell, own, rises, ask, limits, best)
                if move is not None:
                    best, found = cost, move
            if found is not None:
                return found
        return None

    def exchange(
        self,
        cell: Cell,
        own: int,
        rises: bool,
        ask: float,
        limits: tuple[Floats, Flags, Floats],
    ) -> Move | None:
        """Return a change that adds to the cell, in all tables, and takes as much off elsewhere.

        A code of every dimension, and so a cell of every table: those of the cell, filled up, and
        others. It takes many cells, but goes far: large contributions make large cells wherever
        they are. What both have in common stays.
        """
        (room, above), closed, _ = limits
        open_cells = np.where(closed, -np.inf, room)
        free = np.where((open_cells >= 0) & (above >= ask), open_cells, -np.inf)
        enough = np.where(open_cells >= ask, open_cells, -np.inf)
        mine, theirs = (free, enough) if rises else (enough, free)
        mine = mine.copy()
        mine[own] = np.inf
        codes = self._filled(cell, mine) or self._led(cell, mine, [TRIES])
        if codes is None:
            return None
        path = self._path(codes)
        for start in self._largest(theirs):
            others = self._filled(start, theirs)
            if others is None:
                continue
            other = self._path(others)
            if own in other:
                continue
            sign = 1 if rises else -1
            signs = dict.fromkeys(path - other, sign) | dict.fromkeys(other - path, -sign)
            return np.array(list(signs), np.int64), np.array(list(signs.values()), np.int64)
        return None

    def _filled(self, cell: Cell, score: Floats) -> Cell | None:
        """Return a code of every dimension, such that the least score of its cells is large."""
        codes = dict(cell)
        for d in range(self.number):
            if d not in codes and self.sizes[d]:
                codes[d] = int(np.argmax(self._least(d, codes, score)))
        least = min(score[variable] for variable in self._path(codes))
        return codes if least > -np.inf else None

    def _led(self, codes: Cell, score: Floats, tries: list[int]) -> Cell | None:
        """Return the same by trial and error: the dimension with the fewest codes left is next.

        Who contributes to the cell has a code of every dimension. In small cells there are few
        others, and the largest cells may not be theirs.
        """
        left = [d for d in range(self.number) if d not in codes and self.sizes[d]]
        if not left:
            return codes if min(score[one] for one in self._path(codes)) > -np.inf else None
        scores = {d: self._least(d, codes, score) for d in left}
        d = min(left, key=lambda one: int((scores[one] > -np.inf).sum()))
        for code in np.argsort(-scores[d], kind="stable").tolist():
            if scores[d][code] == -np.inf or tries[0] <= 0:
                return None
            tries[0] -= 1
            found = self._led({**codes, d: code}, score, tries)
            if found is not None:
                return found
        return None

    def _least(self, d: int, codes: Cell, score: Floats) -> Floats:
        """Return for each code of a dimension the least score of its cells with other codes."""
        least = np.full(self.sizes[d], np.inf)
        for table, array in self.tables.items():
            if d in table:
                at = [slice(0, -1) if one == d else codes.get(one, -1) for one in table]
                least = np.minimum(least, score[array[tuple(at)]])
        return least

    def _path(self, codes: Cell) -> set[int]:
        """Return the variables of all cells of all tables that have these codes, or totals."""
        return {
            int(array[at])
            for table, array in self.tables.items()
            for at in product(*((codes[d], -1) for d in table))
        }

    def _largest(self, score: Floats) -> list[Cell]:
        """Return the cells of each table with the largest scores, the largest of all first."""
        found = []
        for table, array in self.tables.items():
            inner = score[array[tuple(slice(0, -1) for _ in table)]]
            for place in np.argsort(-inner, axis=None, kind="stable")[:STARTS].tolist():
                at = np.unravel_index(place, inner.shape)
                codes = {d: int(code) for d, code in zip(table, at, strict=True)}
                found.append((float(inner[at]), codes))
        found.sort(key=lambda one: -one[0])
        return [codes for size, codes in found if size > -np.inf]

    def near(self, cell: Cell, codes: int, values: Floats) -> Flags:
        """Return the variables of a cell's codes and so many others of each dimension.

        Those with the largest values beside the cell, and then those with the largest in all.
        """
        chosen = []
        for d in range(self.number):
            score = np.zeros(self.sizes[d])
            others = {one: code for one, code in cell.items() if one != d}
            for line, weight in ((others, 1.0), ({}, 1e-6)):
                score += weight * values[self._line(d, line)]
            if d in cell:
                score[cell[d]] = np.inf
            first = np.argsort(-score, kind="stable")[: codes + 1]
            chosen.append(np.append(first, self.sizes[d]))
        found = np.zeros(len(values), bool)
        for table, array in self.tables.items():
            found[array[np.ix_(*(chosen[d] for d in table))]] = True
        return found

    def _line(self, d: int, others: Cell) -> Integers:
        """Return the variables along a dimension, with these codes if a table has them all."""
        kept = others if any({d, *others} <= set(table) for table in self.tables) else {}
        table = next(table for table in self.tables if {d, *kept} <= set(table))
        array = self.tables[table]
        at = [slice(0, -1) if one == d else kept.get(one, -1) for one in table]
        return array[tuple(at)]

    def _along(
        self,
        chosen: tuple[int, ...],
        cell: Cell,
        own: int,
        rises: bool,
        ask: float,
        limits: tuple[Floats, Flags, Floats],
        most: float,
    ) -> tuple[float, Move | None]:
        """Return cost and change along these dimensions, where it costs less than `most`."""
        out = np.zeros(2 + 2 * self.number + len(self.tables), np.int64)
        rest: Cell = {}
        if len(chosen) == 3:
            codes = [cell[d] for d in chosen]
            cost = kernels.cube(self.tables[chosen], *codes, rises, ask, *limits, most, out)
        elif len(chosen) == 2:
            thirds, flat, offsets, shapes = self._pair(chosen)
            fixed = np.array([cell.get(d, -1) for d in thirds], np.int64)
            codes = [cell[d] for d in chosen]
            cost = kernels.pair(
                flat, offsets, shapes, *codes, fixed, own, rises, ask, *limits, most, out
            )
            rest = {d: int(c) for d, c in zip(thirds, out[2:], strict=False) if d >= 0}
        else:
            flat, offsets, shapes, axes, sizes = self._single(chosen[0])
            held = [cell.get(d, -1) if d != chosen[0] else -1 for d in range(self.number)]
            fixed = np.array(held, np.int64)
            cost = kernels.single(
                flat, offsets, shapes, axes, sizes, cell[chosen[0]], fixed, own, rises, ask,
                *limits, most, out,
            )  # fmt: skip
            rest = {d: int(c) for d, c in enumerate(out[1 : 1 + self.number]) if sizes[d]}
        if not cost < most:
            return most, None
        others = {d: int(out[k]) for k, d in enumerate(chosen)}
        return cost, self._spread({d: (cell[d], others[d]) for d in chosen}, rest, rises)

    def _spread(self, moved: dict[int, tuple[int, int]], rest: Cell, rises: bool) -> Move:
        """Return the variables of a change in all tables that have its dimensions."""
        signs: dict[int, int] = {}
        for table, array in self.tables.items():
            if not moved.keys() <= set(table):
                continue
            ways = []
            for axis, d in enumerate(table):
                total = array.shape[axis] - 1
                if d in moved:
                    ways.append([(moved[d][0], 1), (moved[d][1], -1)])
                else:
                    ways.append([(rest[d], 1), (total, 1)])
            for vertex in product(*ways):
                sign = 1 if rises else -1
                for _, one in vertex:
                    sign *= one
                signs[int(array[tuple(code for code, _ in vertex)])] = sign
        return np.array(list(signs), np.int64), np.array(list(signs.values()), np.int64)

    def _pair(self, chosen: tuple[int, ...]) -> tuple[list[int], Integers, Integers, Integers]:
        """Return third dimensions (−1: none), arrays, offsets and shapes of tables with two."""
        key = (chosen[0], chosen[1])
        if key not in self.pairs:
            found = [table for table in self.tables if set(key) <= set(table)]
            thirds = [next((d for d in table if d not in key), -1) for table in found]
            self.pairs[key] = (thirds, *self._flat(found, [key] * len(found)))
        return self.pairs[key]

    def _single(self, d: int) -> tuple[Integers, Integers, Integers, Integers, Integers]:
        """Return arrays, offsets, shapes and other dimensions of the tables with one."""
        if d not in self.singles:
            found = [table for table in self.tables if d in table]
            axes = [([x for x in table if x != d] + [-1, -1])[:2] for table in found]
            sizes = np.zeros(self.number, np.int64)
            for one in {x for pair in axes for x in pair if x >= 0}:
                sizes[one] = self.sizes[one]
            self.singles[d] = (
                *self._flat(found, [(d,)] * len(found)),
                np.array(axes, np.int64),
                sizes,
            )
        return self.singles[d]

    def _flat(
        self, tables: list[tuple[int, ...]], firsts: Sequence[tuple[int, ...]]
    ) -> tuple[Integers, Integers, Integers]:
        """Return tables one after another, with these axes first, each of three axes."""
        parts, shapes = [], []
        for table, first in zip(tables, firsts, strict=True):
            order = [table.index(d) for d in first]
            order += [axis for axis in range(len(table)) if axis not in order]
            array = self.tables[table].transpose(order)
            shapes.append((*array.shape, 1, 1)[:3])
            parts.append(np.ascontiguousarray(array).reshape(-1))
        sizes = [len(part) for part in parts]
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        return np.concatenate(parts), offsets, np.array(shapes, np.int64)
