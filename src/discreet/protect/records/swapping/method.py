"""Record swapping: pairs of similar households exchange where they live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_list
from discreet.errors import ParameterError
from discreet.protect.keys import checked_words, purposes, unit_interval
from discreet.protect.records.swapping import kernels
from discreet.types import Flags, Integers


@dataclass(frozen=True, eq=False)
class Swapped:
    """Who was swapped with whom, and by larger area how many were not and why.

    For the custodian: whoever has this can undo the protection.
    """

    partner: Integers  # of each household; the household itself where it was not swapped
    profile: NDArray[np.int8]  # the profile that a pair agrees on, 0 the strictest; −1: none
    larger: Integers  # the larger areas, in increasing order
    households: Integers  # by larger area
    left_out: Integers
    at_risk: Integers
    wanted: Integers  # households that should move
    moved: Integers
    at_risk_moved: Integers
    alone: Integers  # whose turn came, and nobody like them lives elsewhere in the larger area
    taken: Integers  # whose turn came when all those like them had moved

    def exchange(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return the values of each household, those of swapped ones exchanged."""
        return values[self.partner]

    @property
    def swapped(self) -> Flags:
        """Which households were swapped."""
        return np.asarray(self.partner != np.arange(len(self.partner)))

    @property
    def shortfall(self) -> int:
        """How many households fewer moved than should have."""
        return int((self.wanted - self.moved).sum())

    @property
    def rate(self) -> float:
        """The share of all households that moved."""
        return float(self.moved.sum() / max(1, len(self.partner)))


@dataclass(frozen=True)
class RecordSwapping:
    """Exchanges the geography of pairs of households, within a larger area, out of a smaller.

    `rate` is the share of households that move, of those not left out. A household at risk has
    its turn `odds` times as likely as another: 1 is a random swap, infinity takes all those at
    risk first. With `only_at_risk` nobody else has a turn, though anyone can be a partner. With
    `match_risk` a household at risk first looks for a partner that is at risk too.

    Notes
    -----
    [Longhurst2007, §3.1] [Shlomo2015, sec. 3.1]. Two partners have the same profile: the first
    of the stated profiles under which a free partner exists. Whole households move, so every
    table without geography, every table of the larger areas and the composition of every
    household are as they were; so is, under the strictest profile, each table of the control
    variables by the smaller areas. Counts of the smaller areas lean towards those of their
    neighbourhood: swapping is biased, and has no transition of counts.

    >>> area, larger, size = [0, 0, 1, 1], [0, 0, 0, 0], [2, 3, 2, 3]
    >>> keys = np.arange(4, dtype=np.uint64)
    >>> dc.protect.RecordSwapping(rate=1.0).apply(area, larger, [size], keys).partner.tolist()
    [2, 3, 0, 1]
    """

    rate: float
    odds: float = inf
    only_at_risk: bool = False
    match_risk: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ParameterError(f"rate must be above 0 and at most 1. Got {self.rate}.")
        if not self.odds >= 1:
            raise ParameterError(f"odds must be at least 1. Got {self.odds}.")

    def apply(
        self,
        area: ArrayLike,
        larger: ArrayLike,
        profiles: Sequence[ArrayLike],
        keys: ArrayLike,
        at_risk: ArrayLike | None = None,
        left_out: ArrayLike | None = None,
    ) -> Swapped:
        """Return the pairs; every argument has one value for each household.

        `area` is the area that a swapped household must leave, `larger` the one that it stays
        in. `profiles` are numbers that partners must share, the strictest first. `keys` are
        random 64-bit numbers, a household's own and secret: the same keys, the same swap.
        """
        small = checked_list("area", area)
        number = len(small)
        large = checked_list("larger", larger, number)
        controls = [checked_list("a profile", profile, number) for profile in profiles]
        if not controls:
            raise ParameterError("profiles must have at least one. Give zeros to match anyone.")
        secret, nobody = checked_words(keys, number), np.zeros(number, bool)
        risky = nobody if at_risk is None else checked_list("at_risk", at_risk, number, "b")
        out = nobody if left_out is None else checked_list("left_out", left_out, number, "b")
        if self.only_at_risk and at_risk is None:
            raise ParameterError("only_at_risk needs at_risk: who is at risk is not known.")
        if self.match_risk:
            _, strict = np.unique(controls[0], return_inverse=True)
            controls.insert(0, strict * 2 + risky)
        stacked = np.stack(controls).astype(np.int64, copy=False)
        return self._swap(small.astype(np.int64), large, stacked, secret, risky, out)

    def _swap(
        self,
        area: Integers,
        larger: Integers,
        controls: Integers,
        keys: NDArray[np.uint64],
        risky: Flags,
        out: Flags,
    ) -> Swapped:
        names, places = np.unique(larger, return_inverse=True)
        order = np.argsort(places, kind="stable")
        order = order[~out[order]]
        ends = np.cumsum(np.bincount(places[order], minlength=len(names)))
        eligible = np.diff(ends, prepend=0)
        # Halves of pairs are carried on to the next area, so that the rate holds over all.
        quota = np.diff(np.floor(np.cumsum(eligible * self.rate / 2) + 1e-9), prepend=0)
        ring, aim = purposes(keys, 2), purposes(keys, 3)
        partner = np.arange(len(area))
        profile, reason = np.full(len(area), -1, np.int8), np.zeros(len(area), np.int8)
        for end, size, pairs in zip(ends, eligible, quota.astype(np.int64), strict=True):
            here = order[end - size : end]
            found, profile[here], reason[here] = kernels.pair(
                area[here],
                np.ascontiguousarray(controls[:, here]),
                ring[here],
                aim[here],
                self._turns(keys[here], risky[here]),
                pairs,
            )
            partner[here[found >= 0]] = here[found[found >= 0]]

        def by_area(marked: Flags | None) -> Integers:
            return np.bincount(places, marked, len(names)).astype(np.int64)

        swapped = partner != np.arange(len(area))
        alone, taken = by_area(reason == kernels.ALONE), by_area(reason == kernels.TAKEN)
        wanted, moved = 2 * quota.astype(np.int64), by_area(swapped)
        if self.only_at_risk:
            # The rate is then the most that may move: all those at risk and their partners.
            wanted = np.minimum(wanted, moved + alone + taken)
        return Swapped(
            partner, profile, names, by_area(None), by_area(out), by_area(risky), wanted, moved,
            by_area(swapped & risky), alone, taken,
        )  # fmt: skip

    def _turns(self, keys: NDArray[np.uint64], risky: Flags) -> Integers:
        """Return in which order the households of one larger area have their turns."""
        odds = np.where(risky & (self.odds < inf), self.odds, 1.0)
        turns = np.argsort(-np.log1p(-unit_interval(purposes(keys, 1))) / odds, kind="stable")
        if self.odds == inf:
            turns = turns[np.argsort(~risky[turns], kind="stable")]
        return turns[risky[turns]] if self.only_at_risk else turns
