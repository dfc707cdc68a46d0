"""Tidy files, with one row per cell: the names of their columns, their notes, reading them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import NotOurs, ParameterError
from discreet.files import read_bytes
from discreet.json import parsed
from discreet.release.formats.base import (
    Found,
    Named,
    Public,
    assembled,
    decimal,
    document,
    proof_of,
    without,
)
from discreet.release.formats.compare import delimited, delimiter_of, read_text
from discreet.release.formats.sdmx import STRUCTURE, original, structure_labels
from discreet.release.text import facts
from discreet.table import ProtectedTable

META = ".meta.json"
"""What is added to the name of a tidy file for the document beside it: notes and proof."""


@dataclass(frozen=True)
class Columns:
    """The names of the columns of a tidy file, no two the same."""

    codes: tuple[str, ...]
    labels: tuple[str, ...]
    figures: Mapping[str, str]

    @property
    def value(self) -> str:
        """The column of the released figures."""
        return self.figures["value"]

    @classmethod
    def of(cls, table: ProtectedTable) -> Columns:
        """Return names: the id of each dimension, the id with `_label`, then `value` and so on."""
        used = [d.level for d in table.dimensions]

        def fresh(name: str) -> str:
            while name in used:
                name += "_"
            used.append(name)
            return name

        labels = tuple(fresh(f"{d.level}_label") for d in table.dimensions)
        codes = tuple(d.level for d in table.dimensions)
        return cls(codes, labels, {name: fresh(name) for name in table.figures})

    def as_dict(self, table: ProtectedTable) -> dict[str, Any]:
        """Return which column holds what, for the document beside a tidy file."""
        dimensions = [
            {"id": d.level, "variable": d.variable, "label": d.label, "code": code,
             "label_column": label}
            for d, code, label in zip(table.dimensions, self.codes, self.labels, strict=True)
        ]  # fmt: skip
        return {"dimensions": dimensions, **self.figures}


def said_of(release: Public, format: str) -> dict[str, Any]:
    """Return the document that goes with a tidy file: notes, which column is what, the proof."""
    columns = Columns.of(release.table).as_dict(release.table)
    return document(release, format=format, columns=columns)


def readable(value: object) -> bytes:
    """Return a document as JSON that people can read too."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def sidecar(path: Path) -> Path:
    """Return where the document of a tidy file is."""
    return path.with_name(path.name + META)


def read_sidecar(path: Path) -> dict[str, Any]:
    """Return the document beside a tidy file."""
    beside = sidecar(path)
    if not beside.is_file():
        raise NotOurs(f"'{path.name}' must have {beside.name} beside it.")
    return parsed(read_bytes(beside), beside.name)


def read_delimited(path: Path) -> Found:
    """Return what a tidy CSV or an SDMX-CSV says, rows and columns in whatever order."""
    document = read_sidecar(path)
    text = read_text(path)
    first, *rows = delimited(text, delimiter_of(text), path.name) or [[]]
    heads = [_unguarded(head) for head in first]
    if len(set(heads)) != len(heads):
        raise ParameterError("two columns must not have the same name.")
    if any(len(row) != len(heads) for row in rows):
        raise ParameterError("a row has more or fewer fields than the first one.")
    columns = zip(*rows, strict=True) if rows else ([] for _ in heads)
    return read_columns(path, document, dict(zip(heads, map(list, columns), strict=True)))


def read_columns(path: Path, document: dict[str, Any], columns: dict[str, list[Any]]) -> Found:
    """Return the table in columns that a document describes."""
    names = document["columns"]
    figures = {name: column for name, column in names.items() if name != "dimensions"}
    for name in [*(d["code"] for d in names["dimensions"]), *figures.values()]:
        if name not in columns:
            raise ParameterError(f"the column '{name}' is missing.")
    codes = {d["id"]: columns[d["code"]] for d in names["dimensions"]}
    labels = {d["id"]: _labels(d, columns) for d in names["dimensions"]}
    if document.get("format") == "sdmx-csv":
        codes = {id: [original(code) for code in column] for id, column in codes.items()}
        shown = structure_labels(path.with_name(path.name + STRUCTURE)) or {}
        labels = {d["id"]: shown.get(d["code"]) for d in names["dimensions"]}
    named = [Named(d["id"], d["label"], labels[d["id"]]) for d in names["dimensions"]]
    values = {name: [decimal(x) for x in columns[column]] for name, column in figures.items()}
    table = assembled(named, [codes[one.id] for one in named], values)
    said = without(document, "format", "columns")
    sdmx = document.get("format") == "sdmx-csv"
    labelled = None not in labels.values()
    return Found(table, facts(document), proof_of(document), said, labelled, not sdmx)


def _labels(described: dict[str, Any], columns: dict[str, list[Any]]) -> dict[str, str] | None:
    """Return the label of each code, None where the file has no column of labels."""
    if described.get("label_column") not in columns:
        return None
    pairs = set(zip(columns[described["code"]], columns[described["label_column"]], strict=True))
    labels = dict(pairs)
    if len(labels) != len(pairs):
        raise ParameterError(f"a code of {described['id']} has two labels.")
    return labels


def _unguarded(head: str) -> str:
    return head[1:] if re.match("'[=+\\-@\t\r]", head) else head
