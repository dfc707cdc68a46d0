"""The records that a base is made of, and the secret of their edition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.protect.keys import KeyMix, purposes
from discreet.protect.records.protected_base.targets import Noise

_CHUNK = 2**20  # records whose codes are mixed at a time

MOST_MIXED = 0.01
"""In so many households members may differ in what members of a household share."""


@dataclass(frozen=True, eq=False)
class Records:
    """Records as columns of codes; `words` are random words made of the secret and their ids.

    `household` numbers the households from 0, all members of one in one area, if households are
    copied whole.
    """

    codes: Sequence[NDArray[Any]]
    area: NDArray[Any]
    words: NDArray[np.uint64]
    household: NDArray[np.int64] | None = None

    def matrix(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the codes of some records, a row for each."""
        found = np.empty((len(rows), len(self.codes)), np.int32)
        for i, column in enumerate(self.codes):
            found[:, i] = column[rows]
        return found

    @cached_property
    def keys(self) -> NDArray[np.uint32]:
        """Record keys, whose sums key the noise."""
        return purposes(self.words, 1).astype(np.uint32)

    def edition(self, secret: bytes) -> bytes:
        """Return a secret for these very records: another where one is gone, new or changed.

        Noise by the secret alone would be the same in two editions wherever nobody left, so that
        what changes would point to who did. The order of the records does not matter.
        """
        sums = np.zeros(4, np.uint64)
        columns = [*self.codes, self.area]
        for start in range(0, len(self.words), _CHUNK):
            own = slice(start, start + _CHUNK)
            mixed = self.words[own]
            for column in columns:
                mixed = purposes(mixed ^ column[own].astype(np.uint64), 2)
            sums += [purposes(mixed, purpose).sum() for purpose in range(3, 7)]
        return KeyMix(secret, "protected base: edition").words(sums).tobytes()

    def of_households(self, noise: Noise) -> frozenset[int]:
        """Return the columns that members of a household share, of those that tell people apart.

        Members may differ in few of the households with somebody out of the largest category. By
        noisy numbers of households: readers are told which columns these are, and learn of no
        single household from it.
        """
        if self.household is None:
            return frozenset()
        order = np.argsort(self.household, kind="stable")
        home = self.household[order]
        later = np.flatnonzero(home[1:] == home[:-1])  # with the member before, of one household
        one, other, of = order[later], order[later + 1], home[later]
        keys = np.zeros(int(home.max(initial=-1)) + 1, np.uint32)
        np.add.at(keys, self.household, self.keys)

        def number(chosen: NDArray[np.bool_]) -> int:
            homes = np.unique(of[chosen])
            key = np.array([keys[homes].sum(dtype=np.uint32)], np.uint32)
            return int(noise.figures(np.array([len(homes)], np.int32), key)[0])

        found = []
        for i, column in enumerate(self.codes):
            largest = np.bincount(column).argmax()
            several = number((column[one] != largest) | (column[other] != largest))
            if several and number(column[one] != column[other]) <= MOST_MIXED * several:
                found.append(i)
        return frozenset(found)

    @cached_property
    def homes(self) -> NDArray[np.uint64]:
        """A random word for the household of each record, or for the record alone."""
        if self.household is None:
            return self.words
        found = np.zeros(int(self.household.max(initial=-1)) + 1, np.uint64)
        np.add.at(found, self.household, self.words)
        return np.asarray(found[self.household])
