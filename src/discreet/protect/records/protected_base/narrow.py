"""Figures that are kept for long, in one byte each wherever they fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BYTE = 255


@dataclass(frozen=True, eq=False)
class Narrow:
    """A table of whole figures from 0 on: columns of small ones in a byte, the others as needed."""

    small: NDArray[np.uint8]
    large: NDArray[Any]
    fits: NDArray[np.bool_]  # whether a column is among the small ones

    @classmethod
    def of(cls, figures: NDArray[Any]) -> Narrow:
        """Return the figures, kept narrowly."""
        fits = figures.max(axis=0, initial=0) <= _BYTE
        large = figures[:, ~fits]
        kind = np.min_scalar_type(int(large.max(initial=0)))
        return cls(figures[:, fits].astype(np.uint8), large.astype(kind), fits)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.small), len(self.fits)

    def wide(self) -> NDArray[np.int32]:
        """Return all figures."""
        found = np.empty(self.shape, np.int32)
        found[:, self.fits] = self.small
        found[:, ~self.fits] = self.large
        return found
