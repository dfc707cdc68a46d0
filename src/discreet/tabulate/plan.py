"""From a question to what the kernels read: columns, look-ups, stretches of records.

Each column of a question is read in one of two ways. *Folded*: the accumulator has an axis with
all its finest categories, and what the question wants of them is added up afterwards; free while
the accumulator stays in the processor's cache. *Looked up*: the place of each code along the axis
is looked up record by record, and a filter takes out what the question leaves out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.population import Variable, Version
from discreet.population.store import is_narrow
from discreet.query import Axis, Question
from discreet.tabulate.engine import Words, gather

PIECE = 2**20
"""Records a kernel takes at once: a running question can be stopped between two pieces."""

FOLDED = 2**12
"""Cells of an accumulator (32 KiB) up to which folding is worth it."""

RARE = 0.2
"""The share of its codes below which a filter is taken to let few records pass."""

NO_AREAS = np.empty(0, np.int64)
_ITSELF = np.arange(2**16)
_ITSELF.setflags(write=False)
Masks = dict[str, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Columns:
    """Code columns as the kernels read them, with a table to look each code up in."""

    wide: NDArray[np.bool_]
    row: NDArray[np.int64]
    start: NDArray[np.int64]
    table: NDArray[Any]

    @classmethod
    def of(cls, version: Version, columns: list[tuple[Variable, NDArray[Any]]]) -> Columns:
        """Return the columns of some variables; all their look-ups lie in one array."""
        place = [version.place[variable.id] for variable, _ in columns]
        # A look-up by a byte stays inside the array whatever the byte is.
        starts = [0, *accumulate(max(256, len(table)) for _, table in columns)]
        tables = np.zeros(starts[-1], np.int64)
        for start, (_, table) in zip(starts, columns, strict=False):
            tables[start : start + len(table)] = table
        return cls(
            np.array([wide for wide, _ in place], np.bool_),
            np.array([row for _, row in place], np.int64),
            np.array(starts[:-1], np.int64),
            tables,
        )


@dataclass(frozen=True, eq=False)
class Read:
    """A column to read: where each of its codes goes along its axis, −1 where nowhere.

    `axis` is the axis of the question, or −1 for a filter on a variable that is not shown.
    """

    variable: Variable
    place: NDArray[np.int64]
    axis: int
    length: int
    folded: bool = False

    @cached_property
    def plain(self) -> bool:
        """Whether the place is the code itself."""
        return self.length == len(self.place) and (
            self.place.base is _ITSELF or bool((self.place == _ITSELF[: self.length]).all())
        )

    @property
    def held(self) -> int:
        """The length of its axis in the accumulator."""
        return len(self.place) if self.folded else self.length


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything a scan needs: the geography is the outermost axis, then the columns."""

    reads: tuple[Read, ...]
    geography: int  # the axis of the question that is the geography, or −1
    shape: tuple[int, ...]  # of the accumulator
    columns: Columns
    multiply: NDArray[np.int64]
    filters: Columns
    runs: NDArray[np.int64]  # the first code of each filter that lets one run pass, or −1, and span
    areas: NDArray[np.int64]
    area_cell: NDArray[np.int64]
    stretches: NDArray[np.int64]

    @property
    def cells(self) -> int:
        """The number of cells of the accumulator."""
        return prod(self.shape)

    @property
    def inner(self) -> int:
        """The number of cells of an area, or of the whole table where no areas are shown."""
        return prod(self.shape[self.geography >= 0 :])

    def outer(self, most: int) -> int:
        """Return how many columns stand before those whose cells are at most so many."""
        lengths, cells = self.shape[self.geography >= 0 :], 1
        for i in reversed(range(len(lengths))):
            cells *= lengths[i]
            if cells > most:
                return i + 1
        return 0

    @property
    def records(self) -> int:
        """The number of records in question."""
        return int((self.stretches[:, 1] - self.stretches[:, 0]).sum())

    @property
    def order(self) -> list[int]:
        """The axes of the question in the order of the accumulator."""
        return [a for a in (self.geography, *(read.axis for read in self.reads)) if a >= 0]

    def pieces(self, whole_areas: bool) -> list[NDArray[np.int64]]:
        """Cut the stretches into lists of about PIECE records, at area boundaries if asked."""
        pieces, current, size = [], [], 0
        for first, end in self.stretches.tolist():
            begin = first
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

    def fold(self, packed: Words) -> Words:
        """Return an accumulator with the folded axes added up, axes in the order of `order`."""
        folded = packed.reshape(self.shape)
        at = int(self.geography >= 0)
        for read in self.reads:
            if read.folded and not (read.plain and read.axis >= 0):
                folded = gather(folded, at, read.place, read.length)
                if read.axis < 0:
                    folded = folded.squeeze(at)
            at += read.axis >= 0
        return folded


