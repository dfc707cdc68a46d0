"""The scan engine: numba kernels over memory-mapped code columns.

A question becomes a plan (which columns, which weights, which stretches of records), the
stretches are cut into pieces of about a millisecond, and threads take pieces until none is left
or the caller says stop. The kernels hold no lock while they run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.population import Level, Schema, Variable, Version
from discreet.query import Axis, Query, Question
from discreet.table import CountTable
from discreet.tabulate.engine import TabulationStopped, smaller, table_of

PIECE = 2**20
"""Records a kernel takes at once: a running question can be stopped between two pieces."""

_SMALL = 2**14  # cells up to which each thread has two accumulators of its own (256 KiB)
_SHARED = 2**21  # cells up to which each thread has one of its own (16 MiB)
_DENSE = 2**27  # cells above which populated cells are listed instead (1 GiB)
_MANY = 2**22  # cells above which they are also listed if records are fewer than cells by…
_FEW = 4  # …this factor

_EMPTY64 = np.empty(0, np.uint64)
_EMPTY_AREAS = np.empty(0, np.int64)
_NO_COUNTS = np.empty(0, np.uint32)
_NO_COUNTS.setflags(write=False)  # of one type with mapped columns, for the kernels


@dataclass(frozen=True, eq=False)
class _Columns:
    """Code columns as the kernels read them, with a table to look each code up in."""

    wide: NDArray[np.bool_]
    row: NDArray[np.int64]
    start: NDArray[np.int64]
    table: NDArray[Any]

    @classmethod
    def of(cls, version: Version, columns: list[tuple[str, NDArray[Any]]], dtype: type) -> _Columns:
        """Return the columns of some variables; all their look-ups lie in one array."""
        place = [version.place[name] for name, _ in columns]
        # A look-up by a byte stays inside the array whatever the byte is.
        padded: list[NDArray[Any]] = [np.zeros(max(256, len(table)), dtype) for _, table in columns]
        for pad, (_, table) in zip(padded, columns, strict=True):
            pad[: len(table)] = table
        lengths = np.cumsum([0, *(len(table) for table in padded)])
        return cls(
            np.array([wide for wide, _ in place], np.bool_),
            np.array([row for _, row in place], np.int64),
            lengths[:-1].astype(np.int64),
            np.concatenate(padded) if padded else np.empty(0, dtype),
        )

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.wide, self.row, self.start


@dataclass(frozen=True, eq=False)
class _Plan:
    """What to read for a question: geography outermost, then the axes as asked."""

    order: tuple[int, ...]  # the axes of the question in the order of the accumulator
    shape: tuple[int, ...]
    columns: _Columns
    multiply: NDArray[np.uint64]
    filters: _Columns
    areas: NDArray[np.int64]
    area_cell: NDArray[np.uint64]
    stretches: NDArray[np.int64]

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def records(self) -> int:
        return int((self.stretches[:, 1] - self.stretches[:, 0]).sum())

    def pieces(self, whole_areas: bool) -> list[NDArray[np.int64]]:
        """Cut the stretches into lists of about PIECE records, at area boundaries if asked."""
        pieces, current, size = [], [], 0
        for begin, end in self.stretches.tolist():
            while begin < end:
                stop = min(end, begin + PIECE - size)
                if whole_areas and stop < end:
                    stop = min(end, int(self.areas[np.searchsorted(self.areas, stop)]))
                current.append((begin, stop))
                size += stop - begin
                begin = stop
                if size >= PIECE:
                    pieces.append(np.array(current, np.int64))
                    current, size = [], 0
        if current:
            pieces.append(np.array(current, np.int64))
        return pieces

    def first_area(self, stretches: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the area in which each stretch begins."""
        if not len(self.areas):
            return np.zeros(len(stretches), np.int64)
        return np.searchsorted(self.areas, stretches[:, 0], side="right").astype(np.int64) - 1


