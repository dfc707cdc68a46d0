"""Forgeries: what a reader sees is what is verified. At least twenty for each format.

Each changes a genuine file so that some reader sees something else, or could: another figure, a
hidden row, a foreign note. None may be called genuine.
"""

# ruff: noqa: E501  a forgery is easier to check on one line

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import openpyxl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from openpyxl.comments import Comment
from openpyxl.styles import Font
from openpyxl.worksheet.datavalidation import DataValidation

from discreet.errors import NotOurs
from discreet.release import Release
from discreet.release.formats import FORMATS
from discreet.release.signature import Signer
from discreet.release.verify import verify
from releases import dimension, release

Forger = Callable[[Path], None]
META, STRUCTURE = ".meta.json", ".structure.xml"


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer.of_store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def made(signer: Signer) -> Release:
    parts = (
        dimension("area", 3, True, variable="geography"),
        dimension("age", 3),
        dimension("sex", 2, True),
    )
    return release(parts, withheld=1, bounds=True, signer=signer)


def swap(old: str, new: str, beside: str = "") -> Forger:
    """Return a forger that puts another text in the place of the first such one."""

    def forge(path: Path) -> None:
        file = path.with_name(path.name + beside)
        text = file.read_bytes().decode()
        assert old in text, old
        file.write_bytes(text.replace(old, new, 1).encode())

    return forge


def end(more: str, beside: str = "") -> Forger:
    """Return a forger that adds a text at the end."""

    def forge(path: Path) -> None:
        file = path.with_name(path.name + beside)
        file.write_bytes(file.read_bytes() + more.encode())

    return forge


def start(more: str) -> Forger:
    """Return a forger that adds a text at the start."""

    def forge(path: Path) -> None:
        path.write_bytes(more.encode() + path.read_bytes())

    return forge


def told(change: Callable[[dict[str, Any]], Any], beside: str = META) -> Forger:
    """Return a forger that changes a JSON document."""

    def forge(path: Path) -> None:
        file = path.with_name(path.name + beside)
        document = json.loads(file.read_text("utf-8"))
        change(document)
        file.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8")

    return forge


def column(path: Path) -> None:
    """Add a column with other figures, and say that the signed ones are in it."""
    lines = path.read_text("utf-8").splitlines()
    rows = [line.split(",") for line in lines]
    rows[0] += ["checked"]
    at = rows[0].index("value")
    for row in rows[1:]:
        row.append(row[at])
        row[at] = "9"
    path.write_text("\r\n".join(",".join(row) for row in rows) + "\r\n", "utf-8", newline="")
    told(lambda d: d["columns"].update(value="checked"))(path)


def without_bounds(path: Path) -> None:
    lines = [line.rsplit(",", 2)[0] for line in path.read_text("utf-8").splitlines()]
    path.write_text("\r\n".join(lines) + "\r\n", "utf-8", newline="")

    def drop(document: dict[str, Any]) -> None:
        del document["columns"]["low"], document["columns"]["high"]

    told(drop)(path)


