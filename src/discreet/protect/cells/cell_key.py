"""Cell-key perturbation: the change of a cell is looked up by its count and its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.protect.base import Counts, Effect, Multiplier, Promise, Transition
from discreet.protect.lookup import LookupTable


@dataclass(frozen=True)
class CellKeyPerturbation:
    """Changes each cell by a look-up in its count and the uniform made from its cell key.

    Notes
    -----
    [Fraser2005] [Longhurst2007, sec. 3.3]. Where the uniforms come from cell keys (see
    `discreet.protect.keys`), a cell has the same figure in every table that shows it.

    >>> method = dc.protect.CellKeyPerturbation(dc.protect.lookup.max_entropy(2, 1.0))
    >>> mix = dc.protect.KeyMix(b"a secret of at least 16 bytes")
    >>> found = method.apply(np.array([10, 10]), mix.uniforms(np.array([7, 7], np.uint64)))
    >>> bool(found[0] == found[1]), bool(abs(found - 10).max() <= 2)
    (True, True)
    """

    cellwise: ClassVar[bool] = True
    lookup: LookupTable

    def __post_init__(self) -> None:
        if not isinstance(self.lookup, LookupTable):
            raise ParameterError(
                "lookup must be a LookupTable, such as lookup.max_entropy(5, 3). "
                f"Got {type(self.lookup).__name__}."
            )

    def apply(
        self,
        counts: Counts,
        uniforms: NDArray[np.float64],
        structural: NDArray[np.bool_] | None = None,
    ) -> Counts:
        """Return the released counts, in the shape and type of the counts.

        `structural` marks the cells that nobody can be in; it must be given where the look-up
        changes zeros, and those cells stay zero.
        """
        return self.lookup.draw(counts, uniforms, structural)

    def transition(self) -> Transition:
        """Return Pr(released j | true i)."""
        return self.lookup.transition()

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: every total in expectation where the look-up has no bias."""
        return Promise(unbiased=bool(np.abs(self.lookup.bias).max() < 1e-6))

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: its transition."""
        del dimensions
        transition = self.transition()
        source = "the mean chance to be left as counted, by the look-up"
        return Effect.of(transition, Multiplier.mean_diagonal(transition, source))
