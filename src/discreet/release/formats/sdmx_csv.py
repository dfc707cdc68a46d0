"""SDMX-CSV 2.0: one row per observation; the structure and the notes are in files beside it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from discreet.release.formats.base import Format, Found, Public, chunks, document
from discreet.release.formats.compare import same_table
from discreet.release.formats.sdmx import (
    NORMAL,
    STRUCTURE,
    WITHHELD,
    Names,
    safe,
    structure,
)
from discreet.release.formats.tidy import META, read_delimited, readable

_BEGINS = re.compile(rb'"?STRUCTURE"?[,;\t]"?STRUCTURE_ID\b')


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release in pieces."""
    table, names = release.table, Names.of(release)
    codes = [np.array([safe(code) for code in d.codes], object) for d in table.dimensions]
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\r\n")
        heads = ("STRUCTURE", "STRUCTURE_ID", "ACTION", *names.components)
        writer.writerow([*heads, "OBS_VALUE", "OBS_STATUS"])
        for chunk in chunks(table):
            size = len(chunk.withheld)
            status = np.where(chunk.withheld, WITHHELD, NORMAL).tolist()
            columns = [code[index].tolist() for code, index in zip(codes, chunk.index, strict=True)]
            same = [[constant] * size for constant in ("datastructure", names.urn, "I")]
            columns = [*same, *columns, chunk.texts(), status]
            writer.writerows(zip(*columns, strict=True))
    finally:
        text.detach()


def companions(release: Public) -> Mapping[str, bytes]:
    """Return the structure, and the document with notes and proof."""
    table, names = release.table, Names.of(release)
    columns = {
        "dimensions": [
            {"id": d.level, "variable": d.variable, "label": d.label, "code": component}
            for d, component in zip(table.dimensions, names.components, strict=True)
        ],
        "value": "OBS_VALUE",
    }
    said = document(release, format="sdmx-csv", columns=columns)
    return {META: readable(said), STRUCTURE: structure(release)}


def same(path: Path, fresh: bytes, found: Found) -> str:
    """Return in what a file differs from one that was written anew; rows may be in any order."""
    del found
    return same_table(path, fresh, ["OBS_VALUE"])


FORMAT = Format(
    "sdmx-csv", "SDMX-CSV 2.0", "application/vnd.sdmx.data+csv; version=2.0.0", ".csv", write_to,
    read_delimited, lambda start: _BEGINS.match(start) is not None, companions, (META, STRUCTURE),
    same,
)  # fmt: skip
