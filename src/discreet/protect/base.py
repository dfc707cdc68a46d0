"""What every protection method is: parameters, an `apply`, and a description of its chances.

A cellwise method changes each cell by itself, from one uniform number. Its whole behaviour is then
its transition, Pr(released j | true i), which the risk measures read; a method is never recognised
by its name. A table-wise method draws a whole table and has no transition, or says what it has.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.table.transition import Counts, Transition

__all__ = ["CellwiseMethod", "Counts", "TablewiseMethod", "Transition"]


@runtime_checkable
class CellwiseMethod(Protocol):
    """A method that changes each cell by itself; the same uniform gives the same change."""

    def apply(self, counts: Counts, uniforms: NDArray[np.float64]) -> Counts:
        """Return the released counts; uniforms in [0, 1), one a cell."""
        ...

    def transition(self) -> Transition:
        """Return Pr(released j | true i)."""
        ...


@runtime_checkable
class TablewiseMethod(Protocol):
    """A method that draws a whole table at once, from a generator seeded by the caller."""

    def apply(self, counts: Counts, rng: np.random.Generator) -> Counts:
        """Return the released counts."""
        ...
