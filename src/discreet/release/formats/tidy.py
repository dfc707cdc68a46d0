"""Tidy files, with one row per cell: the names of their columns, their notes, reading them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import NotOurs, ParameterError
from discreet.release.formats.base import (
    Found,
    Named,
    assembled,
    document,
    figure,
    parsed,
    proof_of,
)
from discreet.release.formats.sdmx import STRUCTURE, original, structure_labels
from discreet.release.text import facts
from discreet.table import ProtectedTable

if TYPE_CHECKING:
    from discreet.release.result import Release

META = ".meta.json"
"""What is added to the name of a tidy file for the document beside it: notes and proof."""
_LIMIT = 2**31 - 1  # of a field: a proof may be longer than the module's default


@dataclass(frozen=True)
class Columns:
    """The names of the columns of a tidy file, no two the same."""

    codes: tuple[str, ...]
    labels: tuple[str, ...]
    value: str
    low: str
    high: str

    @classmethod
    def of(cls, table: ProtectedTable) -> Columns:
        """Return names: the id of each dimension, the id with `_label`, `value`, `low`, `high`."""
        used = [d.level for d in table.dimensions]

        def fresh(name: str) -> str:
            while name in used:
                name += "_"
            used.append(name)
            return name

        labels = tuple(fresh(f"{d.level}_label") for d in table.dimensions)
        codes = tuple(d.level for d in table.dimensions)
        return cls(codes, labels, fresh("value"), fresh("low"), fresh("high"))

    def as_dict(self, table: ProtectedTable) -> dict[str, Any]:
        """Return which column holds what, for the document beside a tidy file."""
        found: dict[str, Any] = {
            "dimensions": [
                {"id": d.level, "variable": d.variable, "label": d.label, "code": code,
                 "label_column": label}
                for d, code, label in zip(table.dimensions, self.codes, self.labels, strict=True)
            ],
            "value": self.value,
        }  # fmt: skip
        if table.low is not None:
            found |= {"low": self.low, "high": self.high}
        return found


def said_of(release: Release, format: str) -> dict[str, Any]:
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
    try:
        return parsed(beside.read_bytes(), beside.name)
    except OSError:
        raise NotOurs(f"'{path.name}' must have {beside.name} beside it.") from None


def read_delimited(path: Path) -> Found:
    """Return what a tidy CSV or an SDMX-CSV says, rows and columns in whatever order."""
    document = read_sidecar(path)
    text = read_text(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = delimited(text, delimiter)
    heads = [_unguarded(head) for head in next(rows, [])]
    columns: list[list[str]] = [[] for _ in heads]
    for row in rows:
        if not any(row):
            continue
        if len(row) != len(heads):
            raise ParameterError("a row has more or fewer fields than the first one.")
        for column, field in zip(columns, row, strict=True):
            column.append(field)
    return read_columns(path, document, dict(zip(heads, columns, strict=True)))


def read_columns(path: Path, document: dict[str, Any], columns: dict[str, list[Any]]) -> Found:
    """Return the table in columns that a document describes."""
    names = document["columns"]
    for name in [*(d["code"] for d in names["dimensions"]), names["value"]]:
        if name not in columns:
            raise ParameterError(f"the column '{name}' is missing.")
    codes = {d["id"]: columns[d["code"]] for d in names["dimensions"]}
    labels = {d["id"]: _labels(d, columns) for d in names["dimensions"]}
    if document.get("format") == "sdmx-csv":
        codes = {id: [original(code) for code in column] for id, column in codes.items()}
        shown = structure_labels(path.with_name(path.name + STRUCTURE)) or {}
        labels = {d["id"]: shown.get(d["code"]) for d in names["dimensions"]}
    named = [Named(d["id"], d["label"], labels[d["id"]]) for d in names["dimensions"]]
    values = [figure(value) for value in columns[names["value"]]]
    bounds = None
    if names.get("low") in columns and names.get("high") in columns:
        low, high = ([figure(x) for x in columns[names[k]]] for k in ("low", "high"))
        bounds = (low, high)
    table = assembled(named, [codes[one.id] for one in named], values, bounds)
    labelled = None not in labels.values()
    return Found(table, labelled, facts(document), proof_of(document))


def _labels(described: dict[str, Any], columns: dict[str, list[Any]]) -> dict[str, str] | None:
    """Return the label of each code, None where the file has no column of labels."""
    if described.get("label_column") not in columns:
        return None
    pairs = set(zip(columns[described["code"]], columns[described["label_column"]], strict=True))
    labels = dict(pairs)
    if len(labels) != len(pairs):
        raise ParameterError(f"a code of {described['id']} has two labels.")
    return labels


def read_text(path: Path) -> str:
    """Return the text of a file, which other programs may have saved as UTF-16."""
    raw = path.read_bytes()
    try:
        return raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"'{path.name}' must be in UTF-8.") from None


def delimited(text: str, delimiter: str) -> Iterator[list[str]]:
    """Return the rows of a delimited text."""
    csv.field_size_limit(_LIMIT)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _unguarded(head: str) -> str:
    return head[1:] if re.match("'[=+\\-@\t\r]", head) else head
