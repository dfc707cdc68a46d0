"""Tidy CSV: one row per cell, codes and labels, an empty field where a figure is withheld.

The file stays clean for programs; its notes and its proof are beside it in FILE.meta.json.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

from discreet.compiling import pays
from discreet.release.formats import kernels
from discreet.release.formats.base import CHUNK, Format, Found, Public, chunks
from discreet.release.formats.compare import same_table
from discreet.release.formats.tidy import META, Columns, read_delimited, readable, said_of
from discreet.release.text import clean, guarded
from discreet.table import Dimension, ProtectedTable

_FEW = 256  # categories of a dimension that is kept as it is written
_ROW = "\r\n"
_QUOTED = re.compile('[,"\r\n]')


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release in pieces. Codes stay as they are; a label is never a formula."""
    table = release.table
    names = Columns.of(table)
    heads = [x for pair in zip(names.codes, names.labels, strict=True) for x in pair]
    file.write(_line([*map(guarded, heads), *names.figures.values()]).encode())
    categories = [_categories(dimension) for dimension in table.dimensions]
    for rows in _rows(table, categories, list(names.figures)):
        file.write(rows)


def _rows(
    table: ProtectedTable, categories: list[tuple[str, ...]], names: list[str]
) -> Iterator[bytes | memoryview]:
    """Yield the rows in pieces, by the kernel where it is loaded or worth loading."""
    figures = np.stack([table.figures[name].reshape(-1) for name in names])
    decimals = figures.dtype.kind == "f"
    if decimals or not pays(kernels.rows, figures.size) or figures.min() < 0:
        yield from plain_rows(table, categories, names)
        return
    by_dimension = [[text.encode() for text in texts] for texts in categories]
    encoded = [text for texts in by_dimension for text in texts]
    begins = np.cumsum([0, *map(len, encoded)])
    lengths = [len(texts) for texts in categories]
    first = np.cumsum([0, *lengths[:-1]])
    widest = sum(max(map(len, texts)) for texts in by_dimension)
    widest += len(names) * (len(str(figures.max())) + 1) + len(_ROW)
    # Arrays that can be written to, as in the warm-up: others would be compiled for anew.
    text = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
    withheld = table.withheld.reshape(-1).copy()
    for start in range(0, withheld.size, CHUNK):
        part = slice(start, start + CHUNK)
        chunk = np.ascontiguousarray(figures[:, part])
        out = np.empty(widest * chunk.shape[1], np.uint8)
        end = kernels.rows(
            text, begins, first, np.array(lengths), chunk, withheld[part], start, out
        )
        yield out[:end].data


def plain_rows(
    table: ProtectedTable, categories: list[tuple[str, ...]], names: list[str]
) -> Iterator[bytes]:
    """Yield the rows in pieces: the twin of the kernel."""
    pairs = [np.array(texts, object) for texts in categories]
    for chunk in chunks(table):
        columns = [pair[index].tolist() for pair, index in zip(pairs, chunk.index, strict=True)]
        figures = zip(*(chunk.texts(name) for name in names), strict=True)
        lines = map("".join, zip(*columns, map(",".join, figures), strict=True))
        yield f"{_ROW.join(lines)}{_ROW}".encode()


def _categories(dimension: Dimension) -> tuple[str, ...]:
    """Return code and label of each category as a row has them: quoted once, not for each cell."""
    return _kept(dimension) if len(dimension) <= _FEW else _quoted(dimension)


def _quoted(dimension: Dimension) -> tuple[str, ...]:
    pairs = zip(dimension.codes, dimension.labels, strict=True)
    return tuple(
        f"{_line([code, guarded(clean(label))]).removesuffix(_ROW)}," for code, label in pairs
    )


_kept = lru_cache(maxsize=256)(_quoted)


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
