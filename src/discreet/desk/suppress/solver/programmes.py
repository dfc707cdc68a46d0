"""Certificates by linear programmes: for any equations, and for what no cube protects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.suppress.solver.problem import Needs, Problem
from discreet.solve.linear import LinearProgram
from discreet.solve.system import TableSystem
from discreet.types import Flags, Floats

# Corners of these programmes are mostly whole; a small multiple of the others is.
MULTIPLES = (1, 2, 3, 4, 6, 12)
NEAR = 1e-6
# Cells in use cost nothing; this keeps the change from wandering through all of them.
TRIFLE = 1e-4
NODES = 50

Change = tuple[NDArray[np.int64], NDArray[np.int64]]


class Programmes:
    """The cheapest change of the table that meets a need, as a linear programme.

    Notes
    -----
    The flow through cells is minimised, each at its price, as in the sequential heuristics that
    follow [Kelly1992].
    """

    def __init__(self, system: TableSystem, problem: Problem, needs: Needs) -> None:
        self.system, self.problem, self.needs = system, problem, needs
        size = system.variables
        self.columns = sparse.csc_matrix(system.equations, dtype=np.float64)
        self.whole = self.columns.astype(np.int64)
        self.above, self.below = np.full(size, np.inf), np.full(size, np.inf)
        np.minimum.at(self.above, system.variable, problem.high - problem.values)
        np.minimum.at(self.below, system.variable, problem.values - problem.low)
        self.cost = np.bincount(
            system.variable, np.where(np.isinf(problem.cost), 0.0, problem.cost), size
        ).astype(np.float64)
        # Whether an integer programme is worth its time where a corner is not whole.
        self.insist = True
        self.forbidden = np.zeros(size, bool)
        self.forbidden[system.variable[np.isinf(problem.cost)]] = True

    def certificate(
        self, need: int, used: Flags, banned: Flags, prices: Floats | None = None
    ) -> Change | None:
        """Return cells and factors of a cheap change that meets a need, or None.

        Cells in use cost nothing; `banned` ones must not change. `prices` of variables stand in
        for their costs; infinite ones are out.
        """
        variable = self.system.variable
        free = np.ones(self.system.variables, bool)
        free[variable[~used]] = False
        price = np.where(free, 0.0, self.cost if prices is None else prices)
        closed = self.forbidden.copy()
        closed[variable[banned]] = True
        closed |= np.isinf(price)
        best: tuple[float, Change] | None = None
        for rise, fall in self._ways(need):
            found = self._cheapest(int(self.needs.cell[need]), rise, fall, price, closed)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
                if found[0] <= 0:
                    break
        return None if best is None else best[1]

    def apart(self, need: int, used: Flags) -> list[Change] | None:
        """Return changes that meet a need, none of whose owners knows a cell of each; or None.

        The first may use any cell. Each further one does without as many of those whom all have in
        common as it can, and without one of them at least: if not even that can be had, he knows
        too much whatever is withheld.
        """
        owner = self.problem.owner
        own = {-1, int(owner[self.needs.cell[need]])}
        changes: list[Change] = []
        shared: list[int] = []
        while True:
            out = shared
            change = self.certificate(need, used, np.isin(owner, out))
            while change is None and len(out) > 1:
                out = out[: len(out) // 2]
                change = self.certificate(need, used, np.isin(owner, out))
            if change is None:
                return None
            known = set(owner[change[0]].tolist()) - own
            shared = sorted(known & set(shared) if changes else known)
            changes.append(change)
            if not shared:
                return changes

    def _ways(self, need: int) -> list[tuple[float, float]]:
        """Return what to ask of one change: by how much its cell must be able to rise and fall."""
        rise, fall = float(self.needs.rise[need]), float(self.needs.fall[need])
        width = float(self.needs.width[need])
        if width <= rise + fall:
            return [(rise, fall)]
        half = np.ceil(width / 2) if self.problem.whole else width / 2
        ways = [(max(rise, half), max(fall, width - half))]
        ways += [(width - fall, fall), (rise, width - rise)]
        return list(dict.fromkeys(ways))

    def _cheapest(
        self, cell: int, rise: float, fall: float, price: Floats, closed: Flags
    ) -> tuple[float, Change] | None:
        own = int(self.system.variable[cell])
        # Each unit of the change is taken `rise` times forth and `fall` times back.
        plus = np.minimum(_times(self.above, rise), _times(self.below, fall))
        minus = np.minimum(_times(self.below, rise), _times(self.above, fall))
        if plus[own] < 1 or closed[own]:
            return None
        kept = np.flatnonzero(~closed & (np.maximum(plus, minus) >= 1))
        block = self.columns[:, kept].tocsr()
        block = block[np.diff(block.indptr) > 0]
        low = np.zeros(2 * len(kept))
        high = np.concatenate([plus[kept], minus[kept]])
        place = int(np.searchsorted(kept, own))
        low[place] = high[place] = 1.0
        high[len(kept) + place] = 0.0
        trifle = TRIFLE * (1 + price[kept].max(initial=0.0)) / len(kept)
        cost = np.tile(price[kept] + trifle, 2)
        zero = np.zeros(block.shape[0])
        both = sparse.hstack([block, -block], "csc")
        found = LinearProgram(both, zero, zero, low, high, cost).run()
        if not found.solved:
            return None
        change = self._integers(found.values, kept)
        if change is None and self.insist:
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
            if (np.abs(whole - part * multiple) < NEAR * multiple).all():
                change = np.zeros(self.system.variables, np.int64)
                change[kept] = whole.astype(np.int64)
                if not (self.whole @ change).any():
                    return change
        return None


def _times(room: Floats, amount: float) -> Floats:
    """Return how often an amount goes into each room, without end where nothing is asked."""
    if amount <= 0:
        return np.full(room.shape, np.inf)
    return np.floor(room / amount + 1e-9)
