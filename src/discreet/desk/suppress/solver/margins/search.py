"""A certificate for each need of many linked tables, and how many of them use each variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from scipy import sparse

from discreet.compiling import announced
from discreet.desk.suppress.solver.check import prove
from discreet.desk.suppress.solver.margins import kernels
from discreet.desk.suppress.solver.margins.moves import Cell, Move, Moves
from discreet.desk.suppress.solver.problem import Needs, Pattern, Problem
from discreet.desk.suppress.solver.programmes import Asked, Programmes
from discreet.desk.suppress.solver.undoing import Change, Views
from discreet.errors import InternalError
from discreet.progress import Tell
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy
from discreet.types import Integers

# Below so many needs × variables linear programmes are fast enough, and find cheaper patterns.
LEAST = 20_000_000
MOST_AXES = 3
# A change of a magnitude is a sum of cubes, in such parts of what is asked, none smaller than one
# in so many.
PARTS, SMALLEST = 1024, 256
PASSES = 2
# Codes of each dimension that a linear programme looks at, in turn.
CODES = (4, 8, 16)
NEAR = 1e-9


def fits(tables: Sequence[Sequence[Hierarchy]], variables: int, primary: int) -> bool:
    """Return whether tables are flat, of few dimensions, and too many for linear programmes."""
    flat = all(
        set(tree.parents) == {-1, tree.parents.index(-1)} and len(table) <= MOST_AXES
        for table in tables
        for tree in table
    )
    return flat and len(tables) > 1 and 2 * primary * variables > LEAST


def suppress_margins(
    system: TableSystem,
    problem: Problem,
    tables: Sequence[Sequence[tuple[str, Hierarchy]]],
    effort: float = 1.0,
    tell: Tell | None = None,
) -> Pattern:
    """Return a pattern of linked tables, proved safe by certificates. Statuses as of `suppress`.

    `tables` names the dimensions of each, in the order of its axes.
    """
    return suppress_arrays(system, problem, *_laid_out(system, tables), effort, tell)


def suppress_arrays(
    system: TableSystem,
    problem: Problem,
    dimensions: Sequence[tuple[int, ...]],
    index: Sequence[Integers],
    effort: float = 1.0,
    tell: Tell | None = None,
) -> Pattern:
    """Return the same for tables that are arrays of variables, every axis with its total last.

    `dimensions` numbers the axes of each: those with the same number have the same codes.
    """
    search = Search(system, problem, dimensions, index, tell)
    bare = 0
    for watched in (False, True) if problem.watched else (False,):
        failed = search.run(watched, max(1, round(effort * PASSES)))
        if failed >= 0:
            marks = problem.marks(np.zeros(problem.values.size, bool))
            return Pattern(
                Status.INFEASIBLE, marks, np.inf, failed=(failed,), bare=bare if watched else None
            )
        if not watched:
            bare = search.secondary()
    pattern = search.pattern(bare)
    if not prove(system, problem, pattern).safe:
        raise InternalError("a pattern did not pass its audit; nothing is returned.")
    return pattern


class Search:
    """Certificates of every need, and how many of them use each variable."""

    def __init__(
        self,
        system: TableSystem,
        problem: Problem,
        dimensions: Sequence[tuple[int, ...]],
        index: Sequence[Integers],
        tell: Tell | None = None,
    ) -> None:
        self.system, self.problem, self.tell = system, problem, tell
        self.needs = Needs.of(problem)
        self.views = Views(problem, self.needs, tell)
        size = system.variables
        self.cost = np.bincount(
            system.variable, np.where(np.isinf(problem.cost), 0.0, problem.cost), size
        ).astype(np.float64)
        self.closed = np.zeros(size, bool)
        self.closed[system.variable[np.isinf(problem.cost)]] = True
        # How far each can fall, and how far it can rise.
        self.room = np.full((2, size), np.inf)
        np.minimum.at(self.room[0], system.variable, problem.values - problem.low)
        np.minimum.at(self.room[1], system.variable, problem.high - problem.values)
        self.price = self.cost.copy()
        self.used = np.zeros(size, np.int64)
        self.changes: list[list[Change]] = [[] for _ in range(len(self.needs))]
        order = np.argsort(system.variable, kind="stable")
        self.cells = order
        self.starts = np.searchsorted(system.variable[order], np.arange(size + 1))
        self.moves, self.where = Moves(dimensions, index), _Where(dimensions, index, size)
        self.programmes: Programmes | None = None

    def run(self, watched: bool, passes: int) -> int:
        """Give every need what it asks; return a cell without protection, or −1."""
        for kernel in (kernels.cube, kernels.pair, kernels.single):
            announced(kernel, self.tell)
        asked = np.maximum.reduce([self.needs.rise, self.needs.fall, self.needs.width])
        order = np.lexsort((self.needs.cell, -asked)).tolist()
        for turn in range(passes):
            for done, need in enumerate(order):
                if self.tell is not None and done % 64 == 0:
                    self.tell("cells", turn * len(order) + done, passes * len(order))
                if not self._renew(need, watched):
                    return int(self.needs.cell[need])
        return -1

    def secondary(self) -> int:
        """Return how many cells are withheld for others' sake."""
        return int((self.problem.cost[self.used[self.system.variable] > 0] > 0).sum())

    def pattern(self, bare: int) -> Pattern:
        """Return what is withheld, with the certificates."""
        rows = [(need, change) for need, all_ in enumerate(self.changes) for change in all_]
        none = [np.zeros(0, np.int64)]
        certificates = sparse.csr_matrix(
            (
                np.concatenate([factors for _, (_, factors) in rows] or none),
                np.concatenate([cells for _, (cells, _) in rows] or none),
                np.cumsum([0, *(len(cells) for _, (cells, _) in rows)]),
            ),
            shape=(len(rows), self.problem.values.size),
        )
        marks = self.problem.marks(self.used[self.system.variable] > 0)
        solved = self.problem.total(marks) <= 0
        return Pattern(
            Status.SOLVED if solved else Status.FEASIBLE,
            marks,
            0.0 if solved else np.inf,
            certificates,
            np.array([need for need, _ in rows], np.int64),
            bare=bare,
        )

    def _renew(self, need: int, watched: bool) -> bool:
        """Find the certificates of a need anew, and keep the cheaper ones; return if it has any."""
        before = self.changes[need]
        enough = before and not (watched and self._undone(need, before))
        spent = self._take(need)
        if enough and spent <= 0:
            self._put(need, before)
            return True
        found = self._answered(need) if watched else self._first(need)
        if found is None:
            if enough:
                self._put(need, before)
            return bool(enough)
        if self._put(need, found) > spent and enough:
            self._take(need)
            self._put(need, before)
        return True

    def _first(self, need: int) -> list[Change] | None:
        """Return one certificate that holds against anybody who reads the tables."""
        asked = (self.needs.rise[need], self.needs.fall[need], self.needs.width[need])
        one = self._certificate(need, (float(asked[0]), float(asked[1]), float(asked[2])))
        return None if one is None else [one]

    def _answered(self, need: int) -> list[Change] | None:
        """Return certificates such that nobody undoes all of them.

        Those who undo the first are answered by one more, or, where there is none, in parts.
        """
        found = self._first(need)
        if found is None:
            return None
        left = self._undone(need, found)
        whom = [sorted(left)] if left else []
        while whom:
            group = whom.pop()
            asked = [self.needs.against(need, self.problem.insiders, who) for who in group]
            # What is asked against the one against whom the most is.
            most = max(asked, key=max)
            change = self._certificate(need, most, group) if max(most) > 0 else None
            if change is not None:
                found = [*found, change]
            elif len(group) > 1:
                whom += [group[: len(group) // 2], group[len(group) // 2 :]]
            elif max(most) > 0:
                return None
        return found

    def _undone(self, need: int, changes: Iterable[Change]) -> set[int]:
        """Return those who undo all of some certificates."""
        left: set[int] | None = None
        for change in changes:
            undone = self.views.undone(change, need)
            left = undone if left is None else left & undone
            if not left:
                break
        return left or set()

    @contextmanager
    def _known(self, whom: Iterable[int], need: int) -> Iterator[None]:
        """Hold variables to what any of these contributors know of them."""
        insiders, own = self.problem.insiders, self.system.variable[self.needs.cell[need]]
        rows = np.concatenate([np.zeros(0, np.int64), *(insiders.rows_of(who) for who in whom)])
        variable = self.system.variable[insiders.cell[rows]]
        room = self.room[0, variable].copy()
        closed = self.closed[variable].copy()
        np.minimum.at(self.room[0], variable, np.maximum(insiders.room[rows], 0.0))
        self.closed[variable[insiders.room[rows] < 0]] = True
        if self.needs.width[need] <= 0:
            # What contributors have in the cell itself is in what is asked against them.
            self.closed[own] = False
        try:
            yield
        finally:
            self.room[0, variable], self.closed[variable] = room, closed

    def _certificate(self, need: int, asked: Asked, whom: Sequence[int] = ()) -> Change | None:
        """Return a change that moves the cell of a need as asked, for all that these know.

        Cubes first; then what is added in all tables and taken off elsewhere; and a linear
        programme over some codes of each dimension.
        """
        rise, fall, width = asked
        ways = [(True, rise)] if rise > 0 else [(False, fall)]
        if width > 0:
            ways = [(True, width), (False, width)]
        with self._known(whom, need):
            for find in (self.moves.cheapest, self.moves.exchange):
                for rises, amount in ways:
                    change = self._sum(need, rises, amount, find)
                    if change is not None:
                        return change
        if len(whom) > 1:
            return None  # they are answered in parts
        if self.programmes is None:
            self.programmes = Programmes(self.system, self.problem, self.needs)
            self.programmes.insist = self.problem.whole
        used, rooms = self.used[self.system.variable] > 0, self.problem.insiders.rooms(whom)
        cell = self.where(int(self.system.variable[self.needs.cell[need]]))
        for codes in CODES:
            near = self.moves.near(cell, codes, self.room[0])[self.system.variable]
            held = np.where(near, rooms, -1.0)
            change = self.programmes.certificate(need, used, held, asked=asked)
            if change is not None:
                return change
        return None

    def _sum(
        self, need: int, rises: bool, amount: float, find: Callable[..., Move | None]
    ) -> Change | None:
        """Return changes that together move the cell by an amount, each as far as it can."""
        own = int(self.system.variable[self.needs.cell[need]])
        cell = self.where(own)
        if not cell or self.room[int(rises), own] < amount * (1 - NEAR):
            return None
        parts = int(np.ceil(amount)) if self.problem.whole else PARTS
        unit = 1.0 if self.problem.whole else amount / PARTS
        left, ask = parts, parts
        total: dict[int, int] = {}
        gone: list[tuple[int, Integers, float]] = []
        try:
            while left and ask:
                limits = (self.room, self.closed, self.price)
                move = find(cell, own, rises, ask * unit, limits)
                if move is None:
                    ask = ask // 2 if ask // 2 * SMALLEST >= parts else 0
                    continue
                for variable, sign in zip(*(side.tolist() for side in move), strict=True):
                    total[variable] = total.get(variable, 0) + sign * ask
                for side, sign in enumerate((-1, 1)):
                    moved = move[0][(move[1] == sign) & (move[0] != own)]
                    self.room[side, moved] -= ask * unit
                    gone.append((side, moved, ask * unit))
                left -= ask
                ask = min(ask, left)
        finally:
            for side, moved, by in gone:
                self.room[side, moved] += by
        return None if left else self._change(total)

    def _change(self, total: dict[int, int]) -> Change:
        """Return a change of variables as one of cells."""
        there = {variable: factor for variable, factor in total.items() if factor}
        variable, factor = np.array(list(there), np.int64), np.array(list(there.values()), np.int64)
        factor //= max(1, int(np.gcd.reduce(np.abs(factor))))
        counts = self.starts[variable + 1] - self.starts[variable]
        row = np.repeat(np.arange(len(variable)), counts)
        place = np.arange(len(row)) - np.searchsorted(row, row)
        return self.cells[self.starts[variable][row] + place], factor[row]

    def _put(self, need: int, changes: list[Change]) -> float:
        """Keep certificates of a need; return what they cost more."""
        self.changes[need] = changes
        spent = 0.0
        for cells, _ in changes:
            variable = np.unique(self.system.variable[cells])
            spent += float(self.cost[variable[self.used[variable] == 0]].sum())
            self.used[variable] += 1
            self.price[variable] = 0.0
        return spent

    def _take(self, need: int) -> float:
        """Do without the certificates of a need; return what that saves."""
        saved = 0.0
        for cells, _ in self.changes[need]:
            variable = np.unique(self.system.variable[cells])
            self.used[variable] -= 1
            free = variable[self.used[variable] == 0]
            self.price[free] = self.cost[free]
            saved += float(self.cost[free].sum())
        self.changes[need] = []
        return saved


class _Where:
    """Which codes a variable of several tables has, by dimension; totals are left out."""

    def __init__(
        self, dimensions: Sequence[tuple[int, ...]], index: Sequence[Integers], size: int
    ) -> None:
        self.dimensions, self.shapes = dimensions, [array.shape for array in index]
        self.ends = np.cumsum([array.size for array in index])
        # Where each variable first stands.
        self.first = np.zeros(size, np.int64)
        every = np.concatenate([array.reshape(-1) for array in index])
        self.first[every[::-1]] = np.arange(len(every))[::-1]

    def __call__(self, variable: int) -> Cell:
        place = int(self.first[variable])
        table = int(np.searchsorted(self.ends, place, side="right"))
        shape = self.shapes[table]
        at = np.unravel_index(place - int(self.ends[table]) + int(np.prod(shape)), shape)
        codes = zip(self.dimensions[table], at, shape, strict=True)
        return {d: int(code) for d, code, length in codes if code < length - 1}


def _laid_out(
    system: TableSystem, tables: Sequence[Sequence[tuple[str, Hierarchy]]]
) -> tuple[list[tuple[int, ...]], list[Integers]]:
    """Return dimensions by number, and the tables as arrays of variables with totals last."""
    names = sorted({name for table in tables for name, _ in table})
    dimensions, index, start = [], [], 0
    for table in tables:
        orders = []
        for _, tree in table:
            root = tree.parents.index(-1)
            orders.append(np.array([*(c for c in range(len(tree)) if c != root), root]))
        shape = tuple(len(order) for order in orders)
        size = int(np.prod(shape))
        array = system.variable[start : start + size].reshape(shape)[np.ix_(*orders)]
        start += size
        dimensions.append(tuple(names.index(name) for name, _ in table))
        index.append(np.ascontiguousarray(array))
    return dimensions, index
