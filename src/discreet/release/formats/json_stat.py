"""JSON-stat 2.0: one dataset, its figures in row-major order, null where one is withheld."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from discreet.errors import NotOurs
from discreet.files import bounded, read_bytes
from discreet.json import parsed
from discreet.release.formats.base import (
    Format,
    Found,
    Named,
    Public,
    assembled,
    chunks,
    decimal,
    document,
    in_order,
    proof_of,
    without,
)
from discreet.release.formats.compare import MOST_FIELDS, same_json
from discreet.release.text import clean, facts
from discreet.table import Dimension, ProtectedTable

WITHHELD = "withheld"


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release, the figures in pieces."""
    table, origin = release.table, release.provenance
    said = document(release)
    head: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": said["title"],
        "source": origin.title,
        "note": said["notes"],
        "id": [d.level for d in table.dimensions],
        "size": list(table.shape),
    }
    if origin.data_date:
        head["updated"] = origin.data_date
    areas = [d.level for d in table.dimensions if d.variable == "geography"]
    if areas:
        head["role"] = {"geo": areas}
    file.write(_text(head)[:-1])
    file.write(b',"dimension":{')
    for i, dimension in enumerate(table.dimensions):
        file.write(b"," * (i > 0) + _text(dimension.level) + b":" + _text(_described(dimension)))
    file.write(b'},"value":')
    _figures(file, table, "value")
    missing = table.withheld.ravel().nonzero()[0]
    if len(missing):
        file.write(b',"status":{')
        for start in range(0, len(missing), 50_000):
            part = (f'"{i}":"{WITHHELD}"' for i in missing[start : start + 50_000].tolist())
            file.write(b"," * (start > 0) + ",".join(part).encode())
        file.write(b"}")
    extension: dict[str, Any] = {"discreet": said}
    file.write(b',"extension":' + _text(extension)[:-1])
    for name in list(table.figures)[1:]:
        file.write(f',"{name}":'.encode())
        _figures(file, table, name)
    file.write(b"}}\n")


def _figures(file: BinaryIO, table: ProtectedTable, name: str) -> None:
    """Write the list of a column of figures, null where one is withheld."""
    file.write(b"[")
    for i, chunk in enumerate(chunks(table)):
        texts = chunk.texts(name, "null")
        file.write(b"," * (i > 0) + ",".join(texts).encode())
    file.write(b"]")


def _described(dimension: Dimension) -> dict[str, Any]:
    labels = map(clean, dimension.labels)
    return {
        "label": clean(dimension.label),
        "category": {
            "index": list(dimension.codes),
            "label": dict(zip(dimension.codes, labels, strict=True)),
        },
    }


def _text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


_TOLD = {"extension", "dimension", "class"}
"""What no file in JSON-stat lacks all of."""


def read(path: Path) -> Found:
    """Return what a JSON-stat file says."""
    raw = read_bytes(path)
    bounded(path.name, raw.count(b",") + raw.count(b"[") + raw.count(b"{"), MOST_FIELDS, "values")
    data = parsed(raw, path.name)
    if not _TOLD & data.keys():
        raise NotOurs(f"'{path.name}' must be a file that this program writes: it is none of them.")
    extension = data["extension"]
    document = extension["discreet"]
    named, codes = [], []
    for name in data["id"]:
        described = data["dimension"][name]
        category = described["category"]
        named.append(Named(name, described["label"], category["label"]))
        codes.append(category["index"])
    given = {"value": data["value"]}
    given |= {name: column for name, column in extension.items() if name != "discreet"}
    figures = {name: [decimal(x) for x in column] for name, column in given.items()}
    table = assembled(named, in_order(codes, len(figures["value"])), figures)
    said = without(document)
    return Found(table, facts(document), proof_of(document), said, complete=True)


def same(path: Path, fresh: bytes, found: Found) -> str:
    """Return which value differs from one that was written anew; the order of names is free."""
    del found
    return same_json(path, fresh)


FORMAT = Format(
    "json-stat", "JSON-stat 2.0", "application/json", ".json", write_to, read,
    lambda start: start.startswith(b"{"), same=same,
)  # fmt: skip
