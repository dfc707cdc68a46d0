"""Iterative proportional fitting of a table to given margins."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import ParameterError
from discreet.solve.solution import Solution, Status
from discreet.types import Floats


def ipf(
    table: ArrayLike,
    margins: Mapping[tuple[int, ...], ArrayLike],
    tolerance: float = 1e-9,
    max_rounds: int = 10_000,
) -> Solution:
    """Return the table scaled until it has the given margins.

    `margins` maps the axes that a margin keeps to its values: {(0,): rows, (1,): columns}.
    `gap` is the largest miss of a margin relative to the total. Margins that contradict one
    another, or that ask for people where the table is zero, are infeasible.

    Notes
    -----
    The result has the interactions of the table and the margins asked for: it minimises the
    Kullback–Leibler divergence from the table [Deming1940].
    """
    values = np.array(table, np.float64)
    if (values < 0).any() or not np.isfinite(values).all():
        raise ParameterError("the table must be non-negative and finite.")
    targets = {axes: _target(values, axes, target) for axes, target in margins.items()}
    if not targets:
        return Solution(Status.SOLVED, values, 0.0)
    totals = [float(target.sum()) for target in targets.values()]
    scale = max(1.0, max(totals))
    if max(totals) - min(totals) > tolerance * scale:
        return Solution(Status.INFEASIBLE, values, (max(totals) - min(totals)) / scale)
    gap, before = np.inf, np.inf
    for round_number in range(max_rounds):
        for axes, target in targets.items():
            others = _others(values.ndim, axes)
            sums = values.sum(axis=others, keepdims=True)
            if ((sums == 0) & (target > 0)).any():
                return Solution(Status.INFEASIBLE, values, float(target[sums == 0].max()) / scale)
            values *= np.divide(target, sums, out=np.zeros_like(sums), where=sums > 0)
        gap = max(
            float(np.abs(values.sum(axis=_others(values.ndim, axes), keepdims=True) - target).max())
            for axes, target in targets.items()
        )
        gap /= scale
        if gap <= tolerance:
            return Solution(Status.SOLVED, values, gap)
        if round_number % 500 == 499:
            # A fit that exists is approached steadily; a standstill is a contradiction.
            if gap > 0.999 * before:
                return Solution(Status.INFEASIBLE, values, gap)
            before = gap
    return Solution(Status.NOT_CONVERGED, values, gap)


def _others(dimensions: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in range(dimensions) if axis not in axes)


def _target(values: Floats, axes: tuple[int, ...], target: ArrayLike) -> Floats:
    """Return a margin with the axes it does not keep as length 1."""
    if list(axes) != sorted(set(axes)) or not all(0 <= axis < values.ndim for axis in axes):
        raise ParameterError(
            f"the axes of a margin must be increasing and below {values.ndim}. Got {axes}."
        )
    wanted = np.asarray(target, np.float64)
    shape = tuple(values.shape[axis] for axis in axes)
    if wanted.shape != shape:
        raise ParameterError(f"the margin {axes} must have the shape {shape}. Got {wanted.shape}.")
    if (wanted < 0).any() or not np.isfinite(wanted).all():
        raise ParameterError(f"the margin {axes} must be non-negative and finite.")
    return np.expand_dims(wanted, _others(values.ndim, axes))