SIDECAR: dict[str, Forger] = {
    "a title": told(lambda d: d.update(title="Prisoners by age")),
    "a note": told(lambda d: d["notes"].append("The figures are exact.")),
    "a figure of quality": told(lambda d: d["quality"].update(cells=4)),
    "a share of quality": told(lambda d: d["quality"]["unchanged"].update(low=0.5)),
    "a withheld area less": told(lambda d: d["withheld"].clear()),
    "a label of a dimension": told(lambda d: d["columns"]["dimensions"][2].update(label="Party")),
    "another variable": told(lambda d: d["columns"]["dimensions"][1].update(variable="income")),
    "a name that nobody knows": told(lambda d: d.update(retracted=True)),
    "the origin": told(lambda d: d["provenance"].update(data_date="2031-01-01T00:00:00+00:00")),
    "the key in the proof": told(lambda d: d["proof"].update(key="0" * 64)),
    "a word beside the signature": told(lambda d: d["proof"].update(checked="by the office")),
    "the same name twice": swap('  "title"', '  "title": "Prisoners",\n  "title"', META),
    "another format": told(lambda d: d.update(format="xlsx")),
}
NAMES: dict[str, Forger] = {
    "a label of a category": swap(">Sex number 1<", ">Sex number 2<", STRUCTURE),
    "two labels exchanged": swap(">Area number 3<", ">Area number 1 <", STRUCTURE),
    "a label of a dimension": swap(">Sex<", ">Party<", STRUCTURE),
    "the name of the structure": swap(">Persons by area", ">Prisoners by area", STRUCTURE),
    "the name of a concept": swap(">persons<", ">prisoners<", STRUCTURE),
    "a label in another language": swap(
        "Area number 3</com:Name>",
        'Area number 3</com:Name><com:Name xml:lang="de">Ausland</com:Name>',
        STRUCTURE,
    ),
    "another kind of figure": swap('textType="Long"', 'textType="Decimal"', STRUCTURE),
    "a comment": swap("<mes:Structures>", "<!-- 9 --><mes:Structures>", STRUCTURE),
    "a code more": swap(
        '<str:Code id="3">', '<str:Code id="4"/><str:Code id="3">', STRUCTURE
    ),
    "a description": swap(
        "Area</com:Name>", "Area</com:Name><com:Description>x</com:Description>", STRUCTURE
    ),
}  # fmt: skip

CSV: dict[str, Forger] = {
    "a figure": swap(",3069,", ",3070,"),
    "a figure and its bounds": swap("3069,3067,3071", "3169,3167,3171"),
    "a bound": swap("3069,3067,3071", "3069,3067,9999"),
    "a withheld figure given": swap("Sex number 1,,,", "Sex number 1,0,0,0"),
    "bounds of a withheld figure": swap("Sex number 1,,,", "Sex number 1,,0,9"),
    "a figure withheld": swap("3069,3067,3071", ",,"),
    "a thousand for a one, in German": swap(",207,205,209", ",207.000,205,209"),
    "a leading zero": swap(",207,205,209", ",0207,205,209"),
    "digits of another script": swap(",207,205,209", ",٢٠٧,205,209"),
    "a blank before a figure": swap(",207,205,209", ", 207,205,209"),
    "a row twice": swap("_T,Total,3,Age number 3,_T", "_T,Total,3,Age number 3,1"),
    "a row less": swap("_T,Total,3,Age number 3,_T,Total,2418,2416,2420\r\n", ""),
    "a row more": end("9,Elsewhere,1,Age number 1,1,Sex number 1,5,4,6\r\n"),
    "a remark below": end("Source: the office\r\n"),
    "blank lines": end("\r\n\r\n"),
    "a remark above": start("checked by the office\r\n"),
    "a label of one row": swap("Sex number 2,3069", "Sex number 3,3069"),
    "a label of all rows": lambda path: path.write_bytes(
        path.read_bytes().replace(b"Age number 1", b"Age number one")
    ) and None,
    "lines in a label": lambda path: path.write_bytes(
        path.read_bytes().replace(b"Age number 1", b'"Age\n\n\n\n\nnumber 1"')
    ) and None,
    "a column renamed": swap("age_label", "income_label"),
    "two columns of one name": swap("value,low", "value,value"),
    "a column with the signed figures": column,
    "bounds left out": without_bounds,
    "a quote that programs read differently": swap("Sex number 2,3069", 'Sex number 2,30"69"'),
    "a code with a zero": swap("\r\n3,Area", "\r\n03,Area"),
    "a byte that is no text": lambda path: path.write_bytes(
        path.read_bytes().replace(b"Sex number 2", b"Sex number \xff", 1)
    ) and None,
}  # fmt: skip

