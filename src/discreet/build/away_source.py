"""Reading an original where it is: Parquet through PyArrow and DuckDB, or whatever Spark reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import duckdb
import pyarrow as pa
from pyarrow import dataset, fs

from discreet.build.dataset import Dataset
from discreet.build.formats import quoted
from discreet.build.source import SHOWN, Batch, ordered
from discreet.errors import ParameterError, first_few
from discreet.population.coded import Coded
from discreet.tabulate.engines.spark import SparkSessionHolder, spark_path

ORIGINAL = "original"
"""What the original is called in a query."""

ROWS = 2**20
"""Rows of a batch, and of a row group of coded records: each costs something of its own."""

CHUNK = 2**22
"""Rows of a table that Spark sends at once: below the gigabyte that its driver may hold."""

Piece = tuple[str, int | None, pa.RecordBatch]
"""The file of some rows, the number of the first where it is known, and the rows."""


class Original(Protocol):
    """An original that an engine reads."""

    quote: str
    types: dict[str, pa.DataType]

    def query(self, text: str) -> pa.Table:
        """Return the rows of a query over the original."""
        ...

    def pieces(self, columns: list[str]) -> Iterator[Piece]:
        """Yield all rows."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


def gathered(batches: Iterable[pa.RecordBatch], least: int) -> Iterator[pa.RecordBatch]:
    """Yield rows in larger batches: every batch is added to hundreds of views.

    Spark sends 10,000 rows at a time, and a file may have small row groups.
    """
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= least:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)


