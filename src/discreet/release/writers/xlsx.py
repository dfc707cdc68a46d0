"""XLSX: a sheet for each layer, heads frozen, real numbers, and a sheet of notes.

Every text is written as a string, so that none becomes a formula or a link.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from discreet.errors import ParameterError
from discreet.release.text import clean, facts, meta
from discreet.release.writers.base import Format
from discreet.release.writers.csv_layout import PROOF
from discreet.release.writers.layout import Layer, Layout, head_rows, layers
from discreet.table import ProtectedTable

if TYPE_CHECKING:
    from discreet.release.result import Release

MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
MOST_TEXT = 32_767
NOTES = "Notes"
_PART = 30_000  # characters of a long text in one cell of the notes
_REFUSED = re.compile(r"[\[\]:*?/\\]")


def write_to(release: Release, file: BinaryIO) -> None:
    """Write a release row by row; refuse one that no sheet could hold."""
    import xlsxwriter

    table = release.table
    layout = Layout.of(table)
    _check(table, layout)
    said = facts(meta(release))
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False,
               "strings_to_numbers": False}  # fmt: skip
    book = xlsxwriter.Workbook(file, options)
    book.set_properties({"title": clean(release.title)[:255], "created": _moment(release)})
    bold = book.add_format({"bold": True})
    head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
    number = book.add_format({"num_format": "#,##0"})
    style = {"bold": bold, "head": head, "number": number}
    used = {NOTES.lower(), "history"}
    for layer in layers(table, layout):
        name = "Table"
        if layer.category is not None and layout.layer is not None:
            label = table.dimensions[layout.layer].labels[layer.category]
            name = f"{layer.category + 1} {label}"
        _sheet(book.add_worksheet(_name(name, used)), release, layout, layer, style)
    _notes(
        book.add_worksheet(NOTES), release, layout, said, bold, book.add_format({"text_wrap": 1})
    )
    book.close()


def _sheet(
    sheet: Any, release: Release, layout: Layout, layer: Layer, style: dict[str, Any]
) -> None:
    table = release.table
    width = 2 * len(layer.stub)
    sheet.set_column(0, width - 1, 14)
    for i in range(0, width, 2):
        longest = max(map(len, layer.stub[i // 2].labels))
        sheet.set_column(i, i, min(max(longest, 10), 50))
    sheet.set_column(width, width + layer.values.shape[1] - 1, 12)
    row = 0
    sheet.write_string(row, 0, clean(release.title)[:MOST_TEXT], style["bold"])
    row += 1
    if layer.category is not None and layout.layer is not None:
        d, i = table.dimensions[layout.layer], layer.category
        for column, text in enumerate((d.label, d.level, d.labels[i], d.codes[i])):
            _string(sheet, row, column, text)
        row += 1
    for texts in head_rows(layer, release.provenance.unit):
        for column, text in enumerate(texts):
            _string(sheet, row, column, text, style["head"])
        row += 1
    sheet.freeze_panes(row, width)
    for place, figures in layer.rows():
        for column, (d, i) in enumerate(zip(layer.stub, place, strict=True)):
            _string(sheet, row, 2 * column, d.labels[i])
            _string(sheet, row, 2 * column + 1, d.codes[i])
        for column, figure in enumerate(figures, width):
            if figure is not None:
                sheet.write_number(row, column, figure, style["number"])
        row += 1


def _notes(
    sheet: Any, release: Release, layout: Layout, said: list[tuple[str, str]], bold: Any, wrap: Any
) -> None:
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 100)
    proof = {"layout": layout.as_dict(release.table), "proof": release.proof}
    rows = [*said, (PROOF, json.dumps(proof, ensure_ascii=False))]
    for row, (head, text) in enumerate(rows):
        sheet.write_string(row, 0, head, bold)
        for i, start in enumerate(range(0, max(len(text), 1), _PART)):
            sheet.write_string(row, 1 + i, text[start : start + _PART], wrap)
    sheet.freeze_panes(0, 1)


def _string(sheet: Any, row: int, column: int, text: str, style: Any = None) -> None:
    cleaned = clean(text).replace("\r\n", "\n").replace("\r", "\n")
    if cleaned:
        sheet.write_string(row, column, cleaned, style)


def _check(table: ProtectedTable, layout: Layout) -> None:
    """Refuse before writing what Excel would refuse to open or silently cut."""
    rows = 4
    for d in layout.stub:
        rows = (rows - 4) * table.shape[d] + 4 if rows > 4 else table.shape[d] + 4
    columns = 2 * len(layout.stub) + (1 if layout.heading is None else table.shape[layout.heading])
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


def _moment(release: Release) -> datetime:
    """Return the date of the data: equal releases give equal files."""
    try:
        found = datetime.fromisoformat(release.provenance.data_date)
    except ValueError:
        return datetime(2000, 1, 1)
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


FORMAT = Format(
    "xlsx", "Excel workbook",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx", write_to,
)  # fmt: skip
