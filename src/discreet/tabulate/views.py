"""Marginal views in front of the scan: tables kept because many questions can be read off them.

A view is the cross-tabulation of some variables at their finest level, and perhaps of one coarse
geography, over the whole population. A question whose variables and filters are among a view's is
answered by adding up the view's cells, in well under a millisecond; a geography answers for the
larger areas too. Some views are chosen and built with the store, and stay; others are built when
first needed and kept, the least recently used going first, under a budget of bytes. As many bytes
of cells are kept in memory. A view whose file is damaged is built again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from math import prod
from pathlib import Path
from threading import Event, Lock

import numpy as np

from discreet.errors import Damaged
from discreet.lru import Lru
from discreet.population import Level, Schema, Variable, Version
from discreet.query import Question
from discreet.table import CountTable
from discreet.tabulate import view_files
from discreet.tabulate.engine import Distant, Engine, Words, gather, summed_table
from discreet.tabulate.view_files import Key, Place
from discreet.tabulate.view_files import cells_of as cells_of

BUDGET = 64 * 2**20
"""Bytes of views that a reader keeps in memory, and adds to the disk."""

MOST_CELLS = 2**19
"""Cells of a view (4 MiB): adding up more than that takes longer than a few milliseconds."""

_SHORT = 8  # categories of an axis that is added up by slices


@dataclass(frozen=True, eq=False)
class View:
    """Counts (low half) and key sums (high half) of every cell over some levels."""

    levels: tuple[tuple[Variable, Level], ...]
    read: Callable[[], Words] = field(repr=False)
    stored: bool = False  # whether reading it takes a file

    @property
    def shape(self) -> tuple[int, ...]:
        """How many categories each level has."""
        return tuple(len(level) for _, level in self.levels)

    @cached_property
    def bytes(self) -> int:
        """The bytes of its cells."""
        return 8 * prod(self.shape)

    def answer(self, question: Question, packed: Words, modulus: int) -> CountTable:
        """Return the answer to a question that this view covers, from its cells."""
        if 2**32 % modulus == 0:
            order, totals = self._reduce(question, packed)
            return summed_table(question, order, totals, None, modulus)
        order, counts = self._reduce(question, packed & np.uint64(2**32 - 1))
        _, sums = self._reduce(question, packed >> np.uint64(32))
        return summed_table(question, order, counts, sums, modulus)

    def _reduce(self, question: Question, cells: Words) -> tuple[list[int], Words]:
        """Return the cells added up to the axes of the question, and the order of these axes."""
        asked = {axis.variable.id: (i, axis) for i, axis in enumerate(question.axes)}
        filtered = {f.variable.id for f in question.filters}
        order: list[int] = []
        # First the axes that go altogether: what is left to add up is then small.
        gone = [v.id not in asked and v.id not in filtered for v, _ in self.levels]
        cells = _without(cells, [i for i, out in enumerate(gone) if out])
        left = [pair for pair, out in zip(self.levels, gone, strict=True) if not out]
        for variable, level in left:
            i, axis = asked.get(variable.id, (-1, None))
            if axis is not None and axis.level is level and variable.id not in filtered:
                order.append(i)  # as it lies
                continue
            place = question.place_of(variable, level)
            length = 1 if axis is None else len(axis)
            if length != len(level) or (np.diff(place) != 1).any():
                cells = gather(cells, len(order), place, length)
            if axis is None:
                cells = cells.squeeze(len(order))
            else:
                order.append(i)
        return order, cells


def _without(cells: Words, axes: list[int]) -> Words:
    """Return cells added up over some axes, in increasing order."""
    last = cells.ndim - 1
    if last in axes and cells.shape[last] <= _SHORT:
        # NumPy takes its time for every short row: whole slices are added up in a tenth of it.
        slices = (cells[..., i] for i in range(cells.shape[last]))
        axes, cells = axes[:-1], reduce(np.add, slices)
    return cells.sum(axis=tuple(axes), dtype=np.uint64) if axes else cells


class Index:
    """Which views have which levels; of those that cover a question the smallest is found."""

    def __init__(self, views: Iterable[tuple[Key, View]], schema: Schema) -> None:
        found = sorted(views, key=lambda one: one[1].bytes)
        self._keys = [key for key, _ in found]
        having: dict[str, int] = {}  # for each level the views that have it, as bits
        for i, key in enumerate(self._keys):
            for name in key:
                having[name] = having.get(name, 0) | 1 << i
        if schema.geography is not None:
            finer = 0
            for level in schema.geography.levels:  # each lies in the next
                finer |= having.get(level.id, 0)
                having[level.id] = finer
        self._having = having

    def smallest(self, key: Key) -> Key | None:
        """Return the key of the smallest view that says all of these levels, or None."""
        covering = (1 << len(self._keys)) - 1
        for name in key:
            covering &= self._having.get(name, 0)
        return self._keys[(covering & -covering).bit_length() - 1] if covering else None


class ViewEngine:
    """Answers from views where they cover the question, and builds views that are worth keeping."""

    def __init__(
        self, version: Version, behind: Engine, folder: Path | None = None, budget: int = BUDGET
    ) -> None:
        self.version = version
        self.behind = behind
        self.folder = folder
        self._lock = Lock()
        self._building: dict[Key, Lock] = {}
        self._built: dict[Key, View] = {}
        self._views: Lru[Key, View] = Lru(budget, lambda view: view.bytes)
        self._cells: Lru[Key, Words] = Lru(budget, lambda cells: cells.nbytes)
        self._index: Index | None = None  # made when it is needed
        for key, place in view_files.found(folder, version):
            if place[1] is None:
                self._keep(key, self._stored(key, place))
            else:
                self._built[key] = self._stored(key, place)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The views that are held: those that stay, then the least recently used first."""
        with self._lock:
            return tuple(key for key, _ in self._held())

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the true counts and key sums of every cell."""
        self.version.guard.check()
        key = needed(question)
        if key is None:
            return self.behind.tabulate(question, stop)
        while True:
            found, view = self._find(key) or (key, self.build(key, stop))
            try:
                return view.answer(question, self._read(found, view), self.version.modulus)
            except (OSError, Damaged):
                self._drop(found)

    def reach(self, question: Question) -> None:
        """Raise `EngineUnavailable` if a question that no view covers could not be counted now."""
        if isinstance(self.behind, Distant) and not self.covers(question):
            self.behind.reach()

    def covers(self, question: Question) -> bool:
        """Whether a view that is held answers the question, so that no record need be read."""
        key = needed(question)
        if key is None:
            return False
        with self._lock:
            return self._indexed().smallest(key) is not None

    def build(self, key: Key, stop: Event | None = None) -> View:
        """Return the view over some levels, from the engine behind unless it is there already."""
        with self._lock:
            lock = self._building.setdefault(key, Lock())
        try:
            with lock:
                with self._lock:
                    held = self._get(key)
                return held or self._fresh(key, stop)
        finally:
            with self._lock:
                self._building.pop(key, None)

    def _fresh(self, key: Key, stop: Event | None) -> View:
        question = Question(self.version.schema, tuple(level for _, level in self._levels(key)))
        table = self.behind.tabulate(question, stop).dense()
        keys = table.keys.astype(np.uint64) << np.uint64(32)
        return self.put(key, np.ascontiguousarray(table.counts.astype(np.uint64) | keys))

    def put(self, key: Key, packed: Words) -> View:
        """Keep the view of these cells: counts in the low half, key sums in the high one."""
        path = self.folder and view_files.save(self.version, self.folder, key, packed)
        if path is None:
            view = View(self._levels(key), lambda: packed)
        else:
            view = self._stored(key, (path, None))
        with self._lock:
            if path is not None:
                self._cells.put(key, packed)
            self._keep(key, view)
        return view

    def put_many(self, of: Key, views: Sequence[tuple[Key, Words]]) -> None:
        """Keep views that were built together, over levels that they have together, in one file."""
        if self.folder is not None:
            for key, place in view_files.save_many(self.version, self.folder, of, views):
                self._built[key] = self._stored(key, place)
            self._index = None

    def _keep(self, key: Key, view: View) -> None:
        gone, self._index = self._views.put(key, view), None
        for old in gone:
            self._cells.drop(old)
            if self.folder is not None:
                with suppress(OSError):  # of a store that is read-only
                    view_files.file_of(self.folder, old).unlink(missing_ok=True)

    def _stored(self, key: Key, place: Place) -> View:
        """Return the view in a file, which is read and checked when it is needed."""
        read = partial(view_files.read, self.version, key, place)
        return View(self._levels(key), read, stored=True)

    def _levels(self, key: Key) -> tuple[tuple[Variable, Level], ...]:
        return tuple(map(self.version.schema.find, key))

    def _held(self) -> list[tuple[Key, View]]:
        return [*self._built.items(), *self._views.items()]

    def _find(self, key: Key) -> tuple[Key, View] | None:
        """Return the smallest view that has every level of the key."""
        with self._lock:
            covering = self._indexed().smallest(key)
            view = None if covering is None else self._get(covering)
            return None if covering is None or view is None else (covering, view)

    def _get(self, key: Key) -> View | None:
        return self._built.get(key) or self._views.get(key)

    def _indexed(self) -> Index:
        if self._index is None:
            self._index = Index(self._held(), self.version.schema)
        return self._index

    def _read(self, key: Key, view: View) -> Words:
        """Return the cells of a view, from memory or from its file."""
        if not view.stored:
            return view.read()
        with self._lock:
            cells = self._cells.get(key)
        if cells is None:
            cells = view.read()
            with self._lock:
                self._cells.put(key, cells)
        return cells

    def _drop(self, key: Key) -> None:
        with self._lock:
            self._built.pop(key, None)
            self._views.drop(key)
            self._index = None


def needed(question: Question) -> Key | None:
    """Return the levels a view must have to answer a question, None where no view is worth it."""
    schema = question.schema
    levels = []
    for variable in schema.variables:
        named = [axis.level for axis in question.axes if axis.variable is variable]
        named += [f.level for f in question.filters if f.variable is variable]
        if named and variable.is_geography:
            levels.append(min(named, key=variable.levels.index))
        elif named:
            levels.append(variable.finest)
    if prod(len(level) for level in levels) > MOST_CELLS:
        return None
    return tuple(level.id for level in levels)
