"""Forgeries of workbooks."""

# ruff: noqa: E501  a forgery is easier to check on one line

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import openpyxl
import pytest
from openpyxl.comments import Comment
from openpyxl.styles import Font
from openpyxl.worksheet.datavalidation import DataValidation

from forging.base import Forger, end, start


def book(change: Callable[[Any], Any]) -> Forger:
    """Return a forger that changes a workbook with openpyxl, which rewrites all of it."""

    def forge(path: Path) -> None:
        held = openpyxl.load_workbook(io.BytesIO(path.read_bytes()))
        change(held)
        held.save(path)

    return forge


def part(name: str, old: str, new: str) -> Forger:
    """Return a forger that changes one part of a workbook and no byte of another."""

    def forge(path: Path) -> None:
        with ZipFile(path) as held:
            parts = {each: held.read(each) for each in held.namelist()}
        if name not in parts:
            parts[name] = new.encode()
        else:
            assert old.encode() in parts[name], old
            parts[name] = parts[name].replace(old.encode(), new.encode(), 1)
        with ZipFile(path, "w", ZIP_DEFLATED) as fresh:
            for each, content in parts.items():
                fresh.writestr(each, content)

    return forge


def twice(path: Path) -> None:
    """Pack a sheet twice: some programs take the first of two parts, some the last."""
    with ZipFile(path) as held:
        parts = [(each, held.read(each)) for each in held.namelist()]
    sheet = "xl/worksheets/sheet1.xml"
    forged = (sheet, dict(parts)[sheet].replace(b"3069", b"3070"))
    with ZipFile(path, "w", ZIP_DEFLATED) as fresh:
        for each, content in parts:
            fresh.writestr(each, content)
        with pytest.warns(UserWarning, match="Duplicate"):
            fresh.writestr(*forged)


def another_directory(path: Path) -> None:
    """Name a part otherwise in its own head than in the directory at the end."""
    raw = path.read_bytes()
    name = b"xl/worksheets/sheet2.xml"
    path.write_bytes(raw.replace(name, name.replace(b"2", b"9"), 1))


def in_its_head(at: int, value: int) -> Forger:
    """Return a forger that changes a number in the head of the first part, not in the directory."""

    def forge(path: Path) -> None:
        raw = bytearray(path.read_bytes())
        raw[at : at + 2] = struct.pack("<H", value)
        path.write_bytes(raw)

    return forge


def with_extra(path: Path) -> None:
    """Give a part a second name, in a field that only some programs read."""
    with ZipFile(path) as held:
        parts = {each: held.read(each) for each in held.namelist()}
    with ZipFile(path, "w", ZIP_DEFLATED) as fresh:
        for each, content in parts.items():
            info = ZipInfo(each)
            info.extra = struct.pack("<HHBI", 0x7075, 5, 1, 0)
            fresh.writestr(info, content)


def commented(path: Path) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[:-2] + struct.pack("<H", 5) + b"exact")


SHEET1, NOTES = "xl/worksheets/sheet1.xml", "xl/worksheets/sheet5.xml"


def listed(at: int, size: str, value: int) -> Forger:
    """Return a forger that changes a field of the first entry of the directory."""

    def forge(path: Path) -> None:
        raw = bytearray(path.read_bytes())
        struct.pack_into(f"<{size}", raw, raw.index(b"PK\x01\x02") + at, value)
        path.write_bytes(raw)

    return forge


def ended(at: int, value: int) -> Forger:
    """Return a forger that changes a field of the record at the end."""

    def forge(path: Path) -> None:
        raw = bytearray(path.read_bytes())
        struct.pack_into("<H", raw, len(raw) - 22 + at, value)
        path.write_bytes(raw)

    return forge


