"""A measure averaged over draws of a method, with its standard error.

For the measures whose expectation has no closed form. For the custodian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_counts, whole
from discreet.table.transition import Transition


@dataclass(frozen=True)
class Simulated:
    """The mean of a measure over draws, its standard error, and how many draws had no value."""

    mean: float
    standard_error: float
    draws: int
    undefined: int

    def __float__(self) -> float:
        return self.mean


def simulated(
    F: ArrayLike,
    transition: Transition,
    measure: Callable[[NDArray[np.int64], NDArray[Any]], float],
    rng: np.random.Generator,
    draws: int = 1000,
) -> Simulated:
    """Return the mean of measure(F, G) over draws of the released table G.

    The caller seeds the generator. Zeros are whatever the measure makes of them. Draws for which
    the measure is NaN (a released table of nobody has no conditional entropy) are left out of the
    mean and counted.

    >>> chances, rng = dc.protect.RandomRounding(3).transition(), np.random.default_rng(1)
    >>> found = dc.risk.simulated([3, 4, 5], chances, dc.utility.hellinger, rng, draws=100)
    >>> found.draws, found.undefined
    (100, 0)
    """
    counts = checked_counts(F)
    whole("draws", draws, 2)
    released = (transition.draw(counts, rng.random(counts.shape)) for _ in range(draws))
    values = np.array([float(measure(counts, table)) for table in released])
    kept = values[np.isfinite(values)]
    mean = float(kept.mean()) if len(kept) else float("nan")
    error = float(kept.std(ddof=1)) / sqrt(len(kept)) if len(kept) > 1 else float("nan")
    return Simulated(mean, error, draws, draws - len(kept))