LAYOUT: dict[str, Forger] = {
    "a figure": swap(",3069,", ",3070,"),
    "a title": swap("Persons by area", "Prisoners by area"),
    "a second title": start("Exact figures\r\n"),
    "a remark beside the title": swap('age and sex"\r\n', 'age and sex",exact\r\n'),
    "a remark above the table": swap("\r\n\r\nArea,", "\r\n\r\nAll figures are exact.\r\nArea,"),
    "a remark after a row": swap("70123457,3069,4530", "70123457,3069,4530,,see below"),
    "a block that is not of the table": swap(
        "\r\n\r\nTitle,", "\r\n\r\nNorth,1,5,6,7\r\n\r\nTitle,"
    ),
    "a layer twice": swap("Area,area,Area number 3,3", "Area,area,Area number 1,1"),
    "a label of a layer": swap("Area,area,Area number 1,1", "Area,area,Elsewhere,1"),
    "a label across": swap("Age,age,Sex number 1,", "Age,age,Sex number 2,"),
    "labels exchanged in all blocks": lambda path: path.write_bytes(
        path.read_bytes().replace(b"Age,age,Sex number 1,Sex number 2",
                                  b"Age,age,Sex number 2,Sex number 1")
    ) and None,
    "a note": swap("Note,Use the published total.", "Note,Add up as you like."),
    "a note less": swap("Note,Use the published total.\r\n", ""),
    "a note more": swap("Note,Use", "Note,The figures are exact.\r\nNote,Use"),
    "a head of a note": swap("Note,Use", "Warning,Use"),
    "a remark after a note": swap("Note,Use the published total.",
                                  "Note,Use the published total.,not really"),
    "a row below the proof": end("Note,The figures are exact.\r\n"),
    "a second proof": end("Proof,{}\r\n"),
    "the layout in the proof": swap('""heading"": ""sex""', '""heading"": ""age""'),
    "a word in the proof": swap('{""layout""', '{""checked"": true, ""layout""'),
    "a figure withheld": swap(",3069,", ",,"),
    "a withheld figure given": swap("Age number 1,1,,,", "Age number 1,1,5,,"),
    "a unit": swap("Unit,persons", "Unit,thousand persons"),
    "a row less": swap("Age number 3,3,804,2298,2418\r\n", ""),
}  # fmt: skip

PX: dict[str, Forger] = {
    "a figure": swap("70123457 3069", "70123457 3070"),
    "a withheld figure given": swap('".." ".."', '5 ".."'),
    "two decimals shown": swap("SHOWDECIMALS=0", "SHOWDECIMALS=2"),
    "two decimals": swap("DECIMALS=0", "DECIMALS=2"),
    "a title": swap('TITLE="Persons', 'TITLE="Prisoners'),
    "a description": swap('DESCRIPTION="Persons', 'DESCRIPTION="Prisoners'),
    "the contents": swap('CONTENTS="Persons"', 'CONTENTS="Prisoners"'),
    "a unit": swap('UNITS="persons"', 'UNITS="thousands"'),
    "summing switched off": swap("AGGREGALLOWED=YES", "AGGREGALLOWED=NO"),
    "a source": swap('SOURCE="Census', 'SOURCE="Survey'),
    "a subject": swap('SUBJECT-AREA="Census', 'SUBJECT-AREA="Survey'),
    "a symbol for what is missing": swap('DATASYMBOL2="Not available"', 'DATASYMBOL2="Zero"'),
    "a note": swap("Use the published", "Use no published"),
    "a note more": swap("NOTE=", 'NOTEX="The figures are exact.";\r\nNOTE='),
    "a note to a cell": swap("NOTE=", 'CELLNOTE("1","1","1")="Exact.";\r\nNOTE='),
    "a keyword twice": swap("SOURCE=", 'TITLE="Prisoners";\r\nSOURCE='),
    "another language": swap("SOURCE=", 'TITLE[de]="Gefangene";\r\nSOURCE='),
    "a label": swap('VALUES("Sex")="Sex number 1"', 'VALUES("Sex")="Sex number 2"'),
    "labels exchanged": swap('"Age number 1","Age number 2"', '"Age number 2","Age number 1"'),
    "a name of a dimension": lambda path: path.write_bytes(
        path.read_bytes().replace(b'"Sex"', b'"Party"')
    ) and None,
    "a date": swap('LAST-UPDATED="2024', 'LAST-UPDATED="2034'),
    "a contact": swap("SOURCE=", 'CONTACT="x@y.example";\r\nSOURCE='),
    "a variable on a map": swap(
        'VARIABLECODE("Sex")', 'VARIABLE-TYPE("Sex")="geographical";\r\nVARIABLECODE("Sex")'
    ),
    "a figure more": swap("\r\n;", " 7\r\n;"),
    "a text behind the figures": end('TITLE="Prisoners";\r\n'),
    "another code page": swap('CODEPAGE="utf-8"', 'CODEPAGE="utf-7"'),
    "elimination": swap("SOURCE=", 'ELIMINATION("Sex")=YES;\r\nSOURCE='),
}  # fmt: skip

