"""What is known of a method: what it does to one count, and what it keeps of a table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from discreet.table.transition import Chances, Transition

SMALL = 6
"""The largest of the small counts, as the split form of the risk has them [Shlomo2015, §4.1]."""


@dataclass(frozen=True)
class Kept:
    """What a method keeps of a table with a given number of dimensions.

    `margins` are the totals under control, each as the axes that it keeps: () is the total of the
    table, (0,) the totals of the rows. Each is released less than `within` away from the truth: 1
    is exactly. Without margins the totals are kept in expectation where the method is unbiased,
    and not at all where it is not.
    """

    unbiased: bool
    margins: tuple[tuple[int, ...], ...] = ()
    within: int = 1

    def every_total(self, dimensions: int) -> bool:
        """Whether every total of a table is under control; sums of exact totals are exact."""
        kept = {frozenset(axes) for axes in self.margins}
        sizes = range(dimensions)
        every = (frozenset(axes) for size in sizes for axes in combinations(sizes, size))
        return all(
            any(axes <= margin if self.within == 1 else axes == margin for margin in kept)
            for axes in every
        )

    @property
    def closeness(self) -> str:
        """How close the totals under control stay, as part of a sentence."""
        if self.within == 1:
            return "the method leaves them as they were counted"
        return f"the method changes them by less than {self.within}"


@dataclass(frozen=True)
class Multiplier:
    """How much of a table's concentration a method leaves: the mean chance to stay as counted.

    One for figures from 1 to `limit`, one for larger ones; `source` says where they come from.

    Notes
    -----
    [Shlomo2015, §4.2] multiplies the entropy term by the average of the diagonal of P. Of a banded
    matrix that average depends on how many rows are written down. Here it is taken over the
    counts from 1 to the limit, and over the rows that serve all larger counts: neither depends on
    where a description happens to end. Zeros are left out, since they stay whatever the method.
    """

    small: float
    large: float
    source: str
    limit: int = SMALL

    @classmethod
    def mean_diagonal(cls, transition: Transition, source: str, limit: int = SMALL) -> Multiplier:
        """Return the mean chances to stay of a transition."""
        stays = np.where(transition.changes == 0, transition.probabilities, 0).sum(axis=1)
        small = stays[transition.index(np.arange(1, limit + 1))].mean()
        return cls(float(small), float(stays[-transition.period :].mean()), source, limit)

    def of(self, released: ArrayLike) -> float:
        """Return the multiplier of a released table: the mean over its figures that are not 0."""
        figures = np.asarray(released)
        populated = int((figures > 0).sum())
        if self.small == self.large or not populated:
            return self.large
        share = int(((figures > 0) & (figures <= self.limit)).sum()) / populated
        return share * self.small + (1 - share) * self.large


@dataclass(frozen=True, eq=False)
class Effect:
    """What a method does to one count, whatever the cells around it; None is what is not known.

    `chances` are Pr(released j | true i), `largest_change` is the most that |j − i| can be.
    `multiplier` is a figure of the risk after protection, or one that it does not exceed.
    `told` is a sentence without which the figures cannot be read. Released figures above
    `exact_above` are as they were counted, whatever the chances of the others.
    """

    chances: Chances | None = None
    largest_change: int | None = None
    multiplier: Multiplier | None = None
    told: str = ""
    exact_above: int | None = None

    @classmethod
    def of(cls, transition: Transition, multiplier: Multiplier | None = None) -> Effect:
        """Return the effect of a transition; without a multiplier its mean diagonal is taken."""
        moved = transition.changes[transition.probabilities > 0]
        if multiplier is None:
            source = "the mean chance to be left as counted"
            multiplier = Multiplier.mean_diagonal(transition, source)
        return cls(transition, int(np.abs(moved).max()), multiplier)

    @classmethod
    def none(cls) -> Effect:
        """Return the effect of changing nothing."""
        return cls.of(Transition.identity(), Multiplier(1.0, 1.0, "nothing is changed"))

    @property
    def transition(self) -> Transition | None:
        """The chances, where changes are bounded and the same for all large counts."""
        return self.chances if isinstance(self.chances, Transition) else None
