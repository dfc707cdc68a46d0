"""Patterns of magnitudes: changes that many needs share, and cells published again.

A need gets the cheapest change that a programme finds, cells in use costing nothing; a change is a
sum of as many ways through the table as it takes, and protects every primary cell that it moves far
enough. Then cells are published again, one after another: the needs that lose their changes get
others, and what that saves is kept. Everything is counted in steps, never in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy import sparse

from discreet.desk.suppress.solver.check import prove
from discreet.desk.suppress.solver.cuts import CLOSE
from discreet.desk.suppress.solver.few import cheapest
from discreet.desk.suppress.solver.flows import Flows
from discreet.desk.suppress.solver.lines import line_bound
from discreet.desk.suppress.solver.problem import Needs, Pattern, Problem
from discreet.desk.suppress.solver.programmes import Programmes
from discreet.desk.suppress.solver.undoing import Change, Views
from discreet.errors import InternalError
from discreet.progress import Tell
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.types import Floats, Integers

NEAR = 1e-12
# Steps of programmes for cells published again: at least, and for each that the pattern took.
LEAST_STEPS, MORE_STEPS = 10_000, 2.0
PASSES = 4
# Cells taken out of a pattern at once, what others then cost, as shares, and the steps of all of
# that for each before it.
SHAKEN, PRICES, SHAKES = 3, (0.5, 1.5), 1.0
# Up to so many secondary cells are chosen anew all at once. Times effort.
FEW = 25
# Changes that move many cells at once: how many, and the share of needs that each must meet.
SEED, CIRCULATIONS, GAIN = 20_020_131, 12, 0.05


def suppress_shared(
    system: TableSystem, problem: Problem, effort: float = 1.0, tell: Tell | None = None
) -> Pattern:
    """Return a cheap pattern of magnitudes under any equations, proved safe by certificates.

    Statuses as of `suppress`.
    """
    needs = Needs.of(problem)
    pool = Shared(system, problem, needs, tell)
    bare = 0
    for watched in (False, True) if problem.watched else (False,):
        failed = pool.search(watched, effort)
        if failed >= 0:
            marks = problem.marks(np.zeros(problem.values.size, bool))
            return Pattern(
                Status.INFEASIBLE, marks, np.inf, failed=(failed,), bare=bare if watched else None
            )
        if not watched:
            bare = pool.secondary()
    pattern = pool.pattern(bare)
    proof = prove(system, problem, pattern)
    if not proof.safe:
        raise InternalError("a pattern did not pass its audit; nothing is returned.")
    return replace(pattern, proof=proof)


class Shared:
    """Changes, the needs that each meets, and how many of them use each variable."""

    def __init__(
        self, system: TableSystem, problem: Problem, needs: Needs, tell: Tell | None = None
    ) -> None:
        self.system, self.problem, self.needs, self.tell = system, problem, needs, tell
        self.flows = Flows(system, problem)
        self.views = Views(problem, needs, tell)
        size = system.variables
        self.cost = np.zeros(size)
        np.add.at(self.cost, system.variable, problem.cost)
        self.below, self.above = np.full(size, np.inf), np.full(size, np.inf)
        np.minimum.at(self.above, system.variable, problem.high - problem.values)
        np.minimum.at(self.below, system.variable, problem.values - problem.low)
        self.own = system.variable[needs.cell]
        amount = self.amount = np.maximum.reduce([needs.rise, needs.fall, needs.width])
        # The largest first: what is hard to protect decides what the others may share.
        self.order = np.lexsort((needs.cell, -amount)).tolist()
        by_variable = np.argsort(self.own, kind="stable")
        self.starts = np.searchsorted(self.own[by_variable], np.arange(size + 1))
        self.of_variable = by_variable
        order = np.argsort(system.variable, kind="stable")
        self.cells = order
        self.cell_starts = np.searchsorted(system.variable[order], np.arange(size + 1))
        self.programmes: Programmes | None = None
        # What no safe pattern is cheaper than, as far as is known.
        self.bound = 0.0
        self.clear()

    def clear(self) -> None:
        """Begin without any change."""
        self.changes: dict[int, tuple[Integers, Integers]] = {}
        self.meets: dict[int, list[int]] = {}
        self.pairs: list[dict[int, set[int] | None]] = [{} for _ in range(len(self.needs))]
        self.used = np.zeros(self.system.variables, np.int64)
        self.users: list[set[int]] = [set() for _ in range(self.system.variables)]
        self.number = 0
        self.watched = False

    def search(self, watched: bool, effort: float) -> int:
        """Give every need what it asks, cheaply; return a cell without protection, or −1."""
        self.watched = watched
        begun = self.flows.steps
        if not watched:
            self._circulate()
        failed = self._fill(self.cost)
        if failed >= 0:
            return failed
        steps = self.flows.steps - begun
        self._drop()
        end = self.flows.steps + int(effort * max(LEAST_STEPS, MORE_STEPS * steps))
        self._republish(end)
        if not watched and 0 < len(self._paid()) <= FEW * effort:
            self._choose()
        if not self._proved():
            self._shake(min(end, self.flows.steps + int(SHAKES * (self.flows.steps - begun))))
        return -1

    def total(self) -> float:
        """Return what is withheld for others' sake costs."""
        return float(self.cost[self.used > 0].sum())

    def _proved(self) -> bool:
        """Return whether nothing is cheaper."""
        return self.total() <= self.bound * (1 + CLOSE)

    def secondary(self) -> int:
        """Return how many cells are withheld for others' sake."""
        return int((self.problem.cost[self.used[self.system.variable] > 0] > 0).sum())

    def pattern(self, bare: int) -> Pattern:
        """Return what is withheld, with a certificate for each need and change that meets it."""
        rows = [(key, need) for key, found in self.meets.items() for need in found]
        spread = {key: self._spread(change) for key, change in self.changes.items()}
        sizes = [len(spread[key][0]) for key, _ in rows]
        none = [np.zeros(0, np.int64)]
        certificates = sparse.csr_matrix(
            (
                np.concatenate([spread[key][1] for key, _ in rows] or none),
                np.concatenate([spread[key][0] for key, _ in rows] or none),
                np.cumsum([0, *sizes]),
            ),
            shape=(len(rows), self.problem.values.size),
        )
        used = self.used[self.system.variable] > 0
        solved = self._proved()
        marks = self.problem.marks(used)
        bound = self.total() if solved else line_bound(self.system, self.problem)
        return Pattern(
            Status.SOLVED if solved else Status.FEASIBLE,
            marks,
            self.problem.gap(marks, max(bound, self.bound)),
            certificates,
            np.array([need for _, need in rows], np.int64),
            bare=bare,
        )

    def _fill(self, cost: Floats, closed: int = -1, most: float = np.inf) -> int:
        """Meet all needs that are not met; return a cell for which there is nothing, or −1."""
        for done, need in enumerate(self.order):
            if self.tell is not None and done % 64 == 0 and closed < 0:
                self.tell("cells", done, len(self.order))
            if not self._met(need) and self._cover(need, cost, closed, most) is None:
                return int(self.needs.cell[need])
        return -1

    def _circulate(self) -> None:
        """Meet what needs can be met by what is withheld anyway, many by one change."""
        rng = np.random.default_rng(SEED)
        withheld = (self.cost == 0) | (self.used > 0)
        left = np.ones(len(self.needs), bool)
        for _ in range(CIRCULATIONS):
            left = np.array([not pairs for pairs in self.pairs])
            if not left.any():
                return
            sense = np.zeros(self.system.variables)
            sense[self.own[left]] = 1 / self.amount[left]
            sense *= rng.choice([-1.0, 1.0], len(sense))
            change = self.flows.circulation(sense, withheld)
            if change is None or not len(change[0]):
                return
            new = self._needs_of(*change)
            if left[new].sum() < max(1, GAIN * left.sum()):
                return
            self._put(change)

    def _met(self, need: int) -> bool:
        pairs = self.pairs[need]
        if not pairs:
            return False
        return not self.watched or not self._shared(need)

    def _shared(self, need: int) -> set[int]:
        """Return those who undo every change that meets a need."""
        shared: set[int] | None = None
        for key, undone in self.pairs[need].items():
            who = undone
            if who is None:
                who = self.views.undone(self._spread(self.changes[key]), need)
                self.pairs[need][key] = who
            shared = who if shared is None else shared & who
            if not shared:
                return set()
        return shared or set()

    def _cover(self, need: int, cost: Floats, closed: int, most: float) -> float | None:
        """Give a need one more change that costs less than `most`; return its cost, or None."""
        price = np.where(self.used > 0, 0.0, cost)
        if closed >= 0:
            price[closed] = np.inf
        spent = 0.0
        while not self._met(need):
            whom = sorted(self._shared(need)) if self.watched and self.pairs[need] else []
            change = self._cheapest(need, price, whom)
            if change is None:
                return self._apart(need) if closed < 0 else None
            new = change[0][self.used[change[0]] == 0]
            spent += float(self.cost[new].sum())
            if spent >= most:
                return None
            price[change[0]] = 0.0
            before = len(self.pairs[need])
            self._put(change)
            if len(self.pairs[need]) == before:
                return self._apart(need) if closed < 0 else None
        return spent

    def _cheapest(
        self, need: int, price: Floats, whom: list[int]
    ) -> tuple[Integers, Integers] | None:
        """Return a change that meets a need in the view of all of these, or as many as it can."""
        while True:
            rooms = self._rooms(whom) if whom else None
            for amount, both in self._ways(need):
                change = self.flows.change(int(self.own[need]), amount, both, price, rooms)
                if change is not None:
                    return change
            if len(whom) < 2:
                return None
            whom = whom[: len(whom) // 2]

    def _rooms(self, whom: Iterable[int]) -> Floats:
        rooms = np.full(self.system.variables, np.inf)
        np.minimum.at(rooms, self.system.variable, self.problem.insiders.rooms(whom))
        return rooms

    def _ways(self, need: int) -> list[tuple[float, bool]]:
        """Return what to ask of one change: to both sides, or to one where that is all."""
        rise, fall, width = (
            float(side[need]) for side in (self.needs.rise, self.needs.fall, self.needs.width)
        )
        ways = [(max(rise, fall, width / 2), True)]
        if fall <= 0:
            ways.append((max(rise, width), False))
        if rise <= 0:
            ways.append((-max(fall, width), False))
        return ways

    def _apart(self, need: int) -> float | None:
        """Give a need changes that nobody undoes all of, one after another; or None."""
        if self.programmes is None:
            self.programmes = Programmes(self.system, self.problem, self.needs)
        used = self.used[self.system.variable] > 0
        found: list[Change] | None
        if self.watched:
            found = self.programmes.apart(need, used)
        else:
            one = self.programmes.certificate(need, used, np.full(len(used), np.inf))
            found = None if one is None else [one]
        if found is None:
            return None
        before = self.total()
        for cells, factors in found:
            variable, first = np.unique(self.system.variable[cells], return_index=True)
            self._put((variable, factors[first]), need)
        return self.total() - before

    def _put(self, change: tuple[Integers, Integers], extra: int = -1) -> int:
        """Keep a change, for every need that it meets and for one more."""
        variable, factor = change
        key = self.number
        self.number += 1
        self.changes[key] = change
        self.used[variable] += 1
        for one in variable.tolist():
            self.users[one].add(key)
        self.meets[key] = self._needs_of(variable, factor)
        if extra >= 0 and extra not in self.meets[key]:
            self.meets[key].append(extra)
        for need in self.meets[key]:
            self.pairs[need][key] = None
        return key

    def _needs_of(self, variable: Integers, factor: Integers) -> list[int]:
        size = np.abs(factor).astype(np.float64)
        above, below = self.above[variable] / size, self.below[variable] / size
        forth = float(np.where(factor > 0, above, below).min())
        back = float(np.where(factor > 0, below, above).min())
        counts = self.starts[variable + 1] - self.starts[variable]
        entry = np.repeat(np.arange(len(variable)), counts)
        place = np.arange(len(entry)) - np.searchsorted(entry, entry)
        need = self.of_variable[self.starts[variable][entry] + place]
        up = np.where(factor[entry] > 0, forth, back) * size[entry]
        down = np.where(factor[entry] > 0, back, forth) * size[entry]
        far = 1 - NEAR
        met = (up >= self.needs.rise[need] * far) & (down >= self.needs.fall[need] * far)
        met &= up + down >= self.needs.width[need] * far
        return [int(one) for one in need[met]]

    def _take(self, key: int) -> None:
        variable = self.changes.pop(key)[0]
        self.used[variable] -= 1
        for one in variable.tolist():
            self.users[one].discard(key)
        for need in self.meets.pop(key):
            del self.pairs[need][key]

    def _spread(self, change: tuple[Integers, Integers]) -> Change:
        """Return a change of variables as one of cells."""
        variable, factor = change
        counts = self.cell_starts[variable + 1] - self.cell_starts[variable]
        row = np.repeat(np.arange(len(variable)), counts)
        place = np.arange(len(row)) - np.searchsorted(row, row)
        return self.cells[self.cell_starts[variable][row] + place], factor[row]

    def _drop(self) -> None:
        """Do without changes that no need is left short by, the dearest first."""
        dear = {key: self._only(key) for key in self.changes}
        for key in sorted(dear, key=lambda one: (-dear[one], one)):
            change, extra = self.changes[key], self.meets[key]
            self._take(key)
            if not all(self._met(need) for need in extra):
                self._restore(change, extra)

    def _only(self, key: int) -> float:
        variable = self.changes[key][0]
        return float(self.cost[variable[self.used[variable] == 1]].sum())

    def _restore(self, change: tuple[Integers, Integers], needs: list[int]) -> None:
        key = self._put(change)
        for need in sorted(set(needs) - set(self.meets[key])):
            self.meets[key].append(need)
            self.pairs[need][key] = None

    def _paid(self) -> Integers:
        """Return the variables withheld for others' sake."""
        return np.flatnonzero((self.used > 0) & (self.cost > 0))

    def _choose(self) -> None:
        """Choose all variables that cost something anew, and note what nothing is cheaper than."""
        before = self.total()
        held = [(self.changes[key], list(self.meets[key])) for key in sorted(self.changes)]
        paid = {key for one in self._paid().tolist() for key in self.users[one]}
        needs = [need for need, pairs in enumerate(self.pairs) if pairs.keys() <= paid]
        found = cheapest(self.system, self.problem, needs, before)
        self.bound = found.bound
        if found.withheld is None:
            return
        for key in sorted(paid):
            self._take(key)
        # With one of the others closed no change is looked for beyond what was chosen.
        price = np.where(found.withheld, self.cost, np.inf)
        if self._fill(price, int(np.argmin(found.withheld))) >= 0 or self.total() >= before:
            self._begin(held)
        else:
            self._drop()

    def _shake(self, end: int) -> None:
        """Take some cells out and protect anew at other prices, while there are steps left."""
        rng = np.random.default_rng(SEED)
        while self.flows.steps < end and self.total() > 0:
            begun, before = self.flows.steps, self.total()
            held = [(self.changes[key], list(self.meets[key])) for key in sorted(self.changes)]
            found = self._paid()
            chosen = rng.choice(found, min(SHAKEN, len(found)), replace=False).tolist()
            for key in sorted(set().union(*(self.users[one] for one in chosen))):
                self._take(key)
            price = self.cost * rng.uniform(*PRICES, len(self.cost))
            if self._fill(price, chosen[0]) < 0:
                self._drop()
                self._republish(end)
                if self.total() < before - 1e-9:
                    continue
            self._begin(held)
            if self.flows.steps == begun:
                return

    def _begin(self, held: list[tuple[tuple[Integers, Integers], list[int]]]) -> None:
        """Put these changes in place of what there is."""
        watched = self.watched
        self.clear()
        self.watched = watched
        for change, needs in held:
            self._restore(change, needs)

    def _republish(self, end: int) -> None:
        """Publish cells again while that saves anything, up to a number of steps."""
        for _ in range(PASSES):
            saved = 0.0
            found = self._paid()
            order = found[np.lexsort((found, -self.cost[found] / self.used[found]))]
            for done, variable in enumerate(order.tolist()):
                if self.tell is not None:
                    self.tell("detours", done, len(order))
                if self.flows.steps >= end:
                    return
                if self.used[variable]:
                    saved += self._around(variable)
            if saved <= 1e-9:
                return

    def _around(self, variable: int) -> float:
        """Lead every need around a variable if that is cheaper; return what it saves."""
        before = self.total()
        taken = [(self.changes[key], list(self.meets[key])) for key in sorted(self.users[variable])]
        first = self.number
        for key in sorted(self.users[variable]):
            self._take(key)
        saved = before - self.total()
        short = {need for _, needs in taken for need in needs if not self._met(need)}
        spent = 0.0
        for need in (one for one in self.order if one in short):
            if self._met(need):
                continue
            add = self._cover(need, self.cost, variable, saved - spent - 1e-9)
            if add is None:
                break
            spent += add
        else:
            if self.total() < before - 1e-9:
                return before - self.total()
        for key in [key for key in self.changes if key >= first]:
            self._take(key)
        for change, needs in taken:
            self._restore(change, needs)
        return 0.0
