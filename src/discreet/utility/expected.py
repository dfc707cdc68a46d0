"""Utility in expectation over a cellwise method's randomness, exactly, without simulation.

For the custodian: all read the true table.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_counts, checked_total
from discreet.table.transition import Transition
from discreet.types import Floats, Integers

# Nodes of the quadrature: enumeration is met to 1e-10 with half as many.
NODES = 256
# Nodes taken at once, so that memory does not grow with the number of distinct counts.
CHUNK = 32


def expected_hellinger(F: ArrayLike, transition: Transition) -> float:
    """Return the expected Hellinger distance between the true table and a released one.

    Notes
    -----
    HD² is a sum over cells, independent of each other, so E[HD] = π^(−1/2)·∫(1 − Π
    φ_i(u²)^n_i)/u² du over u > 0, φ_i the Laplace transform of ½(√i − √j)² under row i of P and
    n_i the number of cells of count i. (√E[HD²] is larger, by little for large tables.) HD is
    [Shlomo2015, eq. 4]. Zeros: cells of 0 that may be released as more take part.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> round(dc.utility.expected_hellinger([3, 4, 5], chances), 3)
    0.329
    """
    number, squares, chances = _squares(F, transition)
    mean = _mean_square(number, squares, chances)
    if mean == 0:
        return 0.0
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    angle = pi / 4 * (nodes + 1)
    u = np.tan(angle) / sqrt(mean)
    none = np.empty(NODES)
    for start in range(0, NODES, CHUNK):
        t = u[start : start + CHUNK, None, None] ** 2
        laplace = (chances * np.exp(-t * squares)).sum(axis=2)
        none[start : start + CHUNK] = 1 - np.prod(laplace**number, axis=1)
    return float(sqrt(mean / pi) * (pi / 4) * (weights * none / np.sin(angle) ** 2).sum())


def expected_hellinger_square(F: ArrayLike, transition: Transition) -> float:
    """Return the expected square of the Hellinger distance.

    Notes
    -----
    E[HD²] = Σ n_i·r_i, r_i the expected ½(√i − √j)² of a cell of count i; HD is
    [Shlomo2015, eq. 4]. Zeros: as in `expected_hellinger`.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> round(dc.utility.expected_hellinger_square([1, 3], chances), 3)
    0.423
    """
    return _mean_square(*_squares(F, transition))


def expected_score(F: ArrayLike, transition: Transition) -> float:
    """Return the expected Hellinger utility, 1 − E[HD]/√N.

    Notes
    -----
    [Shlomo2015, §4.3], the expectation of `score` wherever no release falls below 0, where it is
    cut. Zeros: as in `expected_hellinger`; a table of nobody is refused.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> round(dc.utility.expected_score([3, 4, 5], chances), 3)
    0.905
    """
    total = checked_total(checked_counts(F))
    return max(0.0, 1 - expected_hellinger(F, transition) / sqrt(total))


def expected_relative_absolute(F: ArrayLike, transition: Transition) -> float:
    """Return the expected RAD.

    Notes
    -----
    Σ n_i·E|j − i|/i over true counts i > 0 [Longhurst2007, §5.2]. Zeros: true zeros are left out,
    as in `relative_absolute`.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> round(dc.utility.expected_relative_absolute([3, 4, 5], chances), 3)
    0.6
    """
    values, number, rows = _frequencies(F, transition)
    change, held = _expected_change(transition)[rows], values > 0
    return float((number[held] * change[held] / values[held]).sum())


def expected_average_absolute(F: ArrayLike, transition: Transition) -> float:
    """Return the expected AAD.

    Notes
    -----
    Σ n_i·E|j − i|/K [Longhurst2007, §5.2]. Zeros: zero cells count as cells, as in
    `average_absolute`.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> round(dc.utility.expected_average_absolute([3, 4, 5], chances), 3)
    0.889
    """
    _, number, rows = _frequencies(F, transition)
    return float((number * _expected_change(transition)[rows]).sum() / number.sum())


def expected_unchanged(F: ArrayLike, transition: Transition) -> float:
    """Return the expected share of cells that are released as they are.

    Notes
    -----
    Σ n_i·P[i, i]/K; its share among small cells is a risk [Shlomo2015, §5.2, Table 4]. Zeros:
    zero cells that stay zero count as unchanged.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> round(dc.utility.expected_unchanged([3, 4, 5], chances), 3)
    0.333
    """
    _, number, rows = _frequencies(F, transition)
    stays = np.where(transition.changes == 0, transition.probabilities, 0).sum(axis=1)[rows]
    return float((number * stays).sum() / number.sum())


def _expected_change(transition: Transition) -> Floats:
    """Return E|j − i| of each row of the method."""
    return np.asarray((np.abs(transition.changes) * transition.probabilities).sum(axis=1))


def _frequencies(
    F: ArrayLike, transition: Transition
) -> tuple[Integers, NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct true counts, how many cells have each, and its row of the method."""
    values, number = np.unique(checked_counts(F), return_counts=True)
    return values, number, transition.index(values)


def _mean_square(number: Floats, squares: Floats, chances: Floats) -> float:
    return float((number * (squares * chances).sum(axis=1)).sum())


def _squares(F: ArrayLike, transition: Transition) -> tuple[Floats, Floats, Floats]:
    """Return n_i, and ½(√i − √j)² with its probability, for every true count that can change."""
    values, number, rows = _frequencies(F, transition)
    changes, chances = transition.changes[rows], transition.probabilities[rows]
    moving = ((changes != 0) & (chances > 0)).any(axis=1)
    start = values[moving, None]
    # Padding has probability 0 at change 0; where it would leave the counts it is not looked at.
    end = np.maximum(start + changes[moving], 0)
    squares = 0.5 * np.square(np.sqrt(start) - np.sqrt(end))
    return number[moving].astype(np.float64), squares, chances[moving]
