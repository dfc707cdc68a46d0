"""Forgeries of files that are texts: JSON-stat, CSV, PX, SDMX and HTML."""

# ruff: noqa: E501  a forgery is easier to check on one line

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from forging.base import META, STRUCTURE, Forger, end, start, swap, told


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
