"""How far off a sum of released figures may be: from the method's chances alone."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.table.transition import Transition
from discreet.types import Floats, Integers

SHARE = 0.9
"""The share of sums that the narrower of the two bounds holds for."""

_EXACT = 256  # figures added up, above which the normal approximation is good to a unit


def ninety(transition: Transition, parts: Integers) -> Integers:
    """Return by how much or less nine of ten sums of so many figures are off.

    Notes
    -----
    The changes of the figures are taken as independent, each with the chances of the count that
    the method changes most: the smallest q with Pr(|Δ1 + … + Δk| ≤ q) ≥ 0.9, by convolution, and
    for more than 256 figures by the normal approximation.

    >>> rounding = dc.protect.RandomRounding(3).transition()
    >>> dc.risk.sums.ninety(rounding, np.array([1, 4, 16])).tolist()
    [2, 5, 9]
    """
    widest = _widest(transition)
    many, where = np.unique(parts, return_inverse=True)
    found = np.array([_quantile(widest, int(k)) for k in many], np.int64)
    return found[where].reshape(parts.shape)


def _widest(transition: Transition) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the changes and chances of the positive count that is changed most."""
    squares = (transition.probabilities * transition.changes**2).sum(axis=1)
    first = 1 if len(squares) > transition.period else 0  # a zero stays, unless it stands for all
    row = first + int(np.argmax(squares[first:]))
    possible = transition.probabilities[row] > 0
    changes, chances = transition.changes[row, possible], transition.probabilities[row, possible]
    return tuple(changes.tolist()), tuple(chances.tolist())


@lru_cache(maxsize=4096)
def _quantile(row: tuple[tuple[int, ...], tuple[float, ...]], parts: int) -> int:
    changes, chances = np.array(row[0]), np.array(row[1])
    if not parts or not changes.any():
        return 0
    most = int(np.abs(changes).max())
    if parts > _EXACT:
        mean, square = float(chances @ changes), float(chances @ changes**2)
        return min(
            parts * most, ceil(abs(parts * mean) + 1.6449 * sqrt(parts * (square - mean**2)))
        )
    one = np.zeros(2 * most + 1)
    one[changes + most] = chances
    sums = _convolved(one, parts)
    centre = parts * most
    within = np.cumsum(np.r_[sums[centre], sums[centre + 1 :] + sums[centre - 1 :: -1]])
    return int(np.searchsorted(within, SHARE - 1e-12))


def _convolved(one: Floats, times: int) -> NDArray[np.float64]:
    """Return the distribution of a sum of independent changes with one distribution."""
    found = np.ones(1)
    while times:
        if times & 1:
            found = np.convolve(found, one)
        one, times = np.convolve(one, one), times >> 1
    return found
