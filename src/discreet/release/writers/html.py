"""HTML: one page that stands alone, without scripts, with tables that screen readers can read."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, BinaryIO

from discreet.release.text import clean, facts, meta
from discreet.release.writers.base import Format
from discreet.release.writers.layout import Layer, Layout, layers
from discreet.table import Dimension

if TYPE_CHECKING:
    from discreet.release.result import Release

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
WITHHELD = "\N{HORIZONTAL ELLIPSIS}"


def write_to(release: Release, file: BinaryIO) -> None:
    """Write a release row by row."""
    table = release.table
    layout = Layout.of(table)
    said = facts(meta(release))
    title = escape(clean(release.title))
    _line(
        file,
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body><main>",
        f'<h1 dir="auto">{title}</h1>',
    )
    for head, text in said[1:]:
        if head in ("Population", "Filter"):
            _line(file, f'<p dir="auto">{escape(head)}: {escape(text)}</p>')
    if release.table.withheld.any():
        _line(file, f"<p>{WITHHELD} means: not available.</p>")
    for layer in layers(table, layout):
        caption = ""
        mark = ""
        if layer.category is not None and layout.layer is not None:
            d, i = table.dimensions[layout.layer], layer.category
            name = f"{clean(d.label)}: {clean(d.labels[i])}"
            caption = f'<caption dir="auto">{escape(name)}</caption>'
            mark = f' data-code="{_attribute(d.codes[i])}"'
        _line(
            file,
            f'<div class="table" tabindex="0" role="region" aria-label="{title}"><table{mark}>',
            caption + _head(layer, release.provenance.unit),
            "<tbody>",
        )
        for place, figures in layer.rows():
            stub = "".join(
                f'<th scope="row" data-code="{_attribute(d.codes[i])}" dir="auto">'
                f"{escape(clean(d.labels[i]))}</th>"
                for d, i in zip(layer.stub, place, strict=True)
            )
            cells = "".join(
                f"<td>{WITHHELD}</td>" if figure is None else f"<td>{figure:,}</td>"
                for figure in figures
            )  # fmt: skip
            _line(file, f"<tr>{stub}{cells}</tr>")
        _line(file, "</tbody></table></div>")
    _line(file, '<h2>About this table</h2><dl id="facts">')
    for head, text in said:
        _line(file, f'<dt>{escape(head)}</dt><dd dir="auto">{escape(text)}</dd>')
    names = None
    if layout.layer is not None:
        names = table.dimensions[layout.layer].label
    proof = {
        "layout": layout.as_dict(table),
        "layer_label": names,
        "proof": release.proof,
    }
    data = json.dumps(proof, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026")
    _line(
        file,
        "</dl>",
        f'<script type="application/json" id="proof">{data}</script>',
        "</main></body></html>",
    )


def _head(layer: Layer, unit: str) -> str:
    stub = "".join(
        f'<th scope="col" data-id="{_attribute(d.level)}" dir="auto"{_span(layer)}>'
        f"{escape(clean(d.label))}</th>"
        for d in layer.stub
    )
    if layer.heading is None:
        return f'<thead><tr>{stub}<th scope="col" class="across">{escape(unit)}</th></tr></thead>'
    d = layer.heading
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


def _span(layer: Layer) -> str:
    return "" if layer.heading is None else ' rowspan="2"'


def _attribute(text: str) -> str:
    return escape(text).replace("\r", "&#13;").replace("\n", "&#10;").replace("\t", "&#9;")


def _line(file: BinaryIO, *texts: str) -> None:
    for text in texts:
        file.write(text.encode("utf-8") + b"\n")


FORMAT = Format("html", "Web page", "text/html; charset=utf-8", ".html", write_to)
