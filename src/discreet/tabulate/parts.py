"""Parts of the population that filters pick: their records copied out, kept under a budget.

To read every byte of a filter's column costs more than to count the few who pass. So the second
question with a filter over much of the population lists who passes and copies the columns that it
needs. What is asked about the same people from then on is a scan of the copies: a population of its
own, sorted by area like the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lru import Lru
from discreet.population import Version
from discreet.query import Question

BUDGET = 64 * 2**20
"""Bytes of copies that a reader keeps in memory."""

LEAST = 2**18
"""Records below which a scan takes less than a millisecond anyway."""

_SHARE = 4  # a part is made only if one record in so many lies in the areas asked for
_REMEMBERED = 1000  # filters that were asked for

Filters = frozenset[tuple[str, bytes]]
"""Which codes of which variables are picked, areas left aside."""

Places = NDArray[np.uint32]
Listing = Callable[[int], Places | None]
"""Lists who passes the filters of a question; none where they are more than a number."""


@dataclass(frozen=True, eq=False)
class Part:
    """The records that some filters let pass, as a version; columns are filled when asked for."""

    version: Version
    filters: Filters = frozenset()
    at: Places | None = None  # none: it is the whole population
    codes: tuple[NDArray[Any], ...] = ()  # those of one byte and of two, to be filled
    filled: frozenset[str] = frozenset()

    @property
    def applied(self) -> frozenset[str]:
        """The variables of its filters: they need not be looked at again."""
        return frozenset(name for name, _ in self.filters)

    @property
    def bytes(self) -> int:
        """What it takes."""
        held = [self.at, self.version.keys, self.version.counts, self.version.areas]
        places = [self.version.place[name] for name in self.filled]
        held += [self.codes[wide][row] for wide, row in places]
        return sum(array.nbytes for array in held if array is not None)


@dataclass(eq=False)
class Parts:
    """The parts of one version, the least recently used going first.

    `take` copies what stands at some places of a column.
    """

    version: Version
    take: Callable[[NDArray[Any], Places, NDArray[Any]], None]
    budget: int = BUDGET
    _lock: Lock = field(default_factory=Lock)
    _making: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._whole = Part(self.version)
        self._held: Lru[Filters, Part] = Lru(self.budget, lambda part: part.bytes)
        self._worth: Lru[Filters, bool] = Lru(_REMEMBERED)  # of those that were asked for

    def of(self, question: Question, asked: Callable[[], int], listing: Listing) -> Part:
        """Return the smallest part that has all records in question, made if that is worth it.

        `asked` says how many records there are in the areas of the question.
        """
        filters = _filters(question)
        if not filters or not LEAST <= self.version.rows < 2**32:  # places have four bytes
            return self._whole
        with self._lock:
            fitting = [part for key, part in self._held.items() if key <= filters]
            part = min(fitting, key=lambda part: part.version.rows, default=self._whole)
            self._held.get(part.filters)  # used now
            worth = self._worth.get(filters)
            if worth is None:
                self._worth.put(filters, True)
        missing = _read(question, part.applied) - part.filled
        if fitting and not missing:
            return part
        if not worth or asked() * _SHARE < self.version.rows:
            return self._whole
        if not fitting:
            part = self._made(question, filters, listing)
            missing = _read(question, part.applied)
        return part if part is self._whole else self._filled(part, missing)

    def _made(self, question: Question, filters: Filters, listing: Listing) -> Part:
        """Return a new part; the whole if too many pass, or while another part is made."""
        if not self._making.acquire(blocking=False):
            return self._whole
        try:
            each = 8 if self.version.counts is None else 12
            for name in _read(question, frozenset(name for name, _ in filters)):
                each += 1 + self.version.place[name][0]
            at = listing(self.budget // each)
            if at is None:
                with self._lock:
                    self._worth.put(filters, False)
                return self._whole
            return self._copied(filters, at)
        finally:
            self._making.release()

    def _copied(self, filters: Filters, at: Places) -> Part:
        """Return the part of the records at these places, its codes not yet copied."""
        whole = self.version
        # No memory is taken before it is written to.
        codes = tuple(np.empty((len(c), len(at)), c.dtype) for c in (whole.codes8, whole.codes16))
        version = replace(
            whole,
            codes8=_sealed(codes[0]),
            codes16=_sealed(codes[1]),
            keys=_sealed(self._taken(whole.keys, at)),
            counts=None if whole.counts is None else _sealed(self._taken(whole.counts, at)),
            areas=None if whole.areas is None else _before(at, whole.areas),
        )
        return Part(version, filters, at, codes)

    def _taken(self, column: NDArray[Any], at: Places) -> NDArray[Any]:
        out = np.empty(len(at), column.dtype)
        self.take(column, at, out)
        return out

    def _filled(self, part: Part, missing: frozenset[str]) -> Part:
        """Return the part with more columns, and keep it; the whole if that would be too large.

        Two threads may fill the same column: they write the same.
        """
        assert part.at is not None
        filled = replace(part, filled=part.filled | missing)
        with self._lock:
            self._held.drop(part.filters)  # made again by a question that needs fewer columns
        if filled.bytes > self.budget:
            return self._whole
        for wide, row in map(self.version.place.__getitem__, missing):
            column = (self.version.codes16 if wide else self.version.codes8)[row]
            self.take(column, part.at, part.codes[wide][row])
        with self._lock:
            for gone in self._held.put(part.filters, filled):
                self._worth.drop(gone)  # copied again when it is asked for twice again
        return filled


def _filters(question: Question) -> Filters:
    return frozenset(
        (f.variable.id, f.allowed.tobytes())
        for f in question.filters
        if not f.variable.is_geography
    )


def _read(question: Question, applied: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the variables whose codes are read, but for filters that were applied."""
    shown = frozenset(axis.variable.id for axis in question.axes if not axis.variable.is_geography)
    return shown | ({name for name, _ in _filters(question)} - applied)


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to: of one type with mapped columns, for the kernels."""
    view = array.view()
    view.setflags(write=False)
    return view


def _before(at: Places, areas: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many places lie before each beginning of an area."""
    return np.searchsorted(at, areas.astype(at.dtype)).astype(np.int64)  # of one type: no copy
