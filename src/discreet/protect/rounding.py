"""Random rounding: every count to one of the two neighbouring multiples of a base."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.table.transition import Counts, Transition


@dataclass(frozen=True)
class RandomRounding:
    """Unbiased random rounding of each cell by itself.

    Notes
    -----
    x = q·b + r becomes q·b + b with probability r/b, q·b otherwise; multiples of b, zeros among
    them, stay [Shlomo2015, §3.2]. Expected value: x. No total is kept exactly; every one is kept
    in expectation. The same uniform number gives the same result, so keys as uniform numbers make
    it consistent across tables.
    """

    base: int = 3

    def __post_init__(self) -> None:
        given: object = self.base
        if not isinstance(given, (int, np.integer)) or given is True or given < 2:
            raise ParameterError(f"base must be an integer of at least 2. Got {given}.")

    def apply(self, counts: Counts, uniforms: NDArray[np.float64]) -> Counts:
        """Return the rounded counts; uniforms in [0, 1), one a cell."""
        return self.transition().draw(counts, uniforms)

    def transition(self) -> Transition:
        """Return Pr(released j | true i): one row for each remainder, repeated with period b."""
        return self._transition

    @cached_property
    def _transition(self) -> Transition:
        base = int(self.base)
        remainder = np.arange(base)
        changes = np.stack([-remainder, np.where(remainder > 0, base - remainder, 0)], axis=1)
        up = remainder / base
        return Transition(changes.astype(np.int64), np.stack([1 - up, up], axis=1), period=base)
