"""Reading the source files through DuckDB, in batches, with remote reads and extensions off."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from discreet.build.dataset import Source
from discreet.build.formats import quoted
from discreet.errors import ParameterError, Stopped, first_few

BATCH = 2**18
_LONGEST_INTEGER = 1000  # digits; Python refuses to read 4,300
SHOWN = 5
"""How many bad values an error lists before it only counts them."""


def ordered(values: set[str]) -> list[str]:
    """Return values in numerical order if all are integers, and in alphabetical order otherwise."""
    return sorted(values, key=int) if all(map(_is_integer, values)) else sorted(values)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@dataclass(frozen=True)
class Batch:
    """Some rows of one file; `first` is the number of the first of them, counted from 1.

    It is None where rows have no order: of a table.
    """

    file: Path
    first: int | None
    columns: dict[str, pa.Array]
    rows: int


class Reader:
    """Reads the wanted columns of every file of a source, checking that they are there."""

    def __init__(self, source: Source, columns: list[str], scratch: Path) -> None:
        self.source = source
        self.columns = list(dict.fromkeys(columns))
        folders = sorted({str(path.resolve().parent) for path in source.files})
        self._connection = duckdb.connect(
            config={
                "threads": 2,
                "memory_limit": "1GB",
                "temp_directory": str(scratch),
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
            }
        )
        allowed = ", ".join(_text(folder) for folder in [*folders, str(scratch)])
        self._connection.execute(f"SET allowed_directories = [{allowed}]")
        self._connection.execute("SET enable_external_access = false")
        with suppress(duckdb.InvalidInputException):  # in a notebook that cannot draw one
            self._connection.execute("SET enable_progress_bar = false")  # the program has its own
        self._connection.execute("SET lock_configuration = true")
        self._heads: dict[Path, list[str]] = {}
        try:
            self._kinds = {path: self._columns_of(path) for path in source.files}
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def rows(self) -> int:
        """Return how many rows there are: exactly for Parquet, about for CSV."""
        return sum(self._rows_of(path) for path in self.source.files)

    def check_ids(self, column: str) -> None:
        """Refuse fractional numbers as ids: 1 and 1.0 would be given different keys."""
        for path in self.source.files:
            if self._kinds[path][column] in {"FLOAT", "DOUBLE"}:
                raise ParameterError(
                    f"{path}, column '{column}': record ids must be texts or whole numbers. They "
                    f"are of type {self._kinds[path][column]}."
                )

    def distinct(self, column: str, most: int) -> list[str]:
        """Return the distinct values of a column over all files, as texts, up to one too many."""
        found: set[str] = set()
        for path in self.source.files:
            name = self._sql_name(path, column)
            query = (
                f"SELECT DISTINCT {name}::VARCHAR FROM {self._scan(path)} "  # noqa: S608
                f"WHERE {name} IS NOT NULL LIMIT {most + 1}"
            )
            found |= {str(row[0]) for row in self._fetch(path, query)}
        self._check_rejected()
        return ordered(found)

    def batches(self) -> Iterator[Batch]:
        """Yield every row of every file in order; integers stay integers, all else is text."""
        for path in self.source.files:
            wanted = ", ".join(
                self._sql_name(path, c)
                + ("" if _is_integer_type(self._kinds[path][c]) else "::VARCHAR")
                for c in self.columns
            )
            query = f"SELECT {wanted} FROM {self._scan(path)}"  # noqa: S608
            first = 1
            try:
                for batch in self._connection.sql(query).to_arrow_reader(BATCH):
                    columns = dict(zip(self.columns, batch.columns, strict=True))
                    yield Batch(path, first, columns, batch.num_rows)
                    first += batch.num_rows
            except (duckdb.Error, pa.ArrowException) as error:
                raise _unreadable(path, error) from error
        self._check_rejected()

    def value(self, column: str, path: Path, row: int) -> str:
        """Return the value of a column in one row, for an error message."""
        query = (
            f"SELECT {self._sql_name(path, column)}::VARCHAR FROM {self._scan(path)} "  # noqa: S608
            f"LIMIT 1 OFFSET {row - 1}"
        )
        found = self._fetch(path, query)
        return str(found[0][0]) if found else ""

    def _fetch(self, path: Path, query: str) -> list[Any]:
        try:
            found: list[Any] = self._connection.execute(query).fetchall()
        except duckdb.Error as error:
            raise _unreadable(path, error) from error
        return found

    def _sql_name(self, path: Path, column: str) -> str:
        """Return what a column is called in SQL, where upper and lower case are one."""
        if self.source.format == "parquet":
            return quoted(column)
        return f"c{self._heads[path].index(column)}"

    def _scan(self, path: Path) -> str:
        name = _text(str(path.resolve()))
        if self.source.format == "parquet":
            return f"read_parquet({name})"
        kinds = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(self._heads[path])))
        return (
            f"read_csv({name}, auto_detect = false, header = true, strict_mode = true, "
            f"delim = {_text(self.source.delimiter)}, quote = '\"', escape = '\"', nullstr = '', "
            f"encoding = {_text(self.source.encoding)}, columns = {{{kinds}}}, "
            "store_rejects = true, rejects_limit = 0)"
        )

    def _columns_of(self, path: Path) -> dict[str, str]:
        """Return the columns of a file with their types; all that are wanted must be there."""
        if self.source.format == "csv":
            self._heads[path] = self._csv_head(path)
            kinds = dict.fromkeys(self._heads[path], "VARCHAR")
        else:
            described = self._fetch(path, f"DESCRIBE SELECT * FROM {self._scan(path)}")  # noqa: S608
            kinds = {str(row[0]): str(row[1]) for row in described}
        for column in self.columns:
            if column not in kinds:
                raise ParameterError(
                    f"{path} must have a column '{column}'. Its columns: {', '.join(kinds)}."
                )
        return kinds

    def _csv_head(self, path: Path) -> list[str]:
        encoding = "utf-8-sig" if self.source.encoding == "utf-8" else self.source.encoding
        with path.open("rb") as raw:
            mark = raw.read(2)
        if encoding == "utf-16" and mark != b"\xff\xfe":
            raise ParameterError(
                f"{path}, line 1: not {encoding}; it must be little-endian and begin with the "
                "byte order mark FF FE."
            )
        try:
            # What cannot be decoded further down is for DuckDB to find: it counts the lines.
            with path.open(encoding=encoding, newline="", errors="replace") as file:
                head = next(csv.reader(file, delimiter=self.source.delimiter, strict=True), [])
        except csv.Error as error:
            raise ParameterError(f"{path}, line 1: not a CSV file: {error}") from None
        if any("\ufffd" in column for column in head):
            why = _what("INVALID ENCODING", self.source.encoding)
            raise ParameterError(f"{path}, line 1: {why}")
        twice = [column for column in self.columns if head.count(column) > 1]
        if not head or twice:
            what = f"has the column '{twice[0]}' twice" if twice else "is empty"
            raise ParameterError(f"{path} must begin with the names of its columns. It {what}.")
        return head

    def _rows_of(self, path: Path) -> int:
        if self.source.format == "parquet":
            query = f"SELECT num_rows FROM parquet_file_metadata({_text(str(path.resolve()))})"  # noqa: S608
            return int(self._fetch(path, query)[0][0])
        with path.open("rb") as file:
            sample = file.read(2**20)
        lines = max(1, sample.count(b"\n"))
        return max(0, round(path.stat().st_size / len(sample) * lines) - 1)

    def _check_rejected(self) -> None:
        """Complain about the lines of CSV files that could not be read."""
        if self.source.format != "csv":
            return
        rejected = self._connection.execute(
            "SELECT DISTINCT file_path, line, error_type FROM reject_errors "
            "JOIN reject_scans USING (scan_id, file_id) ORDER BY ALL"
        ).fetchall()
        if rejected:
            lines = [
                f"{file}, line {line}: {_what(str(kind), self.source.encoding)}"
                for file, line, kind in rejected
            ]
            raise ParameterError(f"unreadable lines: {first_few(lines)}")


def _what(kind: str, encoding: str) -> str:
    return {
        "MISSING COLUMNS": "too few fields",
        "TOO MANY COLUMNS": "too many fields",
        "INVALID ENCODING": f"not {encoding}; say which 'encoding' it is in the source",
        "UNQUOTED VALUE": "a quote not closed, or text before or after a quoted field",
        "LINE SIZE OVER MAXIMUM": "the line is too long; is a quote not closed?",
    }.get(kind, kind.lower())


def _unreadable(path: Path, error: Exception) -> ParameterError:
    if isinstance(error, duckdb.InterruptException):
        raise Stopped("stopped before it was done")
    first = str(error).strip().splitlines()[0]
    if "state machine" in first:
        first = "its lines must all end alike, in LF or in CR LF."
    return ParameterError(f"{path} cannot be read: {first}")


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    if not (digits.isdigit() and digits.isascii() and len(digits) <= _LONGEST_INTEGER):
        return False
    return str(int(text)) == text


def _is_integer_type(kind: str) -> bool:
    return kind in {
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    }  # fmt: skip
