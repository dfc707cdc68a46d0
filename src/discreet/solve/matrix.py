"""Unbiased rounding of a matrix to integers that keeps its sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.compiling import fitting
from discreet.errors import ParameterError
from discreet.solve import kernels
from discreet.solve.solution import Solution, Status
from discreet.types import Floats, Integers

# Far below any probability that a draw could show, far above the rounding errors of sums.
EXACT = 1e-9


def round_matrix(matrix: ArrayLike, rng: np.random.Generator) -> Solution:
    """Return the matrix rounded to neighbouring integers, row and column sums and total as well.

    Every entry, row sum, column sum and the total become one of their two neighbouring integers
    (integers stay), and the expectation of every entry is its value. `gap` is the largest
    distance of a row or column sum from its value.

    Notes
    -----
    A slack row and column make all sums integers; then cycles of fractional entries are moved up
    and down in turn until one entry is an integer, up with the probability that keeps the mean
    [Cox1987].
    """
    values = np.array(matrix, np.float64, ndmin=2)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ParameterError("the matrix must have two dimensions and finite values.")
    whole = np.floor(values + EXACT)
    part = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    part[:-1, :-1] = np.maximum(values - whole, 0)
    part[:-1, -1] = _missing(part[:-1, :-1].sum(axis=1))
    part[-1, :] = _missing(part[:-1, :].sum(axis=0))
    part[part < EXACT] = 0
    done = _round_parts(part, rng, 1.0, EXACT)
    rounded = (whole + np.rint(part[:-1, :-1])).astype(np.int64)
    gap = max(
        (float(np.abs(rounded.sum(axis=axis) - values.sum(axis=axis)).max(initial=0)))
        for axis in (0, 1)
    )
    solved = done and gap < 1 + 1e-6 and np.array_equal(np.rint(part), part)
    return Solution(Status.SOLVED if solved else Status.NOT_CONVERGED, rounded, gap)


def round_rests(rests: Integers, base: int, rng: np.random.Generator) -> Integers | None:
    """Return which entries of a matrix of rests, 0 to base − 1, go up; None where it failed.

    As `round_matrix` of rests/base, in integers throughout: fractions such as thirds, moved a
    million times, would leave their cycles unfinished by rounding errors.
    """
    part = np.zeros((rests.shape[0] + 1, rests.shape[1] + 1))
    part[:-1, :-1] = rests
    part[:-1, -1] = -rests.sum(axis=1) % base
    part[-1, :] = -part[:-1, :].sum(axis=0) % base
    if not _round_parts(part, rng, float(base), 0.5):
        return None
    return np.asarray(part[:-1, :-1] > 0).astype(np.int64)


def _round_parts(part: Floats, rng: np.random.Generator, top: float, exact: float) -> bool:
    """Round parts of the top in place; return whether rows and columns summed to its multiples.

    A matrix is a network with an edge from each row to each column.
    """
    rows, columns = part.shape
    ends = np.empty((rows, columns, 2), np.int32)
    ends[..., 0] = np.arange(rows)[:, None]
    ends[..., 1] = np.arange(rows, rows + columns)
    uniforms = rng.random(int(np.count_nonzero(part)) + 1)
    flow = part.reshape(-1)
    nodes = rows + columns
    rounded = fitting(kernels.round_network, flow.size * nodes)
    return bool(rounded(ends.reshape(-1, 2), nodes, rows, flow, uniforms, top, exact))


def _missing(sums: Floats) -> Floats:
    """Return what lifts each sum to the next integer; nothing where it is one but for rounding."""
    up = np.ceil(sums - EXACT) - sums
    return np.where(up < EXACT, 0.0, up)
