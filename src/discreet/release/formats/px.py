"""PX, the format of PxWeb and PC-Axis [PX file format, version 2013].

Its rules: lines of at most 256 characters; a longer text is broken into quoted pieces; no double
quotes and no line breaks inside a text; `CODEPAGE` says how the file is encoded; a figure that is
not available is a quoted `".."`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote

from discreet.errors import ParameterError
from discreet.files import bounded, read_bytes
from discreet.json import parsed
from discreet.release.formats.base import (
    Format,
    Found,
    Named,
    Public,
    assembled,
    chunks,
    decimal,
    document,
    in_order,
    proof_of,
    without,
)
from discreet.release.formats.compare import MOST_FIELDS
from discreet.release.text import Facts, clean, facts
from discreet.release.told import ADDS_UP
from discreet.table import Dimension

LINE = 250
"""Characters of a line, below the 256 of the format."""
PIECE = 200
"""Bytes of a quoted piece of a longer text: readers that count bytes are content as well."""
MISSING = '".."'
MOST_DECIMALS = 6
"""What PX programs show at most; the figures have all their digits."""
_KEYWORD = re.compile(r'([A-Z0-9-]+)(?:\("([^"]*)"\))?=')
_PIECE = re.compile(r'\s*("[^"]*")|\s*([,;])|\s*([^\s",;]+)')


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release, the figures in pieces."""
    for row in _head(release):
        file.write(row.encode() + b"\r\n")
    file.write(b"DATA=\r\n")
    columns = release.table.shape[-1] if len(release.table.shape) > 1 else 1
    line: list[str] = []
    length = seen = 0
    for chunk in chunks(release.table):
        for text in chunk.texts(missing=MISSING):
            if line and length + len(text) + 1 > LINE:
                file.write(" ".join(line).encode() + b"\r\n")
                line, length = [], 0
            line.append(text)
            length += len(text) + 1
            seen += 1
            if seen == columns:
                file.write(" ".join(line).encode() + b"\r\n")
                line, length, seen = [], 0, 0
    file.write(b";\r\n")


def variables(dimensions: tuple[Dimension, ...]) -> list[str]:
    """Return the name of each dimension in the file: its label, made unique."""
    names: list[str] = []
    for dimension in dimensions:
        name = _plain(dimension.label) or dimension.level
        if name in names:
            name = f"{name} ({dimension.level})"
        names.append(name)
    return names


def note(said: Facts) -> str:
    """Return the notes as one text; in it a number sign begins a new line."""
    return "#".join(_plain(f"{head}: {text.replace('#', '＃')}") for head, text in said)


def _head(release: Public) -> Iterator[str]:
    table, origin = release.table, release.provenance
    said = release.document
    names = variables(table.dimensions)
    stub, heading = (names[:-1], names[-1:]) if len(names) > 1 else (names, [])
    when = _moment(origin.data_date)
    yield from _texts("CHARSET", ["ANSI"])
    yield from _texts("AXIS-VERSION", ["2013"])
    yield from _texts("CODEPAGE", ["utf-8"])
    yield from _texts("LANGUAGE", ["en"])
    if when:
        yield from _texts("CREATION-DATE", [when])
    decimals = min(table.decimals, MOST_DECIMALS)
    yield f"DECIMALS={decimals};"
    yield f"SHOWDECIMALS={decimals};"
    # MATRIX and SUBJECT-CODE have at most 20 characters.
    yield from _texts("MATRIX", [_plain(origin.dataset)[:20] or "table"])
    altered = said["quality"]["altered"] and ADDS_UP not in said["notes"]
    yield "AGGREGALLOWED=NO;" if altered else "AGGREGALLOWED=YES;"
    yield from _texts("SUBJECT-CODE", [_plain(origin.dataset)[:20] or "table"])
    yield from _texts("SUBJECT-AREA", [origin.title or "-"])
    yield from _texts("DESCRIPTION", [said["title"]])
    yield from _texts("TITLE", [said["title"]])
    yield from _texts("CONTENTS", [origin.unit.capitalize()])
    yield from _texts("UNITS", [origin.unit])
    yield from _texts("STUB", stub)
    if heading:
        yield from _texts("HEADING", heading)
    for name, dimension in zip(names, table.dimensions, strict=True):
        labels = [_plain(x) or y for x, y in zip(dimension.labels, dimension.codes, strict=True)]
        yield from _texts(f'VALUES("{name}")', labels)
    for name, dimension in zip(names, table.dimensions, strict=True):
        yield from _texts(f'CODES("{name}")', [_code(code) for code in dimension.codes])
    for name, dimension in zip(names, table.dimensions, strict=True):
        yield from _texts(f'VARIABLECODE("{name}")', [dimension.level])
        if dimension.variable == "geography":
            yield from _texts(f'VARIABLE-TYPE("{name}")', ["geographical"])
    if when:
        yield from _texts("LAST-UPDATED", [when])
    yield from _texts("SOURCE", [origin.title or "-"])
    yield from _texts("DATASYMBOL2", ["Not available"])
    yield from _texts("NOTE", [note(release.facts)])
    # Escaped, so that no character of it means anything to PX; a proof is for programs.
    proof = json.dumps(document(release), separators=(",", ":"))
    yield from _texts("INFO", [quote(proof, safe="{}[]:,")])


