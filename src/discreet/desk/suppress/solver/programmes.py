"""Certificates by linear programmes: for any equations, and for what no cube protects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.suppress.solver.problem import Needs, Problem
from discreet.desk.suppress.solver.undoing import Change, Views
from discreet.solve.linear import LinearProgram
from discreet.solve.system import TableSystem
from discreet.table.decimals import in_units
from discreet.types import Flags, Floats

# Corners of these programmes are mostly whole; a small multiple of the others is.
MULTIPLES = (1, 2, 3, 4, 6, 12)
NEAR = 1e-6
# Cells in use cost nothing; this keeps the change from wandering through all of them.
TRIFLE = 1e-4
NODES = 50
# Amounts are measured in no more than so many units, and floats are off by less than this share.
MOST, CLOSE = 1_000_000, 1e-12

Asked = tuple[float, float, float]
"""The rise, fall and width that are asked of a cell."""


class Programmes:
    """The cheapest change of the table that meets a need, as a linear programme.

    Notes
    -----
    The flow through cells is minimised, each at its price, as in the sequential heuristics that
    follow [Kelly1992].
    """

    def __init__(self, system: TableSystem, problem: Problem, needs: Needs) -> None:
        self.system, self.problem, self.needs = system, problem, needs
        self.views = Views(problem, needs)
        size = system.variables
        self.columns = sparse.csc_matrix(system.equations, dtype=np.float64)
        self.whole = self.columns.astype(np.int64)
        self.above, self.below = np.full(size, np.inf), np.full(size, np.inf)
        np.minimum.at(self.above, system.variable, problem.high - problem.values)
        np.minimum.at(self.below, system.variable, problem.values - problem.low)
        self.cost = np.bincount(
            system.variable, np.where(np.isinf(problem.cost), 0.0, problem.cost), size
        ).astype(np.float64)
        self.units = in_units(problem.values)[1]
        # Whether an integer programme is worth its time where a corner is not whole.
        self.insist = True
        self.forbidden = np.zeros(size, bool)
        self.forbidden[system.variable[np.isinf(problem.cost)]] = True

    def certificate(
        self,
        need: int,
        used: Flags,
        rooms: Floats,
        prices: Floats | None = None,
        asked: Asked | None = None,
    ) -> Change | None:
        """Return cells and factors of a cheap change that meets a need, or None.

        Cells in use cost nothing; no cell falls further than its room, and one with a room below 0
        does not change. `prices` of variables stand in for their costs; infinite ones are out.
        `asked` stands in for what the need asks.
        """
        variable = self.system.variable
        own = int(self.needs.cell[need])
        if asked is None:
            asked = (
                float(self.needs.rise[need]),
                float(self.needs.fall[need]),
                float(self.needs.width[need]),
            )
        free = np.ones(self.system.variables, bool)
        free[variable[~used]] = False
        price = np.where(free, 0.0, self.cost if prices is None else prices)
        closed = self.forbidden | np.isinf(price)
        if asked[2] <= 0:
            # What contributors have in the cell itself is in what is asked against them.
            rooms = np.where(variable == variable[own], np.inf, rooms)
        closed[variable[rooms < 0]] = True
        below = self.below.copy()
        np.minimum.at(below, variable, np.maximum(rooms, 0.0))
        best: tuple[float, Change] | None = None
        for rise, fall in self._ways(*asked):
            found = self._cheapest(own, rise, fall, price, closed, below)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
                if found[0] <= 0:
                    break
        return None if best is None else best[1]

    def apart(self, need: int, used: Flags) -> list[Change] | None:
        """Return changes that meet a need, which no contributor undoes all of; or None.

        The first may use any cell. Each further one withstands as many of those who undo all
        before it as it can, and one of them at least: if not even that can be had, he knows too
        much whatever is withheld.
        """
        insiders = self.problem.insiders
        changes: list[Change] = []
        shared: list[int] = []
        while True:
            out = shared
            change = self.certificate(need, used, insiders.rooms(out))
            while change is None and len(out) > 1:
                out = out[: len(out) // 2]
                change = self.certificate(need, used, insiders.rooms(out))
            if change is None and out:
                asked = self.needs.against(need, insiders, out[0])
                change = self.certificate(need, used, insiders.rooms(out), asked=asked)
            if change is None:
                return None
            undone = self.views.undone(change, need)
            shared = sorted(undone & set(shared) if changes else undone)
            changes.append(change)
            if not shared:
                return changes

    def _ways(self, rise: float, fall: float, width: float) -> list[tuple[float, float]]:
        """Return what to ask of one change: by how much its cell must be able to rise and fall."""
        if width <= rise + fall:
            return [(rise, fall)]
        half = np.ceil(width / 2) if self.problem.whole else width / 2
        ways = [(max(rise, half), max(fall, width - half))]
        ways += [(width - fall, fall), (rise, width - rise)]
        return list(dict.fromkeys(ways))

    def _cheapest(
        self, cell: int, rise: float, fall: float, price: Floats, closed: Flags, below: Floats
    ) -> tuple[float, Change] | None:
        """Return the cost and change of a programme, or None.

        Of figures that are no counts, and asked to move one way alone, the change may be a sum of
        several, each going as far as it can.
        """
        if not self.problem.whole and (rise <= 0 or fall <= 0):
            amount = max(rise, fall)
            unit = max(1 / (MULTIPLES[-1] * self.units), amount / MOST)
            far = float(np.ceil(amount / unit * (1 - CLOSE)))
            step = (unit, 0.0) if rise > 0 else (0.0, unit)
            found = self._solved(cell, *step, far, price, closed, below)
            if found is not None:
                return found
        return self._solved(cell, rise, fall, 1.0, price, closed, below)

    def _solved(
        self,
        cell: int,
        rise: float,
        fall: float,
        far: float,
        price: Floats,
        closed: Flags,
        below: Floats,
    ) -> tuple[float, Change] | None:
        own = int(self.system.variable[cell])
        # Each unit of the change is taken `rise` times forth and `fall` times back.
        plus = np.minimum(_times(self.above, rise), _times(below, fall))
        minus = np.minimum(_times(below, rise), _times(self.above, fall))
        if plus[own] < far or closed[own]:
            return None
        kept = np.flatnonzero(~closed & (np.maximum(plus, minus) >= 1))
        block = self.columns[:, kept].tocsr()
        block = block[np.diff(block.indptr) > 0]
        low = np.zeros(2 * len(kept))
        high = np.concatenate([plus[kept], minus[kept]])
        place = int(np.searchsorted(kept, own))
        low[place] = high[place] = far
        high[len(kept) + place] = 0.0
        trifle = TRIFLE * (1 + price[kept].max(initial=0.0)) / len(kept)
        cost = np.tile(price[kept] + trifle, 2)
        zero = np.zeros(block.shape[0])
        both = sparse.hstack([block, -block], "csc")
        found = LinearProgram(both, zero, zero, low, high, cost).run()
        if not found.solved:
            return None
        change = self._integers(found.values, kept)
        if change is None and self.insist and far == 1:
            # Counted in nodes, not in seconds: the same answer on any machine.
            flags = np.ones(len(cost), bool)
            mixed = LinearProgram(both, zero, zero, low, high, cost, flags, nodes=NODES).run()
            change = self._integers(mixed.values, kept) if len(mixed.values) else None
        if change is None:
            return None
        factors = change[self.system.variable]
        cells = np.flatnonzero(factors)
        return float(price[change != 0].sum()), (cells.astype(np.int64), factors[cells])

    def _integers(self, values: Floats, kept: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the change in whole numbers, or None where it has none that is as good."""
        part = values[: len(kept)] - values[len(kept) :]
        for multiple in MULTIPLES if not self.problem.whole else MULTIPLES[:1]:
            whole = np.rint(part * multiple)
            if (np.abs(whole - part * multiple) < NEAR * multiple * (1 + np.abs(part))).all():
                change = np.zeros(self.system.variables, np.int64)
                change[kept] = whole.astype(np.int64)
                if not (self.whole @ change).any():
                    return np.asarray(change // max(1, np.gcd.reduce(np.abs(change))))
        return None


def _times(room: Floats, amount: float) -> Floats:
    """Return how often an amount goes into each room, without end where nothing is asked."""
    if amount <= 0:
        return np.full(room.shape, np.inf)
    return np.floor(room / amount * (1 + CLOSE) + 1e-9)
