"""The scan engine: numba kernels over memory-mapped code columns.

A question becomes a plan, its stretches of records are cut into pieces of about a millisecond,
and threads take pieces until none is left or the caller says stop. The kernels hold no lock while
they run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import PATIENT, SMALL, under_way, warm
from discreet.population import Level, Schema, Variable, Version
from discreet.protect import kernels as protecting
from discreet.query import Query, Question
from discreet.table import CountTable
from discreet.tabulate import kernels, plain
from discreet.tabulate.engine import Words, check, listed_table, summed_table
from discreet.tabulate.parts import Part, Parts
from discreet.tabulate.passing.picking import Picking
from discreet.tabulate.plan import PIECE, Plan, plan, stretches

_NEAR = 2**16  # cells up to which two bytes number them
_OWN = 2**21  # cells up to which each thread has an accumulator of its own (16 MiB)
_DENSE = 2**27  # cells above which populated cells are listed instead (1 GiB)
_MANY = 2**22  # cells above which they are also listed if records are fewer than cells by…
_FEW = 4  # …this factor

_MODULE = "discreet.tabulate.kernels"
_NONE = np.empty(0, np.uint64)
_NO_COUNTS = np.empty(0, np.uint32)
_NO_COUNTS.setflags(write=False)  # of one type with mapped columns, for the kernels

Listed = tuple[Words, Words, Words]
"""Cells, their counts, their key sums."""


@dataclass(frozen=True)
class _Code:
    """What records are counted by: for few of them, and while kernels are compiled, plain code."""

    small: bool
    patient: bool

    @property
    def now(self) -> Any:
        """The kernels, or their twins."""
        return plain if self.small or (self.patient and under_way(_MODULE)) else kernels


class ScanEngine:
    """Tabulates one version of a population by reading every record in question once."""

    def __init__(
        self,
        version: Version,
        threads: int | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """Make an engine; `before` is called whenever records are about to be read."""
        version.held()
        self.version = version
        self._before = before
        self.threads = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="scan")
        self._code = _Code(version.rows <= SMALL, version.rows <= PATIENT)
        self._parts = Parts(version)
        self._warm = False

    @property
    def _kernels(self) -> Any:
        return self._code.now

    def warm(self) -> None:
        """Load the kernels that large data are counted by, which takes a second."""
        if not (self._warm or self._code.small):
            self._warm = True
            warm({_MODULE: f"{__name__}:warm_up"}, self._code.patient)

    def close(self, wait: bool = True) -> None:
        """End the threads; what still runs is finished."""
        self._pool.shutdown(wait)

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the true counts and key sums of every cell; raise `Damaged` if files changed."""
        self.version.guard.check()
        self._before()
        self.warm()
        part = self._parts.of(
            question,
            lambda: int(np.diff(stretches(self.version, question)).sum()),
            lambda names: self._picking(question, names, stop),
        )
        way = plan(part.version, question, applied=part.applied)
        few = way.cells > _MANY and way.records * _FEW < way.cells
        many = way.cells > _DENSE or few
        table = self._list(question, part, stop) if many else self._scan(question, part, way, stop)
        self.version.guard.check()
        return table

    def _picking(self, question: Question, names: frozenset[str], stop: Event | None) -> Picking:
        """Return what counts and copies those who pass the filters on some variables."""
        asked = question
        for f in question.filters:
            if f.variable.id not in names:
                asked = asked.unfiltered(f)
        way = plan(self.version, asked, fold=False)
        records, _, _, filters, _ = _arguments(self.version, way, np.uint32)
        pieces = [(begin, end) for piece in way.pieces(False) for begin, end in piece.tolist()]
        return Picking(
            self._kernels, kernels.room, records, filters, pieces, self._share, self.threads,
            lambda: check(stop),
        )  # fmt: skip

    def _scan(self, question: Question, part: Part, way: Plan, stop: Event | None) -> CountTable:
        """Tabulate into an accumulator with a place for every cell."""
        modulus = self.version.modulus
        apart = 2**32 % modulus != 0
        own = way.cells <= _OWN
        # Areas do not share cells, so threads that take whole areas can share an accumulator.
        whole_areas = not own and len(way.areas) > 0
        pieces = way.pieces(whole_areas)
        threads = max(1, min(self.threads, len(pieces))) if own or whole_areas else 1
        held = threads if own else 1
        alike = self.version.counts is None and not apart
        few = way.inner if alike and way.inner <= kernels.LANES else 0
        packed = np.zeros((held, way.cells), np.uint64)
        sums = np.zeros((held, way.cells if apart else 0), np.uint64)
        arguments = _arguments(part.version, way, np.uint32)

        def work(thread: int, todo: Iterator[NDArray[np.int64]]) -> None:
            at, room = thread % held, kernels.room(arguments[0], arguments[3])
            for piece in todo:
                check(stop)
                first = way.first_area(piece)
                self._kernels.scan(*arguments, piece, first, packed[at], sums[at], few, room)

        self._share(work, pieces, threads)
        total = way.fold(_total(packed))
        total_sums = way.fold(_total(sums)) if apart else None
        return summed_table(question, way.order, total, total_sums, modulus)

    def _share(
        self,
        work: Callable[[int, Iterator[Any]], None],
        pieces: list[Any],
        threads: int,
    ) -> None:
        """Run the work in this thread and the pool's, each taking the next piece when free."""
        todo = iter(pieces)  # next() on a list iterator is one step under the interpreter's lock
        futures = []
        with suppress(RuntimeError):  # closed: what is still asked is done in this thread
            for thread in range(1, threads):
                futures.append(self._pool.submit(work, thread, todo))
        try:
            work(0, todo)
        finally:
            for future in futures:
                future.cancel()
        for future in futures:
            if not future.cancelled():
                future.result()

    def _list(self, question: Question, part: Part, stop: Event | None) -> CountTable:
        """Tabulate by listing the cell of each record, sorting, adding up: for vast tables."""
        modulus = self.version.modulus
        way = plan(part.version, question, fold=False, applied=part.applied)
        arguments = _arguments(part.version, way, np.uint64)
        parts: list[Listed] = []
        room = kernels.room(arguments[0], arguments[3])
        for piece in way.pieces(whole_areas=False):
            check(stop)
            areas = way.first_area(piece).tolist()
            for (begin, end), area in zip(piece.tolist(), areas, strict=True):
                listed = _empty(end - begin)
                found = self._kernels.list_cells(*arguments, begin, end, area, *listed, room)
                parts.append(self._add_up([listed], found))
                if sum(len(part[0]) for part in parts) > 2 * len(parts[0][0]) + 4 * PIECE:
                    parts = [self._add_up(parts)]
        cells, cell_counts, cell_keys = self._add_up(parts)
        there = cell_counts > 0  # a hypercube may have a cell of nobody
        cells, cell_counts, cell_keys = cells[there], cell_counts[there], cell_keys[there]
        lengths = [len(axis) for axis in question.axes]
        strides = [prod(lengths[i + 1 :]) for i in range(len(lengths))]
        asked = np.zeros(len(cells), np.uint64)
        for axis in reversed(way.order):
            cells, place = np.divmod(cells, np.uint64(lengths[axis]))
            asked += place * np.uint64(strides[axis])
        return listed_table(question, asked, cell_counts, cell_keys, modulus)

    def _add_up(self, parts: list[Listed], size: int | None = None) -> Listed:
        """Return the cells of all parts in order, those that are equal added up."""
        if not parts:
            return _empty(0)
        cells, counts, keys = (np.concatenate([part[i] for part in parts])[:size] for i in range(3))
        out = _empty(len(cells))
        modulus = np.uint64(self.version.modulus)
        found = self._kernels.add_up(np.argsort(cells), cells, counts, keys, modulus, *out)
        return out[0][:found].copy(), out[1][:found].copy(), out[2][:found].copy()


