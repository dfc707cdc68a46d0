"""Files of τ-ARGUS: data in fixed or free format as their metadata (.rda) describe them.

Of a variable the metadata say where it stands and what it is:

    Region 1 2
      <RECODEABLE>
      <TOTCODE> "Total"
    Turnover 3 8
      <NUMERIC>

With `<SEPARATOR> ";"` in front, fields are separated and have a width alone.
"""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import ParameterError
from discreet.files import read_bytes
from discreet.table.dimension import TOTAL

DATA = (".asc", ".dat", ".txt", ".csv", ".tab", ".mic")
"""What the data beside their metadata may end in."""

_TAG = re.compile(r"<(\w+)>\s*(.*)")
_OTHER = {"FREQUENCY", "MAXSCORE", "WEIGHT"}
_READ = {
    "RECODEABLE", "RECODABLE", "TOTCODE", "NUMERIC", "DECIMALS", "WEIGHT", "HOLDING", "FREQUENCY",
    "HIERARCHICAL", "HIERCODELIST", "HIERLEADSTRING", "HIERLEVELS", "CODELIST", "DISTANCE",
    "MAXSCORE",
}  # fmt: skip
"""Tags that are read, or say nothing that a table needs; others stop the reading."""


@dataclass(frozen=True)
class Described:
    """A variable: its place (None where fields are separated), its width and its tags."""

    name: str
    start: int | None
    width: int
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> str | None:
        """The code of the total, None where none is named."""
        return self.tags.get("TOTCODE")


@dataclass(frozen=True)
class Metadata:
    """What an .rda file says."""

    variables: tuple[Described, ...]
    separator: str | None

    @property
    def tabular(self) -> bool:
        """Whether the data are cells, with their totals, and no records."""
        return any("FREQUENCY" in one.tags for one in self.variables)

    @property
    def header(self) -> list[str]:
        """The names of the columns, in a table of cells as they are read here.

        Beside values a frequency is the number of contributors; by itself it is the figure.
        """
        names, scores = [], 0
        values = [
            one for one in self.variables if "NUMERIC" in one.tags and not _OTHER & set(one.tags)
        ]
        for one in self.variables:
            if "MAXSCORE" in one.tags:
                scores += 1
                names.append(f"max{scores}")
            elif "FREQUENCY" in one.tags:
                names.append("contributors" if values else "freq")
            else:
                names.append("value" if self.tabular and one in values else one.name)
        return names


def text_of(path: Path) -> str:
    """Return a file as text: in UTF-8, or else as Windows wrote it."""
    raw = read_bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def read_metadata(path: Path) -> Metadata:
    """Return what an .rda file says; a tag that is not known is an error."""
    separator, found = None, list[Described]()
    for number, line in enumerate(text_of(path).splitlines(), 1):
        words, where = line.strip(), f"line {number} of '{path.name}'"
        tag = _TAG.fullmatch(words)
        if not words or words.startswith("//"):
            continue
        if tag and not found:
            if tag[1].upper() != "SEPARATOR":
                raise ParameterError(f"{where} must be <SEPARATOR> or a variable. Got {words}.")
            separator = tag[2].strip().strip('"')
        elif tag:
            if tag[1].upper() not in _READ:
                raise ParameterError(f"{where} has the tag <{tag[1]}>, which is not read here.")
            found[-1].tags[tag[1].upper()] = tag[2].strip().strip('"')
        else:
            found.append(_variable(words, separator is not None, where))
    if not found:
        raise ParameterError(f"'{path.name}' must describe at least one variable.")
    return Metadata(tuple(found), separator)


def _variable(words: str, free: bool, where: str) -> Described:
    """Return a variable; what follows its place are codes for missing values."""
    name, *rest = shlex.split(words)
    numbers = rest[: 1 if free else 2]
    if len(numbers) < (1 if free else 2) or not all(n.isdecimal() for n in numbers):
        place = "its width" if free else "its first position and its width"
        raise ParameterError(f"{where} must have a name and {place}. Got {words}.")
    if free:
        return Described(name, None, int(numbers[0]))
    return Described(name, int(numbers[0]), int(numbers[1]))


def read_described(
    path: Path, data: Path | None = None
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the columns and the numbered rows of the data beside an .rda file, or of `data`.

    In a table of cells the code of a total becomes `_T`, and the counts are called freq.
    """
    meta = read_metadata(path)
    if data is not None:
        return meta.header, _cells(data, meta)
    beside = [path.with_suffix(end) for end in DATA if path.with_suffix(end).is_file()]
    if len(beside) != 1:
        found = ", ".join(one.name for one in beside) or "none"
        raise ParameterError(
            f"beside '{path.name}' must be one file of data ({', '.join(DATA)}). Found {found}."
        )
    return meta.header, _cells(beside[0], meta)


def _cells(path: Path, meta: Metadata) -> list[tuple[int, list[str]]]:
    """Return the rows; in a table of cells the code of a total becomes `_T`."""
    rows = list(_rows(path, meta))
    if meta.tabular:
        for _, row in rows:
            for i, one in enumerate(meta.variables):
                row[i] = TOTAL if one.total is not None and row[i] == one.total else row[i]
    return rows


def _rows(path: Path, meta: Metadata) -> Iterator[tuple[int, list[str]]]:
    lines = text_of(path).splitlines()
    if meta.separator is not None:
        for number, row in enumerate(csv.reader(lines, delimiter=meta.separator), 1):
            if any(part.strip() for part in row):
                yield number, [part.strip() for part in row]
        return
    end = max((one.start or 1) - 1 + one.width for one in meta.variables)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if len(line) < end - (meta.variables[-1].width - 1):
            raise ParameterError(f"line {number} of '{path.name}' must have {end} characters.")
        starts = [(one.start or 1) - 1 for one in meta.variables]
        yield (
            number,
            [
                line[at : at + one.width].strip()
                for at, one in zip(starts, meta.variables, strict=True)
            ],
        )
