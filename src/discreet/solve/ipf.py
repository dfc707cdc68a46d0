"""Iterative proportional fitting of a table to given margins, and integers that have them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.later import later
from discreet.solve.linear import LinearProgram
from discreet.solve.solution import Solution, Status
from discreet.types import Floats

sparse = later("scipy.sparse")

# Far below any fraction that matters, far above what fitting leaves open.
EXACT = 1e-7
# Costs are drawn, so that the first table found is as good as the cheapest.
CLOSE = 0.5
NODES = 2_000


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


def round_to_margins(
    table: ArrayLike, margins: Mapping[tuple[int, ...], ArrayLike], rng: np.random.Generator
) -> Solution:
    """Return a table that has the given integer margins rounded to integers that have them too.

    Solved: every cell is one of its two neighbouring integers. Relaxed: no such table exists, and
    as few cells as can be are one further away. Infeasible: not even that. Zeros stay zero. `gap`
    is the largest change of a cell.

    Notes
    -----
    Controlled rounding to base 1 [Salazar2005] as an integer programme. Which cells go up is drawn
    by random costs, the cheaper the larger the fraction: close to unbiased, not exactly.
    """
    values = np.array(table, np.float64)
    targets = {axes: _target(values, axes, target) for axes, target in margins.items()}
    flat = values.reshape(-1)
    low = np.floor(flat + EXACT)
    part = flat - low
    sums = sparse.vstack([_membership(values.shape, axes) for axes in targets], format="csc")
    rest = np.concatenate([target.reshape(-1) for target in targets.values()]) - sums @ low
    open_cells, held = np.flatnonzero(part > EXACT), np.flatnonzero(flat > EXACT)
    cost = (rng.random(flat.size) - part)[open_cells]
    # One further away, up or down, costs more than all neighbours together.
    away = np.full(len(held), float(flat.size + 1))
    lower = held[low[held] > 0]
    for status, cells, steps, costs in (
        (Status.SOLVED, open_cells, np.ones(len(open_cells)), cost),
        (
            Status.RELAXED,
            np.concatenate([open_cells, held, lower]),
            np.repeat([1.0, 1.0, -1.0], [len(open_cells), len(held), len(lower)]),
            np.concatenate([cost, away, away[: len(lower)]]),
        ),
    ):
        chosen = _chosen(sums[:, cells].multiply(steps), rest, costs)
        if chosen is not None:
            rounded = low.astype(np.int64)
            np.add.at(rounded, cells, (steps * chosen).astype(np.int64))
            gap = float(np.abs(rounded - flat).max(initial=0))
            return Solution(status, rounded.reshape(values.shape), gap)
    return Solution(Status.INFEASIBLE, np.rint(values).astype(np.int64), np.inf)


def _chosen(
    sums: Any, rest: NDArray[np.float64], cost: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return 0 or 1 for each column so that the sums are met at the least cost, None if none is."""
    if not len(cost):
        return None if rest.any() else np.zeros(0)
    ones = np.ones(len(cost))
    found = LinearProgram(
        sums, rest, rest, 0 * ones, ones, cost, ones > 0, nodes=NODES, relative=CLOSE
    ).run()
    return np.rint(found.values) if len(found.values) else None


def _membership(shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Return the matrix that sums the cells of a table to a margin."""
    cells = np.arange(prod(shape))
    places = np.unravel_index(cells, shape)
    kept = tuple(shape[axis] for axis in axes)
    rows = np.ravel_multi_index([places[axis] for axis in axes], kept) if axes else 0 * cells
    return sparse.csc_matrix((np.ones(cells.size), (rows, cells)), (prod(kept), cells.size))


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
