"""The DuckDB engine: the same tables by SQL. The oracle of the tests, and enough for small data."""

from __future__ import annotations

from threading import Event
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.population import Version
from discreet.query import Question
from discreet.table import CountTable
from discreet.tabulate.engine import check, listed_table


class DuckEngine:
    """Tabulates one version of a population held as a DuckDB table in memory."""

    def __init__(self, version: Version, threads: int = 1) -> None:
        self.version = version
        self._connection = duckdb.connect(config={"threads": threads})
        columns: dict[str, NDArray[Any]] = {v.id: version.column(v) for v in version.schema.columns}
        if version.areas is not None:
            areas = np.arange(len(version.areas) - 1, dtype=np.uint32)
            columns["geography"] = np.repeat(areas, np.diff(version.areas))
        columns = {f"v_{name}": column for name, column in columns.items()}
        columns["k"] = version.keys
        columns["n"] = (
            np.ones(version.rows, np.uint32) if version.counts is None else version.counts
        )
        source = pa.table(columns)
        self._connection.register("source", source)
        self._connection.execute("CREATE TABLE records AS SELECT * FROM source")
        self._connection.unregister("source")

    def close(self) -> None:
        """Free the memory that holds the data."""
        self._connection.close()

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the true counts and key sums of every cell."""
        check(stop)
        if question.cells >= 2**63:
            raise ParameterError("a table must have fewer than 2^63 cells. This one has more.")
        cursor = self._connection.cursor()
        joins, index = [], "0::UBIGINT"
        for i, axis in enumerate(question.axes):
            place = axis.position()
            code = np.flatnonzero(place >= 0)
            cursor.register(f"a{i}", pa.table({"code": code, "place": place[code]}))
            joins.append(f'JOIN a{i} ON records."v_{axis.variable.id}" = a{i}.code')
            index = f"({index} * {len(axis)} + a{i}.place::UBIGINT)"
        for i, f in enumerate(question.filters):
            cursor.register(f"f{i}", pa.table({"code": np.flatnonzero(f.allowed)}))
            joins.append(f'SEMI JOIN f{i} ON records."v_{f.variable.id}" = f{i}.code')
        # Every name in this text is one of this module's or an id of the schema ([a-z0-9_-]).
        found = cursor.execute(
            f"SELECT {index} AS cell, sum(n)::UBIGINT AS n, "  # noqa: S608
            f"(sum(k::HUGEINT) % {self.version.modulus})::UBIGINT AS k "
            f"FROM records {' '.join(joins)} GROUP BY cell"
        ).fetchnumpy()
        cells, counts, keys = (np.asarray(found[name], np.uint64) for name in ("cell", "n", "k"))
        populated = counts > 0
        return listed_table(
            question, cells[populated], counts[populated], keys[populated], self.version.modulus
        )