JSON_STAT: dict[str, Forger] = {
    "a figure": swap("70123457,3069", "70123457,3070"),
    "a figure as a text": swap("70123457,3069", '70123457,"3069"'),
    "a figure with decimals": swap("70123457,3069", "70123457,3069.0"),
    "true for a one": swap('"cells":3', '"cells":true'),
    "values twice": swap('"value":[', '"value":[1],"value":['),
    "a label twice": swap('"class":', '"label":"Prisoners","class":'),
    "a label": swap('"label":"Persons', '"label":"Prisoners'),
    "a note": swap('"note":["Figures', '"note":["Exact figures'),
    "a note more": swap('"note":[', '"note":["Exact.",'),
    "a source": swap('"source":"Census', '"source":"Survey'),
    "a date": swap('"updated":"2024', '"updated":"2034'),
    "another role": swap('"geo":["area"]', '"geo":["area"],"time":["age"]'),
    "a label of a category": swap('"1":"Sex number 1"', '"1":"Sex number 2"'),
    "a unit of a category": swap('"label":"Sex","category":{', '"label":"Sex","category":{"unit":{"1":{"decimals":2}},'),
    "a child of a category": swap('"label":"Sex","category":{', '"label":"Sex","category":{"child":{"_T":["1"]},'),
    "a status": swap('"9":"withheld"', '"9":"zero"'),
    "a status more": swap('"9":"withheld"', '"0":"estimated","9":"withheld"'),
    "a size": swap('"size":[4,3,3]', '"size":[3,4,3]'),
    "links": swap('"class":', '"link":{"alternate":[{"href":"https://other.example"}]},"class":'),
    "a bound": swap('"low":[70123455', '"low":[70123000'),
    "bounds left out": lambda path: path.write_text(
        re.sub(r',"low":\[.*?\],"high":\[.*?\]', "", path.read_text("utf-8")), "utf-8"
    ) and None,
    "a column more": swap('"low":[', '"exact":[1],"low":['),
    "an infinite figure": swap('"cells":3', '"cells":Infinity'),
    "a second document": end("{}"),
    "an href": swap('"class":', '"href":"https://other.example","class":'),
    "the order of figures": swap('"id":["area","age","sex"]', '"id":["area","sex","age"]'),
}  # fmt: skip