def _arguments(version: Version, way: Plan, index: type) -> tuple[tuple[NDArray[Any], ...], ...]:
    """Return what the kernels read: records, outer columns, columns, filters and areas.

    `index` is the type of a cell index. Two bytes are enough for the last columns, unless an index
    takes eight. A stride that does not fit in them is 2^16, that of an axis with one category,
    whose code is always 0.
    """
    columns, filters = way.columns, way.filters
    at = len(columns.row) if index is np.uint64 else way.outer(_NEAR)

    def read(of: slice, kind: type) -> tuple[NDArray[Any], ...]:
        multiply: NDArray[Any] = way.multiply[of].astype(kind)
        places: NDArray[Any] = columns.table.astype(kind)
        # Look-ups first: what is added one by one to what was written many at once waits for it.
        first = np.argsort(multiply > 0, kind="stable")
        wide, row, start = (part[of][first] for part in (columns.wide, columns.row, columns.start))
        return wide, row, start, multiply[first], places

    counts = _NO_COUNTS if version.counts is None else version.counts
    return (
        (version.codes8, version.codes16, version.keys, counts),
        read(slice(at), index),
        read(slice(at, None), np.uint16),
        (filters.wide, filters.row, filters.start, *way.runs, filters.table.astype(np.uint8)),
        (way.areas, way.area_cell.astype(index)),
    )


def _total(parts: Words) -> Words:
    """Return the sum over the first axis, without a copy where there is one part."""
    return parts[0] if len(parts) == 1 else np.asarray(parts.sum(axis=0))


def _empty(size: int) -> Listed:
    return np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint64)


@cache
def warm_up() -> None:
    """Load the compiled kernels, compiling them if need be, so that no question waits."""
    level = Level("v", "v", ("0", "1"), ("0", "1"), np.arange(2, dtype=np.uint32))
    schema = Schema("warm-up", "", "", (Variable("v", "v", (level,)),))
    narrow, wide = np.zeros((1, 1), np.uint8), np.zeros((0, 1), np.uint16)
    keys = np.zeros(1, np.uint32)
    for column in (narrow, wide, keys):
        column.setflags(write=False)
    version = Version(Path(), {"modulus": 2**32}, schema, narrow, wide, keys, None, None)
    # With a filter: without one there is no room to tell records apart.
    way = plan(version, Question.of(Query.parse("v", "v=0"), schema), fold=False)
    area = np.zeros(1, np.int64)
    cells, given = np.zeros(1, np.uint64), _arguments(version, way, np.uint32)
    room = kernels.room(given[0], given[3])
    kernels.scan(*given, way.stretches, area, cells, _NONE, 0, room)
    records, _, _, filters, _ = given
    kernels.count_passing(records, filters, area, 0, 0, 1, area.copy(), room)
    none = np.empty(0, np.bool_), np.empty(0, np.int64)
    out = tuple(np.empty_like(column) for column in records)
    kernels.copy_passing(records, none, filters, 0, 1, out, 0, room)
    listed = _empty(1)
    kernels.list_cells(*_arguments(version, way, np.uint64), 0, 1, 0, *listed, room)
    kernels.add_up(np.zeros(1, np.int64), *listed, np.uint64(2**32), *_empty(1))
    protecting.warm_up()  # numba is loaded anyway, and a count is protected next
