"""Counts of what a table discloses by its pattern: near-empty lines, small cells, what stayed.

All for the custodian, except that a rule may ask `near_empty_lines` about released figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_axis, checked_counts, checked_pair, whole
from discreet.compiling import pays
from discreet.errors import ParameterError
from discreet.risk import kernels
from discreet.risk.terms import x_log_x
from discreet.types import Floats, Integers

SMALL = (1, 2)
"""The small counts of the census literature [Shlomo2015, §4; Longhurst2007, §5.2]."""


@dataclass(frozen=True)
class LineShares:
    """Near-empty lines among the lines that hold anybody, and their people among all people."""

    lines: float
    people: float

    @property
    def larger(self) -> float:
        """The larger of the two, which a rule compares with its limit."""
        return max(self.lines, self.people)


@dataclass(frozen=True)
class SmallCells:
    """Ones, and ones and twos, among all cells and among populated ones; the people in them."""

    ones: float
    small: float
    ones_of_populated: float
    small_of_populated: float
    people: int
    people_share: float


def attribute_disclosure(
    F: ArrayLike, axes: int | tuple[int, ...], populated: int = 2
) -> LineShares:
    """Return the shares of lines along an axis, and of people in lines, with one or two cells.

    A line runs along one axis, or two: every other variable is fixed. `populated` is how many
    cells of it may hold anybody.

    Notes
    -----
    [Shlomo2015, §1 and §4]: who knows that someone is in such a row or column, because they know
    the other variables, learns the variable along the line. Few people may be in many lines and
    many in few, so both shares are given. Zeros: a line of zeros holds nobody and is left out of
    the numerator and of the denominator; NaN if every line is empty. A line must have more cells
    than `populated`, or it could not be told from a full one: then the shares are 0.

    >>> dc.risk.attribute_disclosure([[5, 0, 0], [20, 30, 45]], axes=1)
    LineShares(lines=0.5, people=0.05)
    """
    counts = checked_counts(F)
    free = _axes(counts, axes)
    if not 1 <= len(free) <= 2:
        raise ParameterError(f"axes must be one axis or two. Got {axes!r}.")
    whole("populated", populated, 1)
    if not counts.any():
        return LineShares(float("nan"), float("nan"))
    key = tuple(axis for axis in free if counts.shape[axis] > 1)
    lines, people = near_empty_lines(counts[None], populated).get(key, ([0.0], [0.0]))
    return LineShares(float(lines[0]), float(people[0]))


def near_empty_lines(
    tables: NDArray[np.integer], populated: int = 1
) -> dict[tuple[int, ...], tuple[Floats, Floats]]:
    """Return by axis and by pair of axes the shares of lines and of people of each table.

    The tables lie along the first axis, which is not counted among theirs. Shares are those of
    `attribute_disclosure`, 0 for a table of nobody. An axis of one category tells nothing: it is
    left out, and a pair with it is a line.
    """
    judge = _by_kernel if pays(kernels.lines, tables.size) else plain_lines
    return judge(tables, populated)


def _along(axes: list[int]) -> tuple[tuple[int, ...], ...]:
    """Return the axes and pairs of axes along which lines run."""
    return (*combinations(axes, 1), *combinations(axes, 2))


def _by_kernel(
    tables: NDArray[np.integer], populated: int
) -> dict[tuple[int, ...], tuple[Floats, Floats]]:
    # Of one type with the warm-up, in rows and not read-only: others would be compiled for anew.
    cells = np.array(tables, np.int64, order="C").reshape(len(tables), -1)
    everybody = np.maximum(cells.sum(axis=1), 1)
    lengths = tables.shape[1:]
    axes = [axis for axis, length in enumerate(lengths) if length > 1]
    if not axes:
        return {}
    every = _along(axes)
    sums = np.zeros((3, len(every), len(cells)), np.int64)
    kernels.lines(cells, np.array([lengths[axis] for axis in axes]), populated, sums)
    lines = np.maximum(sums[0], 1)
    return {
        free: (near / some, people / everybody)
        for free, some, near, people in zip(every, lines, *sums[1:], strict=True)
        if prod(lengths[axis] for axis in free) > populated
    }


def plain_lines(
    tables: NDArray[np.integer], populated: int
) -> dict[tuple[int, ...], tuple[Floats, Floats]]:
    """Return the same in NumPy: the twin of the kernel."""
    # The tables last: sums over short lines then run over all tables at once.
    cells = np.ascontiguousarray(np.moveaxis(tables, 0, -1))
    everybody = np.maximum(cells.sum(axis=tuple(range(cells.ndim - 1))), 1)
    axes = [axis for axis in range(cells.ndim - 1) if cells.shape[axis] > 1]
    sums: dict[tuple[int, ...], tuple[NDArray[Any], NDArray[Any]]] = {(): (cells > 0, cells)}
    found = {}
    for free in _along(axes):
        held, people = sums[free[:-1]]
        held = held.sum(axis=free[-1], keepdims=True, dtype=np.int32)
        people = people.sum(axis=free[-1], keepdims=True)
        sums[free] = held, people
        if prod(cells.shape[axis] for axis in free) > populated:
            near = ((held > 0) & (held <= populated)).reshape(-1, len(everybody))
            lines = np.count_nonzero(held.reshape(near.shape), axis=0)
            inside = np.where(near, people.reshape(near.shape), 0).sum(axis=0)
            found[free] = near.sum(axis=0) / np.maximum(lines, 1), inside / everybody
    return found


def identity_disclosure(F: ArrayLike, one: int = 1, small: int = 2) -> SmallCells:
    """Return the shares of cells up to `one` and up to `small`, and the people in the latter.

    Notes
    -----
    [Shlomo2015, §1]: a person in a small cell may be recognised. Zeros: cells of the first two
    shares, not of those among populated cells, and never small; a table of nobody has shares 0.

    >>> found = dc.risk.identity_disclosure([[1, 2], [0, 97]])
    >>> found.ones, found.small, found.people
    (0.25, 0.5, 3)
    """
    counts = checked_counts(F)
    ones, few = (int(((counts > 0) & (counts <= most)).sum()) for most in (one, small))
    populated = max(int(np.count_nonzero(counts)), 1)
    people = int(counts[counts <= small].sum())
    return SmallCells(
        ones / counts.size,
        few / counts.size,
        ones / populated,
        few / populated,
        people,
        people / max(int(counts.sum()), 1),
    )


def small_share(F: ArrayLike, small: tuple[int, ...] = SMALL) -> float:
    """Return the share of cells that are small, by default ones and twos.

    Notes
    -----
    [Shlomo2015, §4]. Zeros: they are cells of the denominator and not small themselves.

    >>> dc.risk.small_share([[1, 2], [0, 97]])
    0.5
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

    >>> dc.risk.unchanged_small_records([1, 1, 2, 50], [1, 0, 3, 51])
    0.25
    """
    true, released = checked_pair(F, G)
    return _share_of_small(true, np.where(true == released, true, 0), small)


def unchanged_small_records_swapped(
    F: ArrayLike, kept: ArrayLike, small: tuple[int, ...] = SMALL
) -> float:
    """Return the same for a method on records: `kept` is how many of each cell were not touched.

    Notes
    -----
    [Longhurst2007, §5.2]: imputed records count as changed, so they are not among those kept.
    Zeros: as in `unchanged_small_records`.

    >>> dc.risk.unchanged_small_records_swapped([1, 1, 2, 50], kept=[1, 0, 1, 45])
    0.5
    """
    true, same = checked_pair(F, kept)
    if (same > true).any():
        raise ParameterError("kept must not exceed the true count of any cell.")
    return _share_of_small(true, same, small)


def _share_of_small(true: Integers, kept: Integers, small: tuple[int, ...]) -> float:
    is_small = np.isin(true, small)
    people = int(true[is_small].sum())
    return float(kept[is_small].sum() / people) if people else float("nan")


def _axes(counts: Integers, axes: int | tuple[int, ...]) -> list[int]:
    """Return the axes counted from 0, each once, in order."""
    given = axes if isinstance(axes, tuple | list) else (axes,)
    return sorted({checked_axis(counts, axis) for axis in given})


def subgroup_entropy(F: ArrayLike, axes: int | tuple[int, ...]) -> NDArray[np.float64]:
    """Return the entropy of the counts of each subgroup, in nats.

    The subgroups are the categories, or combinations of them, along `axes`.

    Notes
    -----
    −Σ p·log p within each subgroup [Shlomo2010, §4.1]. Zeros: zero cells add nothing; a subgroup
    of nobody is NaN.

    >>> dc.risk.subgroup_entropy([[5, 5], [10, 0]], axes=0).round(3).tolist()
    [0.693, 0.0]
    """
    counts = checked_counts(F)
    chosen = _axes(counts, axes)
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

    >>> round(dc.risk.median_entropy([[5, 5], [9, 1], [10, 0]], axes=0), 3)
    0.325
    """
    entropy = subgroup_entropy(F, axes)
    return float(np.nanmedian(entropy)) if np.isfinite(entropy).any() else float("nan")
