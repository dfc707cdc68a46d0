"""Figures of an adjusted table that are shown rounded, to about as much as they changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.desk.sensitivity import Required
from discreet.table.hierarchy import Hierarchy
from discreet.types import Flags, Floats

# A figure that is rounded to a step has one of these at its front.
FRONTS = (1.0, 2.0, 5.0, 10.0)
# Half a step grows with the figure that it moves: so often is it reckoned anew.
TURNS = 4


def coarse_cells(true: Floats, values: Floats, needed: Required, share: float) -> Flags:
    """Return the cells to show rounded: those whose change is above a share of what is released.

    Notes
    -----
    Whether a sensitive cell is rounded must not tell which way it went: its change is taken as what
    it needs on the worse side, and compared with the released figure, which is known. Zeros: are
    not rounded.
    """
    worse = np.maximum(needed.lower, needed.upper)
    size = np.where(needed.sensitive, worse, np.abs(values - true))
    return np.asarray((size > share * values + 1e-9) & (values > 0))


def rounded(values: Floats, share: float) -> Floats:
    """Return figures rounded to 1, 2 or 5 and zeros: the least such step above a share of each.

    Notes
    -----
    Of the released figure alone, so that nobody learns from it what that would not say.
    """
    step = _steps(values, share)
    return np.asarray(np.floor(values / step + 0.5) * step)


def with_room(
    true: Floats, needed: Required, lower: Floats, upper: Floats, share: float
) -> tuple[Floats, Floats]:
    """Return what cells must move by, so that they are far enough from the truth when rounded.

    Notes
    -----
    A figure is rounded by half its step at most, and a smaller figure has no larger step. Zeros:
    nothing is asked of cells that are not sensitive.
    """
    worse = np.maximum(needed.lower, needed.upper)
    down, up = lower + _steps(true, share) / 2, upper
    for _ in range(TURNS):
        up = upper + _steps(true + up, share) / 2
    # A figure that is large beside what it needs is not rounded.
    down = np.where(worse > share * np.maximum(true - down, 0.0), down, lower)
    up = np.where(worse > share * (true + upper), up, upper)
    sides = (np.where(needed.sensitive, new, old) for new, old in ((down, lower), (up, upper)))
    return next(sides), next(sides)


def sums_off(figures: Floats, hierarchies: Sequence[Hierarchy]) -> float:
    """Return by how much parts and total differ at most, where all are there; others are NaN."""
    off = [0.0]
    for axis, hierarchy in enumerate(hierarchies):
        lines = np.moveaxis(figures, axis, 0)
        for parent, parts in hierarchy.families:
            misses = np.abs(lines[parent] - lines[parts].sum(axis=0))
            off.append(float(misses[~np.isnan(misses)].max(initial=0.0)))
    return round(max(off), 6)


def _steps(values: Floats, share: float) -> Floats:
    least = np.maximum(share * np.asarray(values, np.float64), 1e-12)
    power = 10.0 ** np.floor(np.log10(least))
    fronts = np.array(FRONTS)
    place = np.searchsorted(fronts, least / power * (1 - 1e-9))
    return np.asarray(power * fronts[np.minimum(place, len(fronts) - 1)])
