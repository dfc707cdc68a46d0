"""Kullback–Leibler divergence of the true from the released distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_pair, checked_total


def kullback_leibler(F: ArrayLike, G: ArrayLike) -> float:
    """Return the relative entropy of the true distribution to the released one, in nats.

    For the custodian. 0 where the tables are proportional; not symmetric.

    Notes
    -----
    D(P‖Q) = Σ p·log(p/q) with p = F/N and q = G/M [Antal2014, §3.1]; against a uniform Q it is
    log K − H(P). Zeros: a true 0 adds nothing, whatever is released (0·log 0 = 0), so that 0 → 1
    counts through M alone. A cell of people released as 0 makes it infinite. A released table of
    nobody has no distribution: NaN. A true table of nobody is refused.

    >>> round(dc.utility.kullback_leibler([50, 50], [75, 25]), 3)
    0.144
    """
    true, released = checked_pair(F, G)
    total, shown = checked_total(true), int(released.sum())
    if shown == 0:
        return float("nan")
    held = true > 0
    if (released[held] == 0).any():
        return float("inf")
    p, q = true[held] / total, released[held] / shown
    return max(0.0, float((p * np.log(p / q)).sum()))