XLSX: dict[str, Forger] = {
    "a part that needs a newer program": listed(6, "H", 63),
    "a part on another disk": listed(34, "H", 1),
    "a part of another kind": listed(36, "H", 2),
    "a part that is hidden": listed(38, "I", 2),
    "a part that is a link": listed(38, "I", 0o120777 << 16),
    "another disk": ended(4, 1),
    "a directory on another disk": ended(6, 1),
    "fewer parts on this disk": ended(8, 1),
    "a figure": part(SHEET1, "<v>3069</v>", "<v>3070</v>"),
    "a cell outside the declared range": part(
        SHEET1, "</row></sheetData>",
        '<c r="Z8"><v>9</v></c></row></sheetData>'),
    "a row outside the declared range": part(
        SHEET1, "</sheetData>", '<row r="40"><c r="A40"><v>9</v></c></row></sheetData>'),
    "a smaller range": part(SHEET1, 'dimension ref="A1', 'dimension ref="A7'),
    "a hidden row": part(SHEET1, '<row r="6"', '<row r="6" hidden="1"'),
    "a row of no height": part(SHEET1, '<row r="6"', '<row r="6" ht="0" customHeight="1"'),
    "a hidden column": part(SHEET1, '<col min="3" max="5"', '<col min="3" max="5" hidden="1"'),
    "a column of no width": part(SHEET1, 'max="5" width="12.7109375"', 'max="5" width="0"'),
    "a hidden sheet": part("xl/workbook.xml", 'sheetId="1"', 'sheetId="1" state="hidden"'),
    "a very hidden sheet": part("xl/workbook.xml", 'sheetId="2"', 'sheetId="2" state="veryHidden"'),
    "a name of a sheet": part("xl/workbook.xml", 'name="1 Area number 1"', 'name="1 Elsewhere"'),
    "a format that shows another number": part(
        "xl/styles.xml", 'formatCode="#,##0"', 'formatCode="&quot;1&quot;#,##0"'
    ),
    "a format of its own": part(
        "xl/styles.xml", "<fonts", '<numFmts count="1"><numFmt numFmtId="164" '
        'formatCode="&quot;9&quot;"/></numFmts><fonts'),
    "a white font": part("xl/styles.xml", '<color theme="1"/>', '<color rgb="FFFFFFFF"/>'),
    "a smaller font": part("xl/styles.xml", '<sz val="11"/>', '<sz val="1"/>'),
    "another theme": part("xl/theme/theme1.xml", 'lastClr="000000"', 'lastClr="FFFFFF"'),
    "zeros not shown": part(SHEET1, "<sheetView ", '<sheetView showZeros="0" '),
    "a view further down": part(SHEET1, 'topLeftCell="C5"', 'topLeftCell="C50"'),
    "a colour by condition": part(
        SHEET1, "</sheetData>", '</sheetData><conditionalFormatting sqref="C5"/>'),
    "cells merged": part(
        SHEET1, "</sheetData>", '</sheetData><mergeCells><mergeCell ref="C5:D5"/></mergeCells>'),
    "a filter": part(SHEET1, "</sheetData>", '</sheetData><autoFilter ref="A4:C5"/>'),
    "a link": part(
        SHEET1, "</sheetData>", '</sheetData><hyperlinks><hyperlink ref="A1"/></hyperlinks>'),
    "a header in print": part(
        SHEET1, "</worksheet>", "<headerFooter><oddHeader>Exact</oddHeader></headerFooter></worksheet>"),
    "a formula": part(SHEET1, "<v>3069</v>", "<f>3068+2</f><v>3069</v>"),
    "a text for a figure": part(
        SHEET1, '<v>3069</v>', '<is><t>3069</t></is>'),
    "an error for a figure": part(SHEET1, 's="3"><v>3069</v>', 's="3" t="e"><v>3069</v>'),
    "a date for a figure": part(SHEET1, 's="3"><v>3069</v>', 's="3" t="d"><v>3069</v>'),
    "a figure with decimals": part(SHEET1, "<v>3069</v>", "<v>3069.4</v>"),
    "a style of a figure": part(SHEET1, 's="3"><v>3069', 's="1"><v>3069'),
    "a drawing": part("xl/drawings/drawing1.xml", "", "<x/>"),
    "a macro": part("xl/vbaProject.bin", "", "x"),
    "a comment as a part": part("xl/comments1.xml", "", "<x/>"),
    "a name of a range": part(
        "xl/workbook.xml", "</sheets>", '</sheets><definedNames><definedName name="x">1</definedName></definedNames>'),
    "a sheet more": book(lambda b: b.create_sheet("Exact").append([9])),
    "a sheet of a chart": book(lambda b: b.create_chartsheet("Chart")),
    "a sheet moved": book(lambda b: b.move_sheet("Notes", -2)),
    "a comment at a cell": book(lambda b: setattr(b.worksheets[0]["C5"], "comment", Comment("9", "x"))),
    "a font of a cell": book(lambda b: setattr(b.worksheets[0]["C5"], "font", Font(color="FFFFFF"))),
    "a list of choices": book(lambda b: b.worksheets[0].add_data_validation(DataValidation("list"))),
    "a note": part(NOTES, "Use the published total.", "Use no published total."),
    "a note more": part(NOTES, "</sheetData>", '<row r="60"><c r="A60" t="inlineStr"><is><t>Note</t></is></c></row></sheetData>'),
    "a note without a head": part(NOTES, "</sheetData>", '<row r="60"><c r="B60" t="inlineStr"><is><t>9</t></is></c></row></sheetData>'),
    "the title of the file": part("docProps/core.xml", "<dc:title>Persons", "<dc:title>Prisoners"),
    "an author": part("docProps/core.xml", "<dc:creator>", "<dc:creator>The office"),
    "a part twice": twice,
    "a part by another name": another_directory,
    "another way of packing in its head": in_its_head(8, 0),
    "another sum in its head": in_its_head(14, 0),
    "another size in its head": in_its_head(22, 9),
    "a part with a second name": with_extra,
    "bytes before": start("MZ"),
    "bytes behind": end("exact"),
    "a comment of the file": commented,
    "a comment in a sheet": part(SHEET1, "<sheetData>", "<!-- 9 --><sheetData>"),
    "a declaration in a sheet": part(SHEET1, "?>\n", '?>\n<!DOCTYPE x [<!ENTITY n "9">]>\n'),
    "a sheet for another": part("xl/_rels/workbook.xml.rels", "sheet1.xml", "sheet3.xml"),
}  # fmt: skip
