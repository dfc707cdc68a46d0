"""The cells of tables over records as rows: cells with the same contributors are one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.compiling import announced
from discreet.desk.adjust.records import kernels
from discreet.desk.adjust.records.chosen import list_chosen
from discreet.desk.cells import RANKS, CellTable
from discreet.desk.sensitivity import Rule, required
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.table.decimals import in_units
from discreet.table.hierarchy import Hierarchy
from discreet.types import Floats

# Random marks whose sums tell sets apart: 2^-64 for each pair of sets. Fixed, so that rows are the
# same each time.
_MARK_SEED = 20_101_115


@dataclass(frozen=True, eq=False)
class CellRows:
    """Every non-zero cell of the published tables, cells with the same contributors as one row.

    Row r has the records members[starts[r]:starts[r + 1]], two or more; `cells[r, o]` of its cells
    keep o dimensions. `alone[i, o]` cells hold record i alone. `ranked[r, k]` is the (k + 1)-th
    largest contribution to a row, those of one holding taken together, and `contributors` their
    number. `along` lists the records sorted by their codes, and the largest first among those of
    the same.
    """

    values: Floats
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    cells: NDArray[np.int32]
    alone: NDArray[np.int64]
    total: Floats
    ranked: Floats
    contributors: NDArray[np.int64]
    equations: int
    along: NDArray[np.int64]

    @property
    def largest(self) -> Floats:
        """The largest contribution to each row."""
        return self.ranked[:, 0]

    @property
    def second(self) -> Floats:
        """The second largest contribution to each row."""
        return self.ranked[:, 1]

    @property
    def size(self) -> int:
        """How many rows of two and more contributors there are."""
        return len(self.total)

    @property
    def records(self) -> int:
        """How many records there are."""
        return len(self.values)

    @property
    def cell_count(self) -> int:
        """How many non-zero cells are published."""
        return int(self.cells.sum(dtype=np.int64) + self.alone.sum())

    def sums(self, records: Floats) -> Floats:
        """Return the sum of a number of each record over every row."""
        given = np.asarray(records, np.float64)
        return np.add.reduceat(given[self.members], self.starts[:-1]) if self.size else np.zeros(0)


def needs_of(rows: CellRows, rules: Sequence[Rule]) -> tuple[Floats, Floats]:
    """Return what each row, and each record where it is alone, must change by; 0 if it is safe."""

    def amounts(values: Floats, ranked: Floats, contributors: NDArray[np.int64]) -> Floats:
        cells = CellTable(
            ("row",), ((),), ((),), values, False, ranked=ranked, contributors=contributors
        )
        found = required(cells, rules)
        return np.maximum(found.lower, found.upper)

    alone = np.zeros((rows.records, RANKS))
    alone[:, 0] = rows.values
    one = np.ones(rows.records, np.int64)
    return (
        amounts(rows.total, rows.ranked, rows.contributors),
        amounts(rows.values, alone, one),
    )


def cell_rows(
    codes: ArrayLike,
    dimensions: Sequence[Hierarchy],
    values: ArrayLike,
    order: int | None = None,
    holdings: ArrayLike | None = None,
    tell: Tell | None = None,
    tables: Sequence[Sequence[int]] | None = None,
) -> CellRows:
    """Return the rows of the tables over records in which at most `order` dimensions are kept.

    `codes` has a row for each record and a column for each dimension: inner codes. All levels
    of a kept dimension are published; without an order every dimension may be kept. `holdings`
    gives the owner of each record: contributions of one owner count together. With `tables` only
    these are published, each by the dimensions it names, and all their margins.
    """
    given = np.asarray(codes)
    amounts = np.asarray(values, np.float64).reshape(-1)
    if given.ndim != 2 or given.dtype.kind not in "iu" or given.shape[1] != len(dimensions):
        raise ParameterError(
            "codes must be integers, a row for each record and a column for each of "
            f"{len(dimensions)} dimensions."
        )
    if not len(given) or len(amounts) != len(given):
        raise ParameterError(
            f"values must be one for each record. Got {len(amounts)} for {len(given)}."
        )
    if not np.isfinite(amounts).all() or (amounts < 0).any():
        raise ParameterError("values must be finite numbers of 0 or more.")
    most = len(dimensions) if order is None else order
    if tables is not None:
        most = max(map(len, tables), default=0)
    if not 0 <= most <= len(dimensions):
        raise ParameterError(f"order must be from 0 to {len(dimensions)}. Got {order}.")
    owners = np.arange(len(given)) if holdings is None else np.asarray(holdings).reshape(-1)
    if len(owners) != len(given):
        raise ParameterError(f"holdings must be one for each record. Got {len(owners)}.")
    paths, depths, levels, has_total = _paths(given, dimensions)
    if most < int((~has_total).sum()):
        raise ParameterError(
            f"order must be at least {int((~has_total).sum())}: so many dimensions have no total."
        )
    if tables is None:
        rows, equations = _listed(paths, depths, levels, has_total, dimensions, most, tell)
    else:
        if not has_total.all():
            raise ParameterError("chosen tables need a total in every dimension.")
        rows, equations = list_chosen(paths, depths, tables, _marks(len(given)), most, tell)
    starts, members, cells, alone = rows
    size = len(starts) - 1
    total, ranked, many = np.empty(size), np.zeros((size, RANKS)), np.empty(size, np.int64)
    _, holder = np.unique(owners, return_inverse=True)
    whole, unit = in_units(amounts)
    kernels.rank_holders(
        starts, members, whole, holder.reshape(-1).astype(np.int32), int(holder.max()) + 1,
        total, ranked, many,
    )  # fmt: skip
    along = np.lexsort((-amounts, *given.T[::-1]))
    return CellRows(
        amounts, starts, members, cells, alone, total / unit, ranked / unit, many, equations, along
    )


def _paths(
    codes: NDArray[Any], dimensions: Sequence[Hierarchy]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Return the codes of each record from the root of each dimension down to its own."""
    ways = []
    for number, dimension in enumerate(dimensions):
        if not np.isin(codes[:, number], dimension.leaves).all():
            raise ParameterError(f"codes of dimension {number} must be inner codes of its tree.")
        ways.append({leaf: dimension.path(leaf)[::-1] for leaf in dimension.leaves.tolist()})
    levels = np.array([max(map(len, way.values())) for way in ways], np.int32)
    paths = np.full((len(dimensions), levels.max(), len(codes)), -1, np.int32)
    depths = np.empty((len(dimensions), len(codes)), np.int32)
    for number, way in enumerate(ways):
        table = np.full((len(dimensions[number]), levels.max()), -1, np.int32)
        for leaf, path in way.items():
            table[leaf, : len(path)] = path
        paths[number] = table[codes[:, number]].T
        depths[number] = (paths[number] >= 0).sum(axis=0)
    has_total = np.array([dimension.parents.count(-1) == 1 for dimension in dimensions])
    return paths, depths, levels, has_total


