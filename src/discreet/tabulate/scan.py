"""The scan engine: numba kernels over memory-mapped code columns.

A question becomes a plan, its stretches of records are cut into pieces of about a millisecond,
and threads take pieces until none is left or the caller says stop. The kernels hold no lock while
they run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import prod
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Stopped
from discreet.population import Level, Schema, Variable, Version
from discreet.query import Query, Question
from discreet.table import CountTable
from discreet.tabulate.engine import smaller, table_of
from discreet.tabulate.plan import PIECE, Plan, plan

_TINY = 2**6  # cells up to which four accumulators are kept, against waiting on one cell
_OWN = 2**21  # cells up to which each thread has an accumulator of its own (16 MiB)
_DENSE = 2**27  # cells above which populated cells are listed instead (1 GiB)
_MANY = 2**22  # cells above which they are also listed if records are fewer than cells by…
_FEW = 4  # …this factor

_NONE = np.empty(0, np.uint64)
_NO_COUNTS = np.empty(0, np.uint32)
_NO_COUNTS.setflags(write=False)  # of one type with mapped columns, for the kernels

Listed = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]
"""Cells, their counts, their key sums."""


class ScanEngine:
    """Tabulates one version of a population by reading every record in question once."""

    def __init__(self, version: Version, threads: int | None = None) -> None:
        self.version = version
        self.threads = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="scan")
        warm_up()

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the true counts and key sums of every cell."""
        way = plan(self.version, question)
        few = way.cells > _MANY and way.records * _FEW < way.cells
        if way.cells > _DENSE or few:
            return self._list(question, stop)
        return self._scan(question, way, stop)

    def _scan(self, question: Question, way: Plan, stop: Event | None) -> CountTable:
        """Tabulate into an accumulator with a place for every cell."""
        version = self.version
        apart = 2**32 % version.modulus != 0
        own = way.cells <= _OWN
        # Areas do not share cells, so threads that take whole areas can share an accumulator.
        whole_areas = not own and len(way.areas) > 0
        pieces = way.pieces(whole_areas)
        threads = max(1, min(self.threads, len(pieces))) if own or whole_areas else 1
        lanes = 4 if way.cells <= _TINY else 1
        held = threads if own else 1
        packed = [np.zeros(lanes * way.cells, np.uint64) for _ in range(held)]
        sums = [np.zeros(way.cells, np.uint64) if apart else _NONE for _ in range(held)]
        run = _kernel(version, way)

        def work(thread: int, todo: Iterator[NDArray[np.int64]]) -> None:
            for stretches in todo:
                _check(stop)
                first = way.first_area(stretches)
                run(stretches, first, packed[thread % held], sums[thread % held], lanes)

        self._share(work, pieces, threads)
        total = packed[0] if held == 1 else np.sum(packed, axis=0)
        if lanes > 1:
            total = total.reshape(lanes, -1).sum(axis=0)
        total = way.fold(total)
        if apart:
            total_sums = way.fold(sums[0] if held == 1 else np.sum(sums, axis=0))
            counts = total.astype(np.uint32)
            keys: NDArray[np.uint32] = (total_sums % version.modulus).astype(np.uint32)
        else:
            # The accumulator is little-endian pairs: count, key sum.
            halves = np.ascontiguousarray(total).view(np.uint32).reshape(*total.shape, 2)
            counts, keys = halves[..., 0], halves[..., 1]
            if version.modulus != 2**32:
                keys = keys % np.uint32(version.modulus)
        back = np.argsort(way.order)
        return smaller(
            CountTable(
                question.dimensions, counts.transpose(back), keys.transpose(back), version.modulus
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

    def _list(self, question: Question, stop: Event | None) -> CountTable:
        """Tabulate by listing the cell of each record, sorting, adding up: for vast tables."""
        from discreet.tabulate.kernels import list_cells

        version = self.version
        way = plan(version, question, fold=False)
        counts = _NO_COUNTS if version.counts is None else version.counts
        parts: list[Listed] = []
        size = 0
        for stretches in way.pieces(whole_areas=False):
            _check(stop)
            for (begin, end), area in zip(
                stretches.tolist(), way.first_area(stretches).tolist(), strict=True
            ):
                listed = _empty(end - begin)
                found = list_cells(
                    version.codes8, version.codes16, version.keys, counts,
                    *way.columns.arguments, *_typed(way, np.uint64),
                    *way.filters.arguments, way.low, way.filters.table.astype(np.uint8),
                    way.areas, way.area_cell.astype(np.uint64), begin, end, area, *listed,
                )  # fmt: skip
                parts.append(_add_up([listed], version.modulus, found))
                size += len(parts[-1][0])
                if size > 2 * len(parts[0][0]) + 4 * PIECE:
                    parts = [_add_up(parts, version.modulus)]
                    size = len(parts[0][0])
        cells, cell_counts, cell_keys = _add_up(parts, version.modulus)
        lengths = [len(axis) for axis in question.axes]
        strides = [prod(lengths[i + 1 :]) for i in range(len(lengths))]
        asked = np.zeros(len(cells), np.uint64)
        for axis in reversed(way.order):
            length = np.uint64(lengths[axis])
            asked += (cells % length) * np.uint64(strides[axis])
            cells = cells // length
        return table_of(question, asked, cell_counts, cell_keys, version.modulus)


def _kernel(version: Version, way: Plan) -> Callable[..., None]:
    """Return the scan kernel with everything but the records and the accumulator filled in."""
    from discreet.tabulate.kernels import scan

    index = np.uint16 if way.cells <= 2**16 else np.uint32
    arguments = (
        version.codes8, version.codes16, version.keys,
        _NO_COUNTS if version.counts is None else version.counts,
        *way.columns.arguments, *_typed(way, index),
        *way.filters.arguments, way.low, way.filters.table.astype(np.uint8),
        way.areas, way.area_cell.astype(index),
    )  # fmt: skip
    return lambda *rest: scan(*arguments, *rest)


def _typed(way: Plan, index: type) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return strides and look-ups in the type of a cell index."""
    # A stride of 2^16 is that of an axis with one category, whose code is always 0.
    return way.multiply.astype(index), way.columns.table.astype(index)


def _empty(size: int) -> Listed:
    return np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint64)


def _add_up(parts: list[Listed], modulus: int, size: int | None = None) -> Listed:
    """Return the cells of all parts in order, those that are equal added up."""
    from discreet.tabulate.kernels import add_up

    if not parts:
        return _empty(0)
    cells, counts, keys = (np.concatenate([part[i] for part in parts])[:size] for i in range(3))
    out = _empty(len(cells))
    found = add_up(np.argsort(cells), cells, counts, keys, np.uint64(modulus), *out)
    return out[0][:found].copy(), out[1][:found].copy(), out[2][:found].copy()


@cache
def warm_up() -> None:
    """Load the compiled kernels, compiling them if nobody has yet, so that no question waits."""
    level = Level("v", "v", ("0", "1"), ("0", "1"), np.arange(2, dtype=np.uint32))
    schema = Schema("warm-up", "", "", (Variable("v", "v", (level,)),))
    narrow, wide = np.zeros((1, 1), np.uint8), np.zeros((0, 1), np.uint16)
    keys = np.zeros(1, np.uint32)
    for column in (narrow, wide, keys):
        column.setflags(write=False)
    version = Version(Path(), {"modulus": 2**32}, schema, narrow, wide, keys, None, None)
    question = Question.of(Query.parse("v"), schema)
    engine = ScanEngine.__new__(ScanEngine)
    engine.version, engine.threads = version, 1
    way = plan(version, question)
    engine._scan(question, way, None)
    object.__setattr__(way, "shape", (2**17,))
    _kernel(version, way)(
        way.stretches, np.zeros(1, np.int64), np.zeros(2**17, np.uint64), _NONE, 1
    )
    engine._list(question, None)


def _check(stop: Event | None) -> None:
    if stop is not None and stop.is_set():
        raise Stopped("the tabulation was stopped")