HTML: dict[str, Forger] = {
    "a figure": swap("<td>3,069</td>", "<td>3,070</td>"),
    "a figure behind an element": swap("<td>3,069</td>", "<td><b>9</b>3,069</td>"),
    "a hidden figure": swap("<td>3,069</td>", '<td hidden>3,069</td>'),
    "a style of a cell": swap("<td>3,069</td>", '<td style="font-size:0">3,069</td>'),
    "a hidden table": swap('<table data-code="1">', '<table data-code="1" hidden>'),
    "a style that hides the table": swap("</style>", "table { display: none }</style>"),
    "a style that writes figures": swap("</style>", "td::after { content: '0' }</style>"),
    "a second style": swap("</head>", "<style>td{color:#fff}</style></head>"),
    "a script": swap("</main>", "<script>document.body.innerHTML='9'</script></main>"),
    "a script on load": swap("<body>", "<body onload=\"document.write('9')\">"),
    "a picture over the table": swap("<main>", '<main><img src="https://x.example/t.png">'),
    "a text over the table": swap("<main>", "<main><p>All figures are exact.</p>"),
    "a comment": swap("<main>", "<main><!-- 9 -->"),
    "a table in a comment": lambda path: path.write_text(
        path.read_text("utf-8").replace('<div class="table"', '<!--<div class="table"', 1)
        .replace("<h2>", "--><h2>", 1), "utf-8", newline=""
    ) and None,
    "a base address": swap("<head>", '<head><base href="https://x.example/">'),
    "another address after a second": swap(
        "<head>", '<head><meta http-equiv="refresh" content="1;url=https://x.example/">'
    ),
    "a title of the window": swap("<title>Persons", "<title>Prisoners"),
    "a heading": swap('<h1 dir="auto">Persons', '<h1 dir="auto">Prisoners'),
    "the population above": swap("Population: Usual residents</p>", "Population: Prisoners</p>"),
    "what the ellipsis means": swap("means: not available", "means: zero"),
    "a caption": swap("Area: Area number 1", "Area: Area number 3"),
    "a label": swap(">Age number 1</th>", ">Age number 2</th>"),
    "blank lines before a label": lambda path: path.write_text(
        path.read_text("utf-8").replace(">Age number 1<", ">" + "\n" * 99 + "Age number 1<"),
        "utf-8", newline="") and None,
    "a wider cell": swap("<td>3,069</td>", '<td colspan="2">3,069</td>'),
    "a group across": swap('colspan="3"', 'colspan="2"'),
    "right to left": swap('<html lang="en">', '<html lang="en" dir="rtl">'),
    "a note": swap("<dd dir=\"auto\">Use the published", "<dd dir=\"auto\">Use no published"),
    "a table behind the page": end("<table><tr><td>9</td></tr></table>"),
    "a table before the page": start("<table><tr><td>9</td></tr></table>"),
    "a figure by its number": swap("<td>3,069</td>", "<td>3,0&#54;9</td>"),
    "a label for those who listen": swap('aria-label="Persons', 'aria-label="Prisoners'),
    "an element that ends the page": swap("<main>", "<main><plaintext>"),
    "a frame": swap("<main>", '<main><iframe src="https://x.example"></iframe>'),
}  # fmt: skip

SDMX_ML: dict[str, Forger] = {
    "a figure": swap('OBS_VALUE="3069"', 'OBS_VALUE="3070"'),
    "a withheld figure given": swap('OBS_STATUS="Q"', 'OBS_VALUE="5" OBS_STATUS="A"'),
    "a status": swap('OBS_STATUS="A"', 'OBS_STATUS="E"'),
    "a status of what is missing": swap('OBS_STATUS="Q"', 'OBS_STATUS="L"'),
    "a title": swap('TITLE="Persons', 'TITLE="Prisoners'),
    "the population": swap('POPULATION="Usual', 'POPULATION="Unusual'),
    "the filters": swap("FILTERS='Local", "FILTERS='Global"),
    "a note": swap('NOTES="Figures', 'NOTES="Exact figures'),
    "the quality": swap('QUALITY="Figures are not', 'QUALITY="Figures are'),
    "a date": swap('LAST_UPDATE="2024', 'LAST_UPDATE="2034'),
    "the time of preparing": swap("<mes:Prepared>2024", "<mes:Prepared>2034"),
    "the sender": swap('<mes:Sender id="DISCREET"/>', '<mes:Sender id="OTHER"/>'),
    "a test": swap("<mes:Test>false", "<mes:Test>true"),
    "an action": swap('action="Replace"', 'action="Delete"'),
    "a comment": swap("<mes:Header>", "<!-- 9 --><mes:Header>"),
    "a declaration": swap("?>\n", '?>\n<!DOCTYPE x [<!ENTITY n "9">]>\n'),
    "an attribute of a figure": swap('OBS_VALUE="3069"', 'OBS_VALUE="3069" UNIT_MULT="3"'),
    "a second value": swap('OBS_VALUE="3069"', 'OBS_VALUE="9" OBS_VALUE="3069"'),
    "a figure in another namespace": swap('OBS_VALUE="3069"', 'ss:OBS_VALUE="9" OBS_VALUE="3069"'),
    "a figure twice": swap("</mes:DataSet>", '<Obs area="1" age="1" sex="1" OBS_VALUE="1" OBS_STATUS="A"/></mes:DataSet>'),
    "a second data set": swap("</mes:StructureSpecificData>", "<mes:DataSet/></mes:StructureSpecificData>"),
    "an element between": swap("<Obs", "<Group/><Obs"),
    "a text between": swap("<Obs", "exact <Obs"),
    "a footer": swap("</mes:StructureSpecificData>", "<mes:Footer/></mes:StructureSpecificData>"),
    "another structure": swap('version="1.0" class', 'version="2.0" class'),
    "another encoding": swap('encoding="UTF-8"', 'encoding="UTF-16"'),
    "a style sheet": swap("?>\n", '?>\n<?xml-stylesheet href="https://x.example/x.xsl"?>\n'),
    "a figure by its number": swap('OBS_VALUE="3069"', 'OBS_VALUE="30&#54;9"'),
    **NAMES,
}  # fmt: skip

