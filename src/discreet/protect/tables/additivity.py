"""Protected counts made to add up to given margins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError, Stopped
from discreet.protect.base import checked_counts
from discreet.solve import Status, TableSystem, closest_additive, ipf, round_matrix


def fit_to_margins(
    released: ArrayLike,
    margins: Mapping[tuple[int, ...], ArrayLike],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return released counts scaled to the given margins and made integers that add up to them.

    `margins` maps the axes that a margin keeps to its values; they must be **protected** and
    agree with one another, or be true ones that the policy lists. One margin, or two that share
    no axis and leave none out, such as {(0,): rows, (1,): columns}: more need the optimiser.

    Notes
    -----
    Iterative proportional fitting, then unbiased controlled rounding to base 1
    [Shlomo2015, sec. 3.3] [Cox1987]. Zeros stay zero. The step is table-wise: it ends the
    consistency of cells between tables.
    """
    values = checked_counts(released)
    kept = list(margins)
    axes = sorted(axis for margin in kept for axis in margin)
    covers = axes == list(range(values.ndim))
    if not kept or len(kept) > 2 or (len(kept) == 2 and not covers):
        raise ParameterError(
            "margins must be one, or two that share no axis and leave none out. "
            f"Got {', '.join(map(str, kept)) or 'none'}."
        )
    for margin, target in margins.items():
        if np.any(np.asarray(target) != np.rint(target)):
            raise ParameterError(f"the margin {margin} must hold integers.")
    fitted = ipf(values, margins)
    if not fitted.solved:
        raise ParameterError(
            "the margins must agree with one another and be reachable from the non-zero cells. "
            "No table with these zeros has them."
        )
    rows = kept[0]
    order = [*rows, *(axis for axis in range(values.ndim) if axis not in rows)]
    turned = fitted.values.transpose(order)
    flat = turned.reshape(prod(values.shape[axis] for axis in rows), -1)
    rounded = round_matrix(flat, rng)
    result = rounded.values.reshape(turned.shape).transpose(np.argsort(order))
    for margin, target in margins.items():
        others = tuple(axis for axis in range(values.ndim) if axis not in margin)
        if not rounded.solved or (result.sum(axis=others) != np.asarray(target)).any():
            raise ParameterError("the margins could not be met in integers.")
    return np.ascontiguousarray(result)


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
