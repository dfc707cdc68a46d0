"""From where the data of a study are to hypercubes and tables of true counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from discreet.errors import ParameterError, unknown
from discreet.population import Version
from discreet.query import Query, Question
from discreet.query.parse import Named
from discreet.study.cube import MAX_CELLS, Cube, check_size
from discreet.study.model import Table
from discreet.table.files import PUT_RIGHT, TOTALS, read_table
from discreet.tabulate import ScanEngine
from discreet.types import Integers

KINDS = ("store", "dataset", "cube", "tables")


@dataclass(frozen=True)
class Asked:
    """A table as a study asks for it, names not yet looked up."""

    name: str
    title: str
    by: tuple[str, ...]
    where: Named = ()
    of: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that it names."""
        return tuple(dict.fromkeys((*self.by, *(name for name, _ in self.where))))


def cube_of(path: Path, absent_zero: bool, sums_are_cells: bool = False) -> Cube:
    """Return the hypercube in a file of counts; Parquet is read as a long file.

    Totals are set aside, and must be sums. One that is not called so is refused.
    """
    given: Any = path
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        given = pq.read_table(path).to_pandas()
    file = read_table(given, absent_zero)
    file.refuse_gap(f"{PUT_RIGHT} ({path.name})")
    if not sums_are_cells:
        file.refuse_hidden_totals(
            f"{TOTALS}; if it is no total, say sums_are_cells = true under [data] "
            f"(--sums-are-cells with --quick). ({path.name})"
        )
    return of_file(file)


def of_file(file: Any) -> Cube:
    """Return the hypercube of a table that was read."""
    names = tuple(dimension.variable for dimension in file.dimensions)
    codes = tuple(tuple(dimension.codes) for dimension in file.dimensions)
    return Cube(names, codes, np.ascontiguousarray(file.counts, np.int64))


def table_of(asked: Asked, cube: Cube, place: int) -> Table:
    """Return a table of a hypercube, or raise where it has nobody or one cell."""
    by = asked.by or cube.names
    cut, codes = cube.cut(by, asked.where)
    return checked(
        Table(asked.name, asked.title, place, cut, by, asked.where, cut.of(cube.counts), codes)
    )


def part_of(asked: Asked, tables: Sequence[Table]) -> Table:
    """Return a table that sums the released figures of another one of the study."""
    names = [table.name for table in tables]
    if asked.of not in names:
        raise unknown("table to sum (of tables before it)", asked.of, names)
    place = names.index(asked.of)
    found = table_of(asked, tables[place].cube_of_its_own, tables[place].cube)
    return replace(found, of=place)


def checked(table: Table) -> Table:
    """Return a table that can be judged."""
    if table.counts.size < 2:
        raise ParameterError(f"table '{table.name}' must have at least 2 cells. Got 1.")
    if not table.counts.any():
        raise ParameterError(f"table '{table.name}' holds nobody: it has no risk.")
    return table


def joint_of(version: Version, names: Sequence[str]) -> Cube:
    """Return the hypercube of some variables of a store."""
    levels = tuple(version.schema.find(*name.split("@"))[1] for name in names)
    check_size([len(level) for level in levels])
    try:
        question = Question(version.schema, levels)
    except ParameterError as error:
        raise ParameterError(
            f"a hypercube needs one level of each variable: {error} Give all tables one level, or "
            'use methods that act on the table (on = "table").'
        ) from None
    counts = ScanEngine(version).tabulate(question).dense().counts
    codes = tuple(tuple(level.codes) for level in levels)
    return Cube(tuple(names), codes, np.asarray(counts, np.int64))


def own_of(version: Version, asked: Asked) -> tuple[Cube, Asked]:
    """Return a table of a store as a hypercube of its own, filters applied."""
    question = Question.of(query_of(asked), version.schema)
    check_size([len(axis) for axis in question.axes])
    counts = ScanEngine(version).tabulate(question).dense().counts
    codes = tuple(tuple(dimension.codes) for dimension in question.dimensions)
    return Cube(asked.by, codes, np.asarray(counts, np.int64)), replace(asked, where=())


def query_of(asked: Asked) -> Query:
    """Return the query of a table."""
    return Query(tuple((name, level or None) for name, _, level in split(asked.by)), asked.where)


def split(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return names apart from their levels."""
    return [name.partition("@") for name in names]


@contextmanager
def opened(kind: str, path: Path) -> Iterator[Version]:
    """Give the version of a store, or of one that is built of a data set and forgotten."""
    if kind == "store":
        from discreet.service.opened import open_store

        yield open_store(path, database="sqlite://").version
        return
    from discreet.build import build
    from discreet.population import Store

    with TemporaryDirectory() as folder:
        build(path, Path(folder) / "store", views=0)
        yield Store(Path(folder) / "store").open()


def array_cube(counts: Any, name: str) -> Cube:
    """Return an array of counts as a hypercube without names of its own."""
    table: Integers = np.asarray(counts)
    if table.dtype.kind not in "iu" or not table.ndim or not 1 < table.size <= MAX_CELLS:
        raise ParameterError(
            f"{name} must be an array of counts with 2 to {MAX_CELLS:,} cells. "
            f"Got {table.dtype} of the shape {table.shape}."
        )
    if int(table.min()) < 0:
        raise ParameterError(f"{name} must hold counts of 0 or more.")
    names = tuple(f"axis {axis}" for axis in range(table.ndim))
    codes = tuple(tuple(str(i) for i in range(size)) for size in table.shape)
    return Cube(names, codes, np.ascontiguousarray(table, np.int64))
