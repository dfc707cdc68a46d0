"""Small-cell adjustment: only counts below the base are rounded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.protect.base import Counts, Promise, Transition, whole
from discreet.protect.lookup import LookupTable


@dataclass(frozen=True)
class SmallCellAdjustment:
    """Rounds the counts below the base at random to 0 or the base; larger counts stay.

    Without bias: x becomes the base with probability x / base.
    """

    cellwise: ClassVar[bool] = True
    base: int = 3

    def __post_init__(self) -> None:
        whole("base", self.base, 2, 100)

    @cached_property
    def _lookup(self) -> LookupTable:
        rows: list[tuple[list[int], list[float]]] = [
            ([-x, self.base - x], [1 - x / self.base, 1]) if x else ([0], [1])
            for x in range(self.base)
        ]
        return LookupTable.from_rows([*rows, ([0], [1])])

    def apply(self, counts: Counts, uniforms: NDArray[np.float64]) -> Counts:
        """Return the released counts, in the shape and type of the counts."""
        return self._lookup.draw(counts, uniforms)

    def transition(self) -> Transition:
        """Return Pr(released j | true i)."""
        return self._lookup.transition()

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: every total in expectation."""
        return Promise(unbiased=True)
