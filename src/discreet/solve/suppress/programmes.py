"""Certificates by linear programmes: for any equations, and for what no cube protects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.solve.linear import LinearProgram
from discreet.solve.suppress.problem import Flags, Floats, Needs, Problem
from discreet.solve.system import TableSystem

# Corners of these programmes are mostly whole; a small multiple of the others is.
MULTIPLES = (1, 2, 3, 4, 6, 12)
NEAR = 1e-6
# Cells in use cost nothing; this keeps the change from wandering through all of them.
TRIFLE = 1e-4
MIP_SECONDS = 10.0

Change = tuple[NDArray[np.int64], NDArray[np.int64]]


class Programmes:
    """The cheapest change of the table that meets a need, as a linear programme.

    Notes
    -----
    The flow through cells is minimised, each at its price, as in the sequential heuristics that
    follow [Kelly1992, sec. 4]; the programme is solved from the last optimum.
    """

    def __init__(self, system: TableSystem, problem: Problem, needs: Needs) -> None:
        self.system, self.problem, self.needs = system, problem, needs
        size = system.variables
        equations = sparse.csr_matrix(system.equations, dtype=np.float64)
        both = sparse.hstack([equations, -equations], "csr")
        zero = np.zeros(both.shape[0])
        self.programme = LinearProgram(both, zero, zero, np.zeros(2 * size), np.zeros(2 * size))
        self.matrix = both
        self.whole = equations.astype(np.int64)
        self.above, self.below = np.full(size, np.inf), np.full(size, np.inf)
        np.minimum.at(self.above, system.variable, problem.high - problem.values)
        np.minimum.at(self.below, system.variable, problem.values - problem.low)

    def certificate(self, need: int, used: Flags, banned: Flags) -> Change | None:
        """Return cells and factors of a cheap change that meets a need, or None.

        Cells in use cost nothing; `banned` ones must not change.
        """
        problem, variable = self.problem, self.system.variable
        price = np.bincount(
            variable,
            np.where(used, 0.0, np.where(np.isinf(problem.cost), 0.0, problem.cost)),
            self.system.variables,
        )
        closed = np.zeros(self.system.variables, bool)
        closed[variable[np.isinf(problem.cost) | banned]] = True
        best: tuple[float, Change] | None = None
        for rise, fall in self._ways(need):
            found = self._cheapest(int(self.needs.cell[need]), rise, fall, price, closed)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
        return None if best is None else best[1]

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
        with np.errstate(divide="ignore", invalid="ignore"):
            plus = np.minimum(_times(self.above, rise), _times(self.below, fall))
            minus = np.minimum(_times(self.below, rise), _times(self.above, fall))
        plus[closed] = minus[closed] = 0.0
        if plus[own] < 1 or closed[own]:
            return None
        minus[own] = 0.0
        low = np.zeros(2 * len(price))
        low[own] = 1.0
        high = np.concatenate([plus, minus])
        high[own] = 1.0
        cost = np.tile(price + TRIFLE * (1 + price.max(initial=0.0)) / len(price), 2)
        self.programme.set_all_bounds(low, high)
        self.programme.set_costs(cost)
        found = self.programme.run()
        if not found.solved:
            return None
        change = self._integers(found.values)
        if change is None:
            mixed = LinearProgram(
                self.matrix, np.zeros(self.matrix.shape[0]), np.zeros(self.matrix.shape[0]),
                low, high, cost, np.ones(len(cost), bool), MIP_SECONDS,
            ).run()  # fmt: skip
            if not len(mixed.values):
                return None
            change = self._integers(mixed.values)
        if change is None:
            return None
        factors = change[self.system.variable]
        cells = np.flatnonzero(factors)
        return float(price[change != 0].sum()), (cells.astype(np.int64), factors[cells])

    def _integers(self, values: Floats) -> NDArray[np.int64] | None:
        """Return the change in whole numbers, or None where it has none that is as good."""
        size = self.system.variables
        change = values[:size] - values[size:]
        for multiple in MULTIPLES if not self.problem.whole else MULTIPLES[:1]:
            whole = np.rint(change * multiple)
            if (np.abs(whole - change * multiple) < NEAR * multiple).all():
                integers = whole.astype(np.int64)
                if not (self.whole @ integers).any():
                    return integers
        return None


def _times(room: Floats, amount: float) -> Floats:
    """Return how often an amount goes into each room, without end where nothing is asked."""
    if amount <= 0:
        return np.full(room.shape, np.inf)
    return np.floor(room / amount + 1e-9)
