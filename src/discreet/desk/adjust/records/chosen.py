"""The cells of chosen tables over records as rows, and of all their margins: no cube is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.desk.cells import Records
from discreet.progress import Tell
from discreet.types import Integers


def margins_of(tables: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the dimensions of the tables and of all their margins, the grand total first."""
    found = {
        kept
        for table in tables
        for size in range(len(table) + 1)
        for kept in combinations(sorted(table), size)
    }
    return sorted(found, key=lambda kept: (len(kept), kept))


@dataclass(frozen=True, eq=False)
class _Group:
    """Records put together by the codes of some dimensions, each at one level."""

    records: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]


def list_chosen(
    paths: NDArray[np.int32],
    depths: NDArray[np.int32],
    tables: Sequence[Sequence[int]],
    marks: NDArray[np.uint64],
    most: int,
    tell: Tell | None = None,
) -> tuple[tuple[Any, Any, Any, Any], int]:
    """Return (starts, members, cells, alone) and the number of equations of these tables.

    As `kernels.list_rows` does for all tables: `paths[d, l]` are the codes of the records at level
    l of dimension d, −1 where a record's own code is above; level 0 is the total. Sets are known by
    the sum of the marks of their records.
    """
    records = depths.shape[1]
    alone = np.zeros((records, most + 1), np.int64)
    known: dict[int, int] = {}
    counts: list[NDArray[np.int64]] = []
    parts: list[NDArray[np.int64]] = []
    equations = 0
    margins = margins_of(tables)
    published = set(margins)
    for number, kept in enumerate(margins):
        for levels in product(*(range(1, int(depths[d].max())) for d in kept)):
            group = _grouped(
                [paths[d, level] for d, level in zip(kept, levels, strict=True)], records
            )
            single = group.sizes == 1
            np.add.at(alone, (group.records[group.starts[single]], len(kept)), 1)
            with np.errstate(over="ignore"):
                sums = np.add.reduceat(marks[group.records], group.starts)
            for place in np.flatnonzero(~single).tolist():
                row = known.setdefault(int(sums[place]), len(known))
                if row == len(parts):
                    start = group.starts[place]
                    parts.append(group.records[start : start + group.sizes[place]])
                    counts.append(np.zeros(most + 1, np.int64))
                counts[row][len(kept)] += 1
            equations += _equations(group, kept, levels, depths, published)
        if tell is not None:
            tell("cells", number + 1, len(margins))
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    members = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    cells = np.stack(counts) if counts else np.zeros((0, most + 1))
    return (starts, members.astype(np.int32), cells.astype(np.int32), alone), equations


def _grouped(codes: list[NDArray[np.int32]], records: int) -> _Group:
    """Return the records that have all these codes, put together by them; of no codes all."""
    there = np.arange(records)
    for code in codes:
        there = there[code[there] >= 0]
    key = np.zeros(len(there), np.int64)
    for code in codes:
        # Numbered anew each time: products of many sizes would not fit.
        key = np.unique(key * (int(code.max()) + 1) + code[there], return_inverse=True)[1]
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    return _Group(there[order], starts, np.diff(np.append(starts, len(there))))


def _equations(
    group: _Group,
    kept: tuple[int, ...],
    levels: tuple[int, ...],
    depths: NDArray[np.int32],
    published: set[tuple[int, ...]],
) -> int:
    """Return how many cells of a group are sums: by a further dimension, or by a finer level."""
    found = 0
    for d in range(len(depths)):
        level = levels[kept.index(d)] if d in kept else 0
        if d not in kept and tuple(sorted((*kept, d))) not in published:
            continue
        deeper = depths[d, group.records] > level + 1
        found += int(np.logical_or.reduceat(deeper, group.starts).sum())
    return found


def cells_of(
    records: Records,
    members: Any,
    order: int | None,
    tables: Sequence[Sequence[int]] | None = None,
) -> Iterator[tuple[str, ...]]:
    """Yield every cell by up to `order` dimensions, or of `tables`, with just these contributors.

    A walk down the dimensions: at each, the codes that all members share, the total first, and
    who else has them.
    """
    shared, below = [], []
    for column, tree in zip(records.at.T, records.hierarchies, strict=True):
        paths = [set(tree.path(code)) for code in set(column[members].tolist())]
        shared.append(sorted(set.intersection(*paths), key=lambda code: len(tree.path(code))))
        inside = np.zeros((len(tree), len(tree)), bool)
        for code in range(len(tree)):
            inside[tree.path(code), code] = True
        below.append(inside)

    published = None if tables is None else set(margins_of(tables))

    def walk(d: int, kept: tuple[int, ...], there: Integers) -> Iterator[tuple[str, ...]]:
        if d == len(shared):
            if len(there) == len(members) and (published is None or kept in published):
                yield ()
            return
        for code in shared[d]:
            total = records.parents[d][code] < 0
            if not total and len(kept) == most:
                break
            same = there if total else there[below[d][code][records.at[there, d]]]
            for rest in walk(d + 1, kept if total else (*kept, d), same):
                yield records.codes[d][code], *rest

    most = len(shared) if order is None else order
    if tables is not None:
        most = max(map(len, tables))
    return walk(0, (), np.arange(len(records.at)))
