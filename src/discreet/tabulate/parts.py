"""Parts of the population that filters pick: their records copied out, kept under a budget.

To read every byte of a filter's column costs more than to count the few who pass. So the second
question with a filter over much of the population copies the columns that it needs of those who
pass. What is asked about the same people from then on is a scan of the copies: a population of its
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
from discreet.tabulate.passing.picking import Arrays, Picked, Picking

BUDGET = 64 * 2**20
"""Bytes of copies that a reader keeps in memory."""

LEAST = 2**18
"""Records below which a scan takes less than a millisecond anyway."""

_SHARE = 4  # a part is made only if one record in so many lies in the areas asked for
_REMEMBERED = 1000  # filters that were asked for

Filters = frozenset[tuple[str, bytes]]
"""Which codes of which variables are picked, areas left aside."""


@dataclass(frozen=True, eq=False)
class Part:
    """The records that some filters let pass, as a version; columns are filled when asked for."""

    version: Version
    filters: Filters = frozenset()
    picked: Picked | None = None  # none: it is the whole population
    copies: Arrays = ()  # codes of one byte and of two, to be filled, keys and counts
    filled: frozenset[str] = frozenset()
    weighed: bool = False  # keys and counts are copied

    @property
    def applied(self) -> frozenset[str]:
        """The variables of its filters: they need not be looked at again."""
        return frozenset(name for name, _ in self.filters)

    @property
    def bytes(self) -> int:
        """What it takes."""
        areas = [] if self.version.areas is None else [self.version.areas]
        places = [self.version.place[name] for name in self.filled]
        codes = [self.copies[wide][row] for wide, row in places]
        return sum(array.nbytes for array in (*self.copies[2:], *areas, *codes))


@dataclass(eq=False)
class Parts:
    """The parts of one version, the least recently used going first."""

    version: Version
    budget: int = BUDGET
    _lock: Lock = field(default_factory=Lock)
    _making: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._whole = Part(self.version)
        self._held: Lru[Filters, Part] = Lru(self.budget, lambda part: part.bytes)
        self._worth: Lru[Filters, bool] = Lru(_REMEMBERED)  # of those that were asked for

    def of(
        self,
        question: Question,
        asked: Callable[[], int],
        pick: Callable[[frozenset[str]], Picking],
    ) -> Part:
        """Return the smallest part that has all records in question, made if that is worth it.

        `asked` says how many records there are in the areas of the question, and `pick` returns
        what counts and copies those who pass its filters on some variables.
        """
        filters = _filters(question)
        if not filters or self.version.rows < LEAST:
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
        if fitting:  # whoever passes the filters of the part, not those of the question
            return self._filled(part, missing, pick(part.applied))
        return self._made(question, filters, pick(frozenset(name for name, _ in filters)))

    def _made(self, question: Question, filters: Filters, picking: Picking) -> Part:
        """Return a new part; the whole if too many pass, or while another part is made."""
        if not self._making.acquire(blocking=False):
            return self._whole
        try:
            each = 4 if self.version.counts is None else 8
            missing = _read(question, frozenset(name for name, _ in filters))
            for name in missing:
                each += 1 + self.version.place[name][0]
            areas = self.version.areas
            starts = np.empty(0, np.int64) if areas is None else areas.copy()
            picked = picking.count(starts, self.budget // each)
            if picked is None:
                with self._lock:
                    self._worth.put(filters, False)
                return self._whole
            return self._filled(self._empty(filters, picked), missing, picking)
        finally:
            self._making.release()

    def _empty(self, filters: Filters, picked: Picked) -> Part:
        """Return a part of which nothing is copied yet: it takes no memory before that."""
        whole, rows = self.version, picked.rows
        codes = (np.empty((len(c), rows), c.dtype) for c in (whole.codes8, whole.codes16))
        counts = np.empty(0 if whole.counts is None else rows, np.uint32)
        copies = *codes, np.empty(rows, whole.keys.dtype), counts
        codes8, codes16, keys, _ = map(_sealed, copies)
        version = replace(
            whole,
            codes8=codes8,
            codes16=codes16,
            keys=keys,
            counts=None if whole.counts is None else _sealed(counts),
            areas=None if whole.areas is None else picked.areas,
        )
        return Part(version, filters, picked, copies)

    def _filled(self, part: Part, missing: frozenset[str], picking: Picking) -> Part:
        """Return the part with more columns, and keep it; the whole if that would be too large.

        Two threads may fill the same column: they write the same.
        """
        assert part.picked is not None
        filled = replace(part, filled=part.filled | missing, weighed=True)
        with self._lock:
            self._held.drop(part.filters)  # made again by a question that needs fewer columns
        if filled.bytes > self.budget:
            return self._whole
        places = sorted(self.version.place[name] for name in missing)
        columns = (
            np.array([wide for wide, _ in places], np.bool_),
            np.array([row for _, row in places], np.int64),
        )
        nothing = np.empty(0, np.uint32)
        weights = (nothing, nothing) if part.weighed else part.copies[2:]
        picking.copy(columns, part.picked, (*part.copies[:2], *weights))
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
