"""Forgeries of Parquet files."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forging.base import Forger, end
from forging.texts import SIDECAR


def parquet(change: Callable[[pa.Table], pa.Table], **options: Any) -> Forger:
    """Return a forger that changes the table of a Parquet file."""

    def forge(path: Path) -> None:
        pq.write_table(change(pq.read_table(path)), path, **options)

    return forge


def typed(name: str, kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        return table.set_column(at, name, pc.cast(table[name], kind))

    return change


def figured(name: str, by: int) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        return table.set_column(at, name, pc.add(table[name], by))

    return change


def noted(table: pa.Table, **more: str) -> pa.Table:
    added = {key.encode(): text.encode() for key, text in more.items()}
    return table.replace_schema_metadata({**table.schema.metadata, **added})


def noted_twice(table: pa.Table) -> pa.Table:
    """Put a second document under the same key: a library may show the one or the other."""
    said = table.schema.metadata[b"discreet"].replace(b"Persons by", b"Prisoners by")
    return table.replace_schema_metadata({**table.schema.metadata, "discreet": said})


def of_field(table: pa.Table) -> pa.Table:
    field = table.schema.field("value").with_metadata({"unit": "thousands"})
    fields = [field if f.name == "value" else f for f in table.schema]
    return table.cast(pa.schema(fields, table.schema.metadata))


def document(change: Callable[[dict[str, Any]], Any]) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        said = json.loads(table.schema.metadata[b"discreet"])
        change(said)
        return noted(table, discreet=json.dumps(said))

    return changed


def between(path: Path) -> None:
    """Put bytes that belong to nothing before the foot."""
    raw = path.read_bytes()
    foot = struct.unpack("<I", raw[-8:-4])[0]
    path.write_bytes(raw[: -8 - foot] + b"exact" + raw[-8 - foot :])


def smallest(path: Path) -> None:
    """Say that the smallest figure is another: a reader that asks for less finds nothing."""
    raw = path.read_bytes()
    foot = struct.unpack("<I", raw[-8:-4])[0]
    at = len(raw) - 8 - foot
    least = struct.pack("<q", 165)
    assert least in raw[at:]
    path.write_bytes(raw[:at] + raw[at:].replace(least, struct.pack("<q", 166)))


def renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns(["count" if n == "value" else n for n in table.column_names])


def decimals(table: pa.Table) -> pa.Table:
    at = table.column_names.index("value")
    scaled = pc.cast(table["value"], pa.decimal128(19, 0))
    return table.set_column(at, "value", scaled)


def listed(table: pa.Table) -> pa.Table:
    """Add a category that no row has: pandas counts it as one of which there is none."""
    held = table["sex_label"].combine_chunks()
    texts = pa.concat_arrays([held.dictionary, pa.array(["Prisoners"])])
    return _with_labels(table, pa.DictionaryArray.from_arrays(held.indices, texts))


def ordered(table: pa.Table) -> pa.Table:
    held = table["sex_label"].combine_chunks()
    made = pa.DictionaryArray.from_arrays(held.indices, held.dictionary, ordered=True)
    return _with_labels(table, made)


def _with_labels(table: pa.Table, labels: pa.Array) -> pa.Table:
    field = pa.field("sex_label", labels.type, nullable=False)
    return table.set_column(table.column_names.index("sex_label"), field, labels)


def made_by(path: Path) -> None:
    """Let another be named as the program that wrote it, in as many letters."""
    raw = path.read_bytes()
    name = b"parquet-cpp-arrow"
    assert name in raw
    path.write_bytes(raw.replace(name, b"figures in 1000s "))


PARQUET: dict[str, Forger] = {
    "a category that no row has": parquet(listed),
    "categories in an order": parquet(ordered),
    "the program that wrote it": made_by,
    "a figure": parquet(figured("value", 1)),
    "a bound": parquet(figured("low", 1)),
    "a row less": parquet(lambda t: t.slice(1)),
    "a row twice": parquet(lambda t: pa.concat_tables([t, t.slice(0, 1)])),
    "a column more": parquet(lambda t: t.append_column("exact", t["value"])),
    "a column less": parquet(lambda t: t.drop_columns(["high"])),
    "labels left out": parquet(lambda t: t.drop_columns(["sex_label"])),
    "a column renamed": parquet(renamed),
    "two columns of one name": parquet(lambda t: t.append_column("value", t["low"])),
    "a figure as a decimal": parquet(decimals),
    "a figure as a double": parquet(typed("value", pa.float64())),
    "a figure as a text": parquet(typed("value", pa.string())),
    "a figure as a time": parquet(typed("value", pa.timestamp("us"))),
    "a figure without a sign": parquet(typed("value", pa.uint64())),
    "a figure as a duration": parquet(typed("value", pa.duration("us"))),
    "codes as numbers": parquet(
        lambda t: t.set_column(2, "age", pc.cast(pc.cast(t["age"], pa.string()), pa.int64()))),
    "a note in the schema": parquet(lambda t: noted(t, warning="exact")),
    "two documents": parquet(noted_twice),
    "a note for pandas": parquet(lambda t: noted(t, pandas='{"index_columns":["value"]}')),
    "a note at a column": parquet(of_field),
    "the title": parquet(document(lambda d: d.update(title="Prisoners"))),
    "a figure of quality": parquet(document(lambda d: d["quality"].update(cells=4))),
    "the columns": parquet(document(lambda d: d["columns"].update(value="low"))),
    "a claim that rows are sorted": parquet(
        lambda t: t, sorting_columns=[pq.SortingColumn(t) for t in (6,)]),
    "an index of pages": parquet(lambda t: t, write_page_index=True),
    "bytes before the foot": between,
    "bytes behind": end("PAR1"),
    "the smallest figure": smallest,
    **{f"in the notes beside, {name}": forger for name, forger in SIDECAR.items()},
}  # fmt: skip
