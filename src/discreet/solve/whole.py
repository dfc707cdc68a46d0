"""Whole tables at given bounds, found by a walk."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.solve import kernels
from discreet.solve.kernels import Lists
from discreet.types import Floats, Integers

# Heats of the walk, in units of one off in one equation. A walk that is too cold is caught, and one
# that is too hot never ends: what works most often is taken.
HEATS = (0.37, 0.34, 0.4, 0.3)
# Cells beyond this are as good as without an end.
ENDLESS = 2**40


class Walk:
    """Walks through whole tables that miss some equations, until none is missed.

    A table that keeps all equations is put to another value in one cell. That cell is held there,
    and others move by ones, or by as much as an equation is off, wherever an equation is off. The
    changes that mend a three-way table are seldom local, but there are many: so a walk in which
    what is missed wanders until it meets what cancels it finds one sooner than an integer
    programme does. It proves nothing where it finds none. Work is counted in trials.
    """

    def __init__(self, part: Any, right: Floats, low: Floats, high: Floats, seed: int) -> None:
        self.rows, self.columns = part.tocsr(), part.tocsc()
        self.right = np.rint(right).astype(np.int64)
        self.low = np.maximum(low, -ENDLESS).astype(np.int64)
        self.high = np.minimum(high, ENDLESS).astype(np.int64)
        self.lists = Lists.of_rows(self.rows), Lists.of_rows(self.columns.T)
        self.signs = tuple(one.data.astype(np.int64) for one in (self.rows, self.columns))
        self.random = np.random.default_rng(seed).integers(1, 2**63 - 1, 1).astype(np.uint64)
        # How often each heat found a table, and was tried; every one is thought to work at first.
        self.worked, self.tried = np.ones(len(HEATS)), np.ones(len(HEATS))

    def mended(
        self, table: Integers, place: int | None, value: int, most: int
    ) -> tuple[Integers | None, int]:
        """Return a table with this value in this place, if any, and the trials that it took.

        None where so many trials found none.
        """
        x = np.clip(table, self.low, self.high)
        held = np.zeros(len(x), bool)
        if place is not None:
            x[place], held[place] = value, True
        off = np.rint(self.rows @ x).astype(np.int64) - self.right
        heat = int(np.argmax(self.worked / self.tried))
        used = kernels.mend(
            *self.lists, *self.signs, x, self.low, self.high, held, off, HEATS[heat], most,
            self.random,
        )  # fmt: skip
        found = used >= 0 and np.array_equal(np.rint(self.rows @ x), self.right)
        self.tried[heat] += 1
        self.worked[heat] += found
        return (x, int(used)) if found else (None, most)
