"""The rows of a table along every axis, and the whole, as one list of slots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from discreet.types import Flags, Floats, Integers


@dataclass(frozen=True, eq=False)
class RowValues:
    """A measure of every row: `axes[a][i]` is that of row i along axis a; and of the whole."""

    axes: tuple[Floats, ...]
    whole: float


class Sums(NamedTuple):
    """Of each slot: populated cells, N and Σ F·log F; cells populated in either, in both; M."""

    held: Floats
    total: Floats
    logs: Floats
    either: Floats
    both: Floats
    released: Floats


@dataclass(frozen=True, eq=False)
class Slots:
    """The cells populated in either of two tables, each with the rows it belongs to."""

    true: Integers
    released: Integers
    index: NDArray[np.int32]
    cells: Integers
    shape: tuple[int, ...]

    @classmethod
    def of(cls, true: Integers, released: Integers) -> Self:
        """Return the slots of two contiguous tables of one shape."""
        shape = true.shape or (1,)
        lengths = np.array(shape)
        held = np.flatnonzero((true > 0) | (released > 0))
        places = np.stack([*np.unravel_index(held, shape), np.zeros_like(held)])
        starts = np.append(0, np.cumsum(lengths))[:, None]
        cells = np.append(np.repeat(true.size // lengths, lengths), true.size)
        index = (places + starts).astype(np.int32)
        return cls(true.ravel()[held], released.ravel()[held], index, cells, shape)

    @property
    def size(self) -> int:
        """The number of slots: rows along every axis, and the whole table."""
        return len(self.cells)

    @cached_property
    def sums(self) -> Sums:
        """What the terms of the risk of each slot are made of."""
        from discreet.risk import kernels  # numba takes longer to import than most work takes

        return Sums(*kernels.sums(self.true, self.released, self.index, self.size))

    def where(self, chosen: Flags) -> Self:
        """Return the same slots with the chosen cells alone; the others are zero."""
        true, released = (np.where(chosen, counts, 0) for counts in (self.true, self.released))
        return replace(self, true=true, released=released)

    def number(self, chosen: Flags) -> Integers:
        """Return how many of the chosen cells each slot has."""
        return np.bincount(self.index[:, chosen].ravel(), minlength=self.size)

    def split(self, values: Floats) -> RowValues:
        """Return the value of each slot as rows by axis, and the whole."""
        axes = np.split(values[:-1], np.cumsum(self.shape[:-1]))
        return RowValues(tuple(axes), float(values[-1]))
