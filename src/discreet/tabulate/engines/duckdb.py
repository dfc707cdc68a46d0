"""DuckDB over the Parquet files of coded records, on this machine or in object storage.

Files on this machine are read by DuckDB itself. Others are a PyArrow dataset that is registered in
DuckDB: its own extensions for object storage would have to be fetched from the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import dataset

from discreet.errors import EngineUnavailable, Stopped
from discreet.population.coded import ENDING, Coded
from discreet.tabulate.engine import stopping
from discreet.tabulate.engines.sql import RECORDS


class DuckRunner:
    """Runs queries in a DuckDB of its own, which reads no file but the records."""

    quote = '"'

    def __init__(self, coded: str, threads: int | None = None) -> None:
        self._coded = Coded(coded)
        self._connection = duckdb.connect(
            config={
                **({} if threads is None else {"threads": threads}),
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
            }
        )
        self._connection.execute("SET enable_progress_bar = false")
        self._data: Any = None
        if self._coded.local:
            folder = _text(self._coded.address)
            self._connection.execute(f"SET allowed_directories = [{folder}]")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def reach(self) -> None:
        """Raise `EngineUnavailable` if the files cannot be listed."""
        try:
            self._coded.files()
        except OSError as error:
            raise EngineUnavailable(str(error)) from error

    def run(self, query: str, tables: Mapping[str, pa.Table], stop: Event | None) -> pa.Table:
        """Return the rows of a query over the records and some small tables."""
        cursor = self._connection.cursor()
        try:
            self._see(cursor)
            for name, table in tables.items():
                cursor.register(name, table)
            with stopping(stop, cursor.interrupt):
                return cursor.sql(query).to_arrow_table()
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            if stop is not None and stop.is_set():
                raise Stopped("the tabulation was stopped") from error
            raise EngineUnavailable(str(error)) from error
        finally:
            cursor.close()

    def _see(self, cursor: Any) -> None:
        """Let a cursor see the records."""
        if self._coded.local:
            files = _text(f"{self._coded.address}/*{ENDING}")
            cursor.execute(
                f"CREATE OR REPLACE TEMP VIEW {RECORDS} AS SELECT * FROM read_parquet({files})"  # noqa: S608
            )
            return
        if self._data is None:
            system, path = self._coded.place()
            self._data = dataset.dataset(path, filesystem=system, format="parquet")
        cursor.register(RECORDS, self._data)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
