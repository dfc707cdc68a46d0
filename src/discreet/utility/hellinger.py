"""Hellinger distance between a true and a released table, and the score made of it."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_pair, checked_total
from discreet.utility.rows import Rows, as_rows


def hellinger(F: ArrayLike, G: ArrayLike) -> float:
    """Return the Hellinger distance of the counts, 0 for equal tables.

    For the custodian.

    Notes
    -----
    HD = √(½·Σ(√F − √G)²), at most √((N + M)/2) [Shlomo2015, eq. 4]. Zeros: a one released as
    zero and a zero released as one both add ½ under the root, as much as 100 released as 121.

    >>> round(dc.utility.hellinger([1, 100], [0, 121]), 3)
    1.0
    """
    true, released = checked_pair(F, G)
    return sqrt(0.5 * float(np.square(np.sqrt(true) - np.sqrt(released)).sum()))


def hellinger_of_proportions(F: ArrayLike, G: ArrayLike) -> float:
    """Return the Hellinger distance of the two distributions, between 0 and 1.

    For the custodian. Unlike `hellinger` it does not see a change of all cells in proportion.

    Notes
    -----
    HD(P, Q) = √(½·Σ(√p − √q)²) = √(1 − Σ√(p·q)) with p = F/N and q = G/M [Shlomo2015, §4.3],
    [Antal2014, §3.1]; 1 where no cell has people in both. Zeros: cells of 0 in both add nothing;
    1 → 0 and 0 → 1 count through N and M as well. A released table of nobody has no distribution:
    NaN. A true table of nobody is refused.

    >>> dc.utility.hellinger_of_proportions([3, 6], [10, 20])
    0.0
    """
    true, released = checked_pair(F, G)
    total, shown = checked_total(true), int(released.sum())
    if shown == 0:
        return float("nan")
    return sqrt(0.5 * float(np.square(np.sqrt(true / total) - np.sqrt(released / shown)).sum()))


def score(F: ArrayLike, G: ArrayLike) -> float:
    """Return the Hellinger utility of the released table: 1 for equal tables, 0 for disjoint ones.

    For the custodian; `discreet.risk.public_quality` estimates it from the released table.

    Notes
    -----
    1 − HD/√N, N the true total [Shlomo2015, §4.3], cut at 0: it could fall below where the
    released total is larger. Zeros: as in `hellinger`; a true table of nobody is refused.

    >>> round(dc.utility.score([40, 2, 58], [39, 3, 57]), 3)
    0.976
    """
    true, released = checked_pair(F, G)
    return score_of(hellinger(true, released), checked_total(true))


def score_of(distance: float, total: int) -> float:
    """Return the Hellinger utility of a table that is so far from a true one of so many people."""
    return max(0.0, 1 - distance / sqrt(total))


def hellinger_rows(F: ArrayLike, G: ArrayLike, axis: int = 0) -> Rows:
    """Return the Hellinger distance of every row along an axis, with mean and spread.

    Notes
    -----
    [Longhurst2007, §5.2]. Zeros: a row of zeros in both tables has the distance 0 and counts.

    >>> F, G = [[4, 9], [1, 0]], [[4, 9], [0, 0]]
    >>> dc.utility.hellinger_rows(F, G).values.round(3).tolist()
    [0.0, 0.707]
    """
    true, released = as_rows(F, G, axis)
    return Rows(np.sqrt(0.5 * np.square(np.sqrt(true) - np.sqrt(released)).sum(axis=1)))
