"""JSON-stat 2.0: one dataset, its figures in row-major order, null where one is withheld."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from discreet.release.formats.base import (
    Format,
    Found,
    Named,
    assembled,
    chunks,
    document,
    figure,
    in_order,
    parsed,
    proof_of,
    unlike,
)
from discreet.release.text import clean, facts
from discreet.table import Dimension, ProtectedTable

if TYPE_CHECKING:
    from discreet.release.result import Release

WITHHELD = "withheld"


def write_to(release: Release, file: BinaryIO) -> None:
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
    _figures(file, table, "values")
    missing = table.withheld.ravel().nonzero()[0]
    if len(missing):
        file.write(b',"status":{')
        for start in range(0, len(missing), 50_000):
            part = (f'"{i}":"{WITHHELD}"' for i in missing[start : start + 50_000].tolist())
            file.write(b"," * (start > 0) + ",".join(part).encode())
        file.write(b"}")
    extension: dict[str, Any] = {"discreet": said}
    file.write(b',"extension":' + _text(extension)[:-1])
    if table.low is not None and table.high is not None:
        for name in ("low", "high"):
            file.write(f',"{name}":'.encode())
            _figures(file, table, name)
    file.write(b"}}\n")


def _figures(file: BinaryIO, table: ProtectedTable, name: str) -> None:
    """Write the list of values, of low or of high ends, null where one is withheld."""
    file.write(b"[")
    for i, chunk in enumerate(chunks(table)):
        texts = chunk.texts(getattr(chunk, name), "null")
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


def read(path: Path) -> Found:
    """Return what a JSON-stat file says."""
    data = parsed(path.read_bytes(), path.name)
    extension = data["extension"]
    document = extension["discreet"]
    named, codes = [], []
    for name in data["id"]:
        described = data["dimension"][name]
        category = described["category"]
        named.append(Named(name, described["label"], category["label"]))
        index = category["index"]
        codes.append(sorted(index, key=index.__getitem__) if isinstance(index, dict) else index)
    values = data["value"]
    if isinstance(values, dict):  # a re-saved file may list only some
        values = [values.get(str(i)) for i in range(prod(map(len, codes)))]
    bounds = None
    if "low" in extension:
        bounds = ([figure(x) for x in extension["low"]], [figure(x) for x in extension["high"]])
    table = assembled(named, in_order(codes), [figure(value) for value in values], bounds)
    wrong = unlike("the label", data["label"], document["title"])
    wrong += unlike("the note", " ".join(data["note"]), " ".join(document["notes"]))
    return Found(table, True, facts(document), proof_of(document), wrong)


FORMAT = Format(
    "json-stat", "JSON-stat 2.0", "application/json", ".json", write_to, read,
    lambda start: start.startswith(b"{"),
)  # fmt: skip
