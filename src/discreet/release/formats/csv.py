"""Tidy CSV: one row per cell, codes and labels, an empty field where a figure is withheld.

The file stays clean for programs; its notes and its proof are beside it in FILE.meta.json.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from discreet.release.formats.base import Format, Found, Public, chunks
from discreet.release.formats.compare import same_table
from discreet.release.formats.tidy import META, Columns, read_delimited, readable, said_of
from discreet.release.text import clean, guarded
from discreet.table import Dimension

_ROW = "\r\n"
_QUOTED = re.compile('[,"\r\n]')


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release in pieces. Codes stay as they are; a label is never a formula."""
    table = release.table
    names = Columns.of(table)
    heads = [x for pair in zip(names.codes, names.labels, strict=True) for x in pair]
    file.write(_line([*map(guarded, heads), *names.figures.values()]).encode())
    # Quoted once for each category and not for each cell; figures need no quotes.
    pairs = [np.array(_pairs(dimension), object) for dimension in table.dimensions]
    for chunk in chunks(table):
        columns = [pair[index].tolist() for pair, index in zip(pairs, chunk.index, strict=True)]
        columns += [chunk.texts(name) for name in names.figures]
        rows = _ROW.join(map(",".join, zip(*columns, strict=True)))
        file.write(f"{rows}{_ROW}".encode())


def _pairs(dimension: Dimension) -> list[str]:
    """Return code and label of each category as a row has them."""
    pairs = zip(dimension.codes, dimension.labels, strict=True)
    return [_line([code, guarded(clean(label))]).removesuffix(_ROW) for code, label in pairs]


def _line(fields: list[str]) -> str:
    """Return a row of a CSV file."""
    if len(fields) > 1 and not any(map(_QUOTED.search, fields)):
        return ",".join(fields) + _ROW
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=_ROW).writerow(fields)
    return text.getvalue()


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
