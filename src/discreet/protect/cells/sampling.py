"""Sampling: the table of a random sample of the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.protect.base import Effect, Method, Multiplier
from discreet.types import Floats, Integers

# Of a row's probability, what may be left out at either end of its description.
NEGLIGIBLE = 1e-15
SPREADS = 40
"""Standard deviations from the mean beyond which no double-precision number can tell a chance."""


def _row(count: int, fraction: float) -> tuple[int, Floats]:
    """Return the first sample size that can matter, and the chances of it and the following.

    Notes
    -----
    p(k + 1) / p(k) = (n − k)/(k + 1) · f/(1 − f), multiplied up and down from the mode and then
    made to sum to one.
    """
    reach = int(SPREADS * (1 + (count * fraction * (1 - fraction)) ** 0.5))
    mode = min(int((count + 1) * fraction), count)
    low, high = max(mode - reach, 0), min(mode + reach, count)
    k = np.arange(low, high)
    ratio = (count - k) / (k + 1) * (fraction / (1 - fraction))
    up = np.cumprod(ratio[mode - low :])
    down = np.cumprod(1 / ratio[: mode - low][::-1])[::-1]
    chances = np.concatenate([down, [1.0], up])
    return low, chances / chances.sum()


def _chances(values: Integers, count: int, fraction: float) -> Floats:
    """Return Pr(released = value) for each value of a true count."""
    low, chances = _row(count, fraction)
    at = np.asarray(values, np.int64) - low
    inside = (at >= 0) & (at < len(chances))
    return np.where(inside, chances[np.where(inside, at, 0)], 0.0)


@dataclass(frozen=True)
class BinomialTransition:
    """Pr(released j | true i) when every record stays with one probability: in closed form."""

    fraction: float

    def row(self, count: int) -> tuple[Integers, Floats]:
        """Return the released values of a true count that can matter, with probabilities."""
        low, chances = _row(count, self.fraction)
        values = np.arange(low, low + len(chances))
        if count >= 64:
            kept = (np.cumsum(chances) > NEGLIGIBLE) & (np.cumsum(chances[::-1])[::-1] > NEGLIGIBLE)
            values, chances = values[kept], chances[kept]
        return values, chances / chances.sum()

    def matrix(self, max_count: int) -> Floats:
        """Return P with a row for each true count 0…max_count and a column for each released."""
        counts = np.arange(max_count + 1)
        return np.array([_chances(counts, count, self.fraction) for count in counts.tolist()])

    def flows(
        self, values: Integers, number: Integers, released: Integers
    ) -> tuple[Floats, Floats]:
        """Return, for each released value j, μ_j = Σ n_i·P[i, j] and Σ i·n_i·P[i, j]."""
        mu, sums = np.zeros(len(released)), np.zeros(len(released))
        for count, cells in zip(values.tolist(), number.tolist(), strict=True):
            chances = cells * _chances(released, count, self.fraction)
            mu += chances
            sums += count * chances
        return mu, sums


@dataclass(frozen=True)
class Sampling(Method):
    """Counts the records of a sample that takes each record with the stated fraction.

    The released figures are counts in the sample: multiply by 1 / fraction for the population.
    From uniforms made of cell keys a cell has the same sample in every table that shows it, but
    its sub-cells are sampled anew: they need not add up.

    >>> method = dc.protect.Sampling(fraction=0.5)
    >>> method.apply(np.array([0, 1, 10]), np.array([0.5, 0.9, 0.5])).tolist()
    [0, 1, 5]
    """

    cellwise = True
    example: ClassVar[Mapping[str, str]] = {"fraction": "0.1"}
    fraction: float

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise ParameterError(f"fraction must be above 0 and below 1. Got {self.fraction}.")

    def draw(self, counts: Integers, uniforms: Floats, /) -> Integers:
        """Return the counts in the sample."""
        drawn = np.empty(np.shape(counts), np.int64)
        for count in np.unique(counts).tolist():
            low, chances = _row(count, self.fraction)
            here = counts == count
            drawn[here] = low + np.searchsorted(np.cumsum(chances), uniforms[here], side="right")
        return np.minimum(drawn, counts)

    def transition(self) -> BinomialTransition:
        """Return Pr(released j | true i): binomial."""
        return BinomialTransition(self.fraction)

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: its chances are binomial, its change has no bound.

        Notes
        -----
        A count of more than a few hardly ever equals its sample, yet the sample tells where people
        are. The multiplier is therefore the share of the records that are left, as 1 − rate is of
        swapping [Shlomo2015, §4.2].
        """
        del dimensions
        share = f"{self.fraction:.6g}"
        return Effect(
            self.transition(),
            None,
            Multiplier(self.fraction, self.fraction, "the share of records in the sample"),
            f"Figures count a random sample, a share of {share} of the records: divide them by "
            f"{share} to estimate the population.",
        )