def _plan(version: Version, question: Question) -> _Plan:
    geography = [i for i, axis in enumerate(question.axes) if axis.variable.is_geography]
    others = [i for i, axis in enumerate(question.axes) if not axis.variable.is_geography]
    order = (*geography, *others)
    shape = tuple(len(question.axes[i]) for i in order)
    if prod(shape) >= 2**63:
        raise ParameterError("a table must have fewer than 2^63 cells. This one has more.")
    strides = [prod(shape[i + 1 :]) for i in range(len(shape))]

    columns, multiply = [], []
    for i, stride in list(zip(order, strides, strict=True))[len(geography) :]:
        axis = question.axes[i]
        position = np.maximum(axis.position(), 0).astype(np.uint64)
        columns.append((axis.variable.id, position * np.uint64(stride)))
        multiply.append(stride if _is_plain(axis) and len(axis) <= 255 else 0)
    filters = [
        (f.variable.id, f.allowed.astype(np.uint8))
        for f in question.filters
        if not f.variable.is_geography
    ]
    areas, area_cell = _EMPTY_AREAS, _EMPTY64
    if geography:
        axis = question.axes[geography[0]]
        areas = version.area_starts(axis.level)
        area_cell = np.zeros(len(axis.level), np.uint64)
        area_cell[axis.kept] = np.arange(len(axis), dtype=np.uint64) * np.uint64(strides[0])
    return _Plan(
        order,
        shape,
        _Columns.of(version, columns, np.uint64),
        np.array(multiply, np.uint64),
        _Columns.of(version, filters, np.uint8),
        areas,
        area_cell,
        _stretches(version, question),
    )


def _is_plain(axis: Axis) -> bool:
    """Whether the place along the axis is the code itself."""
    return axis.level is axis.variable.finest and len(axis) == len(axis.level)


def _stretches(version: Version, question: Question) -> NDArray[np.int64]:
    """Return the stretches of records in the areas asked for, neighbours joined."""
    for f in question.filters:
        if f.variable.is_geography:
            assert version.areas is not None
            edges = np.flatnonzero(np.diff(f.allowed.astype(np.int8), prepend=0, append=0))
            ends = version.areas[edges].reshape(-1, 2)
            return np.ascontiguousarray(ends[ends[:, 0] < ends[:, 1]])
    return np.array([[0, version.rows]] if version.rows else [], np.int64).reshape(-1, 2)


class ScanEngine:
    """Tabulates one version of a population by reading every record in question once."""

    def __init__(self, version: Version, threads: int | None = None) -> None:
        self.version = version
        self.threads = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="scan")
        _warm_up()

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the true counts and key sums of every cell."""
        plan = _plan(self.version, question)
        few = plan.cells > _MANY and plan.records * _FEW < plan.cells
        if plan.cells > _DENSE or few:
            return self._list(question, plan, stop)
        return self._scan(question, plan, stop)

    def _scan(self, question: Question, plan: _Plan, stop: Event | None) -> CountTable:
        from discreet.tabulate.kernels import scan

        version = self.version
        apart = 2**32 % version.modulus != 0
        own = plan.cells <= _SHARED
        # Areas do not share cells, so threads that take whole areas can share an accumulator.
        whole_areas = not own and len(plan.areas) > 0
        pieces = plan.pieces(whole_areas)
        threads = min(self.threads, len(pieces)) if own or whole_areas else 1
        lanes = 2 if plan.cells <= _SMALL else 1
        held = max(1, threads) if own else 1
        packed = [np.zeros(lanes * plan.cells, np.uint64) for _ in range(held)]
        sums = [np.zeros(plan.cells, np.uint64) if apart else _EMPTY64 for _ in range(held)]
        weights = plan.columns.table.astype(np.uint32)
        multiply = plan.multiply.astype(np.uint32)
        area_cell = plan.area_cell.astype(np.uint32)
        counts = _NO_COUNTS if version.counts is None else version.counts

        def work(thread: int, todo: Iterator[NDArray[np.int64]]) -> None:
            for stretches in todo:
                _check(stop)
                scan(
                    version.codes8, version.codes16, version.keys, counts,
                    *plan.columns.arguments, multiply, weights,
                    *plan.filters.arguments, plan.filters.table,
                    plan.areas, area_cell, stretches, plan.first_area(stretches),
                    packed[thread % held], sums[thread % held], lanes,
                )  # fmt: skip

        self._share(work, pieces, threads)
        total, total_sums = packed[0], sums[0]
        for other, other_sums in zip(packed[1:], sums[1:], strict=True):
            total += other
            total_sums += other_sums
        if lanes == 2:
            total = total[: plan.cells] + total[plan.cells :]
        if apart:
            keys: NDArray[Any] = (total_sums % np.uint64(version.modulus)).astype(np.uint32)
            found = total.astype(np.uint32)
        else:
            # The accumulator is little-endian pairs: count, key sum.
            halves = total.view(np.uint32).reshape(-1, 2)
            found, keys = halves[:, 0], halves[:, 1]
            if version.modulus != 2**32:
                keys = keys % np.uint32(version.modulus)
        back = np.argsort(plan.order)
        return smaller(
            CountTable(
                question.dimensions,
                found.reshape(plan.shape).transpose(back),
                keys.reshape(plan.shape).transpose(back),
                version.modulus,
            )
        )

    def _share(
        self,
        work: Callable[[int, Iterator[NDArray[np.int64]]], None],
        pieces: list[NDArray[np.int64]],
        threads: int,
    ) -> None:
        """Run the work in this thread and the pool's, each taking the next piece when free."""
        todo = iter(pieces)  # next() on a list iterator is one step under the interpreter's lock
        futures = [self._pool.submit(work, thread, todo) for thread in range(1, threads)]
        try:
            work(0, todo)
        finally:
            for future in futures:
                future.cancel()
        for future in futures:
            if not future.cancelled():
                future.result()

    def _list(self, question: Question, plan: _Plan, stop: Event | None) -> CountTable:
        """Tabulate by listing the cell of each record, sorting, adding up: for vast tables."""
        from discreet.tabulate.kernels import list_cells

        version = self.version
        counts = _NO_COUNTS if version.counts is None else version.counts
        parts: list[tuple[NDArray[np.uint64], ...]] = []
        size = 0
        for stretches in plan.pieces(whole_areas=False):
            _check(stop)
            for (begin, end), area in zip(
                stretches.tolist(), plan.first_area(stretches).tolist(), strict=True
            ):
                listed = tuple(np.empty(end - begin, np.uint64) for _ in range(3))
                found = list_cells(
                    version.codes8, version.codes16, version.keys, counts,
                    *plan.columns.arguments, plan.multiply, plan.columns.table,
                    *plan.filters.arguments, plan.filters.table,
                    plan.areas, plan.area_cell, begin, end, area, *listed,
                )  # fmt: skip
                parts.append(_add_up(tuple(a[:found] for a in listed), version.modulus))
                size += len(parts[-1][0])
                if size > 2 * len(parts[0][0]) + 4 * PIECE:
                    parts = [_merge(parts, version.modulus)]
                    size = len(parts[0][0])
        cells, cell_counts, cell_keys = _merge(parts, version.modulus)
        strides = _strides_as_asked(question, plan.order)
        asked = np.zeros(len(cells), np.uint64)
        for d in range(len(plan.shape) - 1, -1, -1):
            length = np.uint64(plan.shape[d])
            asked += (cells % length) * np.uint64(strides[d])
            cells = cells // length
        return table_of(question, asked, cell_counts, cell_keys, version.modulus)


