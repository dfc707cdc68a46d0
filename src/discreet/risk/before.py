"""The risk of a whole table before protection, R1, with its three terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_counts, checked_total, checked_weights
from discreet.errors import ParameterError
from discreet.risk.terms import concentration, smallness, weighted, x_log_x, zero_share

WEIGHTS = (0.1, 0.8, 0.1)
"""The weights in print: zeros, entropy, size [Antal2014, §4]."""

SPLIT_WEIGHTS = (0.1, 0.7, 0.1, 0.1)
"""The weights in print: zeros, entropy of small and of large counts, size [Shlomo2015, §4.1]."""

LARGEST_SMALL = 6
"""The largest count of the "small" part of the split form [Shlomo2015, §4.1]."""


@dataclass(frozen=True)
class Risk:
    """The risk of a table, `float(risk)`, with its terms: each in [0, 1], or NaN if undefined."""

    value: float
    zeros: float
    entropy: float
    size: float
    weights: tuple[float, ...] = WEIGHTS

    def __float__(self) -> float:
        return self.value

    @property
    def norm(self) -> float:
        """The weight-free form, √((T1² + T2² + T3²)/3) [Shlomo2015, §4.1]."""
        return sqrt((self.zeros**2 + self.entropy**2 + self.size**2) / 3)


@dataclass(frozen=True)
class SplitRisk(Risk):
    """The split form of the risk: the entropy term apart for small and for large counts.

    `entropy` is the mean of the two parts, weighted as they are; `norm` is over the four terms.
    """

    entropy_small: float = float("nan")
    entropy_large: float = float("nan")

    @property
    def norm(self) -> float:
        """The weight-free form over the four terms, as [Shlomo2015, §4.1] has it over three."""
        terms = (self.zeros, self.entropy_small, self.entropy_large, self.size)
        return sqrt(sum(term**2 for term in terms) / 4)


def before(F: ArrayLike, weights: Sequence[float] = WEIGHTS) -> Risk:
    """Return R1, the disclosure risk of a table of true counts, with its three terms.

    For the custodian only: the value and its terms tell about the true table. Four weights ask
    for the split form, a `SplitRisk`; see `before_split`.

    Notes
    -----
    R1(F, w) = w1·|D|/K + w2·(1 − H(F/N)/log K) + w3·(1 + ½·log N)/√N with D the zero cells, K the
    number of cells and N the total [Antal2014, §3.2], [Shlomo2015, eq. 3]. Zeros: they raise the
    first term, count in K, and add nothing to the entropy (0·log 0 = 0). One cell: the second
    term is 1. All cells zero: refused with a ParameterError, never scored.

    >>> risk = dc.risk.before([[40, 2], [0, 58]])
    >>> round(float(risk), 3)
    0.419
    >>> risk.zeros
    0.25
    """
    counts = checked_counts(F)
    w = checked_weights(weights, 3, 4)
    if len(w) == 4:
        return before_split(counts, w)
    total = checked_total(counts)
    zeros = float(zero_share(counts.size - np.count_nonzero(counts), counts.size))
    entropy = entropy_term(counts)
    size = float(smallness(total))
    return Risk(float(weighted(w, zeros, entropy, size)), zeros, entropy, size, w)


def entropy_term(counts: NDArray[np.int64]) -> float:
    """Return T2 of counts that are known to be valid; NaN if they are all zero."""
    populated = counts[counts > 0]
    return float(concentration(populated.sum(), x_log_x(populated).sum(), counts.size))


def before_split(
    F: ArrayLike, weights: Sequence[float] = SPLIT_WEIGHTS, largest_small: int = LARGEST_SMALL
) -> SplitRisk:
    """Return R1 with the entropy term split into small counts and large ones.

    For the custodian only.

    Notes
    -----
    [Shlomo2015, §4.1]: the cells with counts of at most 6, zeros included, and those of 7 and
    more, each part by eq. 2 with its own total and its own number of cells. Zeros: they count as
    cells of the small part. A part without people (no such cells, or only zeros) has the term 0:
    nothing in it can be disclosed that the first term does not hold already. A part of one
    populated cell has the term 1. All cells zero: refused.

    >>> risk = dc.risk.before_split([[40, 2], [0, 58]])
    >>> round(float(risk), 3), risk.entropy_small
    (0.76, 1.0)
    """
    counts = checked_counts(F)
    w = checked_weights(weights, 4)
    checked_largest_small(largest_small)
    total = checked_total(counts)
    small, large = (split_part(counts[part]) for part in split_masks(counts, largest_small))
    zeros = float(zero_share(counts.size - np.count_nonzero(counts), counts.size))
    size = float(smallness(total))
    return split_risk(w, zeros, small, large, size)


def split_risk(
    weights: tuple[float, ...], zeros: float, small: float, large: float, size: float
) -> SplitRisk:
    """Return the split form made of its terms."""
    value = float(weighted(weights, zeros, small, large, size))
    return SplitRisk(value, zeros, joint(weights, small, large), size, weights, small, large)


def joint(weights: tuple[float, ...], small: float, large: float) -> float:
    """Return the two entropy terms as one, by their weights; their mean where these are 0."""
    both = weights[1] + weights[2]
    if both == 0:
        return (small + large) / 2
    return float(weighted((weights[1] / both, weights[2] / both), small, large))


def checked_largest_small(largest_small: int) -> None:
    """Refuse a split that would leave zeros without a part."""
    if largest_small < 0:
        raise ParameterError(f"largest_small must be at least 0. Got {largest_small}.")


def split_masks(
    counts: NDArray[np.int64], largest_small: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which cells are in the small part, and which in the large one."""
    is_small = counts <= largest_small
    return is_small, ~is_small


def split_part(counts: NDArray[np.int64]) -> float:
    """Return the entropy term of one part, 0 if it holds nobody."""
    return entropy_term(counts) if counts.size and counts.any() else 0.0
