"""The risk of a whole table before protection, R1, with its three terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from types import EllipsisType

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_counts, checked_total, checked_weights, whole
from discreet.risk.terms import concentration_of, smallness_of, weighted, x_log_x
from discreet.table.showing import rows_html
from discreet.types import Flags, Integers

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

    def _repr_html_(self) -> str:
        terms = {"zeros": self.zeros, "entropy": self.entropy, "size": self.size}
        rows = [(name, f"{term:.3f}") for name, term in terms.items()]
        return rows_html(f"Risk {self.value:.3f}", ("Term", "Value"), rows)

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


def before(
    F: ArrayLike, weights: Sequence[float] = WEIGHTS, largest_small: int = LARGEST_SMALL
) -> Risk:
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
    counts, w = checked_counts(F), checked_weights(weights, 3, 4)
    size = smallness_of(checked_total(counts))
    zeros = (counts.size - int(np.count_nonzero(counts))) / counts.size
    entropy = [entropy_term(counts[part]) for part in parts(counts, w, largest_small)]
    return risk_of(w, zeros, entropy, size)


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
    found = before(F, checked_weights(weights, 4), largest_small)
    assert isinstance(found, SplitRisk)
    return found


def parts(
    counts: Integers, weights: tuple[float, ...], largest_small: int = LARGEST_SMALL
) -> list[Flags | EllipsisType]:
    """Return the cells that share an entropy term: all, or with four weights small and large."""
    return [...] if len(weights) == 3 else [*split(counts, largest_small)]


def split(counts: Integers, largest_small: int) -> tuple[Flags, Flags]:
    """Return which cells are in the small part, and which in the large one."""
    is_small = counts <= whole("largest_small", largest_small, 0)  # zeros are in this part
    return is_small, ~is_small


def entropy_term(counts: Integers) -> float:
    """Return T2 of valid counts, 0 where they hold nobody."""
    populated = counts[counts > 0]
    if not populated.size:
        return 0.0
    return concentration_of(int(populated.sum()), float(x_log_x(populated).sum()), counts.size)


def risk_of(
    weights: tuple[float, ...], zeros: float, entropy: Sequence[float], size: float
) -> Risk:
    """Return the risk made of its terms; of two entropy terms it is the split form."""
    value = float(weighted(weights, zeros, *entropy, size))
    if len(entropy) == 1:
        return Risk(value, zeros, entropy[0], size, weights)
    both = weights[1] + weights[2]
    shares = (weights[1] / both, weights[2] / both) if both else (0.5, 0.5)
    return SplitRisk(value, zeros, float(weighted(shares, *entropy)), size, weights, *entropy)
