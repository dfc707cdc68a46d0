"""JSON-stat 2.0: one dataset, its figures in row-major order, null where one is withheld."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

from discreet.release.text import clean
from discreet.release.writers.base import Format, chunks, document
from discreet.table import Dimension

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
    file.write(b'},"value":[')
    for i, chunk in enumerate(chunks(table)):
        file.write(b"," * (i > 0) + ",".join(chunk.texts(chunk.values, "null")).encode())
    file.write(b"]")
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
            file.write(f',"{name}":['.encode())
            for i, chunk in enumerate(chunks(table)):
                array = chunk.low if name == "low" else chunk.high
                assert array is not None
                file.write(b"," * (i > 0) + ",".join(chunk.texts(array, "null")).encode())
            file.write(b"]")
    file.write(b"}}\n")


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


FORMAT = Format("json-stat", "JSON-stat 2.0", "application/json", ".json", write_to)