@cache
def _warm_up() -> None:
    """Load the compiled kernels, compiling them if nobody has yet, so that no question waits."""
    codes = np.arange(2, dtype=np.uint32)
    level = Level("v", "v", ("0", "1"), ("0", "1"), codes)
    variable = Variable("v", "v", (level,))
    schema = Schema("warm-up", "", "", (variable,))
    narrow, wide = np.zeros((1, 1), np.uint8), np.zeros((0, 1), np.uint16)
    keys = np.zeros(1, np.uint32)
    narrow.setflags(write=False)
    wide.setflags(write=False)
    keys.setflags(write=False)
    version = Version(Path(), {"modulus": 2**32}, schema, narrow, wide, keys, None, None)
    question = Question.of(Query.parse("v"), schema)
    engine = ScanEngine.__new__(ScanEngine)
    engine.version, engine.threads = version, 1
    plan = _plan(version, question)
    engine._scan(question, plan, None)
    engine._list(question, plan, None)


def _strides_as_asked(question: Question, order: tuple[int, ...]) -> list[int]:
    sizes = [len(axis) for axis in question.axes]
    return [prod(sizes[i + 1 :]) for i in order]


def _merge(
    parts: list[tuple[NDArray[np.uint64], ...]], modulus: int
) -> tuple[NDArray[np.uint64], ...]:
    if not parts:
        return _EMPTY64, _EMPTY64, _EMPTY64
    joined = tuple(np.concatenate([part[i] for part in parts]) for i in range(3))
    return _add_up(joined, modulus)


def _add_up(listed: tuple[NDArray[np.uint64], ...], modulus: int) -> tuple[NDArray[np.uint64], ...]:
    from discreet.tabulate.kernels import add_up

    cells, counts, keys = listed
    out = tuple(np.empty(len(cells), np.uint64) for _ in range(3))
    found = add_up(np.argsort(cells), cells, counts, keys, np.uint64(modulus), *out)
    return tuple(a[:found].copy() for a in out)


def _check(stop: Event | None) -> None:
    if stop is not None and stop.is_set():
        raise TabulationStopped("the tabulation was stopped")
