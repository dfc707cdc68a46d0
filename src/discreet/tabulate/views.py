"""Marginal views in front of the scan: tables kept because many questions can be read off them.

A view is the cross-tabulation of some variables at their finest level, and perhaps of one coarse
geography, over the whole population. A question whose variables and filters are among a view's is
answered by adding up the view's cells, in well under a millisecond. Some views are chosen and
built with the store; others are built when first needed and kept, the least recently used going
first, under a budget of bytes.

A view's file ends with a checksum of its cells, of its name and of the version. It is read whole
when it is first needed, and no file stays open: there may be hundreds. One that is damaged is
built again.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import prod
from pathlib import Path
from threading import Event, Lock

import numpy as np

from discreet.errors import Damaged
from discreet.files import written
from discreet.lru import Lru
from discreet.population import Level, Schema, Variable, Version
from discreet.query import Question
from discreet.table import CountTable
from discreet.tabulate.engine import Distant, Engine, Words, gather, summed_table

BUDGET = 64 * 2**20
"""Bytes of views that a reader keeps, those built with the store included."""

BUILT = 16 * 2**20
"""Bytes of views built with a store: of a census with 17 variables all pairs and 98% of triples."""

MOST_CELLS = 2**18
"""Cells of a view (2 MiB): adding up more than that takes longer than a millisecond."""

WIDEST = 4
"""Variables of a view that is built with the store."""

_DIGEST = 16  # bytes of a checksum
_SCAN = 2**18  # what the scan that builds a view is worth in bytes, when views are chosen

Key = tuple[str, ...]
"""The levels of a view, in the order of the schema."""


@dataclass(frozen=True, eq=False)
class View:
    """Counts (low half) and key sums (high half) of every cell over some levels."""

    levels: tuple[tuple[Variable, Level], ...]
    read: Callable[[], Words] = field(repr=False)

    @cached_property
    def packed(self) -> Words:
        """The cells; they are read when they are first needed."""
        return self.read()

    @property
    def shape(self) -> tuple[int, ...]:
        """How many categories each level has."""
        return tuple(len(level) for _, level in self.levels)

    @property
    def bytes(self) -> int:
        """The bytes of its cells."""
        return 8 * prod(self.shape)

    @cached_property
    def names(self) -> frozenset[str]:
        """The ids of its levels."""
        return frozenset(level.id for _, level in self.levels)

    def answer(self, question: Question, modulus: int) -> CountTable:
        """Return the answer to a question that this view covers."""
        if 2**32 % modulus == 0:
            order, totals = self._reduce(question, self.packed)
            return summed_table(question, order, totals, None, modulus)
        order, counts = self._reduce(question, self.packed & np.uint64(2**32 - 1))
        _, sums = self._reduce(question, self.packed >> np.uint64(32))
        return summed_table(question, order, counts, sums, modulus)

    def _reduce(self, question: Question, cells: Words) -> tuple[list[int], Words]:
        """Return the cells added up to the axes of the question, and the order of these axes."""
        asked = {axis.variable.id: (i, axis) for i, axis in enumerate(question.axes)}
        filtered = {f.variable.id for f in question.filters}
        order: list[int] = []
        # First the axes that go altogether: what is left to add up is then small.
        gone = [v.id not in asked and v.id not in filtered for v, _ in self.levels]
        cells = cells.sum(axis=tuple(i for i, out in enumerate(gone) if out), dtype=np.uint64)
        left = [pair for pair, out in zip(self.levels, gone, strict=True) if not out]
        for variable, level in left:
            i, axis = asked.get(variable.id, (-1, None))
            place = question.place_of(variable, level)
            length = 1 if axis is None else len(axis)
            if length != len(level) or (np.diff(place) != 1).any():
                cells = gather(cells, len(order), place, length)
            if axis is None:
                cells = cells.squeeze(len(order))
            else:
                order.append(i)
        return order, cells


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
        self._views: Lru[Key, View] = Lru(budget, lambda view: view.bytes)
        for key, path in files(folder, version.schema):
            self._keep(key, _stored(version, key, path))

    @property
    def keys(self) -> tuple[Key, ...]:
        """The views that are held, the least recently used first."""
        with self._lock:
            return tuple(key for key, _ in self._views.items())

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the true counts and key sums of every cell."""
        self.version.guard.check()
        key = needed(question)
        if key is None:
            return self.behind.tabulate(question, stop)
        while (view := self._find(key)) is not None:
            try:
                return view.answer(question, self.version.modulus)
            except (OSError, Damaged):
                self._drop(view)
        return self.build(key, stop).answer(question, self.version.modulus)

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
            return bool(self._covering(key))

    def build(self, key: Key, stop: Event | None = None) -> View:
        """Return the view over some levels, from the engine behind unless it is there already."""
        with self._lock:
            lock = self._building.setdefault(key, Lock())
        try:
            with lock:
                with self._lock:
                    held = self._views.get(key)
                return held or self._fresh(key, stop)
        finally:
            with self._lock:
                self._building.pop(key, None)

    def _fresh(self, key: Key, stop: Event | None) -> View:
        levels = tuple(self.version.schema.find(name) for name in key)
        question = Question(self.version.schema, tuple(level for _, level in levels))
        table = self.behind.tabulate(question, stop).dense()
        keys = table.keys.astype(np.uint64) << np.uint64(32)
        return self.put(key, np.ascontiguousarray(table.counts.astype(np.uint64) | keys))

    def put(self, key: Key, packed: Words) -> View:
        """Keep the view of these cells: counts in the low half, key sums in the high one."""
        levels = tuple(self.version.schema.find(name) for name in key)
        view = View(levels, lambda: packed)
        if self.folder is not None:
            _save(self.version, self.folder, key, packed)
        self._keep(key, view)
        return view

    def _find(self, key: Key) -> View | None:
        """Return the smallest view that has every level of the key."""
        with self._lock:
            covering = self._covering(key)
            if not covering:
                return None
            return self._views.get(min(covering, key=lambda found: found[1].bytes)[0])

    def _covering(self, key: Key) -> list[tuple[Key, View]]:
        wanted = frozenset(key)
        return [found for found in self._views.items() if wanted <= found[1].names]

    def _keep(self, key: Key, view: View) -> None:
        with self._lock:
            gone = self._views.put(key, view)
            if self.folder is not None:
                for name in map(_name, gone):
                    with suppress(OSError):  # of a store that is read-only
                        (self.folder / name).unlink(missing_ok=True)

    def _drop(self, view: View) -> None:
        with self._lock:
            self._views.drop(tuple(level.id for _, level in view.levels))


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


