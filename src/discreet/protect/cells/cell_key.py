"""Methods by look-up, and cell-key perturbation: a change is looked up by a count and its key."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.protect.base import Method, Multiplier, Transition
from discreet.protect.lookup import LookupTable
from discreet.types import Floats, Integers


class ByLookup(Method):
    """A method whose whole behaviour is a look-up table."""

    @property
    def cellwise(self) -> bool:
        """Whether each cell is drawn by itself, from a uniform."""
        return True

    @property
    def public(self) -> bool:
        """Whether a public tier may use it: where cells keep their figures in all tables."""
        return self.cellwise

    @property
    @abstractmethod
    def _lookup(self) -> LookupTable:
        """The changes of each count."""

    def draw(self, counts: Integers, uniforms: Floats, /) -> Integers:
        """Return count + change of the interval that each uniform falls in."""
        return self._lookup.draw(counts, uniforms)

    def transition(self) -> Transition:
        """Return Pr(released j | true i)."""
        return self._lookup.transition()


@dataclass(frozen=True)
class CellKeyPerturbation(ByLookup):
    """Changes each cell by a look-up in its count and the uniform made from its cell key.

    Notes
    -----
    [Fraser2005] [Longhurst2007, sec. 3.3]. Where the uniforms come from cell keys (see
    `discreet.protect.keys`), a cell has the same figure in every table that shows it. Totals are
    kept in expectation where the look-up has no bias.

    >>> method = dc.protect.CellKeyPerturbation(dc.protect.lookup.max_entropy(2, 1.0))
    >>> mix = dc.protect.KeyMix(b"a secret of at least 16 bytes")
    >>> found = method.apply(np.array([10, 10]), mix.uniforms(np.array([7, 7], np.uint64)))
    >>> bool(found[0] == found[1]), bool(abs(found - 10).max() <= 2)
    (True, True)
    """

    lookup: LookupTable

    def __post_init__(self) -> None:
        if not isinstance(self.lookup, LookupTable):
            raise ParameterError(
                "lookup must be a LookupTable, such as lookup.max_entropy(5, 3). "
                f"Got {type(self.lookup).__name__}."
            )

    @property
    def _lookup(self) -> LookupTable:
        return self.lookup

    @property
    def keys(self) -> int | None:
        """The number of keys of an explicit look-up, None of another."""
        return self.lookup.keys

    @property
    def multiplier(self) -> Multiplier:
        """The mean chance to stay, for small counts and for large ones."""
        source = "the mean chance to be left as counted, by the look-up"
        return Multiplier.mean_diagonal(self.transition(), source)
