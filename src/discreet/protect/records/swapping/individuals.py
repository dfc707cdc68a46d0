"""Swapping of persons between regions, on a hypercube of counts alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.checks import whole
from discreet.errors import ParameterError
from discreet.protect.base import Kept, Method, Multiplier
from discreet.types import Integers


@dataclass(frozen=True)
class IndividualSwapping(Method):
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

    cellwise = False
    moves_zeros = True
    largest = 10**8
    rate: float = 0.1
    axis: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ParameterError(f"rate must be above 0 and at most 1. Got {self.rate}.")
        whole("axis", self.axis, 0, 31)

    def check(self, dimensions: int) -> None:
        """Raise where the table has no such axis."""
        if self.axis >= dimensions:
            raise ParameterError(
                f"axis must be below the number of dimensions, {dimensions}. Got {self.axis}."
            )

    def draw(self, counts: Integers, rng: np.random.Generator, /) -> Integers:
        """Return the hypercube after the swap."""
        regions = counts.shape[self.axis]
        first = np.moveaxis(counts, self.axis, 0)
        cells = first.reshape(regions, -1)
        flows = _flows(cells.sum(axis=1), self.rate, rng)
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
        return np.moveaxis(swapped.reshape(first.shape), 0, self.axis)

    def keeps(self, dimensions: int) -> Kept:
        """Return what is kept: the totals of the regions, and every margin without the region."""
        others = tuple(axis for axis in range(dimensions) if axis != self.axis)
        return Kept(unbiased=False, margins=((self.axis,), others))

    @property
    def multiplier(self) -> Multiplier:
        """The share of persons that stay; the chances of a count are not known."""
        return Multiplier(1 - self.rate, 1 - self.rate, "the share of persons that stay")


def _flows(totals: Integers, rate: float, rng: np.random.Generator) -> Integers:
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
