"""What an intruder who knows the method can prove about an adjusted table. For the custodian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from discreet.desk.adjust.method import AdjustedTable, whole_steps
from discreet.desk.sensitivity import Rule, Threshold
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.solve.bounds import Intervals, intervals
from discreet.solve.system import TableSystem
from discreet.table.decimals import MOST_DECIMALS, in_steps, of_steps
from discreet.types import Flags, Floats

# Linear programmes are exact to 1e-7 of the figures.
NEAR = 1e-6
# Digits are a habit of the table if so many of its true figures have it. Of figures that end as it
# happens one in ten ends in 0.
MOSTLY = 0.9


@dataclass(frozen=True, eq=False)
class Exposure:
    """The least and greatest true value of each cell that fits, and directions given away.

    `sided` marks sensitive cells that can have been moved one way only: who takes them to be at
    the edge of their protection knows the true value. `exact` marks cells whose interval is a
    point. Intervals are valid whatever the status of the proof.
    """

    low: Floats
    high: Floats
    sided: Flags
    exact: Flags
    proof: Intervals


def exposure(
    system: TableSystem,
    released: ArrayLike,
    sensitive: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    capacity: float = 1.0,
    published: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    beyond: float = 1.0,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> Exposure:
    """Return what follows from the released magnitudes for one who knows everything but the truth.

    The intruder knows the capacity, which cells are sensitive, how far below (`lower`) or above
    (`upper`) the truth each of them had to go, how many times that far any of them went (`beyond`),
    and which totals are `fixed`: more than anyone will know. All arrays have the shape of the
    cells.

    Notes
    -----
    A cell x that is not sensitive was moved by at most capacity·x, a sensitive one by at most
    `beyond` times its protection, a fixed one not at all; all true cells add up. Intervals by
    linear programming [Domingo2002, sec. 4]. Zeros: with a capacity below 1 a released 0 of a cell
    that is not sensitive is true.
    """
    figures = _shaped(system, "released", released)
    flags = _shaped(system, "sensitive", sensitive) > 0
    below, above = (_shaped(system, "protection", side) for side in (lower, upper))
    shown = np.ones(system.shape, bool) if published is None else np.asarray(published, bool)
    still = np.zeros(system.shape, bool) if fixed is None else np.asarray(fixed, bool)
    if not 0 < capacity <= 1:
        raise ParameterError(f"capacity must be above 0, at most 1. Got {capacity}.")
    if not beyond >= 1:
        raise ParameterError(f"beyond must be at least 1. Got {beyond}.")
    low = figures / (1 + capacity)
    high = figures / (1 - capacity) if capacity < 1 else np.full(figures.shape, np.inf)
    low = np.where(flags, np.maximum(figures - beyond * above, 0.0), low)
    high = np.where(flags, figures + beyond * below, high)
    low, high = np.where(still, figures, low), np.where(still, figures, high)
    low, high = np.where(shown, low, 0.0), np.where(shown, high, np.inf)
    proof = _proved(system, low, high, False, seconds, tell)
    least, most = (bound[system.variable].reshape(system.shape) for bound in proof.values)
    slack = NEAR * np.maximum(1.0, figures)
    went_up, went_down = least <= figures - above + slack, most >= figures + below - slack
    return Exposure(
        least, most, flags & shown & (went_up != went_down), most - least <= slack, proof
    )


def count_exposure(
    system: TableSystem,
    released: ArrayLike,
    smallest_safe: int = 3,
    published: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    largest: float = np.inf,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> Exposure:
    """Return what follows from adjusted counts for one who knows the smallest safe count.

    The intruder may know the `largest` change of a published count too, and which totals are
    `fixed`.

    Notes
    -----
    An inner count released as 0 was below the smallest safe count; one released as that count was
    anything above 0; a larger one was at least that count. A sum that is not 0 was not 0. Zeros: a
    true 0 is always released as 0.
    """
    figures = _shaped(system, "released", released)
    shown = np.ones(system.shape, bool) if published is None else np.asarray(published, bool)
    # Sums may be of many small counts: only what their parts say is known of them.
    alone = (np.diff(system.members.indptr)[system.variable] == 1).reshape(system.shape) & shown
    low = np.where(figures == 0, 0, np.where((figures > smallest_safe) & alone, smallest_safe, 1))
    high = np.where(alone & (figures == 0), smallest_safe - 1, np.inf)
    low, high = np.maximum(low, figures - largest), np.minimum(high, figures + largest)
    if fixed is not None:
        still = np.asarray(fixed, bool)
        low, high = np.where(still, figures, low), np.where(still, figures, high)
    low, high = np.where(shown, low, 0), np.where(shown, high, np.inf)
    proof = _proved(system, low, high, True, seconds, tell)
    least, most = (bound[system.variable].reshape(system.shape) for bound in proof.values)
    unknown = np.zeros(system.shape, bool)
    # What is proved to be 0 is nobody; what was released as 0 and proved to be 1 is somebody.
    return Exposure(least, most, unknown, (least == most) & (least > 0), proof)


def exposed(
    result: AdjustedTable,
    rules: Sequence[Rule],
    capacity: float,
    fixed: Flags | None = None,
    tell: Tell | None = None,
) -> Exposure:
    """Return what the worst intruder can prove of an adjusted table.

    The intruder knows the largest change that the other cells really had, up to their `capacity`,
    and how many times its protection a sensitive cell went at most.
    """
    system = TableSystem.table(result.cells.hierarchies)
    shown, true = result.published & ~result.short, result.cells.values
    change = result.values - true
    if result.cells.counts:
        minimum = max(rule.minimum for rule in rules if isinstance(rule, Threshold))
        largest = float(np.abs(change[shown]).max(initial=0))
        return count_exposure(system, result.values, minimum, shown, fixed, largest, tell=tell)
    others = shown & ~result.sensitive & (true > 0)
    most = float(np.abs(change[others] / true[others]).max(initial=0)) + 1e-9
    # Protection is in whole last decimals.
    lower, upper = (
        side if result.decimals is None else whole_steps(side, result.decimals)
        for side in (result.required.lower, result.required.upper)
    )
    moved = result.sensitive & shown
    needed = np.where(change > 0, upper, lower)[moved]
    beyond = float((np.abs(change[moved]) / needed).max(initial=1.0)) + 1e-9
    return exposure(
        system, result.values, result.sensitive, lower, upper, min(capacity, most), shown, fixed,
        beyond, tell=tell,
    )  # fmt: skip


@dataclass(frozen=True)
class Digits:
    """Moved figures that their digits give away: they are no multiples of `step`.

    So are `habit`, a share, of the true figures; of `moved` figures `off` are not.
    """

    step: float
    habit: float
    moved: int
    off: int

    @property
    def share(self) -> float:
        """The share of the moved figures that are given away."""
        return self.off / self.moved

    def __str__(self) -> str:
        # Not to be rounded to all of them.
        all_of = "all" if self.habit == 1 else f"{min(self.habit, 0.99):.0%} of the"
        what = "whole" if self.step == 1 else f"multiples of {self.step:,.15g}"
        return (
            f"DIGITS: {all_of} true figures are {what}, but {self.off:,} of {self.moved:,} moved "
            f"figures are not ({self.share:.0%}): their digits give them away."
        )


def digits(true: ArrayLike, released: ArrayLike, weights: ArrayLike = 1) -> Digits | None:
    """Return which moved figures stand out by their last digits; None if none does.

    `weights` says how many cells a figure stands for.

    Notes
    -----
    The step is the largest power of ten of which at least nine in ten true figures are multiples. A
    reader who knows the habit of a table, or sees it in the figures that stayed, takes others for
    moved. Zeros: left out, they are multiples of everything.
    """
    figures, shown = (np.asarray(given, np.float64).ravel() for given in (true, released))
    many = np.broadcast_to(np.asarray(weights, np.int64), figures.shape)
    counted = (figures > 0) & (many > 0)
    figures, shown, many = figures[counted], shown[counted], many[counted]
    if not len(figures):
        return None
    for power in range(int(np.log10(figures.max())) + 1, -MOST_DECIMALS - 1, -1):
        step = Fraction(10) ** power
        habit = many[_multiples(figures, step)].sum() / many.sum()
        if habit >= MOSTLY:
            moved = shown != figures
            off = many[moved & ~_multiples(shown, step)].sum()
            return Digits(float(step), habit, int(many[moved].sum()), int(off)) if off else None
    return None


def _multiples(figures: Floats, step: Fraction) -> Flags:
    return np.asarray(of_steps(in_steps(figures, step), step) == figures)


def _shaped(system: TableSystem, name: str, given: ArrayLike) -> Floats:
    found = np.asarray(given, np.float64)
    if found.shape != system.shape:
        raise ParameterError(f"{name} must have the shape {system.shape}. Got {found.shape}.")
    return found


def _proved(
    system: TableSystem,
    low: Floats,
    high: Floats,
    whole: bool,
    seconds: float | None,
    tell: Tell | None,
) -> Intervals:
    least, most = system.merge(low, high)
    return intervals(
        system.equations, least, most, whole=whole, certify=False, seconds=seconds, tell=tell
    )
