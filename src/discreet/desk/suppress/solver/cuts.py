"""Conditions on what is withheld, found by attackers: the master programme and its cuts.

The master chooses what to withhold; attackers, one for each end of each primary cell and each who
may attack, solve their linear programmes; a choice that leaves one of them too much is cut off by
the dual of his programme.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.desk.suppress.solver.check import exposed
from discreet.desk.suppress.solver.problem import Needs, Problem
from discreet.errors import InternalError
from discreet.solve.linear import LinearProgram
from discreet.solve.solution import Solution
from discreet.solve.system import TableSystem
from discreet.types import Flags, Floats

# A cut must be missed by this share of what is asked to be worth adding.
MISSED = 1e-4
# The share of the cost within which the master's choice is the cheapest.
CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class Attack:
    """Somebody's programme: `owner` knows his cells, −1 is anybody."""

    owner: int
    programme: LinearProgram
    open: Flags


class Cuts:
    """The master programme over cells, and the attackers that add conditions to it.

    Notes
    -----
    The model of [Fischetti2000]: min Σ w·z over 0/1 z such that every attacker's range
    Σ c·z is at least what is asked; c are the reduced costs of his programme times how far each
    cell may move, no larger than what is asked.
    """

    def __init__(self, system: TableSystem, problem: Problem, insiders: bool = True) -> None:
        self.system, self.problem = system, problem
        self.needs = Needs.of(problem)
        size = system.variables
        cost = problem.cost
        finite = np.where(np.isinf(cost), 0.0, cost)
        self.cost: Floats = np.bincount(system.variable, finite, size).astype(np.float64)
        self.fixed = np.zeros(size, bool)
        self.fixed[system.variable[np.isinf(cost)]] = True
        self.open = np.bincount(system.variable, cost, size) == 0
        self.below, self.above = np.full(size, np.inf), np.full(size, np.inf)
        np.minimum.at(self.above, system.variable, problem.high - problem.values)
        np.minimum.at(self.below, system.variable, problem.values - problem.low)
        # Nothing needs to rise without end for a primary cell to move as far as is asked.
        most = 4 * (abs(problem.values).sum() + self.needs.rise.max(initial=0) + 1)
        self.above = np.minimum(self.above, most + self.needs.width.max(initial=0))
        self.rows: list[Floats] = []
        self.sides: list[float] = []
        self.solved = 0
        known = np.unique(problem.owner[(problem.owner >= 0) & ~problem.forbidden & insiders])
        self.attacks = [self._attack(owner) for owner in (-1, *known.tolist())]

    def _attack(self, owner: int) -> Attack:
        size = self.system.variables
        equations = sparse.csr_matrix(self.system.equations, dtype=np.float64)
        zero = np.zeros(equations.shape[0])
        programme = LinearProgram(equations, zero, zero, np.zeros(size), np.zeros(size), warm=True)
        known = np.zeros(size, bool)
        if owner >= 0:
            known[self.system.variable[self.problem.owner == owner]] = True
        return Attack(owner, programme, ~self.fixed & ~known)

    def master(self, whole: bool, best: float | None, seconds: float | None) -> Solution:
        """Return the cheapest choice that meets all conditions so far."""
        size = len(self.cost)
        rows = [*self.rows]
        low, high = [*self.sides], [np.inf] * len(self.sides)
        if best is not None:
            rows.append(self.cost)
            low.append(-np.inf)
            high.append(best * (1 - CLOSE) if best > 0 else -1.0)
        matrix = sparse.csr_matrix(np.array(rows)) if rows else sparse.csr_matrix((0, size))
        return LinearProgram(
            matrix,
            np.array(low, np.float64),
            np.array(high, np.float64),
            self.open.astype(np.float64),
            1.0 - self.fixed,
            self.cost,
            np.ones(size, bool) if whole else None,
            seconds,
            relative=CLOSE,
        ).run()

    def cost_of(self, chosen: Floats) -> float:
        """Return what a choice costs."""
        return float(self.cost @ chosen)

    def withheld(self, chosen: Floats) -> Flags:
        """Return the cells of a choice."""
        return np.asarray(chosen[self.system.variable] > 0.5)

    def more_than(self, chosen: Floats) -> None:
        """Ask for a cell outside a choice that is not safe."""
        self.rows.append(((chosen < 0.5) & ~self.fixed).astype(np.float64))
        self.sides.append(1.0)

    def separate(self, chosen: Floats) -> int:
        """Add the conditions that a choice misses; return how many. Insiders come last."""
        chosen = np.where(chosen > CLOSE, chosen, 0.0)
        met: list[set[int]] = [set() for _ in range(len(self.needs))]
        added = self._separate(self.attacks[0], range(len(self.needs)), chosen, met)
        if added:
            return added
        for attack in self.attacks[1:]:
            # Who knows no cell of the change that meets a need cannot take it away.
            open_to = [need for need in range(len(self.needs)) if attack.owner in met[need]]
            added += self._separate(attack, open_to, chosen, None)
        return added

    def _separate(
        self,
        attack: Attack,
        asked: Iterable[int],
        chosen: Floats,
        met: list[set[int]] | None,
    ) -> int:
        room = np.where(attack.open, chosen, 0.0)
        attack.programme.set_all_bounds(-self.below * room, self.above * room)
        added = 0
        for need in asked:
            cell = int(self.needs.cell[need])
            own = int(self.system.variable[cell])
            rise, fall, width = (
                float(part[need]) for part in (self.needs.rise, self.needs.fall, self.needs.width)
            )
            sides = []
            for sign, side in ((-1.0, rise), (1.0, fall)):
                if side > 0 or width > 0:
                    factors, change = self._range(attack, own, sign)
                    sides.append(factors)
                    if met is not None:
                        met[need] |= self._insiders(change, cell)
                    if side > 0:
                        added += self._add(factors, side, chosen)
            if width > 0:
                added += self._add(sides[0] + sides[1], width, chosen)
        return added

    def _insiders(self, change: Floats, cell: int) -> set[int]:
        """Return who is alone in a cell that a change moves, but for the cell's own owner."""
        moved = np.abs(change[self.system.variable]) > CLOSE
        owners = np.unique(self.problem.owner[moved & (self.problem.owner >= 0)])
        return set(owners.tolist()) - {int(self.problem.owner[cell])}

    def _range(self, attack: Attack, own: int, sign: float) -> tuple[Floats, Floats]:
        """Return c such that Σ c·z bounds how far a cell moves, equal to it now; and the change."""
        self.solved += 1
        attack.programme.set_cost(own, sign)
        found = attack.programme.run()
        attack.programme.set_cost(own, 0.0)
        if not found.solved:
            raise InternalError("an attacker's programme was not solved.")
        dual = attack.programme.prices()
        factor = np.where(dual > 0, dual * self.below, -dual * self.above)
        return np.where(attack.open & (np.abs(dual) > 1e-9), factor, 0.0), found.values

    def _add(self, factors: Floats, asked: float, chosen: Floats) -> int:
        """Add Σ factors·z ≥ asked where it is missed, with no factor above what is asked."""
        row = np.minimum(factors / asked, 1.0)
        if float(row @ chosen) >= 1 - MISSED:
            return 0
        self.rows.append(row)
        self.sides.append(1.0)
        return 1

    def hopeless(self) -> list[int]:
        """Return the primary cells that are not protected even if everything may be withheld."""
        return exposed(self.system, self.problem, ~self.problem.forbidden)
