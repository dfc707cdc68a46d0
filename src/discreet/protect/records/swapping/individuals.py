"""Swapping of persons between regions, on a hypercube of counts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.protect.base import Counts, Effect, Multiplier, Promise, checked_counts, whole


@dataclass(frozen=True)
class IndividualSwapping:
    """Exchanges the region of random pairs of persons, where only a hypercube is at hand.

    Of each region half the `rate` is sampled, and each person sampled is paired with a random
    person of another region: `rate` is the share of persons that move. `axis` is the region.

    Notes
    -----
    [Shlomo2015, sec. 5.1]: 5% sampled in each of two regions, so that 10% move. Nobody moves
    twice. Kept exactly: the persons of each region, and every table without the region. The
    persons that leave a region are a simple random sample of it (multivariate hypergeometric
    over its cells), which is the same as drawing them one by one. Where a region has fewer
    persons than the others send for, all of them move and the rate is not met.

    >>> F = np.array([[30, 20], [10, 40]])
    >>> found = dc.protect.IndividualSwapping(rate=0.1).apply(F, np.random.default_rng(1))
    >>> found.sum(axis=0).tolist(), found.sum(axis=1).tolist()
    ([40, 60], [50, 50])
    """

    cellwise: ClassVar[bool] = False
    keeps_zeros: ClassVar[bool] = False
    rate: float = 0.1
    axis: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ParameterError(f"rate must be above 0 and at most 1. Got {self.rate}.")
        whole("axis", self.axis, 0, 31)

    def apply(self, counts: Counts, rng: np.random.Generator) -> Counts:
        """Return the hypercube after the swap, in the shape and type of the counts."""
        true = checked_counts(counts)
        if self.axis >= true.ndim:
            raise ParameterError(
                f"axis must be below the number of dimensions, {true.ndim}. Got {self.axis}."
            )
        regions = true.shape[self.axis]
        first = np.moveaxis(true, self.axis, 0)
        cells = first.astype(np.int64).reshape(regions, true.size // max(regions, 1))
        totals = cells.sum(axis=1)
        flows = _flows(totals, self.rate, rng)
        swapped = cells.copy()
        for region in range(regions):
            left = cells[region]
            # Leavers to one destination after the other, each a sample of who is still there.
            for other in np.flatnonzero(flows[region]):
                leavers = rng.multivariate_hypergeometric(
                    left, int(flows[region, other]), method="marginals"
                )
                left = left - leavers
                swapped[region] -= leavers
                swapped[other] += leavers
        back = np.moveaxis(swapped.reshape(first.shape), 0, self.axis)
        return np.ascontiguousarray(back).astype(true.dtype)

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: the totals of the regions, and every margin without the region."""
        others = tuple(axis for axis in range(dimensions) if axis != self.axis)
        return Promise(unbiased=False, margins=((self.axis,), others))

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: not known, but for the share of persons that stay."""
        del dimensions
        stay = 1 - self.rate
        return Effect(multiplier=Multiplier(stay, stay, "the share of persons that stay"))


def _flows(totals: NDArray[np.int64], rate: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how many persons each region exchanges with each other: a symmetric matrix."""
    number = len(totals)
    flows = np.zeros((number, number), np.int64)
    # Fractions are carried over the regions, so that the rate holds for all together.
    sampled = np.diff(np.floor(np.cumsum(totals * rate / 2) + 1e-9), prepend=0).astype(np.int64)
    for region in range(number):
        others = totals.astype(float)
        others[region] = 0
        if others.sum():
            flows[region] += rng.multinomial(sampled[region], others / others.sum())
    flows += flows.T.copy()
    for region in np.argsort(totals, kind="stable"):
        excess = int(flows[region].sum() - totals[region])
        if excess > 0:
            dropped = rng.multivariate_hypergeometric(flows[region], excess, method="marginals")
            flows[region] -= dropped
            flows[:, region] -= dropped
    return flows
