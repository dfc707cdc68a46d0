"""The risk of a release by any method, from whatever is known of the method.

The transition of the method where it has one for a cell of the table; the matrix of the swap rate
where people were swapped; and otherwise the transition that was seen, in one release or in many
draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.protect import IndividualSwapping, Method
from discreet.risk import (
    RiskAfter,
    after_swapping,
    after_transition,
    posterior,
)
from discreet.risk.transition import Contents
from discreet.table.transition import Chances, Transition
from discreet.types import Floats, Integers

SMALL = 6
Pairs = NDArray[np.int64]
"""Rows of a true count, a released count, and how many cells went from one to the other."""


def pairs_of(true: Integers, released: Integers) -> Pairs:
    """Return how many cells of each true count were released as what."""
    both = np.stack([true.ravel(), released.ravel()], axis=1)
    values, number = np.unique(both, axis=0, return_counts=True)
    return np.concatenate([values, number[:, None]], axis=1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Seen:
    """The transition that was seen: Pr(released j | true i) as shares of cells, over draws.

    It stands for any method whose chances for a cell are not known beforehand, a protected
    hypercube among them. A count that only one cell has is its own best guess: of large counts it
    says little, and the share of them that changed is in the multiplier.
    """

    pairs: Pairs

    @classmethod
    def of(cls, drawn: Iterable[Pairs]) -> Seen:
        """Return the transition of several draws together."""
        every = np.concatenate(list(drawn))
        values, place = np.unique(every[:, :2], axis=0, return_inverse=True)
        number = np.bincount(place.ravel(), weights=every[:, 2]).astype(np.int64)
        return cls(np.concatenate([values, number[:, None]], axis=1))

    def row(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return what a true count was released as, and in what shares."""
        here = self.pairs[self.pairs[:, 0] == count]
        return here[:, 1], here[:, 2] / max(int(here[:, 2].sum()), 1)

    def matrix(self, max_count: int) -> NDArray[np.float64]:
        """Return P with a row for each true count 0…max_count; a count not seen stays."""
        wide = max(int(self.pairs[:, 1].max()), max_count) + 1
        dense = np.zeros((max_count + 1, wide))
        for count in range(max_count + 1):
            values, shares = self.row(count)
            dense[count, values] = shares
            if not len(values):
                dense[count, count] = 1
        return dense

    def flows(
        self, values: NDArray[np.int64], number: NDArray[Any], released: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return μ_j and Σ i·n_i·P[i, j] of each released value."""
        true, shown, _ = self.pairs.T
        known = np.minimum(np.searchsorted(values, true), len(values) - 1)
        weight = np.where(values[known] == true, number[known], 0) * self._shares
        place = np.searchsorted(released, shown)
        place[place == len(released)] = 0
        hit = released[place] == shown
        mu, sums = np.zeros(len(released)), np.zeros(len(released))
        np.add.at(mu, place[hit], weight[hit])
        np.add.at(sums, place[hit], (weight * true)[hit])
        return mu, sums

    @cached_property
    def _shares(self) -> Floats:
        """The share of the cells of a true count that each pair has."""
        _, place = np.unique(self.pairs[:, 0], return_inverse=True)
        totals = np.bincount(place, weights=self.pairs[:, 2].astype(np.float64))
        return np.asarray(self.pairs[:, 2] / totals[place])

    @cached_property
    def stays(self) -> tuple[float, float]:
        """The shares of populated cells left as they were, of small and of large counts."""
        found = []
        for part in (self.pairs[:, 0] <= SMALL, self.pairs[:, 0] > SMALL):
            here = self.pairs[part & (self.pairs[:, 0] > 0)]
            same = here[here[:, 0] == here[:, 1]][:, 2].sum()
            found.append(float(same / here[:, 2].sum()) if len(here) else 1.0)
        return found[0], found[1]

    @property
    def correct_claims(self) -> float:
        """The share of cells that the best guess names right, for each released value."""
        order = np.lexsort((self.pairs[:, 2], self.pairs[:, 1]))
        listed = self.pairs[order]
        last = np.append(np.diff(listed[:, 1]) != 0, True)
        return float(listed[last, 2].sum() / listed[:, 2].sum())


@dataclass(frozen=True, eq=False)
class Known:
    """What an intruder is taken to know of a method, and the risk that follows.

    `chances` is the transition of a cell of the table, `rate` the share of people that moved; with
    neither, what was seen stands in.
    """

    chances: Chances | None = None
    rate: float | None = None
    multiplier: tuple[float, ...] | None = None

    @classmethod
    def of(cls, method: Method, dimensions: int, given: tuple[float, ...] | None = None) -> Known:
        """Return what is known of a method that acts on the table itself."""
        effect = method.effect(dimensions)
        own = effect.multiplier
        factor = given or (None if own is None else (own.small, own.large))
        rate = method.rate if isinstance(method, IndividualSwapping) else None
        return cls(effect.chances, rate, factor)

    @property
    def complete(self) -> bool:
        """Whether the risk can be told without what was seen."""
        if self.rate is not None:
            return True
        return self.chances is not None and self.multiplier is not None

    @property
    def exact(self) -> bool:
        """Whether all measures follow from the transition: nothing that was seen is needed."""
        return self.complete and isinstance(self.chances, Transition)

    def filled(self, seen: Seen) -> Known:
        """Return the same with what was seen in the place of what is not known."""
        if self.rate is not None:
            return self
        return Known(self.chances or seen, None, self.multiplier or seen.stays)

    def after(
        self,
        true: Integers,
        released: Integers,
        weights: Sequence[float],
        contents: Contents = "expected",
    ) -> RiskAfter:
        """Return the risk after protection by the transition, in the form that the weights ask."""
        if self.rate is not None:
            # Nobody in this table was swapped out of a cell, unless a multiplier says otherwise.
            if self.multiplier is None and np.array_equal(true, released):
                return after_swapping(true, released, 0.0, weights)
            return after_swapping(true, released, self.rate, weights, self.multiplier)
        assert self.chances is not None
        assert self.multiplier is not None
        factor: float | tuple[float, ...] = self.multiplier
        if len(weights) == 3 and len(self.multiplier) == 2:
            factor = mean_factor(self.multiplier, released)
        return after_transition(true, released, self.chances, weights, factor, contents)

    def claims(self, true: Integers, seen: Seen | None) -> float:
        """Return the share of cells that an intruder's best guess names right."""
        if isinstance(self.chances, Transition):
            return posterior(self.chances, true).correct_claims
        assert seen is not None
        return seen.correct_claims


def mean_factor(factors: Sequence[float], released: Integers) -> float:
    """Return the multiplier of a table: the mean of two over its figures that are not 0."""
    populated = int((released > 0).sum())
    if not populated:
        return factors[-1]
    share = int(((released > 0) & (released <= SMALL)).sum()) / populated
    return share * factors[0] + (1 - share) * factors[-1]


def repeated(pairs: Pairs) -> tuple[Integers, Integers]:
    """Return true and released counts in some order: risk does not depend on it."""
    return np.repeat(pairs[:, 0], pairs[:, 2]), np.repeat(pairs[:, 1], pairs[:, 2])


def mean_and_error(values: Floats) -> tuple[float, float, int]:
    """Return the mean over draws, its standard error, and how many draws had no value."""
    kept = values[np.isfinite(values)]
    if not len(kept):
        return float("nan"), float("nan"), len(values)
    error = float(kept.std(ddof=1) / np.sqrt(len(kept))) if len(kept) > 1 else float("nan")
    return float(kept.mean()), error, len(values) - len(kept)