def choose(schema: Schema, budget: int) -> list[Key]:
    """Return the views to build with a store: those that cover most for what they cost.

    Greedy over all views of up to four levels: what a view covers are the sets of its levels that
    no chosen view has, smaller sets counting more because more questions are among them. The cost
    is its bytes and, in bytes, the scan that builds it: few wide views beat many narrow ones.
    """
    levels = [(v, level) for v in schema.variables for level in _viewed(v)]
    candidates = _candidates(levels)
    heapq.heapify(candidates)
    covered: set[tuple[int, ...]] = set()
    views: list[Key] = []
    while candidates:
        promised, cells, chosen = heapq.heappop(candidates)
        sets = [s for w in range(1, len(chosen) + 1) for s in combinations(chosen, w)]
        new = [s for s in sets if s not in covered]
        worth = -sum(4.0 ** (WIDEST - len(s)) for s in new) / (8 * cells + _SCAN)
        if new and worth > promised:  # worth less than when it was last looked at
            heapq.heappush(candidates, (worth, cells, chosen))
        elif new and 8 * cells <= budget:
            budget -= 8 * cells
            covered.update(new)
            views.append(tuple(levels[i][1].id for i in chosen))
    return [view for view in views if not any(set(view) < set(other) for other in views)]


def _candidates(
    levels: list[tuple[Variable, Level]],
) -> list[tuple[float, int, tuple[int, ...]]]:
    """Return what each possible view promises (at first anything), its cells and its levels."""
    found = []
    for width in range(1, WIDEST + 1):
        for chosen in combinations(range(len(levels)), width):
            cells = prod(len(levels[i][1]) for i in chosen)
            if cells <= MOST_CELLS and len({levels[i][0].id for i in chosen}) == width:
                found.append((-np.inf, cells, chosen))
    return found


def _viewed(variable: Variable) -> list[Level]:
    """Return the levels of a variable that views have: the finest, or coarse geographies."""
    if not variable.is_geography:
        return [variable.finest]
    return [level for level in variable.levels if len(level) <= 255]


def _name(key: Key) -> str:
    return ".".join(key) + ".u64"


def files(folder: Path | None, schema: Schema) -> Iterator[tuple[Key, Path]]:
    """Yield the views in a folder that have the size they should, the least recently used first.

    Another process may evict one at any moment: it is not there, and no error.
    """
    if folder is None or not folder.is_dir():
        return
    found = []
    for path in folder.glob("*.u64"):
        with suppress(FileNotFoundError):
            found.append((path.stat(), path))
    for stat, path in sorted(found, key=lambda one: one[0].st_mtime_ns):
        key = tuple(path.name.removesuffix(".u64").split("."))
        shape = [len(schema.find(name)[1]) for name in key]
        if stat.st_size == 8 * prod(shape) + _DIGEST:
            yield key, path


def cells_of(version: Version, path: Path) -> Words:
    """Return the cells in the file of a view, or raise `Damaged` if it lacks its checksum."""
    raw = memoryview(path.read_bytes())
    if len(raw) % 8 or raw[-_DIGEST:] != _digest(version, path.name, raw[:-_DIGEST]):
        raise Damaged(f"{path} does not have its checksum. Remove it: it will be built again.")
    return np.frombuffer(raw[:-_DIGEST], np.uint64)


def _stored(version: Version, key: Key, path: Path) -> View:
    """Return the view in a file, which is read and checked when it is first needed."""
    levels = tuple(version.schema.find(name) for name in key)
    shape = tuple(len(level) for _, level in levels)
    return View(levels, lambda: cells_of(version, path).reshape(shape))


def _save(version: Version, folder: Path, key: Key, packed: Words) -> None:
    """Write a view to a file of its own, if that can be done."""
    target = folder / _name(key)
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        with written(target) as file:  # a view that a crash cut short would give wrong answers
            file.write(packed.data.cast("B"))
            file.write(_digest(version, target.name, packed.data.cast("B")))


def _digest(version: Version, name: str, cells: bytes | memoryview) -> bytes:
    """Return the checksum of a view: of this version, under this name, with these cells."""
    said = f"{version.manifest.get('checksum')} {name}\n".encode()
    hashed = hashlib.blake2b(said, digest_size=_DIGEST)
    hashed.update(cells)
    return hashed.digest()
