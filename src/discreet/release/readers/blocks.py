"""Reading tables that lie as on paper: blocks of rows, then the notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from discreet.errors import ParameterError
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
from discreet.release.text import Facts
from discreet.release.writers.csv_layout import PROOF

Row = Sequence[Any]


def read_blocks(rows: list[Row]) -> Found:
    """Return what laid-out rows say; the last of them is the proof, before it are the notes."""
    end = max(i for i, row in enumerate(rows) if row and _text(row[0]) == PROOF)
    start = max((i for i in range(end) if not any(map(_text, rows[i]))), default=-1) + 1
    facts: Facts = [(_text(row[0]), "".join(map(_text, row[1:]))) for row in rows[start:end] if row]
    document = parsed("".join(map(_text, rows[end][1:])), "the proof")
    return blocks_found(rows[:start], facts, document)


def blocks_found(rows: list[Row], facts: Facts, document: dict[str, Any]) -> Found:
    """Return the table in blocks of rows, each under its heads; a blank row ends a block."""
    layout = document["layout"]
    stub: list[str] = layout["stub"]
    layer, heading = layer_of(layout), layout["heading"]
    ids = [name for name in (layer, *stub, heading) if name is not None]
    labels: dict[str, dict[str, str]] = {name: {} for name in ids}
    heads: dict[str, str] = {}
    codes: dict[str, list[str]] = {name: [] for name in ids}
    values: list[int | None] = []
    page, across, titles = "", [""], []
    named_across: list[str] = []
    inside = waiting = False
    width = 2 * len(stub)
    for row in rows:
        texts = [_text(x) for x in row]
        if not any(texts):
            inside = False
        elif waiting:
            across = _trimmed(texts[width:])
            heads[heading] = texts[0]
            named_across += [""] * (len(across) - len(named_across))
            if any(named_across[len(across) :]):
                raise ParameterError("a block has more labels than codes across.")
            named_across = named_across[: len(across)]
            _note(labels[heading], zip(across, named_across, strict=True))
            waiting, inside = False, True
        elif inside:
            place = texts[1:width:2]
            for name, code, label in zip(stub, place, texts[0:width:2], strict=True):
                _note(labels[name], [(code, label)])
            figures = [*row[width:], *([None] * (width + len(across) - len(row)))]
            if any(_text(x) for x in figures[len(across) :]):
                raise ParameterError("a row has more figures than heads.")
            values += [figure(x) for x in figures[: len(across)]]
            for name, code in zip(stub, place, strict=True):
                codes[name] += [code] * len(across)
            if heading is not None:
                codes[heading] += across
            if layer is not None:
                codes[layer] += [page] * len(across)
        elif texts[1:width:2] == stub:
            heads |= dict(zip(stub, texts[0:width:2], strict=True))
            named_across = texts[width:]
            waiting, inside = heading is not None, heading is None
        elif layer is not None and len(texts) > 3 and texts[1] == layer:
            page = texts[3]
            heads[layer] = texts[0]
            _note(labels[layer], [(page, texts[2])])
        else:
            titles.append(texts[0])
    named = [Named(name, heads.get(name, ""), labels[name]) for name in ids]
    table = assembled(named, [codes[name] for name in ids], values)
    stated = next((text for head, text in facts if head == "Title"), "")
    wrong = chain.from_iterable(unlike("the title", title, stated) for title in titles)
    return Found(table, True, facts, proof_of(document), tuple(wrong))


def _note(labels: dict[str, str], pairs: Iterable[tuple[str, str]]) -> None:
    """Remember the label of each code, which must be the same wherever the code stands."""
    for code, label in pairs:
        if labels.setdefault(code, label) != label:
            raise ParameterError(f"the code '{code}' has two labels.")


def _trimmed(texts: list[str]) -> list[str]:
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _text(value: Any) -> str:
    return "" if value is None else str(value)
