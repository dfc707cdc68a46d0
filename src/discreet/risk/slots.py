"""The slices of a table along every axis, and the whole, as one list of slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.types import Floats


@dataclass(frozen=True, eq=False)
class SliceValues:
    """A measure of every slice: `axes[a][i]` is that of slice i along axis a; and of the whole."""

    axes: tuple[Floats, ...]
    whole: float


@dataclass(frozen=True, eq=False)
class Slots:
    """The cells populated in either of two tables, each with the slices it belongs to."""

    true: NDArray[np.int64]
    released: NDArray[np.int64]
    index: NDArray[np.int32]
    cells: NDArray[np.int64]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, true: NDArray[np.int64], released: NDArray[np.int64]) -> Self:
        """Return the slots of two contiguous tables of one shape."""
        from discreet.risk import kernels  # numba takes longer to import than most work takes

        shape = true.shape or (1,)
        lengths = np.array(shape, np.int64)
        f, g, index = kernels.populated(true.ravel(), released.ravel(), lengths)
        cells = np.append(np.repeat(true.size // lengths, lengths), true.size)
        return cls(f, g, index, cells, shape)

    @property
    def size(self) -> int:
        """The number of slots: slices of every axis, and the whole table."""
        return len(self.cells)

    def split(self, values: Floats) -> SliceValues:
        """Return one value a slot as slices by axis and the whole."""
        axes, start = [], 0
        for length in self.shape:
            axes.append(values[start : start + length])
            start += length
        return SliceValues(tuple(axes), float(values[-1]))
