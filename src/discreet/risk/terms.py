"""The three terms of the risk of a table, from its sums: the one place where they are written."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.types import Floats, Integers


def distinct(counts: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """Return the counts that occur, increasing, and how many cells have each.

    As `np.unique`, which sorts: where counts are not much larger than there are cells, adding up
    takes a tenth of the time.
    """
    flat = counts.reshape(-1)
    if not flat.size or int(flat.max()) > 4 * flat.size:
        return np.unique(flat, return_counts=True)
    number = np.bincount(flat)
    values = np.flatnonzero(number)
    return values, number[values]


def x_log_x(values: ArrayLike) -> Floats:
    """Return x·log x of each value, 0 at 0."""
    x = np.asarray(values, np.float64)
    return x * np.log(np.where(x > 0, x, 1.0))


def zero_share(zeros: ArrayLike, cells: ArrayLike) -> Floats:
    """Return T1 = |D|/K, the share of cells that are zero [Shlomo2015, eq. 3]."""
    return np.asarray(zeros) / np.asarray(cells, np.float64)


def concentration(total: ArrayLike, sum_x_log_x: ArrayLike, cells: ArrayLike) -> Floats:
    """Return T2 = 1 − (N·log N − Σ F·log F)/(N·log K) from N, Σ F·log F and K.

    Notes
    -----
    [Shlomo2015, eq. 2]. Zero cells add nothing to the sum and count in K. K = 1 gives 1, the
    degenerate table; N = 0 gives NaN: there is no distribution.
    """
    n, k = np.asarray(total, np.float64), np.asarray(cells, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.log(n) - np.asarray(sum_x_log_x) / n
        term = 1 - entropy / np.where(k > 1, np.log(k), 1.0)
    return np.where(n > 0, np.where(k > 1, np.clip(term, 0.0, 1.0), 1.0), np.nan)


def concentration_of(total: float, sum_x_log_x: float, cells: float) -> float:
    """Return T2 of one table: `concentration` without arrays, which take longer than the sums."""
    if not total > 0:
        return float("nan")
    if cells <= 1:
        return 1.0
    term = 1 - (log(total) - sum_x_log_x / total) / log(cells)
    return min(max(term, 0.0), 1.0)


def smallness(total: ArrayLike) -> Floats:
    """Return T3 = (1 + ½·log N)/√N, 1 for one person and falling; N = 0 gives NaN.

    Notes
    -----
    −(1/√N)·log(1/(e·√N)) of [Antal2014, §3.2] and [Shlomo2015, eq. 3], written without the
    reciprocal.
    """
    n = np.asarray(total, np.float64)
    safe = np.where(n > 0, n, 1.0)
    return np.where(n > 0, (1 + 0.5 * np.log(safe)) / np.sqrt(safe), np.nan)


def smallness_of(total: int) -> float:
    """Return T3 of one table: `smallness` without arrays."""
    return (1 + 0.5 * log(total)) / sqrt(total) if total > 0 else float("nan")


def changed_zero_share(
    zeros: ArrayLike, either: ArrayLike, both: ArrayLike, cells: ArrayLike
) -> Floats:
    """Return the first term after protection, (|D|/K)^(|D∪E|/|D∩E|).

    Notes
    -----
    [Shlomo2015, §4.2], [Antal2014, §3.3]; D the zeros of the true table, E of the released one.
    |D| = 0 gives 0. |D∩E| = 0 with |D| > 0 gives 0, the limit, unless every cell is zero in the
    true table, which no table that is scored has.
    """
    d, union, common = (np.asarray(a, np.float64) for a in (zeros, either, both))
    share = d / np.asarray(cells, np.float64)
    power = union / np.where(common > 0, common, 1.0)
    return np.where(common > 0, np.where(share > 0, share, 1.0) ** power * (share > 0), 0.0)


def changed_zero_share_of(zeros: int, either: int, both: int, cells: int) -> float:
    """Return the first term after protection of one table: `changed_zero_share` without arrays."""
    return float((zeros / cells) ** (either / both)) if zeros and both else 0.0


def weighted(weights: tuple[float, ...], *terms: Any) -> Floats:
    """Return Σ w·T over the terms; a weight of 0 leaves its term out even where it is NaN."""
    if all(isinstance(term, float) for term in terms):
        return np.float64(sum(w * t for w, t in zip(weights, terms, strict=True) if w))  # type: ignore[return-value]
    total: Floats = np.zeros(np.broadcast_shapes(*(np.shape(term) for term in terms)))
    for weight, term in zip(weights, terms, strict=True):
        if weight:
            total = total + weight * np.asarray(term)
    return total
