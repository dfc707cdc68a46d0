"""Reading XLSX back, whichever program saved it last."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from discreet.errors import NotOurs, ParameterError
from discreet.release.readers.base import Found, parsed
from discreet.release.readers.blocks import blocks_found
from discreet.release.text import Facts
from discreet.release.writers.csv_layout import PROOF
from discreet.release.writers.xlsx import NOTES

_ESCAPED = re.compile(r"_x005F_(?=x[0-9A-Fa-f]{4}_)")


def read(path: Path) -> Found:
    """Return what the sheets of a workbook say; formulas are read as their text and fail."""
    import openpyxl

    try:
        book = openpyxl.load_workbook(BytesIO(path.read_bytes()), read_only=True)
    except (KeyError, ValueError, BadZipFile):
        raise NotOurs(f"'{path.name}' must be a whole XLSX workbook.") from None
    try:
        if NOTES not in book.sheetnames:
            raise NotOurs(f"'{path.name}' must have a sheet '{NOTES}'.")
        facts: Facts = []
        document: dict[str, Any] = {}
        rows: list[Any] = []
        for sheet in book.worksheets:
            found = [[_cell(x) for x in row] for row in sheet.iter_rows(values_only=True)]
            if sheet.title != NOTES:
                rows += [*found, []]
                continue
            for row in found:
                text = "".join(str(x) for x in row[1:] if x is not None)
                if row and row[0] == PROOF:
                    document = parsed(text, "the proof")
                elif row and row[0]:
                    facts.append((str(row[0]), text))
    finally:
        book.close()
    if "layout" not in document:
        raise ParameterError(f"the sheet '{NOTES}' must have a row '{PROOF}'.")
    return blocks_found(rows, facts, document)


def _cell(value: object) -> object:
    """Return a cell; whole numbers come back as floats from some programs.

    Excel writes `_x0041_` in a text as `_x005F_x0041_`; the library undoes it in some cells only.
    """
    if isinstance(value, str):
        return _ESCAPED.sub("_", value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
