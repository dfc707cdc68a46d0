"""Random rounding: every count to one of the two neighbouring multiples of a base."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.protect.base import Counts, Promise, Transition, whole
from discreet.protect.lookup import LookupTable, rounding


@dataclass(frozen=True)
class RandomRounding:
    """Unbiased random rounding of each cell by itself.

    Notes
    -----
    x = q·b + r becomes q·b + b with probability r/b, q·b otherwise; multiples of b, zeros among
    them, stay [Shlomo2015, sec. 3.2]. No total is kept exactly; every one is kept in expectation.
    The same uniform number gives the same result, so uniforms from cell keys make it consistent
    across tables.
    """

    cellwise: ClassVar[bool] = True
    base: int = 3

    def __post_init__(self) -> None:
        whole("base", self.base, 2, 100)

    @cached_property
    def _lookup(self) -> LookupTable:
        return rounding(self.base)

    def apply(self, counts: Counts, uniforms: NDArray[np.float64]) -> Counts:
        """Return the rounded counts; uniforms in [0, 1), one a cell."""
        return self._lookup.draw(counts, uniforms)

    def transition(self) -> Transition:
        """Return Pr(released j | true i): one row for each remainder, repeated with period b."""
        return self._lookup.transition()

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: every total in expectation."""
        return Promise(unbiased=True)
