"""Which tables of a ledger cover a class, answered in microseconds.

A set of tables is an integer whose bit i stands for the i-th table. The sets of the tables that
have a variable at a rank or above are kept; the tables that cover a class are the bits in which
one such set for each of its variables agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.population import Schema
from discreet.query import QuestionClass


class Index:
    """Tables by number, from 0, and the sets of those that cover a class."""

    def __init__(self, schema: Schema) -> None:
        self._geography = next(
            (i for i, variable in enumerate(schema.variables) if variable.is_geography), None
        )
        # By variable and rank, the tables that have it at the rank or above. One rank more than
        # there is, which no table has.
        self._reach = [[0] * (len(variable.chain) + 2) for variable in schema.variables]
        self._tables: list[QuestionClass] = []
        self._all = 0

    def __len__(self) -> int:
        return len(self._tables)

    def __getitem__(self, number: int) -> QuestionClass:
        return self._tables[number]

    def add(self, table: QuestionClass) -> int:
        """Add a table and return its number."""
        number = len(self._tables)
        bit = 1 << number
        for reach, rank in zip(self._reach, table.ranks, strict=True):
            for below in range(1, rank + 1):
                reach[below] |= bit
        self._tables.append(table)
        self._all |= bit
        return number

    def covering(self, asked: QuestionClass) -> int:
        """Return the set of the tables that cover a class."""
        found = self._all
        for reach, rank in zip(self._reach, asked.ranks, strict=True):
            if rank:
                found &= reach[rank]
        return found

    def same_areas(self, asked: QuestionClass) -> int:
        """Return the set of the tables whose areas are those of a class."""
        if self._geography is None:
            return self._all
        reach, rank = self._reach[self._geography], asked.ranks[self._geography]
        return (reach[rank] if rank else self._all) & ~reach[rank + 1]

    def fewest_cells(self, among: int) -> QuestionClass | None:
        """Return the smallest table of a set, of equal ones the first by name."""
        tables = (self._tables[number] for number in numbers(among))
        return min(tables, key=lambda table: (table.cells, table.name), default=None)


def numbers(among: int) -> Iterator[int]:
    """Yield the numbers of the tables in a set."""
    while among:
        last = among & -among
        yield last.bit_length() - 1
        among ^= last
