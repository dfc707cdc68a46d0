"""Risk of single cells: how many values remain possible, given what is published."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.table.decimals import added, exact, in_steps, of_steps
from discreet.types import Floats

if TYPE_CHECKING:
    from discreet.solve.bounds import Intervals
    from discreet.solve.system import TableSystem

Number = float | Fraction


@dataclass(frozen=True, eq=False)
class CellRisk:
    """Risk of each cell: `values` = 1/H, H the entropy in bits over its `possible` values.

    Where one value is possible the cell is disclosed with certainty: `certain` says so, and the
    risk is infinite. A cell without an upper bound has infinitely many values and the risk 0.
    """

    values: Floats
    possible: Floats
    certain: NDArray[np.bool_]


def cell_risk(low: ArrayLike, high: ArrayLike, step: Number = 1) -> CellRisk:
    """Return the risk of cells that may have any multiple of the step from low to high.

    Notes
    -----
    DR = 1/H(X | Y = y), with all m possible values equally likely 1/log2 m [Domingo2002, eq. 3].
    Zeros: 0 is a possible value like any other.

    >>> dc.risk.cell_risk([0, 7], [3, 7]).values.tolist()
    [0.5, inf]
    """
    least, most = np.asarray(low, np.float64), np.asarray(high, np.float64)
    if not step > 0:
        raise ParameterError(f"step must be above 0. Got {step}.")
    if (least > most).any() or np.isnan(least).any() or np.isnan(most).any():
        raise ParameterError("low must not be above high.")
    possible = in_steps(most, step) - in_steps(least, step, up=True) + 1
    if (possible < 1).any():
        raise ParameterError(f"there must be a multiple of the step, {step}, from low to high.")
    return _of_entropy(np.log2(possible), possible)


def entropy_risk(chances: ArrayLike) -> CellRisk:
    """Return the risk of cells whose possible values are not equally likely.

    `chances` has along its last axis the chance of every value, given what is published: of those
    that an intruder can work out, 0 for a value that is impossible. They sum to 1.

    Notes
    -----
    DR = 1/H(X | Y = y) with H = −Σ p·log2 p [Domingo2002, eq. 3]; m equal chances give 1/log2 m.
    Where one value has the chance 1 it is certain. Zeros: 0·log 0 is 0, and the value 0 is a value
    like any other.

    >>> dc.risk.entropy_risk([[0.5, 0.5], [1, 0]]).values.tolist()
    [1.0, inf]
    """
    given = np.asarray(chances, np.float64)
    if given.ndim == 0 or given.shape[-1] == 0:
        raise ParameterError("chances must have one axis for the values of a cell.")
    if not (given >= 0).all() or not np.allclose(given.sum(axis=-1), 1, 0, 1e-9):
        raise ParameterError("chances must be numbers of 0 or more that sum to 1 for each cell.")
    logs = np.log2(np.where(given > 0, given, 1))
    possible = np.count_nonzero(given, axis=-1).astype(np.float64)
    return _of_entropy(np.abs((given * logs).sum(axis=-1)), possible)


def _of_entropy(entropy: Floats, possible: Floats) -> CellRisk:
    certain = np.asarray(possible == 1)
    values = np.where(certain, np.inf, 1 / np.where(certain, 1, entropy))
    return CellRisk(values, np.asarray(possible), certain)


def rounded_range(
    released: ArrayLike, base: Number, random: bool, step: Number = 1
) -> tuple[Floats, Floats]:
    """Return what a figure rounded to a multiple of the base can have been, before any margin.

    Base and step are in the units of the figures. With b = base/step, conventional rounding, a half
    going up, leaves b values; random and controlled rounding 2·b − 1; nothing is below 0.

    Notes
    -----
    Conventional rounding as in [Domingo2002, sec. 4.2]. Zeros: a released 0 leaves b values under
    random rounding, and of an odd b the (b + 1)/2 from 0 on under conventional rounding.

    >>> low, high = dc.risk.rounded_range([0, 6], base=3, random=True)
    >>> low.tolist(), high.tolist()
    ([0.0, 4.0], [2.0, 8.0])
    """
    figures = np.asarray(released, np.float64)
    if not step > 0:
        raise ParameterError(f"step must be above 0. Got {step}.")
    steps = exact(base) / exact(step)
    if isinstance(base, bool) or steps.denominator > 1 or steps < 2:
        raise ParameterError(
            f"base must be a multiple of the precision of the figures, {float(step):g}, and at "
            f"least twice it. Got {base}."
        )
    units = in_steps(figures, step)
    off = (of_steps(units, step) != figures) | (units % int(steps) != 0)
    if off.any():
        raise ParameterError(
            f"rounded figures must be multiples of the base, {float(base):g}. "
            f"Got {figures[off].flat[0]:.15g}."
        )
    most = int(steps) - 1
    down, up = (most, most) if random else ((most + 1) // 2, most // 2)
    return of_steps(np.maximum(units - down, 0), step), of_steps(units + up, step)


def perturbed_range(released: ArrayLike, bound: Number) -> tuple[Floats, Floats]:
    """Return what a figure changed by at most the bound can have been; nothing is below 0.

    Notes
    -----
    The set of possible values of [Domingo2002, sec. 3] for noise of a known bound. Zeros: a
    released 0 can have been anything up to the bound.

    >>> low, high = dc.risk.perturbed_range([0, 10], bound=4)
    >>> low.tolist(), high.tolist()
    ([0.0, 6.0], [4.0, 14.0])
    """
    if not bound >= 0:
        raise ParameterError(f"the bound must not be negative. Got {bound}.")
    figures, most = np.asarray(released, np.float64), float(bound)
    return np.maximum(added(figures, -most), 0), added(figures, most)


def insider_range(
    low: ArrayLike, high: ArrayLike, contribution: ArrayLike
) -> tuple[Floats, Floats]:
    """Return what is left of cells for the others, to one who knows a contribution.

    Notes
    -----
    Of a cell between 995 and 1,004 a contributor of 400 knows that the others have 595 to 604
    together [Domingo2002, sec. 4.4]; one who knows who they are knows the largest as closely.
    Zeros: nothing is left of a cell that is all one's own.

    >>> low, high = dc.risk.insider_range([995], [1004], [400])
    >>> low.tolist(), high.tolist()
    ([595.0], [604.0])
    """
    known = np.asarray(contribution, np.float64)
    if (known < 0).any():
        raise ParameterError("a contribution must not be negative.")
    least, most = added(low, -known), added(high, -known)
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
    step: Number = 1,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> Audit:
    """Return the interval of every cell that follows from the intervals known and the sums.

    `low` and `high` have one value per cell: both the figure where it is published exactly, 0 and
    infinity where nothing is said. All figures are multiples of the step. Read `proof.status`:
    where it is infeasible the figures contradict one another, and the rest means nothing.

    Notes
    -----
    Intervals as in [Domingo2002, sec. 4], proved as `discreet.solve.intervals` says. Zeros: a
    published 0 is exact, and makes every part of it 0.

    >>> from discreet.solve.system import TableSystem
    >>> low = np.array([[0, 0, 5], [0, 0, 4], [6, 3, 9]])
    >>> high = np.where(low > 0, low, np.inf)
    >>> found = dc.risk.audit(TableSystem.of((2, 2)), low, high)
    >>> found.low[0].tolist(), found.high[0].tolist()
    ([2.0, 0.0, 5.0], [5.0, 3.0, 5.0])
    """
    from discreet.solve.bounds import intervals

    units = [in_steps(bound, step, up).reshape(-1) for bound, up in ((low, True), (high, False))]
    if any(unit.size != system.variable.size for unit in units):
        raise ParameterError(f"low and high must be one for each of the cells, {system.shape}.")
    least, most = system.merge(*units)
    proof = intervals(system.equations, least, most, seconds=seconds, tell=tell)
    spread = [
        of_steps(bound[system.variable].reshape(system.shape), step) for bound in proof.values
    ]
    sound = np.maximum(*spread)  # contradictory bounds cross; there is no risk to state then
    risk = cell_risk(spread[0], sound, step)
    attained = proof.attained[:, system.variable].reshape((2, *system.shape))
    return Audit(spread[0], sound, attained, risk, proof)
