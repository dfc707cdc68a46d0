"""Reading tidy CSV, SDMX-CSV, CSV as laid out and Parquet back."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

from discreet.errors import NotOurs, ParameterError
from discreet.release.readers.base import Found, Named, assembled, figure, parsed, proof_of
from discreet.release.readers.blocks import read_blocks
from discreet.release.readers.xml import structure_labels
from discreet.release.text import facts
from discreet.release.writers.csv_layout import PROOF
from discreet.release.writers.csv_tidy import META
from discreet.release.writers.parquet import KEY
from discreet.release.writers.sdmx import STRUCTURE, original

_LIMIT = 2**31 - 1  # of a field: a proof may be longer than the module's default


def sidecar(path: Path) -> Path:
    """Return where the document of a tidy file is."""
    return path.with_name(path.name + META)


def read_tidy(path: Path) -> Found:
    """Return what a tidy CSV or an SDMX-CSV says, rows and columns in whatever order."""
    document = _sidecar(path)
    text = _text(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = _rows(text, delimiter)
    heads = [_unguarded(head) for head in next(rows, [])]
    columns: list[list[str]] = [[] for _ in heads]
    for row in rows:
        if not any(row):
            continue
        if len(row) != len(heads):
            raise ParameterError("a row has more or fewer fields than the first one.")
        for column, field in zip(columns, row, strict=True):
            column.append(field)
    return _tidy(path, document, dict(zip(heads, columns, strict=True)))


def read_parquet(path: Path) -> Found:
    """Return what a Parquet file says; its document is in the schema or beside it."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    said = (table.schema.metadata or {}).get(KEY)
    document = _sidecar(path) if said is None else parsed(said, "the document in the schema")
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return _tidy(path, document, columns)


def read_layout(path: Path) -> Found:
    """Return what a CSV as laid out says."""
    text = _text(path)
    found = re.search(rf'(?m)^"?{PROOF}"?([,;\t])', text)
    if not found:
        raise NotOurs(
            f"'{path.name}' must be a file that this program wrote: it has no row '{PROOF}' and "
            f"no {path.name}{META} beside it."
        )
    return read_blocks(list(_rows(text, found.group(1))))


def _tidy(path: Path, document: dict[str, Any], columns: dict[str, list[Any]]) -> Found:
    names = document["columns"]
    sdmx = document.get("format") == "sdmx-csv"
    needed = [d["code"] for d in names["dimensions"]] + [names["value"]]
    for name in needed:
        if name not in columns:
            raise ParameterError(f"the column '{name}' is missing.")
    shown = structure_labels(path.with_name(path.name + STRUCTURE)) if sdmx else None
    named, codes, labelled = [], [], True
    for d in names["dimensions"]:
        column = columns[d["code"]]
        codes.append([original(code) for code in column] if sdmx else column)
        labels = None
        if shown is not None:
            labels = shown.get(d["code"])
        elif d.get("label_column") in columns:
            pairs = set(zip(column, columns[d["label_column"]], strict=True))
            labels = dict(pairs)
            if len(labels) != len(pairs):
                raise ParameterError(f"a code of {d['id']} has two labels.")
        labelled = labelled and labels is not None
        named.append(Named(d["id"], d["label"], labels))
    values = [figure(value) for value in columns[names["value"]]]
    bounds = None
    if names.get("low") in columns and names.get("high") in columns:
        low, high = ([figure(x) for x in columns[names[k]]] for k in ("low", "high"))
        bounds = (low, high)
    table = assembled(named, codes, values, bounds)
    return Found(table, labelled, facts(document), proof_of(document))


def _sidecar(path: Path) -> dict[str, Any]:
    beside = sidecar(path)
    try:
        return parsed(beside.read_bytes(), beside.name)
    except OSError:
        raise NotOurs(f"'{path.name}' must have {beside.name} beside it.") from None


def _text(path: Path) -> str:
    raw = path.read_bytes()
    try:
        return raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"'{path.name}' must be in UTF-8.") from None


def _rows(text: str, delimiter: str) -> Any:
    csv.field_size_limit(_LIMIT)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _unguarded(head: str) -> str:
    return head[1:] if re.match("'[=+\\-@\t\r]", head) else head
