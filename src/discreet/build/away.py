"""Building records that stay in shared storage: read, checked, encoded and keyed in one pass.

Batches of the original come here as Arrow; the encoders are those of every build, so that values
are judged alike; keys are made here, where the secret is, and the secret goes nowhere. Coded
records with their keys go back beside the original. Memory is that of a batch and of one file.
"""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.build.dataset import Dataset
from discreet.build.ids import Ids
from discreet.build.ingest import Ingest
from discreet.build.source import SHOWN, Batch
from discreet.build.viewing import Viewing
from discreet.errors import ParameterError, first_few
from discreet.files import sync
from discreet.population.coded import (
    AREA,
    ENDING,
    HIGH,
    KEY,
    LOW,
    Coded,
    Elsewhere,
    column_of,
    keeps_whole,
)
from discreet.population.intact import DIGEST
from discreet.population.keys import Secret, record_keys
from discreet.population.store import PLACES

PART = 2**23
"""Records of one file of coded records."""


def check_away(dataset: Dataset, originals: Path | None) -> None:
    """Refuse what needs all records at hand."""
    kind = dataset.engine.kind
    if dataset.protect or originals is not None:
        raise ParameterError(
            f"[[protect]] and --originals need the records on this machine: the engine '{kind}' "
            'leaves them where they are. Build with kind = "scan".'
        )
    form = dataset.source.format
    if form != "parquet" and dataset.engine.path is None and dataset.engine.table is None:
        raise ParameterError(
            f"the engine '{kind}' reads Parquet. {dataset.source.files[0].name} is {form.upper()}: "
            'write it as Parquet, or build with kind = "scan".'
        )
    if dataset.source.count is not None:
        raise ParameterError(
            f"a hypercube is built on this machine: the engine '{kind}' counts records."
        )


class Parts:
    """Writes coded records to the Parquet files of a new folder, for the owner's eyes only.

    A thread of its own writes some while the next are read and encoded.
    """

    def __init__(self, folder: Coded) -> None:
        self.folder = folder
        self.blake2b: dict[str, str] = {}
        self._system, self._path = folder.place()
        if folder.local:
            path = Path(self._path)
            path.parent.parent.mkdir(parents=True, exist_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.mkdir(mode=0o700)
        else:
            self._system.create_dir(self._path, recursive=True)
        self._writer: Any = None
        self._file: _Summed | None = None
        self._rows = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="parts")
        self._writing: Future[None] | None = None

    def write(self, records: pa.Table) -> None:
        """Add some records, once those before are written."""
        self._written()
        self._writing = self._pool.submit(self._write, records)

    def end(self) -> None:
        """Finish the file that is being written."""
        self._written()
        self._end()

    def close(self) -> None:
        """Let the thread end, whatever became of what it writes."""
        self._pool.shutdown()

    def _written(self) -> None:
        """Wait for what is being written, and raise what went wrong."""
        if self._writing is not None:
            self._writing.result()

    def _write(self, records: pa.Table) -> None:
        if self._writer is None:
            name = f"part-{len(self.blake2b):05}{ENDING}"
            self._file = _Summed(self._opened(name), name)
            self._writer = pq.ParquetWriter(self._file, records.schema, **_kept(records))
        self._writer.write_table(records)
        self._rows += len(records)
        if self._rows >= PART:
            self._end()

    def _end(self) -> None:
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.close()
            if self.folder.local:
                sync(Path(self._path, self._file.name))
            self.blake2b[self._file.name] = self._file.hashed.hexdigest()
        self._writer, self._file, self._rows = None, None, 0

    def _opened(self, name: str) -> Any:
        """Return a new file: nobody else may read it if it is on this machine."""
        path = f"{self._path}/{name}"
        if not self.folder.local:
            return self._system.open_output_stream(path)
        return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def _kept(records: pa.Table) -> dict[str, Any]:
    """Return how columns are written: whole keys as they are, for none is like another."""
    others = [name for name in records.column_names if name != KEY]
    packed = {name: "NONE" if name == KEY else "SNAPPY" for name in records.column_names}
    return {"use_dictionary": others, "compression": packed}


class _Summed:
    """A file that is being written, with the checksum of what was written to it."""

    def __init__(self, file: Any, name: str) -> None:
        self.name = name
        self.closed = False
        self.hashed = hashlib.blake2b(digest_size=DIGEST)
        self._file = file
        self._bytes = 0

    def write(self, data: Any) -> int:
        """Write some bytes."""
        self.hashed.update(data)
        self._file.write(data)
        self._bytes += len(data)
        return len(data)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._bytes

    def flush(self) -> None:
        """Nothing: a file is flushed when it is closed."""

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._file.close()