def _texts(keyword: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a keyword with its texts, none longer than the format allows."""
    line = f"{keyword}="
    first = True
    for text in texts:
        pieces = _pieces(_plain(text))
        for i, piece in enumerate(pieces):
            lead = "" if first or i else ","
            first = False
            if i or len(line) + len(piece) + 4 > LINE:
                yield line + lead
                line, lead = "", ""
            line += f'{lead}"{piece}"'
    yield line + ";"


def _pieces(text: str) -> list[str]:
    if len(text.encode()) <= PIECE:
        return [text]
    # Breaks between characters, not inside one; a combining mark stays with its letter.
    found, piece, size = [], "", 0
    for cluster in re.findall(r"\S[\u0300-\u036f\u200d\ufe0f]*|\s", text):
        length = len(cluster.encode())
        if size + length > PIECE:
            found.append(piece)
            piece, size = "", 0
        piece += cluster
        size += length
    return [*found, piece]


def _plain(text: str) -> str:
    """Return a text as PX can hold it: on one line, apostrophes for double quotes."""
    return " ".join(clean(text).split()).replace('"', "'")


def _code(code: str) -> str:
    if code != _plain(code):
        raise ParameterError(
            f"a code in PX must not have double quotes, line breaks or outer blanks. Got {code!r}. "
            "Write another format, such as json-stat."
        )
    return code


def _moment(date: str) -> str:
    """Return an ISO date as PX writes it, CCYYMMDD hh:mm."""
    found = re.match(r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d:\d\d))?", date)
    return f"{''.join(found.group(1, 2, 3))} {found.group(4) or '00:00'}" if found else ""


def read(path: Path) -> Found:
    """Return what a PX file says."""
    text = read_bytes(path).decode("utf-8-sig", "replace")
    bounded(path.name, text.count('"') + text.count(" "), MOST_FIELDS, "words")
    at = 0
    keywords: dict[tuple[str, str | None], list[str]] = {}
    while not text.startswith("DATA=", at):
        found = _KEYWORD.match(text, at)
        if found is None:
            raise ParameterError(f"'{path.name}' must be a PX file. Got {text[at : at + 30]!r}.")
        values, at = _values(text, found.end())
        keyword = (found.group(1), found.group(2))
        if keyword in keywords:
            raise ParameterError(f"'{keyword[0]}' is twice in {path.name}.")
        keywords[keyword] = values
        while text[at : at + 1].isspace():
            at += 1
    cells = text[at + len("DATA=") :].rstrip().removesuffix(";").split()
    names = [*keywords["STUB", None], *keywords.get(("HEADING", None), [])]
    said = parsed(unquote(keywords["INFO", None][0]), "INFO")
    named, codes = [], []
    for name in names:
        own = keywords["CODES", name]
        labels = dict(zip(own, keywords["VALUES", name], strict=True))
        level = keywords["VARIABLECODE", name][0]
        short = name.removesuffix(f" ({level})")
        named.append(Named(level, short if short in names else name, labels))
        codes.append(own)
    figures = [None if cell == MISSING else decimal(cell) for cell in cells]
    table = assembled(named, in_order(codes, len(figures)), {"value": figures})
    return Found(table, facts(said), proof_of(said), without(said))


def _values(text: str, at: int) -> tuple[list[str], int]:
    """Return the values of a keyword and where the next begins; pieces of a text are joined."""
    values: list[list[str]] = []
    fresh = True
    while True:
        found = _PIECE.match(text, at)
        if found is None:
            raise ParameterError("a keyword of the PX file does not end.")
        at = found.end()
        quoted, mark, word = found.groups()
        if mark == ";":
            return ["".join(pieces) for pieces in values], at
        if mark == ",":
            fresh = True
            continue
        piece = word if quoted is None else quoted[1:-1]
        if fresh:
            values.append([])
        values[-1].append(piece)
        fresh = False


FORMAT = Format(
    "px", "PX (PxWeb, PC-Axis)", "text/x-px; charset=utf-8", ".px", write_to, read,
    lambda start: start.startswith((b"CHARSET=", b"AXIS-VERSION=")),
)  # fmt: skip
