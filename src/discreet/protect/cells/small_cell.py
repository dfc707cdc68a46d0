"""Small-cell adjustment: only counts below the base are rounded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.protect.base import Counts, Effect, Multiplier, Promise, Transition, whole
from discreet.protect.lookup import LookupTable


@dataclass(frozen=True)
class SmallCellAdjustment:
    """Rounds the counts below the base at random to 0 or the base; larger counts stay.

    Without bias: x becomes the base with probability x / base.

    >>> method = dc.protect.SmallCellAdjustment(base=3)
    >>> method.apply(np.array([1, 2, 4]), np.array([0.5, 0.5, 0.5])).tolist()
    [0, 3, 4]
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

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: its transition."""
        del dimensions
        return Effect.of(self.transition(), small_multiplier(self.base))


def small_multiplier(base: int) -> Multiplier:
    """Return the multiplier of methods that leave no count below the base: 1 for larger figures.

    Notes
    -----
    Of the counts 1…b only b can stay, so that their mean is at most 1/b. A figure above b takes
    nothing off: in a table without small figures nothing was hidden.
    """
    source = f"of the counts 1 to {base} only {base} is left as counted, and larger ones are"
    return Multiplier(1 / base, 1.0, source, base)
