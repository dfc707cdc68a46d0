"""A measure of every row of a table, and how the rows spread around their mean."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_axis, checked_pair
from discreet.types import Floats


@dataclass(frozen=True, eq=False)
class Rows:
    """One value per row, NaN where a row has none; mean and spread leave those out."""

    values: Floats

    @property
    def defined(self) -> int:
        """The number of rows that have a value."""
        return int(np.isfinite(self.values).sum())

    @property
    def mean(self) -> float:
        """The mean over rows; NaN if no row has a value."""
        return float(self.values[np.isfinite(self.values)].mean()) if self.defined else float("nan")

    @property
    def deviation(self) -> float:
        """The standard deviation over rows, with n − 1; NaN below two rows."""
        kept = self.values[np.isfinite(self.values)]
        return float(kept.std(ddof=1)) if len(kept) > 1 else float("nan")

    @property
    def standard_error(self) -> float:
        """The standard error of the mean, s/√n (what [Longhurst2007, §5.2] prints is s²)."""
        return self.deviation / sqrt(self.defined) if self.defined > 1 else float("nan")


def as_rows(F: ArrayLike, G: ArrayLike, axis: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return both tables as rows along an axis, every other axis laid side by side."""
    true, released = checked_pair(F, G)
    place = checked_axis(true, axis)
    length = true.shape[place]
    return (
        np.moveaxis(true, place, 0).reshape(length, -1),
        np.moveaxis(released, place, 0).reshape(length, -1),
    )
