"""Risk of single cells: how many values remain possible, given what is published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.solve.bounds import Intervals, intervals
from discreet.solve.system import TableSystem
from discreet.types import Floats

# Figures are exact multiples of the step but for the rounding of decimal fractions.
NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class CellRisk:
    """Risk of each cell: `values` = 1/log2 m, m = `possible` values.

    Where m = 1 the cell is disclosed with certainty: `certain` says so, and the value is infinite.
    A cell without an upper bound has infinitely many values and the risk 0.
    """

    values: Floats
    possible: Floats
    certain: NDArray[np.bool_]


def cell_risk(low: ArrayLike, high: ArrayLike, step: float = 1.0) -> CellRisk:
    """Return the risk of cells that may have any multiple of the step from low to high.

    Notes
    -----
    DR = 1/H(X | Y = y), with all m possible values equally likely 1/log2 m [Domingo2002, eq. 3].
    Zeros: 0 is a possible value like any other.
    """
    least, most = np.asarray(low, np.float64), np.asarray(high, np.float64)
    if not step > 0:
        raise ParameterError(f"step must be above 0. Got {step}.")
    if (least > most).any() or np.isnan(least).any() or np.isnan(most).any():
        raise ParameterError("low must not be above high.")
    possible = np.floor((most - least) / step + NEAR) + 1
    certain = possible == 1
    with np.errstate(divide="ignore"):
        values = np.where(certain, np.inf, 1 / np.log2(np.where(certain, 2, possible)))
    return CellRisk(values, possible, certain)


def rounded_range(
    released: ArrayLike, base: int, random: bool, step: float = 1.0
) -> tuple[Floats, Floats]:
    """Return what a figure rounded to a multiple of the base can have been, before any margin.

    Conventional rounding, a half going up, leaves `base` values (in steps); random and controlled
    rounding 2·base − 1; nothing is below 0.

    Notes
    -----
    Conventional rounding as in [Domingo2002, sec. 4.2]. Zeros: a released 0 leaves `base` values
    under random rounding.
    """
    figures = np.asarray(released, np.float64)
    if isinstance(base, bool) or base != int(base) or base < 2:
        raise ParameterError(f"base must be an integer of at least 2. Got {base}.")
    off = np.abs(figures / (base * step) - np.rint(figures / (base * step))) > NEAR
    if off.any():
        raise ParameterError(
            f"rounded figures must be multiples of the base, {base * step:g}. "
            f"Got {figures[off].flat[0]:g}."
        )
    down, up = (base - 1, base - 1) if random else (base // 2, (base - 1) // 2)
    return np.maximum(figures - down * step, 0), figures + up * step


def perturbed_range(released: ArrayLike, bound: float) -> tuple[Floats, Floats]:
    """Return what a figure changed by at most the bound can have been; nothing is below 0.

    Notes
    -----
    The set of possible values of [Domingo2002, sec. 3] for noise of a known bound. Zeros: a
    released 0 can have been anything up to the bound.
    """
    if not bound >= 0:
        raise ParameterError(f"the bound must not be negative. Got {bound}.")
    figures = np.asarray(released, np.float64)
    return np.maximum(figures - bound, 0), figures + bound


def insider_range(
    low: ArrayLike, high: ArrayLike, contribution: ArrayLike
) -> tuple[Floats, Floats]:
    """Return what is left of cells for the others, to one who knows a contribution.

    Notes
    -----
    Of a cell between 995 and 1,004 a contributor of 400 knows that the others have 595 to 604
    together [Domingo2002, sec. 4.4]; one who knows who they are knows the largest as closely.
    Zeros: nothing is left of a cell that is all one's own.
    """
    known = np.asarray(contribution, np.float64)
    if (known < 0).any():
        raise ParameterError("a contribution must not be negative.")
    least, most = np.asarray(low, np.float64) - known, np.asarray(high, np.float64) - known
    if (most < 0).any():
        raise ParameterError("a contribution must not be above what its cell can be.")
    return np.maximum(least, 0), most


@dataclass(frozen=True, eq=False)
class Audit:
    """What an intruder can prove about each cell, in the shape of the table's cells."""

    low: Floats
    high: Floats
    attained: NDArray[np.bool_]
    risk: CellRisk
    proof: Intervals


def audit(
    system: TableSystem,
    low: ArrayLike,
    high: ArrayLike,
    step: float = 1.0,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> Audit:
    """Return the interval of every cell that follows from the intervals known and the sums.

    `low` and `high` have a value a cell: both the figure where it is published exactly, 0 and
    infinity where nothing is said. All figures are multiples of the step. Read `proof.status`:
    where it is infeasible the figures contradict one another, and the rest means nothing.

    Notes
    -----
    Intervals as in [Domingo2002, sec. 4], proved as `discreet.solve.intervals` says. Zeros: a
    published 0 is exact, and makes every part of it 0.
    """
    units = [np.asarray(bound, np.float64).reshape(-1) / step for bound in (low, high)]
    if any(unit.size != system.variable.size for unit in units):
        raise ParameterError(f"low and high must be one for each of the cells, {system.shape}.")
    least, most = system.merge(*units)
    proof = intervals(system.equations, least, most, seconds=seconds, tell=tell)
    spread = [
        np.asarray(bound[system.variable].reshape(system.shape) * step) for bound in proof.values
    ]
    sound = np.maximum(*spread)  # contradictory bounds cross; there is no risk to state then
    risk = cell_risk(spread[0], sound, step)
    attained = proof.attained[:, system.variable].reshape((2, *system.shape))
    return Audit(spread[0], sound, attained, risk, proof)
