"""The push-down: a question as one SELECT over coded records, and its rows as a table.

    SELECT codes, COUNT(*), SUM(key_low), SUM(key_high) FROM records JOIN recodes GROUP BY codes

or, where keys are whole, with one sum and the codes as one number, which engines group by faster.

A level coarser than the finest is a small table that is joined, of codes and their places along
the axis. Every name in the text is this module's or an id of the schema; no value but codes is in
it, and no secret: keys lie with the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from math import prod
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EngineUnavailable, ParameterError
from discreet.population import Variable, Version
from discreet.population.coded import AREA, HIGH, KEY, LOW, column_of
from discreet.query import Question
from discreet.table import CountTable
from discreet.tabulate.engine import Words, check, listed_table

if TYPE_CHECKING:
    import pyarrow as pa

RECORDS = "records"
"""What the coded records are called in a query."""

CELL = "cell"
"""The column of a row's codes as one number."""

_LISTED = 64  # codes that a filter lists in the text; more are joined
_SINGLE, _EXACT = 2**24, 2**53  # whole numbers that have no gaps in four bytes, and in eight
_MOST = 2**32 - 1  # a count of a cell takes four bytes

Order = NDArray[np.uint32]


class Runner(Protocol):
    """Runs the text of a query where the records are."""

    quote: str

    def run(self, query: str, tables: Mapping[str, pa.Table], stop: Event | None) -> pa.Table:
        """Return the rows, or raise `Stopped` or `EngineUnavailable`."""
        ...

    def reach(self) -> None:
        """Raise `EngineUnavailable` if nothing would be answered now."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


@dataclass(frozen=True, eq=False)
class Pushed:
    """A question as text, the tables it joins, and the place of each value that comes back."""

    query: str
    tables: dict[str, pa.Table]
    places: tuple[NDArray[np.int64] | None, ...]
    sizes: tuple[int, ...] = ()
    """How many codes each axis may have, where those of a row come back as one number."""

    def apart(self, rows: pa.Table) -> pa.Table:
        """Return rows with the codes of each axis in a column of its own."""
        if not self.sizes:
            return rows
        cells = _numbers(rows, CELL)
        if len(cells) and (cells.min() < 0 or cells.max() >= prod(self.sizes)):
            raise ParameterError("an engine gave a category that was not asked for.")
        columns = {name: rows.column(name) for name in rows.column_names if name != CELL}
        for i in reversed(range(len(self.sizes))):
            cells, columns[f"c{i}"] = np.divmod(cells, self.sizes[i])
        import pyarrow as pa

        return pa.table(columns)


class PushDown:
    """Tabulates one version of a population by the engine that its records lie with."""

    def __init__(self, version: Version, runner: Runner) -> None:
        self.version = version
        self.runner = runner
        self._numbers = count()

    def close(self, wait: bool = True) -> None:
        """Let the engine go."""
        self.runner.close()

    def reach(self) -> None:
        """Raise `EngineUnavailable` if nothing would be answered now."""
        if self.version.elsewhere is not None:
            self.version.elsewhere.marks()
        self.runner.reach()

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the true counts and key sums of every cell."""
        check(stop)
        if question.cells >= 2**63:
            raise ParameterError("a table must have fewer than 2^63 cells. This one has more.")
        self.version.verified()
        prefix = f"q{next(self._numbers)}_"
        away, modulus = self.version.elsewhere, self.version.modulus
        whole = modulus if away is not None and away.whole_keys else None
        pushed = push_down(question, self.version.places, self.runner.quote, prefix, whole)
        rows = pushed.apart(self.runner.run(pushed.query, pushed.tables, stop))
        check(stop)
        if not self.version.untouched():
            raise EngineUnavailable("the coded records were changed while they were counted")
        return table_of(question, pushed.places, rows, modulus)


