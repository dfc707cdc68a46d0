"""Patterns for any equations: tables with shared cells, solved together, by linear programmes.

A need gets the cheapest change that a programme finds, cells in use costing nothing. Then cells
are published again one after another: whatever used them is led around, and what that saves is
kept. Small tables end with the same steps, since changes of any form find ways that cubes miss.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.suppress.solver.check import prove
from discreet.desk.suppress.solver.problem import Needs, Pattern, Problem
from discreet.desk.suppress.solver.programmes import Programmes
from discreet.desk.suppress.solver.shared import suppress_shared
from discreet.desk.suppress.solver.undoing import Change
from discreet.errors import InternalError
from discreet.progress import Tell
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.types import Floats

# Certificates a need has where contributors know more of cells: nobody may undo all of them.
VIEWS = 2
# Programmes solved while leading certificates around, at most.
PROGRAMMES = 4_000
PASSES = 6


def suppress_linked(
    system: TableSystem, problem: Problem, effort: float = 1.0, tell: Tell | None = None
) -> Pattern:
    """Return a cheap pattern of cells under any equations, proved safe by certificates.

    Linked tables are one system and are solved as one. Statuses as of `suppress`.
    """
    if not problem.whole:
        return suppress_shared(system, problem, effort, tell)
    needs = Needs.of(problem)
    state = Rerouting(system, problem, needs, tell)
    budget = max(1, int(effort * PROGRAMMES))
    bare = 0
    for views in (1, VIEWS) if problem.watched else (1,):
        failed = state.fill(views)
        if failed >= 0:
            marks = problem.marks(np.zeros(problem.values.size, bool))
            return Pattern(
                Status.INFEASIBLE, marks, np.inf, failed=(failed,), bare=bare if views > 1 else None
            )
        state.improve(budget)
        if views == 1:
            bare = state.secondary()
    pattern = state.pattern(bare)
    if not prove(system, problem, pattern).safe:
        raise InternalError("a pattern did not pass its audit; nothing is returned.")
    return pattern


class Rerouting:
    """Certificates of every need, and how many of them use each cell."""

    def __init__(
        self, system: TableSystem, problem: Problem, needs: Needs, tell: Tell | None = None
    ) -> None:
        self.problem, self.needs, self.tell = problem, needs, tell
        self.programmes = Programmes(system, problem, needs)
        self.cost = problem.cost
        self.changes: list[Change | None] = []
        self.used = np.zeros(problem.values.size, np.int64)
        self.solved = 0
        # Prices of variables that stand in for costs while certificates are first put in.
        self.prices: Floats | None = None

    def fill(self, views: int, leave: bool = False) -> int:
        """Give every need so many certificates; return a cell without protection, or −1.

        With `leave` those for which there is none are left over, without a word.
        """
        wanted = views * len(self.needs)
        self.changes += [None] * (wanted - len(self.changes))
        for task in range(wanted):
            if self.tell is not None and task % 16 == 0:
                self.tell("cells", task, wanted)
            if self.changes[task] is None and self._insert(task, np.zeros(0, np.int64)) is None:
                need = task % len(self.needs)
                if leave:
                    continue
                changes = self.programmes.apart(need, self.used > 0) if views > 1 else None
                if changes is None:
                    return int(self.needs.cell[need])
                self._spread(need, changes)
                if len(changes) > views:
                    return self.fill(len(changes))
        return -1

    def _spread(self, need: int, changes: list[Change]) -> None:
        """Put these certificates of a need in place of those it has."""
        count = len(self.needs)
        views = max(len(changes), len(self.changes) // count)
        self.changes += [None] * (views * count - len(self.changes))
        for view in range(views):
            self._take(need + view * count)
            self._put(need + view * count, changes[min(view, len(changes) - 1)])

    def improve(self, budget: int) -> None:
        """Publish cells again while that saves anything, within a number of programmes."""
        end = self.solved + budget
        for _ in range(PASSES):
            saved = 0.0
            cells = np.flatnonzero((self.used > 0) & (self.cost > 0))
            order = cells[np.lexsort((cells, -self.cost[cells] / self.used[cells]))]
            for done, cell in enumerate(order.tolist()):
                if self.tell is not None:
                    self.tell("detours", done, len(order))
                if self.solved >= end:
                    return
                if self.used[cell]:
                    saved += self._around(cell)
            if saved <= 1e-9:
                return

    def put(self, changes: Sequence[Change]) -> None:
        """Begin with these certificates."""
        self.changes = [None] * len(changes)
        for task, change in enumerate(changes):
            self._put(task, change)

    def total(self) -> float:
        """Return what is withheld for others' sake costs."""
        return float(self.cost[self.used > 0].sum())

    def secondary(self) -> int:
        """Return how many cells are withheld for others' sake."""
        return int(((self.used > 0) & (self.cost > 0)).sum())

    def pattern(self, bare: int) -> Pattern:
        """Return what is withheld, with the certificates."""
        changes = [change for change in self.changes if change is not None]
        sizes = [len(cells) for cells, _ in changes]
        cells = np.concatenate([cells for cells, _ in changes]) if changes else np.zeros(0)
        factors = np.concatenate([factors for _, factors in changes]) if changes else np.zeros(0)
        certificates = sparse.csr_matrix(
            (factors.astype(np.int64), cells.astype(np.int64), np.cumsum([0, *sizes])),
            shape=(len(changes), self.problem.values.size),
        )
        proves = np.arange(len(changes)) % max(1, len(self.needs))
        status = Status.FEASIBLE if changes else Status.SOLVED
        gap = np.inf if changes else 0.0
        return Pattern(
            status, self.problem.marks(self.used > 0), gap, certificates, proves, bare=bare
        )

    def _around(self, cell: int) -> float:
        """Lead every certificate around a cell if that is cheaper; return what it saves."""
        users = [
            task
            for task, change in enumerate(self.changes)
            if change is not None and (change[0] == cell).any()
        ]
        before = {task: self.changes[task] for task in users}
        saved = sum(self._take(task) for task in users)
        spent = 0.0
        for task in users:
            add = self._insert(task, np.array([cell]), saved - spent)
            if add is None:
                spent = np.inf
                break
            spent += add
        if spent < saved - 1e-9:
            return saved - spent
        for task in users:
            self._take(task)
        for task, change in before.items():
            if change is not None:
                self._put(task, change)
        return 0.0

    def _insert(self, task: int, without: NDArray[np.int64], most: float = np.inf) -> float | None:
        """Give a task a certificate that costs less than `most`; return its cost, or None."""
        rooms = self.problem.insiders.rooms(self._shared(task))
        rooms[without] = -1.0
        self.solved += 1
        need = task % len(self.needs)
        change = self.programmes.certificate(need, self.used > 0, rooms, self.prices)
        if change is None:
            return None
        new = change[0][self.used[change[0]] == 0]
        if float(self.cost[new].sum()) >= most:
            return None
        return self._put(task, change)

    def _shared(self, task: int) -> set[int]:
        """Return those who undo every other certificate of a task's need."""
        need = task % len(self.needs)
        mates = [i for i in range(need, len(self.changes), len(self.needs)) if i != task]
        shared: set[int] | None = None
        for mate in mates:
            change = self.changes[mate]
            if change is None:
                return set()
            undone = self.programmes.views.undone(change, need)
            shared = undone if shared is None else shared & undone
        return shared or set()

    def _put(self, task: int, change: Change) -> float:
        self.changes[task] = change
        new = change[0][self.used[change[0]] == 0]
        self.used[change[0]] += 1
        return float(self.cost[new].sum())

    def _take(self, task: int) -> float:
        change = self.changes[task]
        if change is None:
            return 0.0
        self.changes[task] = None
        self.used[change[0]] -= 1
        return float(self.cost[change[0][self.used[change[0]] == 0]].sum())