def remove_coded(folder: Coded) -> None:
    """Take a folder of coded records away that no version is to have."""
    with suppress(OSError):
        folder.remove()


class AwayIngest(Ingest):
    """One pass over an original elsewhere: every batch becomes coded records with keys."""

    def __init__(
        self,
        dataset: Dataset,
        reader: Any,
        secret: Secret,
        scratch: Path,
        parts: Parts,
        views: int,
    ) -> None:
        super().__init__(dataset, reader, secret, scratch)
        self._parts = parts
        self._batch: dict[str, NDArray[Any]] = {}
        self._away = reader
        self._ids: Ids | None = None
        self.area_rows = np.zeros(
            len(self.nesting.categories[0].codes) if dataset.areas else 0, np.int64
        )
        # Where the records say what areas lie in, views have to wait: the engine counts them.
        self.viewing: Viewing | None = None
        if all((parents >= 0).all() for parents in self.nesting.parents):
            schema, self._order = self.schema()
            self.viewing = Viewing(schema, dataset.source.modulus, views, scratch)

    def close(self) -> None:
        """Let go of what is held."""
        self._parts.close()
        super().close()

    def has(self, name: str) -> bool:
        """Whether there is a raw column of this name: none, they are elsewhere."""
        return False

    def elsewhere(self) -> Elsewhere:
        """Return where the records are now."""
        engine, folder = self.dataset.engine, self._parts.folder
        marks = folder.marks()
        return Elsewhere(
            engine.kind,
            folder.address,
            engine.remote,
            {name: size for name, (size, _) in marks.items()},
            self._parts.blake2b,
            {name: time for name, (_, time) in marks.items()},
            keeps_whole(engine.kind),
        )

    def write_facts(self, version: Path) -> None:
        """Write what a version without columns has of its own: the schema and the areas."""
        schema, order = self.schema()
        text = json.dumps(schema.to_json(), ensure_ascii=False)
        (version / "schema.json").write_text(text, encoding="utf-8")
        if order is not None:
            order.tofile(version / PLACES)
            sorted_rows = np.zeros(len(order), np.int64)
            sorted_rows[order] = self.area_rows
            np.concatenate([[0], np.cumsum(sorted_rows)]).astype(np.int64).tofile(
                version / "areas.i64"
            )

    def check(self) -> None:
        """Check what can only be seen when all is read; ids are compared where they are."""
        self._parts.end()
        super().check()
        column = self.dataset.source.record_id
        if column is None or (self._ids is not None and self._ids.differ):
            return
        twice, rows = self._away.twice(column)
        if rows:
            shown = [f"{value!r}" for value in twice]
            raise ParameterError(
                f"column '{column}' must hold each record id once. Again: "
                f"{first_few(shown, SHOWN, rows)}."
            )

    def _take(self, batch: Batch) -> None:
        self._batch = {}
        super()._take(batch)
        column = self.dataset.source.record_id
        if column is not None:
            self._ids = self._ids or Ids(self._away.rows())
            self._ids.add(batch.columns[column])
        if not self._findings:
            keys = self._keys()
            self._parts.write(self._coded(keys))
            if self.viewing is not None:
                codes = {c.id: self._batch[f"codes-{c.id}"] for c in self.dataset.columns}
                areas = self._batch.get("area")
                places = None if areas is None or self._order is None else self._order[areas]
                self.viewing.add(codes, places, keys)

    def _write(self, name: str, values: NDArray[Any]) -> None:
        self._batch[name] = values

    def _keys(self) -> NDArray[np.uint32]:
        """Return the record keys of the batch: those given, or those made of the ids."""
        keys = self._batch.get("key")
        if keys is None:
            return record_keys(self._batch["digest"], self.dataset.source.modulus)
        return keys

    def _coded(self, keys: NDArray[np.uint32]) -> pa.Table:
        """Return the batch as coded records."""
        held, columns = self._batch, {}
        for column in self.dataset.columns:
            codes = held[f"codes-{column.id}"]
            columns[column_of(column.id)] = codes.astype(f"i{2 * codes.itemsize}")
        if self.dataset.areas:
            self.area_rows += np.bincount(held["area"], minlength=len(self.area_rows))
            columns[AREA] = held["area"].astype(np.int32)
        if keeps_whole(self.dataset.engine.kind):
            columns[KEY] = keys
        else:
            columns[LOW] = (keys & np.uint32(0xFFFF)).astype(np.int32)
            columns[HIGH] = (keys >> np.uint32(16)).astype(np.int32)
        return pa.table(columns)