@dataclass
class _Text:
    """The parts of a query as they are gathered."""

    quote: str
    prefix: str
    order: Order | None
    joins: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    tables: dict[str, pa.Table] = field(default_factory=dict)

    def column(self, variable: Variable) -> str:
        """Return the column of a variable in SQL."""
        name = AREA if variable.is_geography else column_of(variable.id)
        return f"{RECORDS}.{self.quote}{name}{self.quote}"

    def raw(self, variable: Variable, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of finest categories by the code that the records hold."""
        return values[self.order] if variable.is_geography and self.order is not None else values

    def join(self, variable: Variable, columns: dict[str, NDArray[Any]]) -> str:
        """Join a small table by its column `code`; return what it is called."""
        import pyarrow as pa

        name = f"{self.prefix}{len(self.tables)}"
        self.tables[name] = pa.table({key: pa.array(value) for key, value in columns.items()})
        self.joins.append(f"JOIN {name} ON {self.column(variable)} = {name}.code")
        return name

    def keep(self, variable: Variable, allowed: NDArray[np.bool_]) -> None:
        """Leave out the records with other codes."""
        codes = np.flatnonzero(allowed)
        column = self.column(variable)
        if len(codes) and codes[-1] - codes[0] + 1 == len(codes):
            self.conditions.append(f"{column} BETWEEN {codes[0]} AND {codes[-1]}")
        elif 0 < len(codes) <= _LISTED:
            self.conditions.append(f"{column} IN ({', '.join(map(str, codes.tolist()))})")
        else:
            self.join(variable, {"code": codes.astype(np.int32)})


def push_down(
    question: Question,
    order: Order | None,
    quote: str,
    prefix: str = "t",
    whole: int | None = None,
) -> Pushed:
    """Return the query of a question; `order` is the place of each area as records number it.

    `whole` is the modulus of keys that records have whole.
    """
    text = _Text(quote, prefix, order)
    shown: list[str] = []
    places: list[NDArray[np.int64] | None] = []
    for axis in question.axes:
        f = question.filter_on(axis.variable)
        place = axis.position() if f is None else np.where(f.allowed, axis.position(), -1)
        place = text.raw(axis.variable, place)
        if axis.level is axis.variable.finest:
            if f is not None:
                text.keep(axis.variable, place >= 0)
            shown.append(text.column(axis.variable))
            places.append(place)
        else:
            code = np.flatnonzero(place >= 0)
            table = {"code": code.astype(np.int32), "place": place[code].astype(np.int32)}
            shown.append(f"{text.join(axis.variable, table)}.place")
            places.append(None)
    for f in question.filters:
        if not question.shows(f.variable):
            text.keep(f.variable, text.raw(f.variable, f.allowed))
    sizes = [
        len(axis) if place is None else len(place)
        for axis, place in zip(question.axes, places, strict=True)
    ]
    if whole is None or not shown or prod(sizes) > _EXACT:
        codes = [f"{column} AS c{i}" for i, column in enumerate(shown)]
        return Pushed(_written(text, codes, whole), text.tables, tuple(places))
    query = _written(text, [_as_one(shown, sizes)], whole)
    return Pushed(query, text.tables, tuple(places), tuple(sizes))


def _as_one(shown: list[str], sizes: list[int]) -> str:
    """Return the codes of a record as one number, the last axis the lowest digit.

    Computed with real numbers, in which every cell is exact: DuckDB looks for an overflow at each
    product of whole ones, which takes longer than all the rest.
    """
    single = prod(sizes) <= _SINGLE
    kind, found = ("FLOAT", "INTEGER") if single else ("DOUBLE", "BIGINT")
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    digits = [
        f"CAST({column} AS {kind})" + (f" * {stride}" if stride > 1 else "")
        for column, stride in zip(shown, strides, strict=True)
    ]
    return f"CAST({' + '.join(digits)} AS {found}) AS {CELL}"


def _written(text: _Text, codes: list[str], whole: int | None) -> str:
    """Return the query that groups by these codes, each with its name."""
    hint = f"/*+ BROADCAST({', '.join(text.tables)}) */ " if text.tables else ""
    if whole is None:
        sums = [f"CAST(SUM({half}) AS BIGINT) AS {half}" for half in (LOW, HIGH)]
    else:
        sums = [f"CAST(SUM({KEY}) % {whole} AS BIGINT) AS {LOW}", f"0 AS {HIGH}"]
    query = f"SELECT {hint}{', '.join([*codes, 'COUNT(*) AS n', *sums])} FROM {RECORDS}"  # noqa: S608
    for join in text.joins:
        query += f" {join}"
    if text.conditions:
        query += f" WHERE {' AND '.join(text.conditions)}"
    if codes:
        query += f" GROUP BY {', '.join(str(i + 1) for i in range(len(codes)))}"
    return query


def table_of(
    question: Question, places: tuple[NDArray[np.int64] | None, ...], rows: pa.Table, modulus: int
) -> CountTable:
    """Return the table of the rows that an engine gave."""
    counts = _numbers(rows, "n")
    there = counts > 0
    cells = np.zeros(len(counts), np.uint64)
    for i, (axis, place) in enumerate(zip(question.axes, places, strict=True)):
        codes = _numbers(rows, f"c{i}")
        along = codes if place is None else place[codes]
        if len(along) and (along.min() < 0 or along.max() >= len(axis)):
            raise ParameterError("an engine gave a category that was not asked for.")
        cells = cells * np.uint64(len(axis)) + along.astype(np.uint64)
    if len(counts) and counts.max() > _MOST:
        raise ParameterError(f"a cell must hold at most {_MOST:,} records. One holds more.")
    keys = key_sums(_numbers(rows, LOW), _numbers(rows, HIGH), modulus)
    if not question.axes:  # one row, whether or not anybody is counted
        whole, sums = counts.astype(np.uint32).reshape(()), keys.astype(np.uint32).reshape(())
        return CountTable((), whole, sums, modulus)
    found = counts[there].astype(np.uint64)
    return listed_table(question, cells[there], found, keys[there], modulus)


def key_sums(low: NDArray[np.int64], high: NDArray[np.int64], modulus: int) -> Words:
    """Return the sums of keys below the modulus from the sums of their halves."""
    m = np.uint64(modulus)
    # Below 2^48 and 2^63: nothing wraps around, whatever the modulus.
    return ((high.astype(np.uint64) % m) * np.uint64(2**16) + low.astype(np.uint64)) % m


def _numbers(rows: pa.Table, name: str) -> NDArray[np.int64]:
    column = rows.column(name).cast("int64").fill_null(0)
    found: NDArray[np.int64] = column.to_numpy()
    return found
