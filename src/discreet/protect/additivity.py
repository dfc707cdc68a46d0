"""Protected counts made to add up to given margins."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.protect.base import checked_counts
from discreet.solve import ipf, round_matrix


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
