"""What is to be adjusted: cells, how far they must move, how far they may, and at what price.

A cell's change is z. Sensitive cells need z ≥ upper or z ≤ −lower; all changes add up as the cells
do; Σ weight·|z| (or weight·z²) is to be least. Cells of value 0 stay 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.desk.adjust import Norm
from discreet.errors import ParameterError
from discreet.solve.solution import Solution
from discreet.solve.system import TableSystem
from discreet.types import Floats

# A cell that misses its protection by less has it: linear programmes are exact to 1e-7.
NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Problem:
    """The cells of a table that can change, merged to variables, in the order of `kept`.

    `members` has a column for each inner cell. `least` and `most` bound the change; without a
    bound above `most` is infinite.
    """

    system: TableSystem
    kept: NDArray[np.int64]
    equations: Any
    members: Any
    values: Floats
    weights: Floats
    sensitive: NDArray[np.bool_]
    lower: Floats
    upper: Floats
    least: Floats
    most: Floats

    @property
    def movers(self) -> NDArray[np.int64]:
        """The sensitive variables."""
        return np.flatnonzero(self.sensitive)

    def cost(self, change: Floats, norm: Norm = Norm.L1) -> float:
        """Return the weighted sum of changes."""
        size = np.abs(change) if norm is Norm.L1 else change**2
        return float(self.weights @ size)

    def short(self, change: Floats) -> NDArray[np.bool_]:
        """Return the sensitive variables that are not at or beyond their protection."""
        slack = NEAR * np.maximum(1.0, self.values)
        safe = (change >= self.upper - slack) | (change <= -self.lower + slack)
        return np.asarray(self.sensitive & ~safe)

    def cells(self, change: Floats) -> Floats:
        """Return the change of every cell of the table, in its shape."""
        full = np.zeros(self.system.variables)
        full[self.kept] = change
        return np.asarray(full[self.system.variable].reshape(self.system.shape))


@dataclass(frozen=True, eq=False)
class Adjusted(Solution):
    """`values` are the changes of the cells, in the shape of the table.

    `short` marks sensitive cells that are not at or beyond their protection: they must not be
    published. `cost` is the weighted sum of changes, `bound` one that no adjustment undercuts (NaN
    if not computed), and `gap` the share that the cost is above it.
    """

    short: NDArray[np.bool_]
    cost: float
    bound: float


def problem(
    system: TableSystem,
    values: ArrayLike,
    sensitive: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    weights: ArrayLike | None = None,
    capacity: ArrayLike | float = 1.0,
    fixed: ArrayLike | None = None,
    held: ArrayLike | None = None,
    limit: ArrayLike = np.inf,
) -> Problem:
    """Return what is to be adjusted, given an array for each of these in the shape of the cells.

    `lower` and `upper` are the protection of the sensitive cells; `capacity` is the largest change
    of the other cells as a share of their value, and of those sensitive ones that are `held` to it;
    `fixed` cells do not change. None changes by more than its `limit`, even if it is one with a
    sensitive cell that must go farther, and is short then. `weights` of 0 are for cells that are
    not published. Without weights a cell weighs 1/value: what counts is change in proportion.
    """
    shape = system.shape
    amounts = np.asarray(values, np.float64)
    if amounts.shape != shape:
        raise ParameterError(f"values must have the shape {shape}. Got {amounts.shape}.")
    if not np.isfinite(amounts).all() or (amounts < 0).any():
        raise ParameterError("values must be finite numbers of 0 or more.")
    off = np.abs(system.equations @ _merged(system, amounts, np.maximum, -np.inf))
    if (off > NEAR * max(1.0, float(amounts.max(initial=0)))).any():
        raise ParameterError("the values must add up.")
    weigh = default_weights(amounts) if weights is None else np.broadcast_to(weights, shape)
    flags = np.asarray(sensitive, bool)
    needs = [np.broadcast_to(np.asarray(side, np.float64), shape) for side in (lower, upper)]
    caps = np.broadcast_to(np.asarray(capacity, np.float64), shape)
    still = np.zeros(shape, bool) if fixed is None else np.asarray(fixed, bool)
    for name, given in (("sensitive", flags), ("fixed", still)):
        if given.shape != shape:
            raise ParameterError(f"{name} must have the shape {shape}. Got {given.shape}.")
    for name, numbers in (("protection", np.stack(needs)), ("weights", weigh), ("capacity", caps)):
        if not np.isfinite(numbers).all() or (numbers < 0).any():
            raise ParameterError(f"{name} must be finite numbers of 0 or more.")
    by_variable = _merged(system, amounts, np.maximum, 0.0)
    if by_variable.any():
        system = system.without_zeros(by_variable[system.inner])
    value = _merged(system, amounts, np.maximum, 0.0)
    flag = _merged(system, flags & (amounts > 0), np.logical_or, 0).astype(bool)
    low, high = (_merged(system, np.where(flags, side, 0), np.maximum, 0.0) for side in needs)
    low = np.minimum(low, value)  # nothing goes below 0
    # What is sensitive may go as far as it must, and what is not published as far as it likes.
    bound = (weigh > 0) & (~flags if held is None else ~flags | np.asarray(held, bool))
    share = _merged(system, np.where(bound, caps, np.inf), np.minimum, np.inf)
    reach = share * np.where(value > 0, value, 1.0)
    fast = _merged(system, still, np.logical_or, 0).astype(bool)
    end = _merged(system, np.broadcast_to(limit, shape), np.minimum, np.inf)
    least = np.where(fast, 0.0, -np.minimum(np.minimum(np.maximum(reach, low), value), end))
    most = np.where(fast, 0.0, np.minimum(np.maximum(reach, high), end))
    kept = np.flatnonzero(value > 0)
    equations = system.equations[:, kept]
    return Problem(
        system,
        kept,
        equations[np.flatnonzero(np.diff(equations.indptr))],
        system.members[kept],
        value[kept],
        _merged(system, weigh, np.add, 0.0)[kept],
        flag[kept],
        low[kept],
        high[kept],
        least[kept],
        most[kept],
    )


def default_weights(values: Floats) -> Floats:
    """Return 1/value, at most 1: a change counts in proportion to its cell."""
    return np.asarray(np.where(values > 0, 1 / np.maximum(values, 1.0), 0.0))


def _merged(system: TableSystem, given: Any, how: Any, start: float) -> Floats:
    """Return one number for each variable from those of its cells."""
    found = np.full(system.variables, start)
    how.at(found, system.variable, np.asarray(given, np.float64).reshape(-1))
    return found
