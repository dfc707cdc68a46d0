"""XLSX: a sheet for each layer, heads frozen, real numbers, and a sheet of notes.

Every text is written as a string, so that none becomes a formula or a link.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from discreet.errors import NotOurs, ParameterError
from discreet.json import parsed
from discreet.release.formats.base import Format, Found, Public, moment
from discreet.release.formats.laid_out import PROOF, Sheet, layout, read_sheets, sheets
from discreet.release.formats.workbook import MOST_COLUMNS, MOST_ROWS, Members
from discreet.release.pivot import Pivot
from discreet.release.text import Facts, clean
from discreet.table import ProtectedTable

MOST_TEXT = 32_767
NOTES = "Notes"
_PART = 30_000  # characters of a long text in one cell of the notes
_REFUSED = re.compile(r"[\[\]:*?/\\]")


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release row by row; refuse one that no sheet could hold."""
    _check(release.table)
    # Rows wait in files of their own, which must be gone whatever happens.
    with TemporaryDirectory(prefix="discreet-") as folder:
        _write_book(release, file, folder)


def _write_book(release: Public, file: BinaryIO, folder: str) -> None:
    import xlsxwriter

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False,
               "strings_to_numbers": False, "tmpdir": folder}  # fmt: skip
    book = xlsxwriter.Workbook(file, options)
    created = moment(release).astimezone(UTC).replace(tzinfo=None)
    book.set_properties({"title": _lines(clean(release.title))[:255], "created": created})
    shown = f"#,##0.{'0' * release.table.decimals}".rstrip(".")
    style = {
        "bold": book.add_format({"bold": True}),
        "head": book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}),
        "number": book.add_format({"num_format": shown}),
    }
    used = {NOTES.lower(), "history"}
    for sheet in sheets(release.table):
        name = "Table"
        if sheet.layer is not None:
            dimension, i = sheet.layer
            name = f"{i + 1} {dimension.labels[i]}"
        _write_sheet(book.add_worksheet(_name(name, used)), release, sheet, style)
    notes = book.add_worksheet(NOTES)
    _notes(notes, release, style["bold"], book.add_format({"text_wrap": 1}))
    book.close()


def _write_sheet(on: Any, release: Public, sheet: Sheet, style: dict[str, Any]) -> None:
    width = 2 * len(sheet.stub)
    on.set_column(0, width - 1, 14)
    for i, dimension in enumerate(sheet.stub):
        longest = max(len(_lines(label)) for label in dimension.labels)
        on.set_column(2 * i, 2 * i, min(max(longest, 10), 50))
    on.set_column(width, width + sheet.values.shape[1] - 1, 12)
    on.write_string(0, 0, _lines(clean(release.title))[:MOST_TEXT], style["bold"])
    row = 1
    if named := sheet.of_layer():
        _strings(on, row, named)
        row += 1
    for texts in sheet.heads(release.provenance.unit):
        _strings(on, row, texts, style["head"])
        row += 1
    on.freeze_panes(row, width)
    for stub, figures in sheet.rows():
        _strings(on, row, [text for pair in stub for text in pair])
        for column, figure in enumerate(figures, width):
            if figure is not None:
                on.write_number(row, column, figure, style["number"])
        row += 1


def _notes(on: Any, release: Public, bold: Any, wrap: Any) -> None:
    on.set_column(0, 0, 24)
    on.set_column(1, 1, 100)
    proof = {"layout": layout(release.table), "proof": release.proof}
    rows = [*release.facts, (PROOF, json.dumps(proof, ensure_ascii=False))]
    for row, (head, given) in enumerate(rows):
        text = _lines(given)
        on.write_string(row, 0, head, bold)
        for i, start in enumerate(range(0, max(len(text), 1), _PART)):
            on.write_string(row, 1 + i, text[start : start + _PART], wrap)
    on.freeze_panes(0, 1)


def _strings(on: Any, row: int, texts: Iterable[str], style: Any = None) -> None:
    for column, text in enumerate(texts):
        cleaned = _lines(clean(text))
        if cleaned:
            on.write_string(row, column, cleaned, style)


def _lines(text: str) -> str:
    """Return a text with one kind of line break, which is all that XML keeps."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check(table: ProtectedTable) -> None:
    """Refuse before writing what Excel would refuse to open or silently cut."""
    _, stub, across = Pivot.of(table.shape).split(table.shape)
    rows, columns = prod(stub) + 4, 2 * len(stub) + prod(across)
    for what, got, most in (("rows", rows, MOST_ROWS), ("columns", columns, MOST_COLUMNS)):
        if got > most:
            raise ParameterError(
                f"a sheet of XLSX must have at most {most:,} {what}. The table needs {got:,}. "
                "Write another format, such as csv or parquet."
            )
    for dimension in table.dimensions:
        longest = max(map(len, (dimension.label, *dimension.codes, *dimension.labels)))
        if longest > MOST_TEXT:
            raise ParameterError(
                f"a text in XLSX must have at most {MOST_TEXT:,} characters. One of "
                f"{dimension.level} has {longest:,}. Write another format, such as csv."
            )


def _name(wanted: str, used: set[str]) -> str:
    """Return a name that a sheet may have: 31 units, no brackets, no quote at an end, once."""
    cleaned = _REFUSED.sub(" ", " ".join(clean(wanted).split()))
    name = _cut(cleaned, 31).strip("' ") or "Table"
    number = 1
    while name.lower() in used:
        number += 1
        name = f"{_cut(cleaned, 31 - len(str(number)) - 1).strip(chr(39) + ' ')} {number}"
    used.add(name.lower())
    return name


def _cut(text: str, units: int) -> str:
    """Return the beginning of a text that has at most so many UTF-16 units."""
    while len(text.encode("utf-16-le")) > 2 * units:
        text = text[:-1]
    return text


def read(path: Path) -> Found:
    """Return what the sheets of a workbook say; a formula is no figure, and fails."""
    book = Members.of(path)
    names = book.sheets()
    if NOTES not in names:
        raise NotOurs(f"'{path.name}' must have a sheet '{NOTES}'.")
    shared = book.shared()
    facts: Facts = []
    document: dict[str, Any] = {}
    rows: list[Any] = []
    for name, part in names.items():
        found = book.rows(part, shared)
        if name != NOTES:
            rows += [*found, []]
            continue
        for row in found:
            text = "".join(row[1:])
            if row and row[0] == PROOF:
                document = parsed(text, "the proof")
            elif row and row[0]:
                facts.append((row[0], text))
    if "layout" not in document:
        raise ParameterError(f"the sheet '{NOTES}' must have a row '{PROOF}'.")
    return read_sheets(rows, facts, document)


def same(path: Path, fresh: bytes, found: Found) -> str:
    """Return in what a workbook differs from one that was written anew, whoever packed it."""
    del found
    held, wanted = Members.of(path), Members(path.name, fresh)
    if list(held.names) != list(wanted.names):
        return f"{path.name} has other parts than this program wrote: another program saved it"
    if not held.plain:
        return f"{path.name} is packed so that programs may unpack it differently"
    for name in wanted.names:
        if held.read(name) != wanted.read(name):
            return f"{name} in {path.name} is not as this program wrote it"
    return ""


FORMAT = Format(
    "xlsx", "Excel workbook",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx", write_to, read,
    lambda start: start.startswith(b"PK"), same=same,
)  # fmt: skip
