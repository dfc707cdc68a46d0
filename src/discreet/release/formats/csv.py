"""Tidy CSV: one row per cell, codes and labels, an empty field where a figure is withheld.

The file stays clean for programs; its notes and its proof are beside it in FILE.meta.json.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from discreet.release.formats.base import Format, Found, Public, chunks
from discreet.release.formats.compare import same_table
from discreet.release.formats.tidy import META, Columns, read_delimited, readable, said_of
from discreet.release.text import clean, guarded


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release in pieces. Codes stay as they are; a label is never a formula."""
    table = release.table
    names = Columns.of(table)
    codes = [np.array(d.codes, object) for d in table.dimensions]
    labels = [np.array([guarded(clean(x)) for x in d.labels], object) for d in table.dimensions]
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\r\n")
        heads = [x for pair in zip(names.codes, names.labels, strict=True) for x in pair]
        writer.writerow([*map(guarded, heads), *names.figures.values()])
        for chunk in chunks(table):
            columns: list[list[str]] = []
            for code, label, index in zip(codes, labels, chunk.index, strict=True):
                columns += [code[index].tolist(), label[index].tolist()]
            columns += [chunk.texts(name) for name in names.figures]
            writer.writerows(zip(*columns, strict=True))
    finally:
        text.detach()


def companions(release: Public) -> Mapping[str, bytes]:
    """Return the document beside the file: notes, which column is what, and the proof."""
    return {META: readable(said_of(release, "csv"))}


def same(path: Path, fresh: bytes, found: Found) -> str:
    """Return in what a file differs from one that was written anew; rows may be in any order."""
    return same_table(path, fresh, Columns.of(found.table).figures.values())


FORMAT = Format(
    "csv", "CSV, one row per cell", "text/csv; charset=utf-8", ".csv", write_to, read_delimited,
    companions=companions, beside=(META,), same=same,
)  # fmt: skip
