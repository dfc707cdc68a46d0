"""The tables that a protected base is fitted to: their columns, and where their cells lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.protect.records.protected_base.kernels import table_cells

MOST_CATEGORIES = 30
"""A column with more is in tables of its own and in those asked for, not in every pair."""

MOST_COLUMNS = 3
"""The most columns of a table that is fitted."""


@dataclass(frozen=True, eq=False)
class Column:
    """A variable at a level: its categories, and where they lie in a coarser column before it."""

    size: int
    coarser: int | None = None
    of: NDArray[np.uint32] | None = None


@dataclass(frozen=True, eq=False)
class Design:
    """Tables by the numbers of their columns; all one-way tables come first, in that order."""

    columns: tuple[Column, ...]
    tables: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if self.tables[: len(self.columns)] != tuple((i,) for i in range(len(self.columns))):
            raise ParameterError("the first tables must be those of one column each.")
        if any(not 1 <= len(table) <= MOST_COLUMNS for table in self.tables):
            raise ParameterError(f"a table to fit must have 1 to {MOST_COLUMNS} columns.")
        if len(set(self.tables)) < len(self.tables):
            raise ParameterError("a table to fit must be named once.")

    @classmethod
    def of(
        cls, columns: Sequence[Column], extra: Sequence[tuple[int, ...]] = (), most: int = 2
    ) -> Design:
        """Return one-way tables of all columns, all pairs of main columns, and extra tables.

        A main column has few categories, and is the finest such of its variable.
        """
        found: list[tuple[int, ...]] = [(i,) for i in range(len(columns))]
        main = [i for i, c in enumerate(columns) if c.coarser is None]
        if most > 1:
            pairs = combinations(main, 2)
            found += [p for p in pairs if max(columns[i].size for i in p) <= MOST_CATEGORIES]
        found += [t for t in map(tuple, map(sorted, extra)) if t not in found]
        return cls(tuple(columns), tuple(found))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many categories each column has."""
        return np.array([column.size for column in self.columns], np.int64)

    @cached_property
    def main(self) -> NDArray[np.int64]:
        """The columns that have no coarser one."""
        return np.array([i for i, c in enumerate(self.columns) if c.coarser is None], np.int64)

    @cached_property
    def paired(self) -> NDArray[np.int64]:
        """The columns that are in every pair."""
        return self.main[self.sizes[self.main] <= MOST_CATEGORIES]

    def bytes_of(self, codes: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Return a byte for each column, those in every pair first: by it records are compared."""
        others = np.setdiff1d(np.arange(len(self.columns)), self.paired)
        return codes[:, np.concatenate([self.paired, others])].astype(np.uint8)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each table."""
        return tuple(tuple(self.columns[i].size for i in table) for table in self.tables)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the cells of each table begin, and at last where they end."""
        return np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)]).astype(np.int64)

    @property
    def size(self) -> int:
        """The number of cells of all tables."""
        return int(self.offsets[-1])

    @cached_property
    def orders(self) -> NDArray[np.int64]:
        """The number of columns of the table of each cell."""
        lengths = [len(table) for table in self.tables]
        return np.repeat(np.array(lengths, np.int64), np.diff(self.offsets))

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The columns of each table, filled up with −1."""
        return np.array([(*t, *(-1,) * (MOST_COLUMNS - len(t))) for t in self.tables], np.int64)

    def cells(self, codes: NDArray[np.int32]) -> NDArray[Any]:
        """Return the cell of each record in each table."""
        kind = np.uint16 if self.size <= 2**16 else np.uint32
        found = np.empty((len(codes), len(self.tables)), kind)
        table_cells(codes, self.numbers, self.sizes, self.offsets, found)
        return found
