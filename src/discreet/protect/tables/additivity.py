"""Protected counts made to add up to given margins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError, Stopped
from discreet.protect.base import checked_counts
from discreet.solve import (
    Status,
    TableSystem,
    closest_additive,
    ipf,
    round_matrix,
    round_to_margins,
)


def fit_to_margins(
    released: ArrayLike,
    margins: Mapping[tuple[int, ...], ArrayLike],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return released counts scaled to the given margins and made integers that add up to them.

    `margins` maps the axes that a margin keeps to its values, any set of them:
    {(0, 1): planes, (2,): layers}. They must be **protected** and agree with one another
    (`protected_margins` makes such), or be true ones that the policy lists.

    Notes
    -----
    Iterative proportional fitting, then controlled rounding to base 1 [Shlomo2015, sec. 3.3]:
    without bias for one margin, or two that leave no axis out [Cox1987]; closely so for others,
    by an integer programme [Salazar2005]. Zeros stay zero. The step is table-wise: it ends the
    consistency of cells between tables.

    >>> released = np.array([[3, 3], [6, 9]])
    >>> found = dc.protect.fit_to_margins(released, {(0,): [9, 15]}, np.random.default_rng(1))
    >>> found.sum(axis=1).tolist()
    [9, 15]
    """
    values = checked_counts(released)
    if not margins:
        raise ParameterError("margins must be one or more. Got none.")
    for margin, target in margins.items():
        if np.any(np.asarray(target) != np.rint(target)):
            raise ParameterError(f"the margin {margin} must hold integers.")
    fitted = ipf(values, margins, tolerance=1e-12)
    if not fitted.solved:
        raise ParameterError(
            "the margins must agree with one another and be reachable from the non-zero cells. "
            "No table with these zeros has them."
        )
    kept = list(margins)
    covered = set().union(*kept) == set(range(values.ndim))
    if len(kept) == 1 or (len(kept) == 2 and covered):
        result = _rounded(fitted.values, kept, rng)
        if _meets(result, margins):
            return result
        # Where totals are large what fitting leaves open may have tipped a sum.
    rounded = round_to_margins(fitted.values, margins, rng)
    if not _meets(rounded.values, margins):
        raise ParameterError("the margins could not be met in integers.")
    return np.ascontiguousarray(rounded.values)


def _meets(table: NDArray[np.int64], margins: Mapping[tuple[int, ...], ArrayLike]) -> bool:
    return all(
        np.array_equal(table.sum(axis=_others(table.ndim, axes)), target)
        for axes, target in margins.items()
    )


def _rounded(
    values: NDArray[np.float64], kept: list[tuple[int, ...]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return integers without bias: a matrix for each category of the axes that margins share."""
    first, second = kept[0], kept[1] if len(kept) == 2 else _others(values.ndim, kept[0])
    shared = [axis for axis in first if axis in second]
    rows = [axis for axis in first if axis not in second]
    order = [*shared, *rows, *(axis for axis in second if axis not in first)]
    turned = values.transpose(order)
    flat = turned.reshape(
        prod(values.shape[axis] for axis in shared), prod(values.shape[axis] for axis in rows), -1
    )
    rounded = np.stack([round_matrix(matrix, rng).values for matrix in flat])
    return np.ascontiguousarray(rounded.reshape(turned.shape).transpose(np.argsort(order)))


def protected_margins(
    true: ArrayLike,
    released: ArrayLike,
    margins: Sequence[tuple[int, ...]],
    protect: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    rng: np.random.Generator,
) -> dict[tuple[int, ...], NDArray[np.int64]]:
    """Return protected margins of a table that agree with one another, for `fit_to_margins`.

    `protect` protects a table of counts. Each margin is protected by itself and then fitted to
    what the ones before it say of the axes they share, the total at least: the first is as
    protected. Margins over part of the axes of another are left out, for they follow from it.

    Notes
    -----
    Fitted as [Shlomo2015, sec. 3.3] fits tables. Zeros: a margin whose cells are all released as
    zero is zero, since no fit could fill it.

    >>> F, G = np.array([[4, 3], [6, 8]]), np.array([[3, 3], [6, 9]])
    >>> rng = np.random.default_rng(1)
    >>> found = dc.protect.protected_margins(F, G, [(0,)], lambda F: (F + 1) // 3 * 3, rng)
    >>> found[(0,)].tolist()
    [6, 15]
    """
    counts, shown = checked_counts(true), checked_counts(released)
    largest = [a for a in dict.fromkeys(margins) if not any(set(a) < set(b) for b in margins)]
    found: dict[tuple[int, ...], NDArray[np.int64]] = {}
    for axes in largest:
        others = _others(counts.ndim, axes)
        sums = np.asarray(counts.sum(axis=others), np.int64)
        margin = np.where(shown.sum(axis=others) > 0, protect(sums), 0)
        common = {}
        for before, values in found.items():
            places = tuple(axes.index(axis) for axis in axes if axis in before)
            left = tuple(place for place, axis in enumerate(before) if axis not in axes)
            common[places] = values.sum(axis=left)
        found[axes] = fit_to_margins(margin, common, rng) if common else margin
    return found


def _others(dimensions: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in range(dimensions) if axis not in axes)


@dataclass(frozen=True, eq=False)
class Restored:
    """A table that adds up again, with its totals; how many cells changed, and the proof.

    `consistent` is the share of cells that were not touched: only they still have the figure that
    other tables show for the same people. `gap` bounds how much less change might have done.
    """

    values: NDArray[np.int64]
    changed: int
    change: int
    gap: float

    @property
    def consistent(self) -> float:
        """The share of cells left as they were."""
        return 1 - self.changed / self.values.size if self.values.size else 1.0


def restore_additivity(
    released: ArrayLike, rng: np.random.Generator, fixed: ArrayLike | None = None
) -> Restored:
    """Return the closest additive table to released figures whose totals do not add up.

    `released` has a total at the end of every axis, each protected by itself; zeros among the
    inner cells stay. `fixed` marks figures to keep. The second stage of cell-key perturbation
    [Fraser2005].

    >>> released = [[3, 0, 3], [3, 6, 6], [6, 6, 12]]
    >>> found = dc.protect.restore_additivity(released, np.random.default_rng(1))
    >>> found.changed, found.change
    (1, 3)
    """
    figures = checked_counts(released).astype(np.int64)
    if figures.ndim == 0 or min(figures.shape) < 2:
        raise ParameterError("released must have a total at the end of every axis.")
    system = TableSystem.of([size - 1 for size in figures.shape])
    found = closest_additive(system, figures, rng, fixed, keep_zeros=True)
    if found.status is Status.STOPPED:
        raise Stopped("stopped before it was done")
    if found.status not in (Status.SOLVED, Status.FEASIBLE):
        raise ParameterError("the figures to keep must agree. No table of integers has them all.")
    values = system.values(found.values).astype(np.int64)
    off = np.abs(values - figures)
    return Restored(values, int(np.count_nonzero(off)), int(off.sum()), found.gap)
