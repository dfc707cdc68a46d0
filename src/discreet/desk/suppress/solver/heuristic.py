"""Cheap patterns for tables of any size: cubes, annealing, and cells published again.

Everything is counted in steps, never in seconds, and drawn from a fixed seed: the same problem
always has the same pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from discreet.compiling import announced
from discreet.desk.suppress.solver import kernels
from discreet.desk.suppress.solver.check import prove
from discreet.desk.suppress.solver.exchange import Exchange, fits
from discreet.desk.suppress.solver.guided import SMALL, guided
from discreet.desk.suppress.solver.improve import kernels as improving
from discreet.desk.suppress.solver.lines import line_bound
from discreet.desk.suppress.solver.linked import VIEWS
from discreet.desk.suppress.solver.moves import moves_of
from discreet.desk.suppress.solver.problem import Needs, Pattern, Problem
from discreet.desk.suppress.solver.programmes import Programmes
from discreet.desk.suppress.solver.shared import suppress_shared
from discreet.desk.suppress.solver.tiny import proved_at_once
from discreet.desk.suppress.solver.undoing import Change, empty_view, limits_of
from discreet.errors import InternalError, ParameterError
from discreet.progress import Tell
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy
from discreet.types import Flags

SEED = 20_020_131
# Trials of the annealing for each need, within bounds that keep the smallest and largest sane.
TRIALS = 250
LEAST_TRIALS, MOST_TRIALS = 20_000, 3_000_000
# Between two reports, and two chances to stop.
CHUNK = 20_000
# Temperatures in units of the typical weight, and how many certificates are taken away at most.
HOT, COLD, FROZEN = 0.5, 0.1, 0.01
NEIGHBOURS = 6
ROUNDS, CLEANINGS = 3, 6
# Further searches of tables that are small; others have one.
AGAIN = 4
# Parts of a pattern that are chosen anew, and where contributors watch, whose views make each dear;
# in tables with no more variables than this. Times effort.
PARTS, WATCHED_PARTS, MOST_VARIABLES = 300, 80, 12_000
# Pivots tried before a cell stays withheld, and users beyond which it is left alone.
PIVOTS, MOST_USERS = 6, 64
# A certificate has at most so many cells, and all of them together so many.
MOST_SUPPORT, MOST_ENTRIES, ROOMY = 4_096, 50_000_000, 1_024


def suppress(
    dimensions: Sequence[Hierarchy],
    problem: Problem,
    effort: float = 1.0,
    tell: Tell | None = None,
) -> Pattern:
    """Return a cheap pattern of a table with these dimensions, proved safe by certificates.

    `effort` multiplies the steps of the search. Where no certificate for a cell exists within
    what may be withheld, the status is infeasible and `failed` names the cell.

    Notes
    -----
    Tables of counts; those of magnitudes are for `suppress_shared`. A certificate is a
    whole-numbered change of the table that keeps all equations and published cells, and that its
    primary cell takes part in. The idea of cubes is that of the hypercube method [Giessing2002];
    combining them so that cells cancel is elimination, bounded so that each step stays within the
    table.
    """
    shape = tuple(len(dimension) for dimension in dimensions)
    if problem.values.size != prod(shape):
        raise ParameterError(f"values must be one for each of the cells, {shape}.")
    if not 0 < effort <= 1000:
        raise ParameterError(f"effort must be above 0 and at most 1,000. Got {effort:g}.")
    system = TableSystem.table(dimensions)
    if not problem.whole:
        return suppress_shared(system, problem, effort, tell)
    needs = Needs.of(problem)
    if not len(needs):
        return _pattern(problem, needs, None, 0, 0)
    found = proved_at_once(system, problem)
    if found is not None:
        return found
    for kernel in (kernels.fill, improving.anneal):
        announced(kernel, tell)
    views, room = VIEWS, 0
    while True:
        search = _Search(dimensions, system, problem, needs, effort, tell, views, room)
        failed = search.run()
        if failed < 0:
            break
        if search.views_wanted <= search.views and search.room_wanted <= search.room:
            marks = problem.marks(np.zeros(problem.values.size, bool))
            bare = search.bare if search.count > len(needs) else None
            return Pattern(Status.INFEASIBLE, marks, np.inf, failed=(failed,), bare=bare)
        views, room = max(views, search.views_wanted), max(room, search.room_wanted)
    pattern = _pattern(problem, needs, search.held, search.count, search.bare)
    bound = search.bound
    if problem.watched or not search.fine:
        bound = max(bound, line_bound(system, problem))
    pattern = replace(pattern, gap=problem.gap(pattern.values, bound))
    proof = prove(system, problem, pattern)
    if not proof.safe:
        raise InternalError("a pattern did not pass its audit; nothing is returned.")
    return replace(pattern, proof=proof)


def _pattern(
    problem: Problem, needs: Needs, held: kernels.Certificates | None, count: int, bare: int
) -> Pattern:
    cells = problem.values.size
    if held is None:
        empty = sparse.csr_matrix((0, cells), dtype=np.int64)
        marks = problem.marks(np.zeros(cells, bool))
        return Pattern(Status.SOLVED, marks, 0.0, empty, bare=0)
    sizes = held.size[:count].astype(np.int64)
    places = np.arange(held.cells.shape[1])[None, :] < sizes[:, None]
    certificates = sparse.csr_matrix(
        (
            held.factors[:count][places].astype(np.int64),
            held.cells[:count][places].astype(np.int64),
            np.concatenate([[0], np.cumsum(sizes)]),
        ),
        shape=(count, cells),
    )
    marks = problem.marks(held.used > 0)
    return Pattern(
        Status.FEASIBLE, marks, np.inf, certificates, np.arange(count) % len(needs), bare=bare
    )


class _Search:
    """The state of one search: tasks, their certificates, and room to work in."""

    def __init__(
        self,
        dimensions: Sequence[Hierarchy],
        system: TableSystem,
        problem: Problem,
        needs: Needs,
        effort: float,
        tell: Tell | None,
        views: int,
        room: int,
    ) -> None:
        self.system, self.problem, self.needs = system, problem, needs
        self.effort, self.tell = effort, tell
        self.moves, self.shape = moves_of(dimensions), tuple(map(len, dimensions))
        cells = problem.values.size
        self.limits = limits_of(problem)
        self.views = views if problem.watched else 1
        # The last task stands for no need: cubes through any cell are looked for in its name.
        tasks = self.views * len(needs) + 1
        room = max(room, 6 * prod(min(len(d), 2 * _depth(d)) for d in dimensions))
        if self._small or self.fine:
            room = max(room, ROOMY)  # programmes lead through many cells at once
        room = max(2 ** len(dimensions), min(room, MOST_SUPPORT, MOST_ENTRIES // tasks))
        self.room = room
        # What a search that fails would have to be given to succeed.
        self.views_wanted, self.room_wanted = self.views, 0
        self.most_room = max(room, min(MOST_SUPPORT, MOST_ENTRIES // tasks))
        self.cell = np.append(np.tile(needs.cell, self.views), 0)
        self.rise, self.fall, self.width = (
            np.append(np.tile(array, self.views), 0.0)
            for array in (needs.rise, needs.fall, needs.width)
        )
        self.held = kernels.Certificates(
            np.zeros((tasks, room), np.int32),
            np.zeros((tasks, room), np.int32),
            np.zeros(tasks, np.int32),
            np.full(cells, -1, np.int32),
            np.full(tasks * room, -1, np.int32),
            np.full(tasks * room, -1, np.int32),
            np.zeros(cells, np.int32),
        )
        self.work = kernels.Work(
            np.zeros(room, np.int32),
            np.zeros(room, np.int32),
            np.zeros(room, np.int32),
            np.zeros(room, np.int32),
            np.zeros(cells, np.int64),
            np.zeros(2 * room, np.int32),
            empty_view(cells),
            empty_view(cells),
            np.zeros(problem.insiders.number + 1, np.int64),
            np.zeros(problem.insiders.number + 1, np.int64),
            np.array([SEED], np.uint64),
        )
        self.rng = np.random.default_rng(SEED)
        priced = problem.cost[(problem.cost > 0) & np.isfinite(problem.cost)]
        self.unit = float(np.median(priced)) if len(priced) else 1.0
        self.count = 0
        self.bare = 0
        self.bound = 0.0
        self.before: list[Change] = []
        self.drawn: tuple[Any, Any] = (None, None)
        self._programmes: Programmes | None = None

    def run(self) -> int:
        """Search; return the cell that cannot be protected, or −1."""
        exchanged: list[Change] = []
        for count in dict.fromkeys((len(self.needs), self.views * len(self.needs))):
            if self.before:
                exchanged = self._held()
                self._restore()
            self.count = count
            failed = self._fill()
            if failed >= 0:
                return failed
            if self.count == len(self.needs):
                self._improve("cells", HOT)
                if not self.fine:
                    self._better(self._guided(1))
                elif self._total() > 0:
                    self._exchange()
                self.bare = self._secondary()
            else:
                self._withstand(exchanged)
        return -1

    def _exchange(self) -> None:
        """Choose parts of the pattern anew, and begin again from that where it is cheaper."""
        state = Exchange(self.system, self.problem, self.needs, self.shape, self.tell)
        self.bound = max(self.bound, state.bound)
        among = WATCHED_PARTS if self.problem.watched else PARTS
        parts = int(np.ceil(among * self.effort))
        self.before = self._held()
        self.drawn = (self.work.state.copy(), self.rng.bit_generator.state)
        self._better(state.run(self.before, parts))

    def _restore(self) -> None:
        """Go back to what there was before parts were chosen anew, and to the same draws.

        A pattern with few cells that is safe from readers may need more to be safe from
        contributors: the search for those begins from both.
        """
        for task, change in enumerate(self.before):
            kernels.take(task, self.held, self.limits.cost)
            self._put(task, change)
        self.work.state[:] = self.drawn[0]
        self.rng.bit_generator.state = self.drawn[1]

    def _withstand(self, exchanged: Sequence[Change]) -> None:
        """Protect from contributors, from every start to the very end, and keep the cheapest."""
        self._improve("singletons", HOT if self.before or self.bound == 0 else COLD)
        starts: list[Sequence[Change | None]] = [self._held()]
        if exchanged and self._begin(exchanged):
            self._improve("singletons", COLD)
            starts.append(self._held())
        starts.append(self._guided(self.views))
        ends: list[tuple[float, list[Change]]] = []
        for start in starts:
            if start and self._begin(start):
                self._again("singletons")
                ends.append((self._total(), self._held()))
        self._begin(min(ends, key=lambda end: end[0])[1])

    def _guided(self, views: int) -> list[Change | None]:
        """Return the certificates that the relaxation leads to, and note what it bounds."""
        if not self._small:
            return []
        changes, bound = guided(self.system, self.problem, views, self.effort, self.tell)
        self.bound = max(self.bound, bound)
        return changes

    def _better(self, changes: Sequence[Change | None]) -> None:
        """Put these certificates in place of those held where that is cheaper."""
        before, cost = self._held(), self._total()
        if not changes or not self._begin(changes) or self._total() >= cost:
            self._begin(before)

    def _again(self, stage: str) -> None:
        """Search again from what there is, and keep the best that was met."""
        best, least = self._held(), self._total()
        for _ in range(AGAIN if self._small else 1):
            self._improve(stage, COLD)
            if self._total() < least:
                best, least = self._held(), self._total()
        if self._total() > least:
            self._begin(best)

    @property
    def fine(self) -> bool:
        """Whether parts of the pattern can be chosen anew."""
        return self.system.variables <= MOST_VARIABLES * self.effort and fits(
            self.problem, self.needs
        )

    @property
    def _small(self) -> bool:
        """Whether the relaxation, and further searches, take seconds."""
        return len(self.needs) * self.system.variables <= SMALL * self.effort

    def _change(self, task: int) -> Change:
        size = self.held.size[task]
        return (
            self.held.cells[task, :size].astype(np.int64),
            self.held.factors[task, :size].astype(np.int64),
        )

    def _held(self) -> list[Change]:
        """Return the certificates of all tasks."""
        return [self._change(task) for task in range(self.count)]

    def _begin(self, changes: Sequence[Change | None]) -> bool:
        """Put these certificates in place of those held, cubes where there is none; or fail."""
        for task in range(self.count):
            kernels.take(task, self.held, self.limits.cost)
        for task, change in enumerate(changes):
            if change is not None and len(change[0]) <= self.room:
                self._put(task, change)
        if self._fill() >= 0:
            return False
        self._clean()
        return True

    def _total(self) -> float:
        return float(self.limits.cost[self.held.used > 0].sum())

    def _secondary(self) -> int:
        return int(((self.held.used > 0) & (self.limits.cost > 0)).sum())

    def _tasks(self) -> kernels.Tasks:
        mate = np.full(self.count, -1, np.int32)
        if self.count > len(self.needs):
            mate[:] = (np.arange(self.count) + len(self.needs)) % self.count
        own = slice(self.count)
        return kernels.Tasks(self.cell[own], self.rise[own], self.fall[own], self.width[own], mate)

    def _probing(self) -> kernels.Tasks:
        mate = np.full(len(self.cell), -1, np.int32)
        mate[: self.count] = self._tasks().mate
        return kernels.Tasks(self.cell, self.rise, self.fall, self.width, mate)

    def _rest(self) -> tuple[Any, ...]:
        return self.moves, self.limits, self.problem.whole, self.held, self.work

    def _fill(self) -> int:
        """Give every need a certificate; where there is no cube, by a linear programme."""
        tasks = self._tasks()
        # The largest first: what is hard to protect then decides what the others may share.
        order = np.lexsort((self.cell[: self.count], -self.problem.values[tasks.cell]))
        while True:
            task = kernels.fill(order, tasks, *self._rest())
            if task < 0:
                return -1
            if self._programmes is None:
                self._programmes = Programmes(self.system, self.problem, self.needs)
            whole = self.problem.whole
            banned = kernels.ban(task, tasks, self.limits, whole, self.held, self.work)
            need, used = task % len(self.needs), self.held.used > 0
            rooms = self.problem.insiders.rooms(self.work.undoing[:banned].tolist())
            change = self._programmes.certificate(need, used, rooms)
            if change is not None and self._fits([change]):
                self._put(task, change)
            elif change is not None or not banned or not self._spread(need, used):
                return int(tasks.cell[task])

    def _spread(self, need: int, used: Flags) -> bool:
        """Give a need other certificates than it has, which nobody undoes all of."""
        assert self._programmes is not None
        changes = self._programmes.apart(need, used)
        if changes is None:
            return False
        self.views_wanted = len(changes)
        if len(changes) > self.views or not self._fits(changes):
            return False
        for view in range(self.views):
            task = need + view * len(self.needs)
            kernels.take(task, self.held, self.limits.cost)
            self._put(task, changes[min(view, len(changes) - 1)])
        return True

    def _fits(self, changes: Sequence[Change]) -> bool:
        longest = max(len(cells) for cells, _ in changes)
        self.room_wanted = longest if longest <= self.most_room else 0
        return longest <= self.room

    def _put(self, task: int, change: Change) -> None:
        cells, factors = (part.astype(np.int32) for part in change)
        kernels.put(task, cells, factors, len(cells), self.held, self.limits.cost)

    def _improve(self, stage: str, hot: float) -> None:
        if self._total() <= 0:
            return
        trials = int(self.effort * np.clip(TRIALS * self.count, LEAST_TRIALS, MOST_TRIALS))
        chunks = max(1, trials // CHUNK)
        temperatures = np.concatenate(
            [hot * (COLD / hot) ** (np.arange(chunks + 1) / chunks), [COLD, FROZEN, FROZEN]]
        )
        total = chunks + ROUNDS - 1
        for done in range(total):
            if self.tell is not None:
                self.tell(stage, done, total)
            improving.anneal(
                max(1, min(CHUNK, trials) if done < chunks else trials // ROUNDS),
                temperatures[done] * self.unit,
                temperatures[done + 1] * self.unit,
                NEIGHBOURS,
                self._tasks(),
                *self._rest(),
            )
            if done >= chunks - 1:
                self._clean()

    def _clean(self) -> None:
        for _ in range(CLEANINGS):
            cells = np.flatnonzero((self.held.used > 0) & (self.limits.cost > 0))
            order = cells[np.lexsort((self.rng.random(len(cells)), self.held.used[cells]))]
            saved = improving.clean(
                order, len(self.cell) - 1, PIVOTS, MOST_USERS, self._probing(), *self._rest()
            )
            if saved <= 1e-6 * self.unit:
                return


def _depth(dimension: Hierarchy) -> int:
    """Return how many levels of sums a dimension has, at least 1."""
    return max(1, *(len(dimension.path(code)) - 1 for code in dimension.leaves.tolist()))
