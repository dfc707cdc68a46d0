"""From readable shares to the thresholds that a kernel draws from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.synth.variables import OLDEST
from discreet.types import Floats

Thresholds = NDArray[np.uint32]

AGES = np.arange(OLDEST + 1)
DEPRIVATION = np.arange(-2, 3)
"""The classes of deprivation of areas, in steps from the middle one."""


def by_age(knots: Mapping[int, float]) -> Floats:
    """Return a value for each age from 0 to 100, straight lines between the ages given.

    >>> by_age({0: 0.0, 10: 1.0})[[0, 5, 10, 99]]
    array([0. , 0.5, 1. , 1. ])
    """
    return np.interp(AGES, list(knots), list(knots.values()))


def rows_by_age(knots: Mapping[int, Sequence[float]]) -> Floats:
    """Return a row of shares for each age, each column on straight lines between the ages given."""
    rows = np.array(list(knots.values()), dtype=float)
    return np.stack([np.interp(AGES, list(knots), column) for column in rows.T], axis=1)


def thresholds(weights: ArrayLike) -> Thresholds:
    """Return cumulative shares of the last axis, scaled to 2³¹, one row for each distribution.

    Category i is drawn for a 31-bit integer u if u is below entry i and not below entry i - 1: a
    weight of 0 is never drawn, and the last positive weight ends at 2³¹ exactly.

    >>> thresholds([[1, 0, 3]]) / 2**31
    array([[0.25, 0.25, 1.  ]])
    """
    table = np.asarray(weights, dtype=float)
    table = table.reshape(-1, max(1, table.shape[-1]))
    if table.size == 0 or (table < 0).any() or not (table.sum(axis=1) > 0).all():
        raise ValueError("a distribution needs weights of at least 0, not all of them 0")
    cumulative = np.cumsum(table, axis=1)
    shares = cumulative / cumulative[:, -1:]
    return np.ascontiguousarray(np.rint(shares * 2.0**31).astype(np.uint32))


def chances(probabilities: ArrayLike) -> Thresholds:
    """Return probabilities scaled to 2³¹: the event happens for a 31-bit integer below."""
    values = np.asarray(probabilities, dtype=float)
    if (values < 0).any() or (values > 1).any():
        raise ValueError("a probability lies between 0 and 1")
    return np.ascontiguousarray(np.rint(values * 2.0**31).astype(np.uint32))
