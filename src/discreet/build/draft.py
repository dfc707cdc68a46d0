"""A draft of the description of a data set: what is guessed from a file is said beside it.

Nothing but the file is read and nothing is written. The counts in the draft are true ones: it is
for the custodian, like the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from discreet.build.formats import FORMATS, quoted
from discreet.errors import ParameterError
from discreet.population.names import GEOGRAPHY

MOST = 200
"""The most categories of a column that is taken for a variable; of areas there may be more."""

NO_VALUE = "have no value"
"""What is said of columns of which a build would refuse some values."""

SAMPLE = 200_000
"""Rows in which it is tried whether one column lies in another, before all of them are."""

_AREA = re.compile(
    r"(^|_)(oa|lsoa|msoa|la|lad|ward|district|region|county|municipality|nuts\d?|area|zone|town|"
    r"city|province|commune|parish|postcode|state|country|sa\d|mesh_?block|tract|block)(_|\d|$)"
)
_ID = re.compile(r"(^|_)(id|person|record|pnr|serial|number|nr|key)(_|\d|$)|id$")
_HOUSEHOLD = re.compile(r"(^|_)(hh|hhid|household|dwelling|family)(_|id|\d|$)")
_COUNT = re.compile(r"(n|count|counts|freq|frequency|persons)")
_BIRTH = re.compile(r"(^|_)(birth|born|citizenship|nationality)")  # a country, but no area


@dataclass(frozen=True)
class Found:
    """A column: how many values it has, how many are missing, and whether all are integers."""

    name: str
    values: int
    missing: int
    whole: bool
    low: int
    high: int

    @property
    def id(self) -> str:
        """An id made of the name."""
        found = re.sub(r"[^a-z0-9_-]+", "_", self.name.lower()).strip("_")[:64] or "variable"
        return f"{found}_" if found == GEOGRAPHY else found

    @property
    def label(self) -> str:
        """The name as people read it."""
        words = re.sub(r"[_\s]+", " ", self.name).strip()
        return words[:1].upper() + words[1:]

    @property
    def is_range(self) -> bool:
        """Whether the values are the integers from the first to the last, and many of them."""
        return self.whole and self.values > 15 and self.high - self.low + 1 <= 1.2 * self.values


class Data:
    """A file of records, of which questions are asked in SQL."""

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() not in FORMATS or not path.is_file():
            raise ParameterError(f"'{path}' must be a file of records, .csv or .parquet.")
        self.path = path
        self._connection = duckdb.connect(
            config={"threads": 2, "memory_limit": "1GB", "autoload_known_extensions": "false"}
        )
        self.delimiter, self.encoding = ",", "utf-8"
        where = "'" + str(path.resolve()).replace("'", "''") + "'"
        read = f"read_parquet({where})"
        if path.suffix.lower() == ".csv":
            self.delimiter, self.encoding = _layout(path)
            read = (
                f"read_csv({where}, all_varchar = true, header = true, "
                f"delim = '{self.delimiter}', encoding = '{self.encoding}')"
            )
        try:
            self._ask(f"CREATE VIEW data AS SELECT COLUMNS(*)::VARCHAR FROM {read}")  # noqa: S608
            self.names = [str(row[0]) for row in self._ask("DESCRIBE data")]
            self.rows = int(self._ask("SELECT count(*) FROM data")[0][0])
        except duckdb.Error as error:
            raise ParameterError(
                f"'{path.name}' cannot be read: {str(error).splitlines()[0][:200]}"
            ) from None
        if not self.rows:
            raise ParameterError(f"'{path.name}' must hold at least one record.")

    def _ask(self, question: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._connection.execute(question).fetchall()
        return found

    def column(self, name: str) -> Found:
        """Return what is found in a column."""
        c = quoted(name)
        whole = f"regexp_full_match({c}, '-?[0-9]{{1,15}}')"
        values, there, integers, low, high = self._ask(
            f"SELECT count(DISTINCT nullif({c}, '')), count(nullif({c}, '')), "  # noqa: S608 - names are quoted
            f"count(*) FILTER ({whole}), min(CASE WHEN {whole} THEN {c}::BIGINT END), "
            f"max(CASE WHEN {whole} THEN {c}::BIGINT END) FROM data"
        )[0]
        missing = self.rows - int(there)
        return Found(
            name, int(values), missing, integers == there > 0, int(low or 0), int(high or 0)
        )

    def counts(self, name: str) -> list[tuple[str, int]]:
        """Return the values of a column with their counts, integers in their order."""
        c = quoted(name)
        found = self._ask(
            f"SELECT {c}, count(*) FROM data WHERE {c} IS NOT NULL AND {c} <> '' "  # noqa: S608
            f"GROUP BY {c} ORDER BY try_cast({c} AS BIGINT), {c}"
        )
        return [(str(value), int(many)) for value, many in found]

    def within(self, fine: Found, coarse: Found) -> bool:
        """Whether each value of one column goes with one value of the other, and always with it."""
        a, b = quoted(fine.name), quoted(coarse.name)
        for part in (f"(SELECT {a}, {b} FROM data LIMIT {SAMPLE})", "data"):  # noqa: S608
            apart = self._ask(
                f"SELECT 1 FROM {part} WHERE nullif({a}, '') IS NOT NULL GROUP BY {a} "  # noqa: S608
                f"HAVING count(DISTINCT {b}) > 1 OR count(nullif({b}, '')) < count(*) LIMIT 1"
            )
            if apart:
                return False
        return True

    def groups(self, fine: Found, coarse: Found) -> dict[str, list[str]]:
        """Return which values of the finer column go with each value of the coarser one."""
        a, b = quoted(fine.name), quoted(coarse.name)
        found: dict[str, list[str]] = {}
        rows = self._ask(
            f"SELECT DISTINCT {b}, {a} FROM data WHERE nullif({a}, '') IS NOT NULL "  # noqa: S608
            f"ORDER BY try_cast({a} AS BIGINT), {a}"
        )
        for group, value in rows:
            found.setdefault(str(group), []).append(str(value))
        return found


def _layout(path: Path) -> tuple[str, str]:
    """Return the delimiter and the encoding of a CSV file."""
    with path.open("rb") as file:
        start = file.read(2**20)
    try:
        # A character may be cut in two at the end of what is read.
        text = start.decode("utf-8-sig", "ignore" if len(start) == 2**20 else "strict")
        encoding = "utf-8"
    except UnicodeDecodeError:
        text, encoding = start.decode("latin-1"), "latin-1"
    return max(",;\t|", key=text.partition("\n")[0].count), encoding


@dataclass(frozen=True)
class Roles:
    """What the columns are taken for; `levels` has the coarser columns of a variable."""

    record: Found | None
    household: Found | None
    count: Found | None
    areas: tuple[Found, ...]
    variables: tuple[Found, ...]
    levels: dict[str, tuple[Found, ...]]
    left_out: tuple[Found, ...]


def _roles(data: Data) -> Roles:
    columns = [data.column(name) for name in data.names]
    whole = [c for c in columns if c.values == data.rows and not c.missing]
    record = next((c for c in whole if _ID.search(c.id)), None)
    rest = [c for c in columns if c is not record]
    household = next((c for c in rest if _HOUSEHOLD.search(c.id) and c.values > 2), None)
    rest = [c for c in rest if c is not household]
    count = next((c for c in rest if c.whole and _COUNT.fullmatch(c.id)), None)
    count = None if record is not None else count
    rest = [c for c in rest if c is not count]
    areas = _chain(data, [c for c in rest if _AREA.search(c.id) and not _BIRTH.search(c.id)])
    rest = [c for c in rest if c not in areas]
    fit = [c for c in rest if c.values <= MOST or (c.is_range and c.values <= 1_000)]
    levels: dict[str, tuple[Found, ...]] = {}
    coarser: set[str] = set()
    for c in sorted(fit, key=lambda c: -c.values):
        if c.name in coarser or c.values * 10 > data.rows:
            continue  # with few records for each value, anything goes with one of another
        inside = [
            o for o in fit
            if o.name not in coarser and 1 < o.values < c.values and data.within(c, o)
        ]  # fmt: skip
        coarser |= {o.name for o in inside}
        levels[c.name] = tuple(inside)
    variables = tuple(c for c in fit if c.name not in coarser)
    left_out = tuple(c for c in rest if c not in fit)
    return Roles(record, household, count, areas, variables, levels, left_out)


def _chain(data: Data, columns: Sequence[Found]) -> tuple[Found, ...]:
    """Return areas that lie in one another, the smallest first."""
    found: list[Found] = []
    for c in sorted(columns, key=lambda c: -c.values):
        if not found or (c.values < found[-1].values and data.within(found[-1], c)):
            found.append(c)
    return tuple(found)


def draft(path: Path, folder: Path | None = None) -> str:
    """Return the text of a dataset.toml for a file of records.

    It is to be kept in a folder, by default that of the file.
    """
    data = Data(path)
    roles = _roles(data)
    name = re.sub(r"[^a-z0-9_-]+", "-", path.stem.lower()).strip("-")[:64] or "data"
    lines = [
        f"# A draft, made from {path.name}. What is guessed says so: look it over.",
        "# The counts in comments are true. Delete them before anybody else sees this file.",
        f"id = {_text(name)}",
        f"title = {_text(path.stem)}  # what readers see above a table",
        'unit = "records"  # what is counted: people, households, firms',
        "",
        *_source(data, roles, path.name if folder is None else os.path.relpath(path, folder)),
        *(line for c in roles.variables for line in _variable(data, c, roles.levels)),
        *(line for c in roles.areas for line in _area(data, c)),
        *_left_out(roles),
    ]
    return "\n".join(lines) + "\n"


def _source(data: Data, roles: Roles, file: str) -> Iterator[str]:
    yield f"[source]  # {data.rows:,} rows"
    yield f"files = {_text(file)}"
    if data.delimiter != ",":
        yield f"delimiter = {_text(data.delimiter)}"
    if data.encoding != "utf-8":
        yield f"encoding = {_text(data.encoding)}  # guessed: it is not UTF-8"
    if roles.record is not None:
        yield f"record_id = {_text(roles.record.name)}  # guessed: no value is there twice"
    elif roles.count is not None:
        yield f"count = {_text(roles.count.name)}  # guessed from its name: a hypercube"
    else:
        yield '# record_id = "…"  # must be named: no column was found that could be it'
    if roles.household is not None:
        yield from _missing(roles.household)
        yield f"household_id = {_text(roles.household.name)}  # guessed from its name"


def _variable(data: Data, c: Found, levels: dict[str, tuple[Found, ...]]) -> Iterator[str]:
    yield ""
    yield f"[variables.{_key(c.id)}]"
    yield f"label = {_text(c.label)}"
    if c.id != c.name:
        yield f"column = {_text(c.name)}"
    yield from _missing(c)
    if c.is_range:
        yield f"range = [{c.low}, {c.high}]  # {c.values} of them occur"
    else:
        yield f"[variables.{_key(c.id)}.categories]"
        for code, many in data.counts(c.name):
            yield f"{_key(code)} = {_text(code)}  # {many:,}"
    for coarse in levels.get(c.name, ()):
        why = f"guessed: every value of '{c.name}' has one of '{coarse.name}'"
        yield from _level(c, coarse.id, coarse.label, data.groups(c, coarse), why)
    if c.is_range and not levels.get(c.name) and "age" in c.id.split("_"):
        yield from _level(c, f"{c.id}_band", f"{c.label} band", _tens(c), "guessed: bands of ten")


def _missing(c: Found) -> Iterator[str]:
    if c.missing:
        yield (
            f"# {c.missing:,} records {NO_VALUE}, and a build refuses them: give 'not stated' a "
            "code of its own, in the data and here."
        )


def _tens(c: Found) -> dict[str, list[str]]:
    """Return bands of ten years."""
    found = {}
    for start in range(c.low - c.low % 10, c.high + 1, 10):
        low, high = max(start, c.low), min(start + 9, c.high)
        found[f"{low}-{high}"] = [f"{low}..{high}"]
    return found


def _level(c: Found, id: str, label: str, groups: dict[str, list[str]], why: str) -> Iterator[str]:
    yield f"[variables.{_key(c.id)}.levels.{_key(id)}]  # {why}"
    yield f"label = {_text(label)}"
    yield f"[variables.{_key(c.id)}.levels.{_key(id)}.groups]"
    for group, codes in groups.items():
        yield f"{_key(group)} = {json.dumps(codes, ensure_ascii=False)}"


def _area(data: Data, c: Found) -> Iterator[str]:
    yield ""
    yield f"[[geography]]  # {c.values:,} areas; guessed from its name and what lies in what"
    yield from _missing(c)
    yield f"id = {_text(c.id)}"
    yield f"label = {_text(c.label)}"
    yield f"column = {_text(c.name)}"


def _left_out(roles: Roles) -> Iterator[str]:
    if roles.left_out:
        yield ""
        yield "# Left out, for they have too many values to be categories:"
        for c in roles.left_out:
            yield f"#   {c.name} ({c.values:,} values)"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _text(text)