SDMX_CSV: dict[str, Forger] = {
    "a figure": swap(",3069,A", ",3070,A"),
    "a status": swap(",3069,A", ",3069,E"),
    "a withheld figure given": swap(",,Q", ",0,A"),
    "a withheld figure with a value": swap(",,Q", ",0,Q"),
    "an action": swap(",I,1,1,1", ",D,1,1,1"),
    "another structure": swap("(1.0),I,1,1,1", "(2.0),I,1,1,1"),
    "another kind of structure": swap("datastructure,", "dataflow,"),
    "a column more": lambda path: path.write_bytes(
        path.read_bytes().replace(b"OBS_STATUS", b"OBS_STATUS,UNIT_MULT").replace(
            b",A\r\n", b",A,3\r\n").replace(b",Q\r\n", b",Q,3\r\n")) and None,
    "a row more": end("datastructure,DISCREET:DSD_CENSUS(1.0),I,9,1,1,5,A\r\n"),
    "a code": swap(",I,1,1,1,", ",I,01,1,1,"),
    **{f"in the notes, {name}": forger for name, forger in SIDECAR.items()},
    **{f"in the structure, {name}": forger for name, forger in NAMES.items()},
}  # fmt: skip


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
XLSX: dict[str, Forger] = {
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


def parquet(change: Callable[[pa.Table], pa.Table], **options: Any) -> Forger:
    """Return a forger that changes the table of a Parquet file."""

    def forge(path: Path) -> None:
        pq.write_table(change(pq.read_table(path)), path, **options)

    return forge


def typed(name: str, kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        return table.set_column(at, name, pc.cast(table[name], kind))

    return change


def figured(name: str, by: int) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        return table.set_column(at, name, pc.add(table[name], by))

    return change


def noted(table: pa.Table, **more: str) -> pa.Table:
    added = {key.encode(): text.encode() for key, text in more.items()}
    return table.replace_schema_metadata({**table.schema.metadata, **added})


def noted_twice(table: pa.Table) -> pa.Table:
    """Put a second document under the same key: a library may show the one or the other."""
    said = table.schema.metadata[b"discreet"].replace(b"Persons by", b"Prisoners by")
    return table.replace_schema_metadata({**table.schema.metadata, "discreet": said})


def of_field(table: pa.Table) -> pa.Table:
    field = table.schema.field("value").with_metadata({"unit": "thousands"})
    fields = [field if f.name == "value" else f for f in table.schema]
    return table.cast(pa.schema(fields, table.schema.metadata))


def document(change: Callable[[dict[str, Any]], Any]) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        said = json.loads(table.schema.metadata[b"discreet"])
        change(said)
        return noted(table, discreet=json.dumps(said))

    return changed


def between(path: Path) -> None:
    """Put bytes that belong to nothing before the foot."""
    raw = path.read_bytes()
    foot = struct.unpack("<I", raw[-8:-4])[0]
    path.write_bytes(raw[: -8 - foot] + b"exact" + raw[-8 - foot :])


def smallest(path: Path) -> None:
    """Say that the smallest figure is another: a reader that asks for less finds nothing."""
    raw = path.read_bytes()
    foot = struct.unpack("<I", raw[-8:-4])[0]
    at = len(raw) - 8 - foot
    least = struct.pack("<q", 165)
    assert least in raw[at:]
    path.write_bytes(raw[:at] + raw[at:].replace(least, struct.pack("<q", 166)))


def renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns(["count" if n == "value" else n for n in table.column_names])


def decimals(table: pa.Table) -> pa.Table:
    at = table.column_names.index("value")
    scaled = pc.cast(table["value"], pa.decimal128(19, 0))
    return table.set_column(at, "value", scaled)


PARQUET: dict[str, Forger] = {
    "a figure": parquet(figured("value", 1)),
    "a bound": parquet(figured("low", 1)),
    "a row less": parquet(lambda t: t.slice(1)),
    "a row twice": parquet(lambda t: pa.concat_tables([t, t.slice(0, 1)])),
    "a column more": parquet(lambda t: t.append_column("exact", t["value"])),
    "a column less": parquet(lambda t: t.drop_columns(["high"])),
    "labels left out": parquet(lambda t: t.drop_columns(["sex_label"])),
    "a column renamed": parquet(renamed),
    "two columns of one name": parquet(lambda t: t.append_column("value", t["low"])),
    "a figure as a decimal": parquet(decimals),
    "a figure as a double": parquet(typed("value", pa.float64())),
    "a figure as a text": parquet(typed("value", pa.string())),
    "a figure as a time": parquet(typed("value", pa.timestamp("us"))),
    "a figure without a sign": parquet(typed("value", pa.uint64())),
    "a figure as a duration": parquet(typed("value", pa.duration("us"))),
    "codes as numbers": parquet(
        lambda t: t.set_column(2, "age", pc.cast(pc.cast(t["age"], pa.string()), pa.int64()))),
    "a note in the schema": parquet(lambda t: noted(t, warning="exact")),
    "two documents": parquet(noted_twice),
    "a note for pandas": parquet(lambda t: noted(t, pandas='{"index_columns":["value"]}')),
    "a note at a column": parquet(of_field),
    "the title": parquet(document(lambda d: d.update(title="Prisoners"))),
    "a figure of quality": parquet(document(lambda d: d["quality"].update(cells=4))),
    "the columns": parquet(document(lambda d: d["columns"].update(value="low"))),
    "a claim that rows are sorted": parquet(
        lambda t: t, sorting_columns=[pq.SortingColumn(t) for t in (6,)]),
    "an index of pages": parquet(lambda t: t, write_page_index=True),
    "bytes before the foot": between,
    "bytes behind": end("PAR1"),
    "the smallest figure": smallest,
    **{f"in the notes beside, {name}": forger for name, forger in SIDECAR.items()},
}  # fmt: skip

FORGERIES: dict[str, dict[str, Forger]] = {
    "json-stat": JSON_STAT,
    "csv": CSV | {f"in the notes, {name}": forger for name, forger in SIDECAR.items()},
    "csv-layout": LAYOUT,
    "xlsx": XLSX,
    "px": PX,
    "sdmx-csv": SDMX_CSV,
    "sdmx-ml": SDMX_ML,
    "parquet": PARQUET,
    "html": HTML,
}
CASES = [
    pytest.param(format, forger, id=f"{format}-{name}")
    for format, forgers in FORGERIES.items()
    for name, forger in forgers.items()
]


def test_there_are_twenty_for_each_format() -> None:
    assert set(FORGERIES) == set(FORMATS)
    assert all(len(forgers) >= 20 for forgers in FORGERIES.values())


@pytest.mark.parametrize(("format", "forger"), CASES)
def test_a_forgery_is_not_genuine(
    format: str, forger: Forger, made: Release, signer: Signer, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    files = made.write(path, format)
    before = [file.read_bytes() for file in files]
    assert verify(path, signer.public).genuine
    forger(path)
    assert [file.read_bytes() for file in files] != before
    try:
        found = verify(path, signer.public)
    except NotOurs:
        return
    assert not found.genuine
    assert found.reasons
    assert all(len(reason) < 300 for reason in found.reasons)
