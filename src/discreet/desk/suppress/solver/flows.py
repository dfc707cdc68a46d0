"""The cheapest change of magnitudes that moves a cell as far as is asked, in units of the table.

One linear programme for all cells: costs and bounds change from run to run. Few cells move, so each
begins with none moved; that takes fewer steps than from the last change.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.desk.suppress.solver.problem import Problem
from discreet.solve.linear import LinearProgram
from discreet.solve.system import TableSystem
from discreet.table.decimals import in_units
from discreet.types import Flags, Floats, Integers

# Corners of these programmes are whole multiples of the unit, or fractions of it with such a
# denominator.
DENOMINATORS = 60
NEAR = 1e-6
# What is withheld costs nothing: this keeps a change from wandering through all of it.
TRIFLE = 1e-6


class Flows:
    """Changes of the variables of a system, forth and back apart, so that most stay at 0.

    Notes
    -----
    The sequential heuristic that follows [Kelly1992]: the flow through cells is minimised. A cell
    costs as much as withholding it does once the flow is what is asked, or all that it can carry.
    """

    def __init__(self, system: TableSystem, problem: Problem) -> None:
        self.system, self.problem = system, problem
        size = system.variables
        self.unit = 1.0 / in_units(problem.values)[1]
        above, below = np.full(size, np.inf), np.full(size, np.inf)
        np.minimum.at(above, system.variable, problem.high - problem.values)
        np.minimum.at(below, system.variable, problem.values - problem.low)
        forbidden = np.zeros(size, bool)
        forbidden[system.variable[np.isinf(problem.cost)]] = True
        self.kept = np.flatnonzero(~forbidden)
        self.place = np.full(size, -1)
        self.place[self.kept] = np.arange(len(self.kept))
        self.above, self.below = (self._units(side[self.kept]) for side in (above, below))
        block = sparse.csc_matrix(system.spanning())[:, self.kept].tocsr()
        self.block = block[np.diff(block.indptr) > 0]
        zero, none = np.zeros(self.block.shape[0]), np.zeros(2 * len(self.kept))
        both = sparse.hstack([self.block, -self.block], "csc")
        self.programme = LinearProgram(both, zero, zero, none, none, none)
        self.programme.keep_costs()
        self.integers = self.block.astype(np.int64)
        self.steps = 0

    def _units(self, room: Floats) -> Floats:
        return np.floor(np.minimum(room / self.unit * (1 + 1e-12), 1e15))

    def change(
        self, own: int, amount: float, both: bool, price: Floats, rooms: Floats | None = None
    ) -> tuple[Integers, Integers] | None:
        """Return variables and factors of a cheap change that moves a variable by an amount.

        Below 0 it falls. `both`: the change can be taken back to the other side as well. `price`
        has one for each variable, infinite where it must not move; `rooms` how far each may fall,
        below 0: known.
        """
        place, far = int(self.place[own]), float(np.ceil(abs(amount) / self.unit * (1 - 1e-12)))
        if place < 0:
            return None
        price = price[self.kept]
        above, below = self.above, self.below
        if rooms is not None:
            room = rooms[self.kept].copy()
            room[place] = np.inf
            price = np.where(room < 0, np.inf, price)
            below = np.minimum(below, self._units(np.maximum(room, 0.0)))
        if both:
            above = below = np.minimum(above, below)
        open_ = np.isfinite(price)
        open_[place] = True
        forth, back = np.where(open_, above, 0.0), np.where(open_, below, 0.0)
        if (forth if amount > 0 else back)[place] < far:
            return None
        sides = [np.zeros(len(price)), np.zeros(len(price))]
        mine, other = (0, 1) if amount > 0 else (1, 0)
        high = [np.minimum(forth, 1e9 * far), np.minimum(back, 1e9 * far)]
        sides[mine][place] = high[mine][place] = far
        high[other][place] = 0.0
        finite = np.where(np.isfinite(price), price, 0.0)
        carried = np.maximum(1.0, np.minimum(far, np.minimum(above, below)))
        cost = np.where(finite > 0, finite / carried, 0.0)
        least = float(cost[cost > 0].min()) if (cost > 0).any() else 1.0
        cost = (cost / least) + TRIFLE
        return self._solved(np.tile(cost, 2), np.concatenate(sides), np.concatenate(high))

    def circulation(self, sense: Floats, withheld: Flags) -> tuple[Integers, Integers] | None:
        """Return the change of what is withheld that moves variables most in these senses."""
        sense = sense[self.kept]
        room = np.where(withheld[self.kept], np.minimum(self.above, self.below), 0.0)
        cost = np.concatenate([TRIFLE * np.abs(sense) - sense, TRIFLE * np.abs(sense) + sense])
        return self._solved(cost, np.zeros(2 * len(room)), np.tile(room, 2))

    def _solved(self, cost: Floats, low: Floats, high: Floats) -> tuple[Integers, Integers] | None:
        self.programme.begin_anew()
        self.programme.set_costs(cost)
        self.programme.set_all_bounds(low, high)
        found = self.programme.run()
        self.steps += self.programme.steps
        if not found.solved:
            return None
        part = found.values[: len(self.kept)] - found.values[len(self.kept) :]
        return self._whole(part)

    def _whole(self, part: Floats) -> tuple[Integers, Integers] | None:
        """Return the change in whole numbers, or None where it has none that is as good."""
        moved = np.flatnonzero(np.abs(part) > NEAR)
        flows = part[moved]
        off = NEAR * (1 + 1e-3 * np.abs(flows))
        for multiple in range(1, DENOMINATORS + 1):
            whole = np.rint(flows * multiple)
            if (np.abs(whole - flows * multiple) <= multiple * off).all():
                factors = whole.astype(np.int64)
                every = np.zeros(len(part), np.int64)
                every[moved] = factors
                if not (self.integers @ every).any():
                    common = max(1, int(np.gcd.reduce(np.abs(factors))))
                    there = factors != 0
                    return self.kept[moved[there]], factors[there] // common
        return None
