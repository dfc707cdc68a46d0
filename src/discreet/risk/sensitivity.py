"""Sensitivity rules: which cells must not be published as they are, before any protection.

All for the custodian. Rules on magnitudes read the contributions of each cell, largest first or
in any order, along the last axis; shorter lists are filled up with zeros.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_counts
from discreet.errors import ParameterError
from discreet.types import Flags, Floats


def threshold(F: ArrayLike, smallest_safe: int = 3) -> Flags:
    """Return which counts are too small: from 1 to below the smallest safe count.

    Notes
    -----
    The threshold rule [Domingo2002, §2]; the default makes ones and twos sensitive. Boundary: a
    count equal to `smallest_safe` is safe. Zeros: never sensitive by this rule, since no person
    is in them; what rows of zeros disclose is counted by `attribute_disclosure`.
    """
    counts = checked_counts(F)
    if not isinstance(smallest_safe, int | np.integer) or smallest_safe < 1:
        raise ParameterError(
            f"smallest_safe must be an integer of at least 1. Got {smallest_safe!r}."
        )
    return np.asarray((counts > 0) & (counts < smallest_safe))


def dominance(contributions: ArrayLike, n: int, k: float) -> Flags:
    """Return which cells are dominated: their n largest contributions exceed k percent.

    Notes
    -----
    The (n, k) rule [Domingo2002, §2]. Boundary: exactly k percent is not sensitive. Zeros: a
    cell without contributions, or with a value of 0, is not sensitive.
    """
    ranked = _ranked(contributions)
    if n < 1:
        raise ParameterError(f"n must be at least 1. Got {n}.")
    if not 0 < k < 100:
        raise ParameterError(f"k must be a percentage between 0 and 100. Got {k}.")
    return np.asarray(100 * ranked[..., :n].sum(axis=-1) > k * ranked.sum(axis=-1))


def prior_posterior(contributions: ArrayLike, p: float, q: float) -> Flags:
    """Return which cells let a contributor come within p percent of another's contribution.

    Notes
    -----
    The pq rule [Domingo2002, §2]: before publication everyone knows every contribution to within
    q percent. The second largest contributor, who knows the most, learns the largest x1 to within
    (q/100)·R, R the sum of the contributions from the third on; sensitive if that is below
    (p/100)·x1, i.e. q·R < p·x1. Boundary: equality is not sensitive. Zeros: a cell of value 0 is
    not sensitive; one of a single contributor, or of two, is (R = 0).
    """
    ranked = _ranked(contributions)
    if not 0 < p < q <= 100:
        raise ParameterError(f"p and q must be percentages with 0 < p < q ≤ 100. Got {p} and {q}.")
    return np.asarray(q * ranked[..., 2:].sum(axis=-1) < p * ranked[..., 0])


def p_percent(contributions: ArrayLike, p: float) -> Flags:
    """Return which cells let a contributor come within p percent of another's contribution.

    Notes
    -----
    The p% rule: the pq rule with q = 100, no knowledge before publication [Domingo2002, §2].
    Boundary and zeros as in `prior_posterior`.
    """
    if not 0 < p < 100:
        raise ParameterError(f"p must be a percentage between 0 and 100. Got {p}.")
    return prior_posterior(contributions, p, 100)


def closest_estimate(contributions: ArrayLike) -> Floats:
    """Return how far the second largest contributor's bound on the largest is off, relative to it.

    Notes
    -----
    The cell's value less the second largest contribution bounds the largest from above; it is off
    by the sum of the others, R/x1 [Domingo2002, Example 1]. Zeros: NaN where the value is 0.
    """
    ranked = _ranked(contributions)
    largest = ranked[..., 0]
    rest = ranked[..., 2:].sum(axis=-1)
    return np.asarray(np.where(largest > 0, rest / np.where(largest > 0, largest, 1), np.nan))


def _ranked(contributions: ArrayLike) -> Floats:
    """Return the contributions of each cell, largest first."""
    given = np.asarray(contributions, np.float64)
    if given.ndim == 0 or given.shape[-1] == 0:
        raise ParameterError("contributions must have one axis for the contributors of a cell.")
    if not np.isfinite(given).all() or (given < 0).any():
        raise ParameterError("contributions must be finite numbers of 0 or more.")
    return np.asarray(-np.sort(-given, axis=-1))
