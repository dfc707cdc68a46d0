"""Sensitivity rules: which cells must not be published as they are, before any protection.

The one place where these rules compare: commands and methods come here, by way of `protection`.
Figures are the decimals they are written as, and the boundary is exact: a cell at it is safe, one
unit of the last decimal beyond it is not. That holds for figures and sums of up to 15 digits.

All for the custodian. Rules on magnitudes read the contributions of each cell, largest first or
in any order, along the last axis; shorter lists are filled up with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_counts, whole
from discreet.errors import ParameterError
from discreet.table.decimals import exact, in_units
from discreet.types import Flags, Floats

Number = float | Fraction

# Where a difference is a larger share of its terms than this, floats have its sign right; where it
# is smaller, fractions decide.
CLOSE = 1e-12


def threshold(F: ArrayLike, smallest_safe: int = 3) -> Flags:
    """Return which counts are too small: from 1 to below the smallest safe count.

    Notes
    -----
    The threshold rule [Domingo2002, §2]; the default makes ones and twos sensitive. Boundary: a
    count equal to `smallest_safe` is safe. Zeros: never sensitive by this rule, since no person
    is in them; what rows of zeros disclose is counted by `attribute_disclosure`.

    >>> dc.risk.threshold([0, 1, 2, 3]).tolist()
    [False, True, True, False]
    """
    counts = checked_counts(F)
    return np.asarray((counts > 0) & (counts < whole("smallest_safe", smallest_safe, 1)))


def dominance(contributions: ArrayLike, n: int, k: Number) -> Flags:
    """Return which cells are dominated: their n largest contributions exceed k percent.

    Notes
    -----
    The (n, k) rule [Domingo2002, §2]. Boundary: exactly k percent is not sensitive. Zeros: a
    cell without contributions, or with a value of 0, is not sensitive.

    >>> dc.risk.dominance([[80, 15, 5], [40, 30, 30]], n=1, k=75).tolist()
    [True, False]
    """
    ranked = _ranked(contributions)
    return dominance_amount(_sum(ranked), ranked[..., : max(n, 0)], n, k) > 0


def dominance_amount(value: Floats, ranked: Floats, n: int, k: Number) -> Floats:
    """Return by how much cells must grow for their n largest to be k percent; else 0.

    `ranked` has the largest contributions along its last axis.

    Notes
    -----
    100·(x1 + … + xn)/k − X [Domingo2002, §2]; above 0 exactly where a cell is sensitive. Zeros: a
    cell of value 0 is not.
    """
    if isinstance(n, bool) or n != int(n) or n < 1:
        raise ParameterError(f"n must be an integer of at least 1. Got {n}.")
    if not 0 < k < 100:
        raise ParameterError(f"k must be a percentage between 0 and 100. Got {float(k):g}.")
    parts = [ranked[..., i] for i in range(min(int(n), ranked.shape[-1]))]
    share = 100 / exact(k)
    found = 100 * np.sum(parts, axis=0) / float(k) - value
    terms = [*((share, part) for part in parts), (Fraction(-1), value)]
    return np.maximum(_settled(found, terms), 0.0)


def prior_posterior(contributions: ArrayLike, p: Number, q: Number) -> Flags:
    """Return which cells let a contributor come within p percent of another's contribution.

    Notes
    -----
    The pq rule [Domingo2002, §2]: before publication everyone knows every contribution to within
    q percent. The second largest contributor, who knows the most, learns the largest x1 to within
    (q/100)·R, R the sum of the contributions from the third on; sensitive if that is below
    (p/100)·x1, i.e. q·R < p·x1. Boundary: equality is not sensitive. Zeros: a cell of value 0 is
    not sensitive; one of a single contributor, or of two, is (R = 0).

    >>> dc.risk.prior_posterior([[80, 15, 5], [40, 30, 30]], p=10, q=50).tolist()
    [True, False]
    """
    ranked = _ranked(contributions)
    second = ranked[..., 1] if ranked.shape[-1] > 1 else np.zeros(ranked.shape[:-1])
    return prior_posterior_amount(_sum(ranked), ranked[..., 0], second, p, q) > 0


def prior_posterior_amount(
    value: Floats, largest: Floats, second: Floats, p: Number, q: Number
) -> Floats:
    """Return how far off figures must be for the second largest to be p percent of x1 off; else 0.

    Notes
    -----
    p·x1/q − R, R = X − x1 − x2 [Domingo2002, §2]; above 0 exactly where a cell is sensitive. Zeros:
    a cell of value 0 is not.
    """
    if not 0 < p < q <= 100:
        raise ParameterError(
            f"p and q must be percentages with 0 < p < q ≤ 100. Got {float(p):g} and {float(q):g}."
        )
    share = exact(p) / exact(q)
    most = float(share) * largest
    found = most - (value - largest - second)
    terms = [(share + 1, largest), (Fraction(1), second), (Fraction(-1), value)]
    # A total that was rounded may be below its two largest parts: the rest is then 0.
    return np.clip(_settled(found, terms), 0.0, most)


def p_percent(contributions: ArrayLike, p: Number) -> Flags:
    """Return which cells let a contributor come within p percent of another's contribution.

    Notes
    -----
    The p% rule: the pq rule with q = 100, no knowledge before publication [Domingo2002, §2].
    Boundary and zeros as in `prior_posterior`.

    >>> dc.risk.p_percent([[80, 15, 5], [40, 30, 30]], p=10).tolist()
    [True, False]
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

    >>> dc.risk.closest_estimate([[80, 15, 5], [40, 30, 30]]).tolist()
    [0.0625, 0.75]
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


def _sum(ranked: Floats) -> Floats:
    """Return the value of each cell: the sum of its contributions, as a decimal."""
    whole, unit = in_units(ranked)
    return np.asarray(whole.sum(axis=-1) / unit)


def _settled(found: Floats, terms: Sequence[tuple[Fraction, Floats]]) -> Floats:
    """Return the sums found, those near 0 replaced by the exact sum of factor times figure."""
    settled = np.array(found, np.float64)
    size = np.sum([np.abs(float(factor) * figures) for factor, figures in terms], axis=0)
    for cell in np.argwhere((np.abs(settled) <= CLOSE * size) & (size > 0)):
        at = tuple(cell)
        settled[at] = float(sum(factor * exact(figures[at]) for factor, figures in terms))
    return settled
