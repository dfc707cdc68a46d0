"""The donors of a larger area: records that are copied together, one person or a household."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

MOST_KEYED = 12
"""Columns by which donors are put in order, each with up to 32 categories: more do not fit."""


@dataclass(frozen=True, eq=False)
class Donors:
    """Records in the order of their donors: donor d is records first[d] to first[d + 1].

    Donors of one size stand together, small ones first, and are exchanged among themselves, so
    that an area keeps the number of its people.
    """

    rows: NDArray[np.int32]
    first: NDArray[np.int64]

    @classmethod
    def persons(cls, rows: NDArray[np.int32]) -> Donors:
        """Return donors of one record each."""
        return cls(rows, np.arange(len(rows) + 1))

    @classmethod
    def households(cls, rows: NDArray[np.int32], household: NDArray[np.int64]) -> Donors:
        """Return donors of all records of a household each, which stand together in `rows`."""
        starts = np.flatnonzero(np.diff(household[rows], prepend=-1))
        sizes = np.diff(starts, append=len(rows))
        order = np.argsort(sizes, kind="stable")
        first = np.concatenate([[0], np.cumsum(sizes[order])])
        of_donor = np.repeat(starts[order] - first[:-1], sizes[order])
        return cls(rows[of_donor + np.arange(len(rows))], first)

    def __len__(self) -> int:
        return len(self.first) - 1

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many records each donor has."""
        return np.diff(self.first)

    @cached_property
    def bounds(self) -> NDArray[np.int64]:
        """Where the donors of each size from 0 begin, and at last where they end."""
        largest = int(self.sizes.max(initial=0))
        return np.searchsorted(self.sizes, np.arange(largest + 2))

    def members(self, donors: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the places of the records of some donors, one donor after the other."""
        sizes = self.sizes[donors]
        ends = np.cumsum(sizes)
        return np.repeat(self.first[donors] - ends + sizes, sizes) + np.arange(ends[-1:].sum())

    def some(self, taken: NDArray[np.bool_]) -> Donors:
        """Return those of the donors that are taken."""
        who = np.flatnonzero(taken).astype(np.int32)
        first = np.concatenate([[0], np.cumsum(self.sizes[who])])
        return Donors(self.rows[self.members(who)], first)

    def orders(
        self, main: NDArray[np.uint8], columns: NDArray[np.int64], among: NDArray[np.int64]
    ) -> Sequence[NDArray[np.int32]]:
        """Return some donors of each size, ordered by columns of their first record.

        `main` are the bytes of all records; `among`, the numbers of the donors, rises.
        """
        key = np.zeros(len(among), np.uint64)
        for column in columns[:MOST_KEYED]:
            key = key << np.uint64(5) | (main[self.first[among], column] & np.uint8(31))
        return [
            among[low + np.argsort(key[low:high], kind="stable")].astype(np.int32)
            for low, high in pairwise(np.searchsorted(among, self.bounds).tolist())
            if high > low + 1
        ]
