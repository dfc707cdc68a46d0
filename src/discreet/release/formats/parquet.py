"""Parquet: one row per cell, codes and labels as dictionaries, null where a figure is withheld."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from discreet.errors import NotOurs, ParameterError
from discreet.files import MOST_BYTES, bounded, read_bytes
from discreet.json import parsed
from discreet.release.formats.base import Format, Found, Public, chunks
from discreet.release.formats.compare import MOST_FIELDS
from discreet.release.formats.tidy import (
    META,
    Columns,
    read_columns,
    read_sidecar,
    readable,
    said_of,
)
from discreet.release.text import clean

# Programs that write Parquet, by the name and version they give themselves.
_WRITERS = re.compile(
    r"(parquet-cpp-arrow|parquet-mr|parquet-rs|parquet-go|fastparquet-python|DuckDB|Polars)"
    r"( version v?\d{1,4}(\.\d{1,4}){0,3}([-.](SNAPSHOT|dev\d{0,4}|rc\d{0,2}))?)?"
    r"( \(build [0-9a-f]{0,40}\))?"
)
_ARROW = b"ARROW:schema"
KEY = b"discreet"
"""Under this key of the schema is the document that is also in FILE.meta.json."""


def write_to(release: Public, file: BinaryIO) -> None:
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
    kinds = [pa.from_numpy_dtype(array.dtype) for array in table.figures.values()]
    figures = zip(names.figures.values(), kinds, strict=True)
    fields += [pa.field(name, kind) for name, kind in figures]
    said = json.dumps(said_of(release, "parquet"), ensure_ascii=False).encode()
    schema = pa.schema(fields, {KEY: said})
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for chunk in chunks(table, 200_000):
            arrays = [
                pa.DictionaryArray.from_arrays(pa.array(chunk.index[d].astype(np.int32)), texts)
                for d, texts in dictionaries
            ]
            arrays += [pa.array(array, mask=chunk.withheld) for array in chunk.figures.values()]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def companions(release: Public) -> Mapping[str, bytes]:
    """Return the document beside the file, which is in its schema too."""
    return {META: readable(said_of(release, "parquet"))}


def read(path: Path) -> Found:
    """Return what a file says; its document is in the schema or beside it."""
    file = _opened(path)
    said = (file.schema_arrow.metadata or {}).get(KEY)
    document = read_sidecar(path) if said is None else parsed(said, "the document in the schema")
    return read_columns(path, document, _columns(file))


def _opened(path: Path) -> Any:
    """Return a file whose foot claims no more than a table of ours has, before it is unpacked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    held = pa.BufferReader(read_bytes(path))
    try:
        foot = pq.read_metadata(held)
        bounded(path.name, foot.num_rows * foot.num_columns, MOST_FIELDS, "fields")
        unpacked = sum(abs(chunk.total_uncompressed_size) for _, chunk in _chunks(foot))
        bounded(path.name, unpacked, MOST_BYTES, "bytes unpacked")
        columns = [foot.schema.column(i) for i in range(foot.num_columns)]
        # As dictionaries: a text that many rows share is unpacked once.
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        return pq.ParquetFile(held, read_dictionary=texts)
    except (pa.ArrowException, OSError):
        raise NotOurs(f"'{path.name}' must be a whole Parquet file.") from None