def plan(
    version: Version,
    question: Question,
    fold: bool = True,
    applied: Collection[str] = (),
) -> Plan:
    """Return how to answer a question; without `fold` every column is looked up.

    All records pass the filters on the variables in `applied`.
    """
    geography = -1 if question.geography is None else question.geography
    areas_shown = len(question.axes[geography]) if geography >= 0 else 1
    allowed = {f.variable.id: f.allowed for f in question.filters if f.variable.id not in applied}
    reads = _reads(question, allowed)
    if fold:
        reads = _folding(reads, allowed, areas_shown)
    inner = tuple(read.held for read in reads if read.axis >= 0 or read.folded)
    shape = (areas_shown, *inner) if geography >= 0 else inner
    if prod(shape) >= 2**63:
        raise ParameterError("a table must have fewer than 2^63 cells. This one has more.")
    areas, area_cell = NO_AREAS, NO_AREAS
    if geography >= 0:
        axis = question.axes[geography]
        areas = version.area_starts(axis.level)
        area_cell = np.zeros(len(axis.level), np.int64)
        area_cell[axis.kept] = np.arange(len(axis)) * prod(inner)
    return Plan(
        tuple(reads),
        geography,
        shape,
        *_columns(version, reads, inner),
        *_filters(version, reads, allowed),
        areas,
        area_cell,
        stretches(version, question),
    )


def _reads(question: Question, allowed: Masks) -> list[Read]:
    """Return the columns to read: those of the axes, then those that are only filtered."""
    shown = [(i, axis) for i, axis in enumerate(question.axes) if not axis.variable.is_geography]
    reads = [Read(axis.variable, _places(axis), i, len(axis)) for i, axis in shown]
    known = {axis.variable.id for axis in question.axes}
    for f in question.filters:
        name = f.variable.id
        if not f.variable.is_geography and name in allowed and name not in known:
            reads.append(Read(f.variable, np.where(f.allowed, 0, -1).astype(np.int64), -1, 1))
    return reads


def _places(axis: Axis) -> NDArray[np.int64]:
    """Return where each code goes along an axis; itself where all of the finest are shown."""
    if axis.level is axis.variable.finest and len(axis) == len(axis.level):
        return _ITSELF[: len(axis)]
    return axis.position()


def _columns(
    version: Version, reads: list[Read], shape: tuple[int, ...]
) -> tuple[Columns, NDArray[np.int64]]:
    """Return the columns that make up the cell index, and the strides of those not looked up."""
    columns, multiply = [], []
    indexed = [read for read in reads if read.axis >= 0 or read.folded]
    for i, read in enumerate(indexed):
        stride = prod(shape[i + 1 :])
        plain = read.folded or read.plain
        place = _ITSELF[: len(read.place)] if plain else np.maximum(read.place, 0)
        columns.append((read.variable, place * stride))
        multiply.append(stride if plain else 0)
    return Columns.of(version, columns), np.array(multiply, np.int64)


def _filters(
    version: Version, reads: list[Read], allowed: Masks
) -> tuple[Columns, NDArray[np.int64]]:
    """Return the columns that leave records out, and which codes those pass that pass one run."""
    columns, runs = [], []
    for read in reads:
        if not read.folded and read.variable.id in allowed:
            mask = allowed[read.variable.id]
            runs.append(_run(mask))
            columns.append((read.variable, mask))
    return Columns.of(version, columns), np.array(runs, np.int64).reshape(-1, 2).T.copy()


def _folding(reads: list[Read], allowed: Masks, areas: int) -> list[Read]:
    """Return the reads with those folded that keep the accumulator small, narrow columns first."""
    cells = areas * prod(read.length for read in reads)
    chosen = list(reads)
    for i in sorted(range(len(reads)), key=lambda i: len(reads[i].place)):
        read = reads[i]
        mask = allowed.get(read.variable.id)
        grown = cells // read.length * len(read.place)
        if read.axis < 0 and mask is not None and mask.mean() < RARE:
            continue  # few records will pass: better not to read the other columns of the rest
        if mask is None and read.plain:
            continue
        if grown <= FOLDED and is_narrow(read.variable):
            place = read.place if mask is None else np.where(mask, read.place, -1)
            chosen[i] = replace(read, place=place, folded=True)
            cells = grown
    return chosen


def _run(mask: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the first code of a filter that lets one run of codes pass, and how many follow."""
    codes = np.flatnonzero(mask)
    span = int(codes[-1] - codes[0])
    return (int(codes[0]), span) if span + 1 == len(codes) else (-1, 0)


def stretches(version: Version, question: Question) -> NDArray[np.int64]:
    """Return the stretches of records in the areas asked for, neighbours joined."""
    f = question.filter_on(question.schema.geography)
    if f is None:
        return np.array([[0, version.rows]] if version.rows else [], np.int64).reshape(-1, 2)
    assert version.areas is not None
    within = np.concatenate([[False], f.allowed, [False]])
    ends = version.areas[np.flatnonzero(within[1:] != within[:-1])].reshape(-1, 2)
    return np.ascontiguousarray(ends[ends[:, 0] < ends[:, 1]])
