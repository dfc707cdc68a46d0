"""Reading HTML back: what a reader sees, and the codes in its attributes."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from discreet.errors import NotOurs, ParameterError
from discreet.release.readers.base import (
    Found,
    Named,
    assembled,
    figure,
    layer_of,
    parsed,
    proof_of,
    unlike,
)
from discreet.release.text import Facts, folded
from discreet.release.writers.html import WITHHELD

_KEPT = {"h1", "th", "td", "caption", "dt", "dd", "script"}


class _Page(HTMLParser):
    """Gathers the heading, the tables, the notes and the proof."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.facts: Facts = []
        self.proof = ""
        self.tables: list[dict[str, Any]] = []
        self._head = ""
        self._attributes: dict[str, str | None] = {}
        self._text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "table":
            self.tables.append({"code": attributes.get("data-code"), "caption": "", "rows": []})
        elif tag == "tr" and self.tables:
            self.tables[-1]["rows"].append([])
        elif tag in _KEPT:
            self._attributes, self._text = attributes, []

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _KEPT or self._text is None:
            return
        text, self._text = "".join(self._text), None
        if tag in ("th", "td"):
            self.tables[-1]["rows"][-1].append((tag, self._attributes, text))
        elif tag == "caption":
            self.tables[-1]["caption"] = text
        elif tag == "h1":
            self.title = text
        elif tag == "dt":
            self._head = text
        elif tag == "dd":
            self.facts.append((self._head, text))
        elif self._attributes.get("id") == "proof":
            self.proof = text


def read(path: Path) -> Found:
    """Return what a page says."""
    page = _Page()
    page.feed(path.read_text(encoding="utf-8-sig"))
    page.close()
    if not page.proof:
        raise NotOurs(f"'{path.name}' must be a page that this program wrote.")
    document = parsed(page.proof, "the proof")
    layout = document["layout"]
    stub, layer, heading = layout["stub"], layer_of(layout), layout["heading"]
    ids = [name for name in (layer, *stub, heading) if name is not None]
    labels: dict[str, dict[str, str]] = {name: {} for name in ids}
    codes: dict[str, list[str]] = {name: [] for name in ids}
    heads: dict[str, str] = {}
    values: list[int | None] = []

    def note(name: str, code: str, label: str) -> None:
        if labels[name].setdefault(code, label) != label:
            raise ParameterError(f"the code '{code}' of {name} has two labels.")

    for table in page.tables:
        if layer is not None:
            title = document["layer_label" if "layer_label" in document else "wafer_label"]
            lead = f"{title}: "
            if not folded(table["caption"]).startswith(folded(lead)):
                raise ParameterError(
                    f"the caption '{table['caption']:.40}' is not one of the file."
                )
            heads[layer] = title
            note(layer, table["code"], table["caption"][len(lead) :])
        across = [""]
        for row in table["rows"]:
            figures = [text for tag, _, text in row if tag == "td"]
            titles = [(given, text) for tag, given, text in row if tag == "th"]
            if not figures:
                heads |= {g["data-id"]: text for g, text in titles if "data-id" in g}
                coded = [(g["data-code"], text) for g, text in titles if "data-code" in g]
                if coded:
                    across = [code for code, _ in coded]
                    for code, label in coded:
                        note(heading, code, label)
                continue
            if len(figures) != len(across):
                raise ParameterError("a row has more or fewer figures than heads.")
            for name, (given, text) in zip(stub, titles, strict=True):
                note(name, given["data-code"], text)
                codes[name] += [given["data-code"]] * len(across)
            if heading is not None:
                codes[heading] += across
            if layer is not None:
                codes[layer] += [table["code"]] * len(across)
            values += [None if x == WITHHELD else _figure(x) for x in figures]
    named = [Named(name, heads.get(name, ""), labels[name]) for name in ids]
    found = assembled(named, [codes[name] for name in ids], values)
    stated = next((text for head, text in page.facts if head == "Title"), "")
    wrong = unlike("the heading", page.title, stated)
    return Found(found, True, page.facts, proof_of(document), wrong)


def _figure(text: str) -> int:
    value = figure(text.replace(",", ""))
    if value is None:
        raise ParameterError("a figure of the page is empty.")
    return value
