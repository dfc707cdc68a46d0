"""HTML: one page that stands alone, without scripts, with tables that screen readers can read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, BinaryIO

from discreet.errors import NotOurs, ParameterError
from discreet.files import read_bytes
from discreet.json import parsed
from discreet.release.formats.base import Format, Found, Public, decimal
from discreet.release.formats.laid_out import Gathered, Sheet, layout, sheets
from discreet.release.formats.tags import Tag, tags
from discreet.release.text import Facts, clean
from discreet.table import Dimension, figure_text

_STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  color: #1b1b1b; background: #fff; }
.table { overflow-x: auto; margin: 1.5rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: start; font-weight: 600; padding: .25rem 0; }
th, td { padding: .2rem .75rem; border-bottom: 1px solid #d0d0d0; white-space: pre-wrap; }
thead th { border-bottom: 2px solid #1b1b1b; vertical-align: bottom; }
tbody th { text-align: start; font-weight: 400; }
td, thead th.across { text-align: end; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem; overflow-wrap: anywhere; }
"""
_DOCTYPE = "<!DOCTYPE html>\n"
WITHHELD = "\N{HORIZONTAL ELLIPSIS}"


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release row by row."""
    table = release.table
    said = release.facts
    title = escape(clean(release.title))
    _line(
        file,
        _DOCTYPE.strip(),
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body><main>",
        f'<h1 dir="auto">{title}</h1>',
    )
    for head, text in said[1:]:
        if head in ("Population", "Filter"):
            _line(file, f'<p dir="auto">{escape(head)}: {escape(text)}</p>')
    if table.withheld.any():
        _line(file, f"<p>{WITHHELD} means: not available.</p>")
    name = None
    for sheet in sheets(table):
        name = clean(sheet.layer[0].label) if sheet.layer else None
        _sheet(file, sheet, title, release.provenance.unit)
    _line(file, '<h2>About this table</h2><dl id="facts">')
    for head, text in said:
        _line(file, f'<dt>{escape(head)}</dt><dd dir="auto">{escape(text)}</dd>')
    proof = {"layout": layout(table), "layer_label": name, "proof": release.proof}
    data = json.dumps(proof, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026")
    _line(
        file,
        "</dl>",
        f'<script type="application/json" id="proof">{data}</script>',
        "</main></body></html>",
    )


def _sheet(file: BinaryIO, sheet: Sheet, title: str, unit: str) -> None:
    caption = mark = ""
    if named := sheet.of_layer():
        label, _, category, code = named
        name = f"{clean(label)}: {clean(category)}"
        caption = f'<caption dir="auto">{escape(name)}</caption>'
        mark = f' data-code="{_attribute(code)}"'
    _line(
        file,
        f'<div class="table" tabindex="0" role="region" aria-label="{title}"><table{mark}>',
        caption + _head(sheet, unit),
        "<tbody>",
    )
    for stub, figures in sheet.rows():
        heads = "".join(
            f'<th scope="row" data-code="{_attribute(code)}" dir="auto">{escape(clean(label))}</th>'
            for label, code in stub
        )
        cells = "".join(
            f"<td>{WITHHELD}</td>" if figure is None else f"<td>{_shown(figure)}</td>"
            for figure in figures
        )  # fmt: skip
        _line(file, f"<tr>{heads}{cells}</tr>")
    _line(file, "</tbody></table></div>")


def _head(sheet: Sheet, unit: str) -> str:
    span = "" if sheet.heading is None else ' rowspan="2"'
    stub = "".join(
        f'<th scope="col" data-id="{_attribute(d.level)}" dir="auto"{span}>'
        f"{escape(clean(d.label))}</th>"
        for d in sheet.stub
    )
    if sheet.heading is None:
        return f'<thead><tr>{stub}<th scope="col" class="across">{escape(unit)}</th></tr></thead>'
    d = sheet.heading
    group = (
        f'<th scope="colgroup" colspan="{len(d)}" data-id="{_attribute(d.level)}" dir="auto">'
        f"{escape(clean(d.label))}</th>"
    )
    return f"<thead><tr>{stub}{group}</tr><tr>{_across(d)}</tr></thead>"


def _across(dimension: Dimension) -> str:
    return "".join(
        f'<th scope="col" class="across" data-code="{_attribute(code)}" dir="auto">'
        f"{escape(clean(label))}</th>"
        for code, label in zip(dimension.codes, dimension.labels, strict=True)
    )


def _attribute(text: str) -> str:
    return escape(text).replace("\r", "&#13;").replace("\n", "&#10;").replace("\t", "&#9;")


def _line(file: BinaryIO, *texts: str) -> None:
    for text in texts:
        file.write(text.encode("utf-8") + b"\n")


@dataclass
class _Page:
    """Gathers the tables, the notes and the proof."""

    facts: Facts = field(default_factory=list)
    proof: str = ""
    tables: list[dict[str, Any]] = field(default_factory=list)
    head: str = ""

    def take(self, tag: Tag) -> None:
        """Read a tag that opens an element, with the text in it."""
        if tag.name == "table":
            code = tag.attributes.get("data-code")
            self.tables.append({"code": code, "caption": "", "rows": []})
        elif tag.name == "tr":
            self.tables[-1]["rows"].append([])
        elif tag.name in ("th", "td"):
            self.tables[-1]["rows"][-1].append((tag.name, tag.attributes, tag.text))
        elif tag.name == "caption":
            self.tables[-1]["caption"] = tag.text
        elif tag.name == "dt":
            self.head = tag.text
        elif tag.name == "dd":
            self.facts.append((self.head, tag.text))
        elif tag.attributes.get("id") == "proof":
            self.proof = tag.text


def read(path: Path) -> Found:
    """Return what a page says."""
    text = read_bytes(path).decode("utf-8-sig", "replace")
    if 'id="proof"' not in text:
        raise NotOurs(f"'{path.name}' must be the page of a release that this program wrote.")
    page = _Page()
    for tag in tags(text.removeprefix(_DOCTYPE), path.name):
        if not tag.closes:
            page.take(tag)
    document = parsed(page.proof, "the proof")
    found = Gathered(document["layout"])
    for table in page.tables:
        if found.layer is not None:
            title = document["layer_label"]
            if not table["caption"].startswith(f"{title}: "):
                raise ParameterError(
                    f"the caption '{table['caption']:.40}' is not one of the file."
                )
            found.heads[found.layer] = title
            found.note(found.layer, [(table["code"], table["caption"][len(f"{title}: ") :])])
        _read_table(table, found)
    return found.found(page.facts, document)


def _read_table(table: dict[str, Any], found: Gathered) -> None:
    across = [""]
    for row in table["rows"]:
        figures = [text for tag, _, text in row if tag == "td"]
        titles = [(given, text) for tag, given, text in row if tag == "th"]
        if not figures:
            found.heads |= {g["data-id"]: text for g, text in titles if "data-id" in g}
            coded = [(g["data-code"], text) for g, text in titles if "data-code" in g]
            if coded and found.heading is not None:
                across = [code for code, _ in coded]
                found.note(found.heading, coded)
            continue
        if len(figures) != len(across):
            raise ParameterError("a row has more or fewer figures than heads.")
        stub = [(given["data-code"], text) for given, text in titles]
        values = [None if x == WITHHELD else _figure(x) for x in figures]
        found.row(table["code"], stub, across, values)


def _shown(figure: float) -> str:
    """Return a figure with thousands set apart."""
    whole, point, part = figure_text(figure).partition(".")
    return f"{int(whole):,}{point}{part}"


def _figure(text: str) -> float:
    value = decimal(text.replace(",", ""))
    if value is None:
        raise ParameterError("a figure of the page is empty.")
    return value


FORMAT = Format(
    "html", "Web page", "text/html; charset=utf-8", ".html", write_to, read,
    lambda start: start.startswith(b"<") and b"<html" in start[:200].lower(),
)  # fmt: skip
