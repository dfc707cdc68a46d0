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


class DuckRunner:
    """Runs queries in a DuckDB of its own, which reads no file but the records."""

    quote = '"'

    def __init__(self, folders: Mapping[str, str], threads: int | None = None) -> None:
        self._folders = {name: Coded(address) for name, address in folders.items()}
        self._connection = duckdb.connect(
            config={
                **({} if threads is None else {"threads": threads}),
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
            }
        )
        self._connection.execute("SET enable_progress_bar = false")
        self._data: dict[str, Any] = {}
        allowed = ", ".join(_text(one.address) for one in self._folders.values() if one.local)
        self._connection.execute(f"SET allowed_directories = [{allowed}]")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def reach(self) -> None:
        """Raise `EngineUnavailable` if the files are not there."""
        for folder in self._folders.values():
            folder.marks()

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
        for name, folder in self._folders.items():
            if folder.local:
                files = _text(f"{folder.address}/*{ENDING}")
                cursor.execute(
                    f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM read_parquet({files})"  # noqa: S608
                )
                continue
            if name not in self._data:
                system, path = folder.place()
                self._data[name] = dataset.dataset(path, filesystem=system, format="parquet")
            cursor.register(name, self._data[name])


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