class ParquetOriginal:
    """Parquet files on this machine or in object storage."""

    quote = '"'

    def __init__(self, given: Dataset) -> None:
        system, paths = _files(given)
        try:
            self._data = dataset.dataset(paths, filesystem=system, format="parquet")
        except pa.ArrowInvalid:
            names = first_few([PurePosixPath(path).name for path in paths], 3)
            raise ParameterError(
                f"the source must be Parquet files with the same columns. Not all of them are: "
                f"{names}."
            ) from None
        self._names = _as_given(given)
        self.types = dict(zip(self._data.schema.names, self._data.schema.types, strict=True))
        self._connection = duckdb.connect(config={"autoload_known_extensions": "false"})
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.register(ORIGINAL, self._data)

    def query(self, text: str) -> pa.Table:
        """Return the rows of a query over the original."""
        return self._connection.sql(text).to_arrow_table()

    def pieces(self, columns: list[str]) -> Iterator[Piece]:
        """Yield all rows, file by file."""
        for fragment in self._data.get_fragments():
            first = 1
            rows = fragment.to_batches(schema=self._data.schema, columns=columns, batch_size=ROWS)
            for batch in gathered(rows, ROWS // 2):
                yield self._names.get(fragment.path, fragment.path), first, batch
                first += batch.num_rows

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()


class SparkOriginal:
    """A table or a folder that a Spark cluster reads."""

    quote = "`"

    def __init__(self, given: Dataset) -> None:
        engine = given.engine
        self._holder = SparkSessionHolder(str(engine.remote))
        self._id = given.source.record_id or (given.source.key or ("",))[0]
        self._table = engine.table
        self._names = _as_given(given)
        with self._holder.told():
            session = self._holder.session()
            if engine.table is not None:
                self._frame = session.table(engine.table)
            elif engine.path is not None:
                self._frame = session.read.parquet(spark_path(engine.path))
            else:
                self._frame = session.read.parquet(*_as_given(given))
            self._frame.createOrReplaceTempView(ORIGINAL)
            schema = self._frame.limit(0).toArrow().schema
        self.types = dict(zip(schema.names, schema.types, strict=True))

    def query(self, text: str) -> pa.Table:
        """Return the rows of a query over the original."""
        with self._holder.told():
            return self._holder.session().sql(text).toArrow()

    def pieces(self, columns: list[str]) -> Iterator[Piece]:
        """Yield all rows, as many at a time as the driver of a cluster may hold."""
        with self._holder.told():
            for name, numbered, frame in self._frames():
                wanted = frame.select(*(quoted(column, self.quote) for column in columns))
                first = 1
                for batch in gathered(wanted.toArrow().to_batches(), ROWS // 2):
                    yield name, first if numbered else None, batch
                    first += batch.num_rows

    def _frames(self) -> Iterator[tuple[str, bool, Any]]:
        """Yield files in their order, or where they are too large shares of them by the ids."""
        session = self._holder.session()
        whole = [(str(self._table), self._frame)]
        if self._table is None:
            files = sorted(self._frame.inputFiles())
            whole = [(self._name(file), session.read.parquet(file)) for file in files]
        column = quoted(self._id, self.quote)
        for name, frame in whole:
            shares = frame.count() // CHUNK + 1
            if shares == 1:
                yield name, self._table is None, frame
                continue
            for share in range(shares):
                condition = f"pmod(xxhash64({column}), {shares}) = {share}"
                yield name, False, frame.where(condition)

    def _name(self, file: str) -> str:
        """Return what a file is called in the description."""
        path = file.removeprefix("file://")
        return self._names.get(path, path)

    def close(self) -> None:
        """End the session."""
        self._holder.drop()


class AwayReader:
    """Reads the wanted columns of an original elsewhere, checking that they are there."""

    def __init__(self, given: Dataset, columns: list[str]) -> None:
        self.columns = list(dict.fromkeys(columns))
        self._original: Original = (
            SparkOriginal(given) if given.engine.kind == "spark" else ParquetOriginal(given)
        )
        self.name = given.engine.table or given.engine.path or str(given.source.files[0])
        for column in self.columns:
            kind = self._original.types.get(column)
            if kind is None:
                names = ", ".join(self._original.types)
                self.close()
                raise ParameterError(
                    f"{self.name} must have a column '{column}'. Its columns: {names}."
                )
            if not (pa.types.is_integer(kind) or _is_text(kind)):
                self.close()
                raise ParameterError(
                    f"{self.name}, column '{column}': values must be texts or whole numbers. They "
                    f"are of type {kind}."
                )

    def close(self) -> None:
        """Let the engine go."""
        self._original.close()

    def check_ids(self, column: str) -> None:
        """Nothing: columns of fractional numbers are refused whatever they hold."""

    def rows(self) -> int:
        """Return how many rows there are."""
        return self._rows

    @cached_property
    def _rows(self) -> int:
        return int(self._one("COUNT(*)"))

    def distinct(self, column: str, most: int) -> list[str]:
        """Return the distinct values of a column as texts, up to one too many."""
        name = self._quoted(column)
        found = self._original.query(
            f"SELECT DISTINCT {name} AS v FROM {ORIGINAL} "  # noqa: S608
            f"WHERE {name} IS NOT NULL LIMIT {most + 1}"
        )
        return ordered({str(value) for value in found.column("v").to_pylist()})

    def twice(self, column: str) -> tuple[list[str], int]:
        """Return the first ids that occur again, and how many rows have such an id."""
        name = self._quoted(column)
        again = (
            f"SELECT {name} AS v, COUNT(*) AS n FROM {ORIGINAL} GROUP BY {name} HAVING COUNT(*) > 1"  # noqa: S608
        )
        rows = self._original.query(f"SELECT CAST(SUM(n) AS BIGINT) AS n FROM ({again}) AS a")  # noqa: S608
        total = rows.column("n")[0].as_py() or 0
        if not total:
            return [], 0
        shown = self._original.query(f"{again} ORDER BY 1 LIMIT {SHOWN}")
        return [str(v) for v in shown.column("v").to_pylist()], int(total)

    def batches(self) -> Iterator[Batch]:
        """Yield every row; integers stay integers, all else is text."""
        for file, first, rows in self._original.pieces(self.columns):
            columns = {name: _plain(rows.column(name)) for name in self.columns}
            yield Batch(Path(file), first, columns, rows.num_rows)

    def _one(self, what: str) -> Any:
        found = self._original.query(f"SELECT {what} AS v FROM {ORIGINAL}")  # noqa: S608
        return found.column("v")[0].as_py()

    def _quoted(self, name: str) -> str:
        return quoted(name, self._original.quote)


def _files(given: Dataset) -> tuple[Any, list[str]]:
    """Return the Parquet files of an original, in order, and the file system they are in."""
    if given.engine.path is None:
        return fs.LocalFileSystem(), list(_as_given(given))
    system, path = Coded(given.engine.path).place()
    about = system.get_file_info(path)
    if about.type == fs.FileType.File:
        return system, [path]
    found = system.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    paths = sorted(one.path for one in found if one.path.endswith(".parquet"))
    if not paths:
        raise ParameterError(f"no Parquet file is in {given.engine.path}.")
    return system, paths


def _as_given(given: Dataset) -> dict[str, str]:
    """Return the files of the description by their full paths: messages call them as it does."""
    return {str(path.resolve()): str(path) for path in given.source.files}


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(column: pa.Array) -> pa.Array:
    return column if pa.types.is_integer(column.type) else column.cast(pa.string())
