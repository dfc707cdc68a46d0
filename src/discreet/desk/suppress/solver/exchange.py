"""Parts of a pattern chosen anew: an integer programme over some cells, the rest left as it is.

The programme knows the lines of the table (`lines`). Where its choice lets a primary cell not move,
the dual of that cell's programme is a condition that the choice misses, and it chooses again. A
part is kept if it is cheaper with certificates in whole numbers, and what these need besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from scipy import sparse

from discreet.desk.suppress.solver.lines import Lines, relaxed
from discreet.desk.suppress.solver.problem import Needs, Problem
from discreet.desk.suppress.solver.programmes import Programmes
from discreet.desk.suppress.solver.steps import FAR, Steps
from discreet.desk.suppress.solver.undoing import Change
from discreet.errors import InternalError
from discreet.progress import Tell
from discreet.solve.linear import LinearProgram
from discreet.solve.system import TableSystem
from discreet.types import Flags, Floats

SEED = 19_980_604
# Variables chosen anew at a time; where there are no more than that, all are.
PART, WHOLE = 120, 1_500
# Those are chosen from that are withheld, or cost no more than this share beyond their worth.
LIKELY = 0.15
# Choices of one part, conditions found between two of them, and nodes and precision of each.
CHOICES, MOST_CUTS = 6, 12
NODES, PRECISION = 50, 0.002
# Corners looked at for a certificate of a part: another part is found in less time than another.
TRIES = 1
# Variables outside a choice count for this much when a condition is looked for.
FAINT = (1e-3, 1e-6)
NEAR = 1e-6


def fits(problem: Problem, needs: Needs) -> bool:
    """Return whether a step of 1 is all that is asked: of counts that must not be known."""
    asked = (needs.width <= 1).all() and not needs.rise.any() and not needs.fall.any()
    return bool(problem.whole and asked)


class Exchange:
    """A pattern, safe from who reads the table, parts of which are chosen anew.

    Notes
    -----
    Large neighbourhoods with the conditions of [Fischetti2000] found as they are missed.
    """

    def __init__(
        self,
        system: TableSystem,
        problem: Problem,
        needs: Needs,
        shape: Sequence[int],
        tell: Tell | None = None,
    ) -> None:
        self.system, self.needs, self.tell = system, needs, tell
        self.lines = Lines.of(system, problem, insiders=False)
        relaxation = relaxed(self.lines)
        self.bound = relaxation.bound
        self.likely = relaxation.rest <= LIKELY * self.lines.price
        self.equations = sparse.csc_matrix(system.equations, dtype=np.float64)
        size = system.variables
        self.rises, self.falls = np.full(size, np.inf), np.full(size, np.inf)
        np.minimum.at(self.rises, system.variable, problem.high - problem.values)
        np.minimum.at(self.falls, system.variable, problem.values - problem.low)
        self.own = system.variable[needs.cell]
        self.programmes = Programmes(system, problem, needs)
        self.programmes.insist = False
        self.cells = np.argsort(system.variable, kind="stable")
        self.starts = np.searchsorted(system.variable[self.cells], np.arange(size + 1))
        # Where each variable stands in the table.
        self.codes = np.array(np.unravel_index(self.cells[self.starts[:-1]], tuple(shape)))
        self.rng = np.random.default_rng(SEED)
        self.withheld = self.lines.taken.copy()
        self.changes: list[Change] = []

    def run(self, held: Sequence[Change], parts: int) -> list[Change | None]:
        """Return certificates of a cheaper pattern, so many parts of which were chosen anew.

        `held` has a certificate for each need. None stands where no certificate was found.
        """
        self.changes = [self._joined(change) for change in held]
        self._use()
        for done in range(parts):
            if self.tell is not None:
                self.tell("parts", done, parts)
            free = (self.likely | self.withheld) & ~self.lines.shut & ~self.lines.taken
            whole = int(free.sum()) <= WHOLE
            # A programme that the solver gives up on leaves the pattern as it was.
            with suppress(InternalError):
                part = free if whole else self._near(free, done)
                chosen = self._chosen(part)
                if chosen is not None and whole:
                    return self._certificates(chosen)
                if chosen is not None:
                    self._renew(chosen, part)
            if whole:
                break
        return [self._spread(change) for change in self.changes]

    def _use(self) -> None:
        """Withhold what the certificates use, and nothing else."""
        self.withheld = self.lines.taken.copy()
        for variable, _ in self.changes:
            self.withheld[variable] = True

    def _renew(self, chosen: Flags, part: Flags) -> None:
        """Withhold what was chosen if that is cheaper, certificates in whole numbers included."""
        found = self._mended(chosen, part)
        if found is not None:
            self.changes = found
            self._use()

    def _mended(self, chosen: Flags, part: Flags) -> list[Change] | None:
        """Return certificates within a choice, and more of its part; None where it is no cheaper.

        A certificate of one need is one of every other whose variable it moves.
        """
        before = float(self.lines.price[self.withheld].sum()) - NEAR
        out = list(self.changes)
        broken, steps = self._broken(chosen), self._steps(chosen)
        missing: list[int] = []
        while broken:
            need = broken.pop(0)
            change = steps.change(int(self.own[need]), TRIES)
            if change is None:
                missing.append(need)
            else:
                out[need] = change
                broken = self._serve(change, broken, out)
                missing = self._serve(change, missing, out)
        used = chosen.copy()
        near = (chosen | part)[self.system.variable]
        while missing:
            need = missing.pop(0)
            rooms = np.where(near, np.inf, -1.0)
            found = self.programmes.certificate(need, used[self.system.variable], rooms)
            if found is None:
                return None
            out[need] = change = self._joined(found)
            missing = self._serve(change, missing, out)
            used[change[0]] = True
            if self.lines.price[used].sum() >= before:
                return None
        return out

    def _serve(self, change: Change, needs: list[int], out: list[Change]) -> list[int]:
        """Give a certificate to all of some needs whose variable it moves; return the others."""
        moved = np.isin(self.own[needs], change[0])
        for need, there in zip(needs, moved, strict=True):
            if there:
                out[need] = change
        return [need for need, there in zip(needs, moved, strict=True) if not there]

    def _joined(self, change: Change) -> Change:
        """Return a change of cells as one of variables."""
        variable, first = np.unique(self.system.variable[change[0]], return_index=True)
        return variable, change[1][first]

    def _near(self, free: Flags, done: int) -> Flags:
        """Return variables that lie together: around one that is withheld, or of some codes."""
        if done % 2 == 0:
            found = np.flatnonzero(self.withheld & free)
            middle = self.codes[:, self.rng.choice(found)]
            far = (self.codes != middle[:, None]).sum(axis=0) + self.rng.random(len(free))
            return np.asarray(free & (far <= np.partition(far[free], PART - 1)[PART - 1]))
        near = free.copy()
        while near.sum() > PART:
            codes = self.codes[int(self.rng.integers(len(self.codes)))]
            left = np.unique(codes[near])
            if len(left) > 1:
                near &= codes != self.rng.choice(left)
        return near

    def _chosen(self, free: Flags) -> Flags | None:
        """Return what is withheld with some variables chosen anew, so that it is cheaper, or None.

        Every primary cell can still move, in real numbers.
        """
        part = _Part(self, free)
        before = float(self.lines.price[self.withheld].sum()) - NEAR
        for _ in range(CHOICES):
            choice = part.choice()
            if choice is None:
                return None
            chosen = part.held.copy()
            chosen[part.free[choice]] = True
            if self.lines.price[chosen].sum() >= before:
                return None
            missed = self._missed(chosen)
            if not missed:
                return chosen
            if not part.cut(missed, chosen):
                return None
        return None

    def _missed(self, chosen: Flags) -> list[int]:
        """Return some of the primary variables that cannot move by 1, in real numbers."""
        own = np.unique(self.own[self._broken(chosen)])
        steps = self._steps(chosen)
        missed: list[int] = []
        for one in own[~steps.moved(own)].tolist():
            if not steps.reaches(one):
                missed.append(one)
                if len(missed) == MOST_CUTS:
                    break
        return missed

    def _broken(self, chosen: Flags) -> list[int]:
        """Return the needs whose certificates use what is not chosen."""
        changes = enumerate(self.changes)
        return [need for need, (variable, _) in changes if not chosen[variable].all()]

    def _steps(self, chosen: Flags) -> Steps:
        kept = np.flatnonzero(chosen)
        return Steps(self.equations, kept, self.rises[kept], self.falls[kept])

    def _certificates(self, chosen: Flags) -> list[Change | None]:
        """Return a change for each need, in whole numbers; of a few more cells where it must be."""
        steps, used = self._steps(chosen), chosen[self.system.variable]
        out: list[Change | None] = []
        for need, own in enumerate(self.own.tolist()):
            found = steps.change(own)
            change = None if found is None else self._spread(found)
            if change is None:
                near = used | self.likely[self.system.variable]
                rooms = np.where(near, np.inf, -1.0)
                change = self.programmes.certificate(need, used, rooms)
                if change is not None:
                    used[change[0]] = True
            out.append(change)
        return out

    def _spread(self, change: Change) -> Change:
        """Return a change of variables as one of cells."""
        variable, factor = change
        counts = self.starts[variable + 1] - self.starts[variable]
        row = np.repeat(np.arange(len(variable)), counts)
        place = np.arange(len(row)) - np.searchsorted(row, row)
        return self.cells[self.starts[variable][row] + place], factor[row]


class _Part:
    """The programme that chooses some variables, and the conditions that its choices missed."""

    def __init__(self, table: Exchange, free: Flags) -> None:
        self.lines, self.free = table.lines, np.flatnonzero(free)
        self.held = table.withheld & ~free
        self.matrix, self.least = self.lines.conditions(self.free, self.held)
        self.rows: list[Floats] = []
        self.sides: list[float] = []
        # Only what is held or may be chosen can move.
        self.kept = np.flatnonzero(self.held | free)
        block = table.equations[:, self.kept].tocsr()
        self.block = block[np.diff(block.indptr) > 0].tocsc()
        self.above = np.minimum(table.rises[self.kept], FAR)
        self.below = np.minimum(table.falls[self.kept], FAR)

    def choice(self) -> Flags | None:
        """Return which variables are chosen, or None."""
        columns = self.matrix.shape[1]
        cost = np.zeros(columns)
        cost[: len(self.free)] = self.lines.price[self.free]
        whole = np.arange(columns) < len(self.free)
        matrix, least = self.matrix, self.least
        if self.rows:
            rows = sparse.csr_matrix(np.array(self.rows))
            rows.resize((len(self.rows), columns))
            matrix = sparse.vstack([matrix, rows], "csc")
            least = np.concatenate([least, self.sides])
        found = LinearProgram(
            matrix, least, np.full(len(least), np.inf), np.zeros(columns), np.ones(columns), cost,
            whole, nodes=NODES, relative=PRECISION,
        ).run()  # fmt: skip
        return found.values[: len(self.free)] > 0.5 if len(found.values) else None

    def cut(self, missed: list[int], chosen: Flags) -> int:
        """Add the conditions that a choice misses; return how many."""
        place = np.full(len(chosen), -1)
        place[self.free] = np.arange(len(self.free))
        there = place[self.kept] >= 0
        added = 0
        for own in missed:
            for faint in FAINT:
                factor = self._factors(own, np.where(chosen[self.kept], 1.0, faint))
                side = 1.0 - float(factor[self.held[self.kept]].sum())
                row = np.zeros(len(self.free))
                row[place[self.kept[there]]] = factor[there]
                if float(row @ chosen[self.free]) < side - NEAR:
                    self.rows.append(row)
                    self.sides.append(side)
                    added += 1
                    break
        return added

    def _factors(self, own: int, share: Floats) -> Floats:
        """Return c such that what is withheld must come to 1 with them for a variable to rise.

        The cheapest such condition where a share of each variable is withheld.
        """
        at, count = int(np.searchsorted(self.kept, own)), len(self.kept)
        low, high = -share * self.below, share * self.above
        low[at], high[at] = 0.0, 1.0
        cost = np.zeros(count)
        cost[at] = -1.0
        zero = np.zeros(self.block.shape[0])
        finder = LinearProgram(self.block, zero, zero, low, high, cost)
        finder.run()
        turn = self.block.T @ finder.row_prices()
        if abs(turn[at]) < NEAR:
            return np.ones(count)
        turn = turn / turn[at]
        factor = np.where(turn < 0, -turn * self.above, turn * self.below)
        factor = np.minimum(np.where(np.abs(turn) < 10 * NEAR, 0.0, factor), 1.0)
        factor[at] = 0.0
        return np.asarray(factor)
