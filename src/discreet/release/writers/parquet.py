"""Parquet: one row a cell, codes and labels as dictionaries, null where a figure is withheld."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from discreet.release.text import clean
from discreet.release.writers.base import Columns, Format, chunks, document
from discreet.release.writers.csv_tidy import META, readable

if TYPE_CHECKING:
    from discreet.release.result import Release

KEY = b"discreet"
"""Under this key of the schema is the document that is also in FILE.meta.json."""


def write_to(release: Release, file: BinaryIO) -> None:
    """Write a release, one row group a piece."""
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
    said = json.dumps(_document(release), ensure_ascii=False).encode()
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
    return {META: readable(_document(release))}


def _document(release: Release) -> dict[str, Any]:
    table = release.table
    return document(release, format="parquet", columns=Columns.of(table).as_dict(table))


FORMAT = Format(
    "parquet", "Parquet", "application/vnd.apache.parquet", ".parquet", write_to, companions,
    (META,),
)  # fmt: skip
