"""The one reader of tables: CSV files and data frames, long or wide, as text in one structure.

Long: dimension columns, then a figure, one row for each cell. Wide: labels in the first row and
the first column, figures between them. What a figure may be is for the readers that build on this
to say: `files` (counts), `published` (some withheld), `desk.cells` (values and contributors).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from discreet.checks import LARGEST
from discreet.errors import ParameterError, first_few, unknown
from discreet.files import read_bytes
from discreet.table.argus import read_described
from discreet.table.decimals import BEYOND, is_beyond

COUNT_NAMES = ("count", "freq")
VALUE_NAME = "value"
_COUNT = re.compile(r"\d+(\.0*)?")
_FIGURE = re.compile(r"\d+([.,]\d*)?([eE][+-]?\d+)?")
_SHORT = 15  # digits that no number beyond the limit has
_SHOWN = 40  # digits of a number that is too large
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")

A_TABLE = "a table must be the path of a CSV file or a data frame (pandas, polars, Arrow)."

Given = Any
"""The path of a CSV file or of metadata of τ-ARGUS (.rda), or a data frame: pandas, polars, Arrow,
or any that exports Arrow."""


class Layout(StrEnum):
    """How the cells of a table lie in a file."""

    LONG = "long"
    WIDE = "wide"


@dataclass(frozen=True, eq=False)
class Source:
    """A file or a data frame as text: the names of its columns, and its rows with their numbers."""

    name: str
    header: list[str]
    rows: list[tuple[int, list[str]]]
    delimiter: str = ","

    def __post_init__(self) -> None:
        if not self.rows:
            raise ParameterError(
                f"'{self.name}' must have a header and at least one row of counts."
            )
        for number, row in self.rows:
            if len(row) != len(self.header):
                raise ParameterError(
                    f"'{self.name}' must have {len(self.header)} columns in every row. "
                    f"Line {number} has {len(row)}."
                )
        if len(self.header) < 2:
            raise ParameterError(
                f"'{self.name}' must have labels and counts in columns of their own. "
                "Got one column."
            )

    @property
    def names(self) -> list[str]:
        """The names of the columns in lower case."""
        return [column.lower() for column in self.header]

    @property
    def is_released(self) -> bool:
        """Whether this is the tidy file of a release: with labels, and counts called value."""
        return VALUE_NAME in self.header and bool(self._labels)

    @property
    def _labels(self) -> set[str]:
        return {f"{column}_label" for column in self.header} & set(self.header)

    def column(self, name: str) -> list[str]:
        """Return the fields of a column."""
        if name not in self.header:
            raise unknown(f"column in '{self.name}':", name, self.header)
        if self.header.count(name) > 1:
            raise ParameterError(f"'{self.name}' must not have several columns named {name}.")
        place = self.header.index(name)
        return [row[place] for _, row in self.rows]

    @property
    def where(self) -> list[str]:
        """What each row is called in a message."""
        return [f"line {number}" for number, _ in self.rows]

    def unlabelled(self) -> Source:
        """Return the tidy file of a release without its labels and bounds; others as they are."""
        if not self.is_released:
            return self
        left_out = self._labels | {VALUE_NAME, "low", "high"}
        kept = [i for i, column in enumerate(self.header) if column not in left_out]
        order = [*kept, self.header.index(VALUE_NAME)]
        header = [*(self.header[i] for i in kept), COUNT_NAMES[0]]
        rows = [(number, [row[i] for i in order]) for number, row in self.rows]
        return Source(self.name, header, rows, self.delimiter)


def read_source(given: Given) -> Source:
    """Return a CSV file or a data frame as text; what is a `Source` already as it is."""
    if isinstance(given, Source):
        return given
    if isinstance(given, str) and not given:
        raise ParameterError(f"{A_TABLE} Got an empty text.")
    return _read_file(Path(given)) if isinstance(given, str | Path) else _read_frame(given)


def _read_file(path: Path) -> Source:
    if not path.exists():
        raise ParameterError(f"there is no file '{path}'.")
    if path.suffix.lower() == ".rda":
        header, rows = read_described(path)
        return Source(path.name, header, rows)
    if path.suffix.lower() == ".json":
        return _read_problem(path)
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParameterError(
            f"'{path.name}' must be a readable CSV file in UTF-8. {error}"
        ) from None
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    try:
        lines = [
            (number, [field.strip() for field in row])
            for number, row in enumerate(
                csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), 1
            )
            if any(field.strip() for field in row)
        ]
    except csv.Error as error:
        raise ParameterError(f"'{path.name}' must be a CSV file. {error}") from None
    return Source(path.name, lines[0][1] if lines else [], lines[1:], delimiter)


def _read_problem(path: Path) -> Source:
    """Return the cells of a problem of sdcTable: `jsonlite::toJSON(sdcProb2df(problem))`.

    Of its columns the identity of a cell is left out. A status u is a sensitive cell, z one that
    is published whatever happens; secondary suppressions (x) are found anew.
    """
    try:
        rows = json.loads(read_bytes(path))
        figure = VALUE_NAME if VALUE_NAME in rows[0] else COUNT_NAMES[1]
        left_out = {"strID", "sdcStatus", figure, COUNT_NAMES[1]}
        names = [*(name for name in rows[0] if name not in left_out), figure]
        cells = [[_text(row[name]) for name in names] for row in rows]
        status = [str(row.get("sdcStatus", "s")) for row in rows]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        raise ParameterError(
            f"'{path.name}' must be a list of cells with the same names, as sdcProb2df has them."
        ) from None
    strange = sorted(set(status) - set("suxzw"))
    if strange:
        raise ParameterError(
            f"sdcStatus in '{path.name}' must be s, u, x, z or w. Got {strange[0]}."
        )
    said = [["1" if one == "u" else "0", "never" if one == "z" else ""] for one in status]
    full = [[*cell, *more] for cell, more in zip(cells, said, strict=True)]
    return Source(path.name, [*names, "sensitive", "mark"], list(enumerate(full, 1)))


def _read_frame(frame: Any) -> Source:
    """Return a data frame as the file it would be; its lines count from 2, after the header."""
    import pyarrow as pa

    if hasattr(frame, "reset_index"):
        # Of pandas: an index with a name or of texts holds codes, another one only numbers rows.
        index = frame.index
        codes = any(name is not None for name in index.names) or index.dtype.kind not in "iu"
        frame = frame.reset_index(drop=not codes)
    try:
        table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    except (TypeError, ValueError, pa.ArrowException):
        raise ParameterError(f"{A_TABLE} Got {type(frame).__name__}.") from None
    columns = [[_text(value) for value in column.to_pylist()] for column in table.columns]
    rows = list(enumerate(map(list, zip(*columns, strict=True)), 2))
    return Source("data frame", [str(name).strip() for name in table.column_names], rows)


def _text(value: Any) -> str:
    """Return a value of a data frame as a file has it: whole numbers without a decimal point."""
    if value is None or value != value:  # not a number
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value).strip()


@dataclass(frozen=True, eq=False)
class Listing:
    """The cells of a table in order: codes by dimension, figures, further columns, all as text.

    `counts` says that the figures count people or firms. `where[i]` is what the place of cell i
    is called in a message.
    """

    source: Source
    layout: Layout
    counts: bool
    variables: list[str]
    codes: list[list[str]]
    figures: list[str]
    where: list[str]
    extras: dict[str, list[str]]

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.source.name

    def __post_init__(self) -> None:
        for variable, codes in zip(self.variables, self.codes, strict=True):
            if "" in codes:
                where = self.where[codes.index("")].capitalize()
                raise ParameterError(
                    f"'{self.name}' must have a code in every dimension. "
                    f"{where} has none for {variable}."
                )

    def parsed(self, fields: Sequence[str], parse: Callable[[str, str], Any]) -> list[Any]:
        """Return the fields of a column, each parsed with the place to name in a message."""
        places = (f"{where} of '{self.name}'" for where in self.where)
        return list(map(parse, fields, places))


def listed(
    given: Given,
    figures: Sequence[str] = (*COUNT_NAMES, VALUE_NAME),
    extras: Sequence[str] = (),
) -> Listing:
    """Return the cells of a file or data frame, long or wide; the header tells which.

    `figures` are names that the column of figures can have, `extras` those that columns after it
    can have.
    """
    source = read_source(given)
    places = [i for i, column in enumerate(source.names) if column in figures]
    if not places:
        return _unfolded(source)
    last = " or ".join((", ".join(figures[:-1]), figures[-1]))
    if len(places) != 1 or places[0] == 0 or (len(source.header) > places[0] + 1 and not extras):
        raise ParameterError(
            f"'{source.name}' must have its dimensions first, then one column named {last}"
            f"{'' if extras else ', and it must be the last'}. "
            f"Got the columns {', '.join(source.header)}."
        )
    (figure,) = places
    variables, more = source.header[:figure], source.names[figure + 1 :]
    if len(set(variables)) != len(variables) or "" in variables:
        raise ParameterError(
            f"'{source.name}' must name every dimension once. Got {', '.join(variables)}."
        )
    for column in more:
        if column not in extras:
            raise unknown(f"column after the figure of '{source.name}':", column, extras)
    if len(set(more)) != len(more):
        raise ParameterError(f"'{source.name}' must have each column after its figure once.")
    columns = [list(column) for column in zip(*(row for _, row in source.rows), strict=True)]
    return Listing(
        source,
        Layout.LONG,
        source.names[figure] in COUNT_NAMES,
        variables,
        columns[:figure],
        columns[figure],
        source.where,
        dict(zip(more, columns[figure + 1 :], strict=True)),
    )


def _unfolded(source: Source) -> Listing:
    """Return the cells of a wide file, row by row."""
    labels, variables = source.header[1:], [source.header[0] or "row", "column"]
    rows = [row[0] for _, row in source.rows]
    for variable, names in zip(variables, (rows, labels), strict=True):
        if len(set(names)) != len(names):
            raise ParameterError(
                f"{variable} of '{source.name}' must not repeat a code in a wide table. A long one "
                f"has its counts in a last column named {' or '.join(COUNT_NAMES)}. Got the "
                f"columns {first_few(list(source.header), 6)}."
            )
    return Listing(
        source,
        Layout.WIDE,
        True,
        variables,
        [
            [row for row in rows for _ in labels],
            [label for _ in rows for label in labels],
        ],
        [field for _, row in source.rows for field in row[1:]],
        [f"column {label} of {where}" for where in source.where for label in labels],
        {},
    )


def count_of(text: str, where: str) -> int:
    """Return a count; raise with the place where it is none."""
    whole = _COUNT.fullmatch(text)
    if not whole or len(text) > _SHORT:
        if _FIGURE.fullmatch(text) and "," not in text:
            _refuse_beyond("a count", text, where)
        if not whole:
            raise _refused("a count", "a whole number of 0 or more", text, where)
    return int(float(text))


def number_of(
    text: str, where: str, delimiter: str = ",", whole: bool = False, empty: bool = False
) -> float:
    """Return a figure of 0 or more; raise with the place where it is none.

    A comma is a decimal mark where columns have another delimiter. In "1,000" between commas it
    would set thousands apart, and no count has one: both are refused rather than read as 1.
    `empty` says that the figure could have been left out.
    """
    if _FIGURE.fullmatch(text) and not ("," in text and (whole or delimiter == ",")):
        digits = text.replace(",", ".")
        number = float(digits)
        if number >= LARGEST:
            _refuse_beyond("a figure", digits, where)
        if not whole or number.is_integer():
            return number
    kind = f"a {'whole ' if whole else ''}number of 0 or more"
    raise _refused("a figure", f"{kind}, or empty where withheld" if empty else kind, text, where)


def _refuse_beyond(what: str, digits: str, where: str) -> None:
    if is_beyond(digits):
        shown = digits if len(digits) <= _SHOWN else f"{digits[:_SHOWN]}…"
        raise ParameterError(f"{what} must be {BEYOND}. Got {shown} in {where}.")


def _refused(what: str, rule: str, text: str, where: str) -> ParameterError:
    if not text:
        problem = "Missing"
    elif not _NUMBER.fullmatch(text):
        problem = f"Got the text '{text}'"
    else:
        problem = f"Got the negative number {text}" if text.startswith("-") else f"Got {text}"
    hint = " Thousands must not be set apart." if "," in text else ""
    return ParameterError(f"{what} must be {rule}. {problem} in {where}.{hint}")
