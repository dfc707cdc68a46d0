"""The smallest change of the table that moves a cell as far as is asked, as a linear programme."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.errors import InternalError
from discreet.solve.linear import LinearProgram
from discreet.solve.system import TableSystem
from discreet.types import Floats

# What a unit of any change costs beside the one that is asked for: nothing moves without need.
TRIFLE = 1e-6
WHOLE = 1e-5


class Witness:
    """Changes of the variables of a system, forth and back apart, so that most stay at 0."""

    def __init__(self, system: TableSystem) -> None:
        self.size = system.variables
        equations = sparse.csr_matrix(system.equations, dtype=np.float64)
        self.both = sparse.hstack([equations, -equations], "csc")
        self.zero = np.zeros(equations.shape[0])
        self.cost = np.full(2 * self.size, TRIFLE)
        none = np.zeros(2 * self.size)
        self.programme = LinearProgram(
            self.both, self.zero, self.zero, none, none, self.cost, warm=True
        )
        self.low = self.high = none[: self.size]

    def bound(self, low: Floats, high: Floats) -> None:
        """Let variables change by no less and no more than this."""
        self.low, self.high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        self.programme.set_all_bounds(np.zeros(2 * self.size), self._most)

    @property
    def _most(self) -> Floats:
        return np.concatenate([self.high, -self.low])

    def change(self, own: int, amount: float, whole: bool = False) -> Floats:
        """Return a small change that moves a variable by an amount, or as far as it goes.

        An amount below 0 is for a fall. A `whole` change is in integers.
        """
        most = self._most
        forth, back = (own, self.size + own) if amount > 0 else (self.size + own, own)
        far = min(abs(amount), float(most[forth]))
        programme = self.programme
        programme.set_cost(forth, -1.0)
        programme.set_bounds(forth, 0.0, far)
        programme.set_bounds(back, 0.0, 0.0)
        found = programme.run()
        programme.set_cost(forth, TRIFLE)
        programme.set_bounds(forth, 0.0, float(most[forth]))
        programme.set_bounds(back, 0.0, float(most[back]))
        if not found.solved:
            raise InternalError("an attacker's programme was not solved.")
        values = np.asarray(found.values[: self.size] - found.values[self.size :])
        if not whole:
            return values
        if (np.abs(values - np.rint(values)) < WHOLE).all():
            return np.asarray(np.rint(values))
        low, high, cost = np.zeros(len(most)), most.copy(), self.cost.copy()
        cost[forth], high[forth], high[back] = -1.0, far, 0.0
        change = self._in_integers(low, high, cost)
        if change is None:
            raise InternalError("an attacker's programme was not solved.")
        if abs(change[own]) >= abs(amount) - WHOLE:
            return change
        # Integers may leave out the amount itself and reach what is beyond: 1, 3 and 5, say.
        low[forth], high[forth] = abs(amount), most[forth]
        farther = self._in_integers(low, high, self.cost) if low[forth] <= high[forth] else None
        return change if farther is None else farther

    def _in_integers(self, low: Floats, high: Floats, cost: Floats) -> Floats | None:
        """Return the cheapest change in integers, or None where there is none."""
        flags = np.ones(len(high), bool)
        mixed = LinearProgram(self.both, self.zero, self.zero, low, high, cost, flags).run()
        if not mixed.solved:
            return None
        return np.asarray(np.rint(mixed.values[: self.size] - mixed.values[self.size :]))
