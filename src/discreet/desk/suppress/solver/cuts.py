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

from discreet.desk.suppress.solver.examine import examined
from discreet.desk.suppress.solver.problem import Needs, Problem
from discreet.desk.suppress.solver.witness import Witness
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
    """Who attacks (−1 is anybody), and how far each variable can fall for all he knows."""

    who: int
    open: Flags
    below: Floats


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
        self.insiders = insiders and problem.watched
        equations = sparse.csr_matrix(system.equations, dtype=np.float64)
        zero = np.zeros(equations.shape[0])
        none = np.zeros(size)
        self.programme = LinearProgram(equations, zero, zero, none, none, warm=True)
        self.witness: Witness | None = None

    def _attack(self, who: int) -> Attack:
        """Return what somebody knows."""
        if who < 0:
            return Attack(who, ~self.fixed, self.below)
        rooms = self.problem.insiders.rooms([who])
        known, below = np.zeros(len(self.below), bool), self.below.copy()
        known[self.system.variable[rooms < 0]] = True
        np.minimum.at(below, self.system.variable, np.maximum(rooms, 0.0))
        return Attack(who, ~self.fixed & ~known, below)

    def master(
        self, whole: bool, best: float | None, seconds: float | None, nodes: int | None = None
    ) -> Solution:
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
            nodes=nodes,
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
        added = self.separate_public(range(len(self.needs)), chosen)
        if added or not self.insiders:
            return added
        for need in range(len(self.needs)):
            left = self._undoing(self._attack(-1), need, chosen)
            while left:
                who = min(left)
                left.remove(who)
                attack = self._attack(who)
                missed = self._separate(attack, [need], chosen)
                added += missed
                if not missed:
                    left &= self._undoing(attack, need, chosen)
        return added

    def separate_public(self, asked: Iterable[int], chosen: Floats) -> int:
        """Add what a choice misses of some needs in the view of anybody; return how many."""
        return self._separate(self._attack(-1), asked, chosen)

    def _separate(self, attack: Attack, asked: Iterable[int], chosen: Floats) -> int:
        room = np.where(attack.open, chosen, 0.0)
        self.programme.set_all_bounds(-attack.below * room, self.above * room)
        added = 0
        for need in asked:
            own = int(self.system.variable[int(self.needs.cell[need])])
            rise, fall, width = self._asked(need, attack.who)
            sides = []
            for sign, side in ((-1.0, rise), (1.0, fall)):
                if side > 0 or width > 0:
                    factors = self._range(attack, own, sign)
                    sides.append(factors)
                    if side > 0:
                        added += self._add(factors, side, chosen)
            if width > 0:
                added += self._add(sides[0] + sides[1], width, chosen)
        return added

    def _asked(self, need: int, who: int) -> tuple[float, float, float]:
        if who >= 0:
            return self.needs.against(need, self.problem.insiders, who)
        parts = (self.needs.rise, self.needs.fall, self.needs.width)
        rise, fall, width = (float(part[need]) for part in parts)
        return rise, fall, width

    def _undoing(self, attack: Attack, need: int, chosen: Floats) -> set[int]:
        """Return in whose view the smallest changes that meet a need go too far."""
        known, variable = self.problem.insiders, self.system.variable
        own, room = int(self.needs.cell[need]), np.where(attack.open, chosen, 0.0)
        if self.witness is None:
            self.witness = Witness(self.system)
        self.witness.bound(-attack.below * room, self.above * room)
        rise, fall, width = self._asked(need, -1)
        whom: set[int] = set()
        for amount in (max(rise, width), -max(fall, width)):
            if amount != 0:
                change = self.witness.change(int(variable[own]), amount)
                if attack.who >= 0 and abs(change[variable[own]]) < abs(amount) * (1 - MISSED):
                    return set(known.who.tolist())  # too short a change clears nobody else
                moved = change[variable[known.cell]]
                size = np.where(known.room < 0, np.abs(moved), -moved)
                most = np.maximum(known.room, 0.0) * chosen[variable[known.cell]]
                whom |= set(known.who[size > most + CLOSE * (1 + abs(amount))].tolist())
        return whom

    def _range(self, attack: Attack, own: int, sign: float) -> Floats:
        """Return c such that Σ c·z bounds how far a cell moves, equal to it now."""
        self.solved += 1
        self.programme.set_cost(own, sign)
        found = self.programme.run()
        self.programme.set_cost(own, 0.0)
        if not found.solved:
            raise InternalError("an attacker's programme was not solved.")
        dual = self.programme.prices()
        factor = np.where(dual > 0, dual * attack.below, -dual * self.above)
        return np.where(attack.open & (np.abs(dual) > 1e-9), factor, 0.0)

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
        failed = examined(self.system, self.problem, ~self.problem.forbidden).failed
        return list(dict.fromkeys(cell for cell, _ in failed))
