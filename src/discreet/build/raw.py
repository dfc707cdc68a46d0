"""The raw columns of a build, as steps of protection read and replace them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.build.ingest import Ingest
from discreet.errors import ParameterError
from discreet.population.schema import Level
from discreet.protect import KeyMix
from discreet.protect.records.swapping.households import numbered

Columns = list[tuple[NDArray[Any], int]]


@dataclass(frozen=True)
class Done:
    """What a step did: a sentence for who builds, and facts that only the custodian may have."""

    note: str
    facts: dict[str, Any]


class Raw:
    """The raw columns by the names that a description uses."""

    def __init__(self, ingest: Ingest) -> None:
        self.ingest = ingest
        self.schema, self._order = ingest.schema()

    @property
    def rows(self) -> int:
        """The number of records."""
        return self.ingest.rows

    def area(self) -> NDArray[np.uint32]:
        """Return the raw number of each record's smallest area."""
        return self.ingest.raw("area", np.uint32)

    def finest(self, rows: Any = slice(None)) -> Columns:
        """Return the finest categories of every variable, and how many there are of each."""
        return [(self.ingest.codes(v.id)[rows], len(v.finest)) for v in self.schema.columns]

    def put_cells(
        self, columns: Columns, areas: NDArray[Any], rows: NDArray[Any], counts: NDArray[Any]
    ) -> None:
        """Put the cells that some rows stand for, with their counts, in the place of all rows."""
        for variable, (codes, _) in zip(self.schema.columns, columns, strict=True):
            self.ingest.put(f"codes-{variable.id}", codes[rows])
        if self.schema.geography:
            self.ingest.put("area", areas[rows].astype(np.uint32))
        self.ingest.put("count", counts.astype(np.uint32))
        self.ingest.rows = len(rows)

    def place(self, areas: NDArray[np.uint32], level: Level) -> NDArray[Any]:
        """Return the areas of a level that smallest areas lie in."""
        assert self._order is not None
        return np.asarray(level.of[self._order[areas]])

    def moved(self, before: NDArray[np.uint32], after: NDArray[np.uint32]) -> dict[str, float]:
        """Return the share of records whose area of each level is another one."""
        assert self.schema.geography is not None
        return {
            level.id: float((self.place(before, level) != self.place(after, level)).mean())
            if len(before)
            else 0.0
            for level in self.schema.geography.levels
        }

    def column(self, name: str) -> tuple[NDArray[Any], int]:
        """Return the categories of each record at a level, and how many there are."""
        variable, level = self.schema.find(name)
        if variable.is_geography:
            return self.place(self.area(), level), len(level)
        codes = self.ingest.codes(variable.id)
        return (codes if level is variable.finest else level.of[codes]), len(level)

    def columns(self, names: Sequence[str]) -> Columns:
        """Return the categories of each record at some levels."""
        return [self.column(name) for name in names]

    def words(self, mix: KeyMix, name: str) -> NDArray[np.uint64]:
        """Return a random number for each record, or for the household of each."""
        return mix.words(self.ingest.raw(name, np.uint64))

    def households(
        self, step: str
    ) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint32]]:
        """Return the household of each record as a number, and the id and area of each household.

        Refuses households whose members live in several areas, in the name of a step.
        """
        household, ids = numbered(self.ingest.raw("household", np.uint64))
        smallest = np.zeros(len(ids), np.uint32)
        if self.schema.geography:
            area = self.area()
            smallest[household] = area
            split = np.unique(household[smallest[household] != area])
            if len(split):
                raise ParameterError(
                    f"{step}: all members of a household must live in one area. "
                    f"{len(split):,} households have members in several."
                )
        return household, ids, smallest

    def nested(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the place of each record's smallest area, and the raw number of each place."""
        assert self._order is not None
        order = self._order.astype(np.int32)
        return order[self.area()], np.argsort(order)
