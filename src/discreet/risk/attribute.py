"""Counts of what a table discloses by its pattern: near-empty rows, small cells, what stayed.

All for the custodian.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_axis, checked_counts, checked_pair
from discreet.errors import ParameterError
from discreet.risk.terms import x_log_x

SMALL = (1, 2)
"""The small counts of the census literature [Shlomo2015, §4; Longhurst2007, §5.2]."""


def attribute_disclosure(F: ArrayLike, axis: int, populated: int = 2) -> float:
    """Return the share of slices along an axis in which only one or two cells are populated.

    Notes
    -----
    [Shlomo2015, §4]: knowing that someone is in such a row tells the rest about them. Zeros: a
    row of zeros holds nobody and is left out of the numerator and of the denominator; NaN if
    every row is empty. A slice must have more cells than `populated`, or it could not be told
    from a full one: then the share is 0.
    """
    counts = checked_counts(F)
    place = checked_axis(counts, axis)
    if populated < 1:
        raise ParameterError(f"populated must be at least 1. Got {populated}.")
    rows = np.moveaxis(counts, place, 0).reshape(counts.shape[place], -1)
    held = np.count_nonzero(rows, axis=1)
    inhabited = held > 0
    if not inhabited.any():
        return float("nan")
    if rows.shape[1] <= populated:
        return 0.0
    return float((held[inhabited] <= populated).mean())


def small_share(F: ArrayLike, small: tuple[int, ...] = SMALL) -> float:
    """Return the share of cells that are small, by default ones and twos.

    Notes
    -----
    [Shlomo2015, §4]. Zeros: they are cells of the denominator and not small themselves.
    """
    return float(np.isin(checked_counts(F), small).mean())


def unchanged_small_records(F: ArrayLike, G: ArrayLike, small: tuple[int, ...] = SMALL) -> float:
    """Return the share of the people in small cells whose cell was released unchanged.

    Notes
    -----
    DR of [Longhurst2007, §5.2] for a method on counts: records in cells of 1 and 2 that are
    released as they were, over all records in cells of 1 and 2 (the printed denominator counts
    cells; records are meant). Zeros: a cell of 1 or 2 released as 0 is changed; a zero released
    as 1 is not a small cell of the true table. NaN without small cells.
    """
    true, released = checked_pair(F, G)
    is_small = np.isin(true, small)
    people = int(true[is_small].sum())
    return float(true[is_small & (true == released)].sum() / people) if people else float("nan")


def unchanged_small_records_swapped(
    F: ArrayLike, kept: ArrayLike, small: tuple[int, ...] = SMALL
) -> float:
    """Return the same for a method on records: `kept` is how many of each cell were not touched.

    Notes
    -----
    [Longhurst2007, §5.2]: imputed records count as changed, so they are not among those kept.
    Zeros: as in `unchanged_small_records`.
    """
    true, same = checked_pair(F, kept)
    if (same > true).any():
        raise ParameterError("kept must not exceed the true count of any cell.")
    is_small = np.isin(true, small)
    people = int(true[is_small].sum())
    return float(same[is_small].sum() / people) if people else float("nan")


def subgroup_entropy(F: ArrayLike, axes: int | tuple[int, ...]) -> NDArray[np.float64]:
    """Return the entropy of the counts of each subgroup, in nats.

    The subgroups are the categories, or combinations of them, along `axes`.

    Notes
    -----
    −Σ p·log p within each subgroup [Shlomo2010, §4.1]. Zeros: zero cells add nothing; a subgroup
    of nobody is NaN.
    """
    counts = checked_counts(F)
    chosen = sorted({checked_axis(counts, a) for a in ([axes] if isinstance(axes, int) else axes)})
    lengths = [counts.shape[axis] for axis in chosen]
    groups = np.moveaxis(counts, chosen, range(len(chosen))).reshape(*lengths, -1)
    totals = groups.sum(axis=-1)
    safe = np.where(totals > 0, totals, 1)
    entropy = np.log(safe) - x_log_x(groups).sum(axis=-1) / safe
    return np.asarray(np.where(totals > 0, np.maximum(entropy, 0), np.nan))


def median_entropy(F: ArrayLike, axes: int | tuple[int, ...]) -> float:
    """Return the median over subgroups of their entropy [Shlomo2010, §4.1].

    Notes
    -----
    Zeros: subgroups of nobody are left out; NaN if there is none else.
    """
    entropy = subgroup_entropy(F, axes)
    return float(np.nanmedian(entropy)) if np.isfinite(entropy).any() else float("nan")
