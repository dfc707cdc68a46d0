"""Parquet: one row per cell, codes and labels as dictionaries, null where a figure is withheld."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from discreet.release.formats.base import Format, Found, chunks, parsed
from discreet.release.formats.tidy import (
    META,
    Columns,
    read_columns,
    read_sidecar,
    readable,
    said_of,
)
from discreet.release.text import clean

if TYPE_CHECKING:
    from discreet.release.result import Release

KEY = b"discreet"
"""Under this key of the schema is the document that is also in FILE.meta.json."""


def write_to(release: Release, file: BinaryIO) -> None:
    """Write a release, one row group per piece."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = release.table
    names = Columns.of(table)
    coded = pa.dictionary(pa.int32(), pa.string())
    dictionaries: list[tuple[int, Any]] = []
    fields = []
    for d, dimension in enumerate(table.dimensions):
        for name, texts in (
            (names.codes[d], dimension.codes),
            (names.labels[d], tuple(map(clean, dimension.labels))),
        ):
            fields.append(pa.field(name, coded, nullable=False))
            dictionaries.append((d, pa.array(texts, pa.string())))
    numbers = [names.value] if table.low is None else [names.value, names.low, names.high]
    fields += [pa.field(name, pa.int64()) for name in numbers]
    said = json.dumps(said_of(release, "parquet"), ensure_ascii=False).encode()
    schema = pa.schema(fields, {KEY: said})
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for chunk in chunks(table, 200_000):
            arrays = [
                pa.DictionaryArray.from_arrays(pa.array(chunk.index[d].astype(np.int32)), texts)
                for d, texts in dictionaries
            ]
            arrays += [
                pa.array(array, pa.int64(), mask=chunk.withheld)
                for array in (chunk.values, chunk.low, chunk.high)
                if array is not None
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def companions(release: Release) -> Mapping[str, bytes]:
    """Return the document beside the file, which is in its schema too."""
    return {META: readable(said_of(release, "parquet"))}


def read(path: Path) -> Found:
    """Return what a file says; its document is in the schema or beside it."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    said = (table.schema.metadata or {}).get(KEY)
    document = read_sidecar(path) if said is None else parsed(said, "the document in the schema")
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return read_columns(path, document, columns)


FORMAT = Format(
    "parquet", "Parquet", "application/vnd.apache.parquet", ".parquet", write_to, read,
    lambda start: start.startswith(b"PAR1"), companions, (META,),
)  # fmt: skip