def _marks(records: int) -> NDArray[np.uint64]:
    return np.random.default_rng(_MARK_SEED).integers(0, 2**64, records, np.uint64, endpoint=False)


def _listed(
    paths: NDArray[np.int32],
    depths: NDArray[np.int32],
    levels: NDArray[np.int32],
    has_total: NDArray[np.bool_],
    dimensions: Sequence[Hierarchy],
    most: int,
    tell: Tell | None,
) -> tuple[tuple[Any, Any, Any, Any], int]:
    """Return (starts, members, cells, alone) and the number of equations."""
    records = depths.shape[1]
    marks = _marks(records)
    # The dimension with the most codes first: cells are down to one record soonest.
    first = np.argsort([-len(dimension) for dimension in dimensions], kind="stable")
    codes = np.array([len(dimensions[d]) for d in first], np.int32)
    paths, depths = np.ascontiguousarray(paths[first]), np.ascontiguousarray(depths[first])
    levels, has_total = levels[first], has_total[first]
    keys, slots = np.zeros(2**16, np.uint64), np.full(2**16, -1, np.int32)
    starts, members = np.zeros(2**14 + 1, np.int64), np.empty(2**16, np.int32)
    cells = np.zeros((2**14, most + 1), np.int32)
    alone = np.zeros((records, most + 1), np.int64)
    rows, equations = 0, 0
    announced(kernels.list_rows, tell)
    for level in range(int(levels[0])):
        keys, slots, starts, members, cells, rows, found = kernels.list_rows(
            paths, depths, levels, has_total, codes, most, marks, level,
            keys, slots, starts, members, cells, rows, alone,
        )  # fmt: skip
        equations += int(found)
        if tell is not None:
            tell("cells", level + 1, int(levels[0]))
    size = int(starts[rows])
    return (
        starts[: rows + 1].copy(), members[:size].copy(), cells[:rows].copy(), alone
    ), equations  # fmt: skip
