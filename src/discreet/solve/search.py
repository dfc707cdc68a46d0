"""The search through inner cells that several optimisers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.solve import kernels
from discreet.types import Floats, Integers

NO_LIMIT = 2**60


class Search:
    """Inner cells and the cells they add up to, moved by annealing towards given intervals.

    `members` has a row for each cell and a column for each inner cell, as in a table
    system. The work is
    counted in trials, never in seconds: the same seed gives the same table on any machine.
    """

    def __init__(
        self,
        members: Any,
        inner: Integers,
        low: Integers,
        high: Integers,
        least: Integers,
        most: Integers,
        rng: np.random.Generator,
        step: int = 1,
        weights: Floats | None = None,
    ) -> None:
        self.cells_of = kernels.Lists.of_rows(members.T)
        self.sums: Any = members.astype(np.int64).tocsr()
        self.x = np.array(inner, np.int64)
        self.y = np.asarray(self.sums @ self.x)
        self.low, self.high = np.asarray(low, np.int64), np.asarray(high, np.int64)
        self.least, self.most = np.asarray(least, np.int64), np.asarray(most, np.int64)
        self.weights = np.ones(len(self.y)) if weights is None else weights
        self.steps = np.full(len(self.x), step, np.int64)
        self.own = np.zeros(len(self.x))
        self.free = np.flatnonzero(self.low < self.high).astype(np.int32)
        self.state = rng.integers(1, 2**63 - 1, 1).astype(np.uint64)
        self.limit, self.heavy = NO_LIMIT, 0.0

    def run(
        self,
        hot: float,
        cold: float,
        trials_each: int,
        square: bool = False,
        until_none: bool = False,
    ) -> float:
        """Search with so many trials for each free cell; return the misses that are left."""
        return float(
            kernels.anneal(
                self.cells_of, self.steps, self.x, self.low, self.high, self.y,
                self.least, self.most, self.weights, self.own, square, self.limit, self.heavy,
                self.free, hot, cold, trials_each * len(self.free), until_none, self.state,
            )
        )  # fmt: skip

    def put(self, inner: Integers) -> None:
        """Go on from other inner cells."""
        self.x[:] = inner
        self.y[:] = self.sums @ self.x
