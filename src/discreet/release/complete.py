"""The complete table of a class: counted, protected and judged once, and kept.

Every question of the class is answered from it. What is public of it is a function of its
figures; the exact measures are in its record, which only the custodian sees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Event, Lock
from typing import Protocol

import numpy as np

from discreet.ledger import Status
from discreet.lru import Lru
from discreet.policy import Gate
from discreet.population.keys import Secret
from discreet.query import QuestionClass
from discreet.query.impossible import structural_zeros
from discreet.release import measures, told
from discreet.release.protection import protect
from discreet.release.record import Record
from discreet.release.steps import Counted, Judged, Making, Projected, Protected
from discreet.risk import public_gate
from discreet.rules import Code, broken_rules, withheld_areas
from discreet.tabulate import Engine
from discreet.types import Flags, Integers

BUDGET = 128 * 2**20
"""Bytes of complete tables that are kept."""


@dataclass(frozen=True, eq=False)
class CompleteTable:
    """The table of a class as it is released; refused where `refused`.

    `withheld` marks the areas that are not available, None where the table has none. `whole` is the
    record of the whole way, where the originals are at hand. There is no record of a table that
    another process made and recorded.
    """

    making: Making
    figures: Integers
    withheld: Flags | None
    refused: bool
    record: Record | None = field(repr=False)
    whole: Record | None = field(default=None, repr=False)
    alike: bool = True  # false where some figures were protected in another way

    @property
    def of(self) -> QuestionClass:
        """The class whose table it is."""
        return self.making.of

    @property
    def told_record(self) -> Record | None:
        """The record that is handed to the custodian."""
        return self.record if self.whole is None else self.whole

    @property
    def status(self) -> Status:
        """What became of it."""
        if self.refused:
            return Status.REFUSED
        return Status.PARTIAL if self.partial else Status.RELEASED

    @property
    def partial(self) -> bool:
        """Whether some of its areas are withheld."""
        return self.withheld is not None and bool(self.withheld.any())

    @cached_property
    def ranges(self) -> tuple[Integers, Integers] | tuple[None, None]:
        """The smallest and largest true count of each figure, None where it is not to be told."""
        beforehand = bool(self.making.beforehand)
        return told.ranges(self.figures, self.making.protection, beforehand)

    @cached_property
    def whole_answer(self) -> Projected | None:
        """All figures as they lie, for who asks for all; None where some are withheld or missing.

        One object for all answers that it is a part of, as totals mostly are.
        """
        if self.partial or not all(level.full for level in self.of.levels):
            return None
        shape = self.figures.shape
        one, none = np.broadcast_to(np.int64(1), shape), np.broadcast_to(np.int64(0), shape)
        drawn = none if self.making.protection.build is None else one
        clear = np.broadcast_to(np.False_, shape)
        return Projected(self.figures, one, drawn, clear, *self.ranges)

    @property
    def bytes(self) -> int:
        """Roughly how many bytes of memory it takes, with the ranges of its figures."""
        return 6_000 + 3 * self.figures.nbytes


class Common(Protocol):
    """What processes have in common, by name; what is kept may be gone at any moment."""

    def found(self, name: bytes) -> bytes | None:
        """Return the bytes of a name, or None."""

    def keep(self, name: bytes, *parts: bytes) -> None:
        """Keep bytes, if there is room for them."""


class Tables:
    """Complete tables that were made, the least recently used going first; for many threads.

    Those that are released whole are in `common` too, so that no other process makes them again.
    """

    def __init__(self, budget: int = BUDGET, common: Common | None = None) -> None:
        self.common = common
        self._lock = Lock()
        self._making: dict[tuple[str, str], Lock] = {}
        self._held: Lru[tuple[str, str], CompleteTable] = Lru(budget, lambda table: table.bytes)

    def get(self, making: Making, make: Callable[[Making], CompleteTable]) -> CompleteTable:
        """Return a table, made once however many ask at a time."""
        key = (making.tier.id, making.of.name)
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                return held
            lock = self._making.setdefault(key, Lock())
        with lock:
            with self._lock:
                held = self._held.get(key)
            if held is None:
                held = self._of_others(making) or make(making)
                with self._lock:
                    self._held.put(key, held)
                    self._making.pop(key, None)
            return held

    def offer(self, table: CompleteTable) -> None:
        """Let other processes have a table that is written down, if all of it is released."""
        if self.common is not None and table.status is Status.RELEASED and table.alike:
            self.common.keep(_name(table.making), table.figures.astype(np.int64).tobytes())

    def _of_others(self, making: Making) -> CompleteTable | None:
        """Return the table that another process made and wrote down, or None."""
        raw = None if self.common is None else self.common.found(_name(making))
        if raw is None or len(raw) != 8 * making.of.cells:
            return None
        shape = [len(level) for level in making.of.levels]
        return CompleteTable(making, np.frombuffer(raw, np.int64).reshape(shape), None, False, None)

    @property
    def used(self) -> int:
        """The bytes of everything held."""
        with self._lock:
            return self._held.used

    @property
    def budget(self) -> int:
        """The most bytes that are held."""
        return self._held.budget

    @budget.setter
    def budget(self, budget: int) -> None:
        self._held.budget = budget

    def shrink(self, by: int) -> int:
        """Let tables of so many bytes go, as far as there are; return how many went."""
        with self._lock:
            return self._held.shrink(by)

    def holds(self, making: Making) -> bool:
        """Whether a table is at hand."""
        with self._lock:
            return self._held.get((making.tier.id, making.of.name)) is not None


def _name(making: Making) -> bytes:
    """Return by what a table is known to all processes: versions, tier and class."""
    version = making.version
    said = (version.schema.id, version.id, making.policy.version, making.tier.id, making.of.name)
    text = "\0".join(said).encode()
    return hashlib.blake2b(text, digest_size=16, person=b"complete table").digest()


def complete(found: Judged, record: Record, whole: Record | None = None) -> CompleteTable:
    """Return what is kept of a table that was judged."""
    refused = found.code is not None
    if refused:
        return CompleteTable(found.making, np.zeros(0, np.int64), None, True, record, whole)
    for array in (found.figures, found.withheld):
        if array is not None:
            array.setflags(write=False)
    return CompleteTable(
        found.making, found.figures, found.withheld, False, record, whole, found.alike
    )


def counted(making: Making, engine: Engine, stop: Event | None = None) -> Counted:
    """Step 2: return the true counts."""
    return Counted(making, engine.tabulate(making.question, stop).dense())


def protected(counted: Counted, secret: Secret) -> Protected:
    """Step 3: return the figures."""
    making, edition = counted.making, counted.making.version.edition
    structural = structural_zeros(making.of) if making.protection.zeros else None
    figures = protect(
        counted.table, making.protection, secret.of_edition(edition), making.seed, structural
    )
    return Protected(counted, figures)


def judged(protected: Protected) -> Judged:
    """Step 4: return the verdict on the figures, by the rules on counts and then by the risk."""
    code, withheld = _counts(protected)
    found = Judged(protected, code, withheld)
    # The number of all people tells nobody apart: its concentration is no risk.
    alone = not protected.making.of.levels
    return found if code is not None or alone else _gate(found)


def _counts(protected: Protected) -> tuple[Code | None, Flags | None]:
    """Return the rule that refuses the whole table, and the areas that are withheld."""
    making, figures = protected.making, protected.figures
    question, tier = making.question, making.applied
    areas, at = question.areas, question.geography
    if areas is None or at is None:
        return broken_rules(figures, tier.counts, areas=False)[0], None
    tables = np.moveaxis(figures, at, 0)
    codes = broken_rules(tables, tier.counts_at(areas.level.id), areas=True)
    failing = np.array([code is not None for code in codes])
    people = tables.reshape(len(tables), -1).sum(axis=1)
    withheld = withheld_areas(failing, areas.parents, people)
    if not withheld.all():
        return None, withheld
    # Of areas that are withheld for different rules, the first is named in the record.
    return next((code for code in codes if code is not None), Code.SPARSE), withheld


def _gate(found: Judged) -> Judged:
    """Return the verdict after the risk that is left was measured."""
    tier, rate, available = found.making.applied, found.making.swap_rate, found.available
    psi = measures.multiplier(available, tier, rate)
    bound = None if psi is None else float(public_gate(available, psi, tier.risk.weights))
    measure = bound
    if tier.risk.gate is Gate.TRANSITION:
        measure = measures.risk_after(found.true, found.figures, tier, rate)
    code = None
    if measure is None:
        code = Code.NOT_MEASURED
    elif measure > tier.risk.maximum:
        code = Code.RISK
    return replace(found, code=code, bound=bound, multiplier=psi)
