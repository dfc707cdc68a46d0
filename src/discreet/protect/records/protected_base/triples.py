"""Tables of three columns in large areas: noisy figures, and how far a fit is off from them.

Beside the tables that are fitted in every area, those of any three main columns are fitted in the
areas that share donors and in the whole. Figures of four columns and more follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.protect.records.protected_base import kernels
from discreet.protect.records.protected_base.design import MOST_CATEGORIES, Design
from discreet.protect.records.protected_base.targets import Figures

MOST_CELLS = 2**19
"""Cells of all tables of three columns that are fitted in large areas: the smaller tables first."""


@dataclass(frozen=True, eq=False)
class Triples:
    """The tables of any three main columns, as far as there is room for their cells."""

    design: Design

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """The columns of each table."""
        sizes = [c.size if c.coarser is None else 0 for c in self.design.columns]
        main = [i for i, size in enumerate(sizes) if 0 < size <= MOST_CATEGORIES]
        every = [t for t in combinations(main, 3) if t not in self.design.tables]
        every.sort(key=lambda t: (self._cells(t), t))
        room = int(np.searchsorted(np.cumsum([self._cells(t) for t in every]), MOST_CELLS, "right"))
        return np.array(sorted(every[:room]), np.int64).reshape(-1, 3)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the cells of each table begin, and at last where they end."""
        return np.cumsum([0, *map(self._cells, self.columns.tolist())]).astype(np.int64)

    @cached_property
    def steps(self) -> NDArray[np.int32]:
        """For each table its columns, how far one category of the first two is, and its begin."""
        sizes = self.design.sizes
        found = np.empty((len(self.columns), 6), np.int32)
        found[:, :3] = self.columns
        found[:, 4] = sizes[self.columns[:, 2]]
        found[:, 3] = sizes[self.columns[:, 1]] * found[:, 4]
        found[:, 5] = self.offsets[:-1]
        return found

    def _cells(self, table: tuple[int, ...]) -> int:
        return int(np.prod([self.design.columns[i].size for i in table]))

    def tally(self, codes: NDArray[np.int32]) -> Figures:
        """Return the counts of some records."""
        return self.added(codes, np.ones(len(codes), np.uint32)).astype(np.int32)

    def added(self, codes: NDArray[np.int32], values: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the sums of the values of some records, modulo 2^32."""
        found = np.zeros(int(self.offsets[-1]), np.uint32)
        kernels.add_triples(codes, values, self.steps, found)
        return found
