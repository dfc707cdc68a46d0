"""What the functions of the desk are given: tables or records, hierarchies, names of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.desk.cells.files import read_cells
from discreet.desk.cells.model import CellTable
from discreet.desk.cells.records import Records, read_records
from discreet.errors import ParameterError
from discreet.table.hierarchy import Groups, read_hrc
from discreet.table.source import Given

Hierarchies = Mapping[str, str | Path | Mapping[str, Sequence[str]]]
"""Dimension → the path of an .hrc file, or groups with the codes they are made of."""


def groups_of(hierarchy: Hierarchies | None) -> Groups:
    """Return the sums of codes by dimension."""
    return {
        name: read_hrc(given) if isinstance(given, str | Path) else given
        for name, given in (hierarchy or {}).items()
    }


def several(given: Any) -> list[Any]:
    """Return what may be given once or several times as a list."""
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def tables_of(by: Sequence[str] | Sequence[Sequence[str]] | None) -> list[list[str]]:
    """Return the dimensions of each table: `by` has names, or lists of names."""
    listed = several(by)
    if listed and all(isinstance(name, str) for name in listed):
        return [listed]
    return [list(names) for names in listed]


def read_either(
    given: Given,
    tables: Sequence[Sequence[str]],
    value: str | None,
    holding: str | None,
    groups: Groups,
) -> tuple[CellTable, Records | None]:
    """Return a table of cells, or of records by all the columns that tables of them have.

    The records come with it where they were given.
    """
    if tables and holding is not None and value is None:
        raise ParameterError("holding is for sums: it needs value. Counts are of records.")
    if tables:
        by = list(dict.fromkeys(name for table in tables for name in table))
        records = read_records(given, by, value, holding, groups)
        return records.table(), records
    if value is not None or holding is not None:
        raise ParameterError("value and holding are for records: say by which columns (by).")
    return read_cells(given, groups), None
