"""How often each donor of a larger area is used, so that its figures and those around come close.

Where a copy is placed in the area does not change them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.protect.records.protected_base import kernels
from discreet.protect.records.protected_base.design import Design
from discreet.protect.records.protected_base.donors import Donors
from discreet.protect.records.protected_base.search import Search, weigh, worth
from discreet.protect.records.protected_base.targets import Figures
from discreet.protect.records.protected_base.triples import Triples


@dataclass(frozen=True, eq=False)
class Off:
    """What is off around a unit: a row for each level up to the whole, and in the whole in
    tables of three columns.
    """

    cells: Figures
    triples: Figures


@dataclass(eq=False)
class Uses:
    """How often each donor is used; the targets of a unit, in tables of one to three columns."""

    donors: Donors
    times: NDArray[np.int32]
    cells: Figures
    triples: NDArray[Any]

    @classmethod
    def alike(cls, donors: Donors, sizes: NDArray[Any], cells: Figures, triples: Figures) -> Uses:
        """Return uses that differ by one at most; `sizes` are those of the donors needed."""
        times = np.zeros(len(donors), np.int32)
        for size, number in enumerate(np.bincount(sizes, minlength=len(donors.bounds) - 1)):
            own = times[donors.bounds[size] : donors.bounds[size + 1]]
            if number:
                every, more = divmod(int(number), len(own))
                own[:] = every
                own[:more] += 1
        kind = np.min_scalar_type(int(triples.max(initial=0)))
        return cls(donors, times, cells, triples.astype(kind))

    def settle(self) -> None:
        """Let go of the targets, which nothing more is asked of once uses are settled."""
        self.cells, self.triples = self.cells[:0], self.triples[:0].copy()

    @property
    def copies(self) -> NDArray[np.int32]:
        """The donors, each as often as it is used."""
        return np.repeat(np.arange(len(self.donors), dtype=np.int32), self.times)

    def tally(
        self, design: Design, triples: Triples, codes: NDArray[np.int32]
    ) -> tuple[Figures, Figures]:
        """Return the counts that the uses make; `codes` are those of the donors' records."""
        times = np.repeat(self.times, self.donors.sizes)
        found = np.zeros((1, design.size), np.int32)
        kernels.add_cells(design.cells(codes), np.zeros(len(codes), np.int64), times, found)
        return found[0], triples.added(codes, times.astype(np.uint32)).astype(np.int32)

    def balance(
        self,
        search: Search,
        sweeps: int,
        design: Design,
        triples: Triples,
        codes: NDArray[np.int32],
        state: NDArray[np.uint64],
        around: Off | None = None,
    ) -> Off:
        """Move uses between donors; return by how much the figures changed."""
        own, own_triples = self.tally(design, triples, codes)
        top, beyond = search.large(design)
        weights, total = weigh(design, top), top.copy()
        slope, step = weights * (own - self.cells), weights.copy()
        wide = (top[2] * (own_triples - self.triples)).astype(np.int32)
        if around is not None:
            weights = weigh(design, beyond)
            counted = np.array([search.middle] * (len(around.cells) - 1) + [1], np.int32)
            slope += weights * (counted @ around.cells)
            wide += beyond[2] * around.triples
            step += weights * counted.sum(dtype=np.int32)
            total += beyond * (counted.sum(), counted.sum(), 1)
        cells, main = design.cells(codes), design.bytes_of(codes)
        number = len(triples.columns)
        value = worth(design, total, number)
        even = round(search.even * int(worth(design, top, number)[0]))
        for _ in range(sweeps):
            for order in self._orders(main, state):
                kernels.balance(
                    cells,
                    codes,
                    main,
                    self.donors.first,
                    order,
                    self.times,
                    slope,
                    step,
                    wide,
                    int(total[2]),
                    triples.steps,
                    value,
                    even,
                )
        found, found_triples = self.tally(design, triples, codes)
        return Off(found - own, found_triples - own_triples)

    def _orders(
        self, main: NDArray[np.uint8], state: NDArray[np.uint64]
    ) -> Sequence[NDArray[np.int32]]:
        """Return the donors of each size, ordered by their first record in a random order."""
        columns = np.arange(main.shape[1])
        kernels.shuffle(columns, state)
        return self.donors.orders(main, columns, np.arange(len(self.donors)))