def _chunks(foot: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every group of rows with the foot of each of its columns."""
    for i in range(foot.num_row_groups):
        group = foot.row_group(i)
        for c in range(group.num_columns):
            yield group, group.column(c)


def _columns(file: Any) -> dict[str, list[Any]]:
    """Return the columns as lists."""
    import pyarrow as pa

    try:
        table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise ParameterError(f"the Parquet file cannot be read. {error!s:.200}.") from None
    if len(set(table.column_names)) != len(table.column_names):
        raise ParameterError("two columns must not have the same name.")
    found: dict[str, list[Any]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        found[name] = []
        for chunk in column.chunks:
            found[name] += _listed(chunk)
    return found


def _listed(chunk: Any) -> list[Any]:
    import pyarrow as pa

    if not pa.types.is_dictionary(chunk.type):
        return list(chunk.to_pylist())
    texts = chunk.dictionary.to_pylist()
    return [None if i is None else texts[i] for i in chunk.indices.to_pylist()]


def same(path: Path, fresh: bytes, found: Found) -> str:
    """Return in what a file differs from one that was written anew; rows may be in any order.

    Another program may have saved it, and arranges it as it likes. But what a reader might believe
    without looking at the rows must be so, and there must be no byte that belongs to nothing.
    """
    held = read_bytes(path)
    if held == fresh:
        return ""
    file = _opened(path)
    names = Columns.of(found.table)
    numbers = set(names.figures.values())
    wanted = {*names.codes, *names.labels, *numbers}
    schema, foot = file.schema_arrow, file.metadata
    if set(schema.names) != wanted or {*foot.schema.names} != wanted:
        return f"{path.name} has other columns than this program wrote"
    columns = [foot.schema.column(i) for i in range(foot.num_columns)]
    if not all(_plain(column, column.name in numbers) for column in columns):
        return f"a column of {path.name} is of another kind than this program wrote"
    kept = {*(schema.metadata or {}), *(foot.metadata or {})} - {KEY, _ARROW}
    if kept or any(set(field.metadata or {}) - {b"PARQUET:field_id"} for field in schema):
        return f"{path.name} has notes in its schema that this program did not write"
    if not _WRITERS.fullmatch(str(foot.created_by)) or _is_ordered(foot):
        return f"{path.name} says of itself what this program did not write"
    if not _told_once(held, foot, schema):
        return f"{path.name} has two documents in its schema"
    if not _filled(foot, len(held)):
        return f"{path.name} holds more than its table"
    if not _all_used(file):
        return f"{path.name} lists categories that its rows do not have"
    return "" if _truthful(file) else f"{path.name} says other things of its rows than they do"


def _told_once(held: bytes, foot: Any, schema: Any) -> bool:
    """Return whether the schema has one document, which readers of Parquet and of Arrow see alike.

    A foot may have a key twice, of which the library shows one: the bytes are counted. A key is
    written with its length before it, as one byte in Parquet and as four in Arrow.
    """
    raw = held[-8 - foot.serialized_size : -8]
    kept = foot.metadata or {}
    arrow = b64decode(kept.get(_ARROW, b""))
    counted = [raw.count(bytes([len(name)]) + name) for name in (KEY, _ARROW)]
    counted.append(arrow.count(len(KEY).to_bytes(4, "little") + KEY))
    return max(counted) <= 1 and kept.get(KEY) == (schema.metadata or {}).get(KEY)


def _is_ordered(foot: Any) -> bool:
    """Return whether the texts of a column claim to have an order: whoever sorts believes it."""
    import pyarrow as pa

    said = b64decode((foot.metadata or {}).get(_ARROW, b""))
    kinds = pa.ipc.read_schema(pa.BufferReader(said)).types if said else []
    return any(pa.types.is_dictionary(kind) and kind.ordered for kind in kinds)


def _all_used(file: Any) -> bool:
    """Return whether every text that a column lists is in one of its rows.

    Programs show a category that no row has, as one of which there is none.
    """
    for column in file.read().columns:
        held = {text for chunk in column.chunks for text in _listed(chunk)}
        for chunk in column.chunks:
            texts = getattr(chunk, "dictionary", None)
            listed = [] if texts is None else texts.to_pylist()
            if not held.issuperset(listed):
                return False
    return True


def _plain(column: Any, number: bool) -> bool:
    """Return whether a column is of texts or of whole numbers, and nothing in between."""
    kind = (column.physical_type, column.logical_type.type, column.max_repetition_level)
    integers = (("INT64", "NONE", 0), ("INT64", "INT", 0))
    right = kind in integers if number else kind == ("BYTE_ARRAY", "STRING", 0)
    signed = "issigned=false" not in str(column.logical_type).lower().replace(" ", "")
    return bool(right and signed and column.path == column.name)


def _filled(foot: Any, size: int) -> bool:
    """Return whether the columns and the foot are all there is, one after the other."""
    at = 4
    for group, chunk in _chunks(foot):
        starts = [chunk.dictionary_page_offset, chunk.data_page_offset]
        first = min(start for start in starts if start is not None)
        if first != at or chunk.file_path or chunk.metadata or group.sorting_columns:
            return False
        if chunk.num_values != group.num_rows:
            return False
        at += chunk.total_compressed_size
    rows = sum(foot.row_group(i).num_rows for i in range(foot.num_row_groups))
    return bool(at + foot.serialized_size + 8 == size and rows == foot.num_rows)


def _truthful(file: Any) -> bool:
    """Return whether the smallest and largest value that each column claims are its own."""
    foot = file.metadata
    for i in range(foot.num_row_groups):
        rows = file.read_row_group(i)
        for c, column in enumerate(rows.columns):
            claimed = foot.row_group(i).column(c).statistics
            held = [x for chunk in column.chunks for x in _listed(chunk)]
            there = [x for x in held if x is not None]
            if claimed is None:
                continue
            if claimed.has_null_count and claimed.null_count != len(held) - len(there):
                return False
            if claimed.has_distinct_count and claimed.distinct_count != len(set(there)):
                return False
            if claimed.has_min_max and there:
                ends = _end(claimed.min), _end(claimed.max)
                if ends[0] > min(map(_end, there)) or ends[1] < max(map(_end, there)):
                    return False
                if isinstance(there[0], int) and ends != (min(there), max(there)):
                    return False
    return True


def _end(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


FORMAT = Format(
    "parquet", "Parquet", "application/vnd.apache.parquet", ".parquet", write_to, read,
    lambda start: start.startswith(b"PAR1"), companions, (META,), same,
)  # fmt: skip
