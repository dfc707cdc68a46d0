"""Reading a source into raw columns, and the checks that need all of it."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.build import differencing
from discreet.build.ahead import compile_ahead
from discreet.build.categories import Categories, why_no_code
from discreet.build.dataset import Column, Dataset
from discreet.build.encode import (
    CodeEncoder,
    Findings,
    FractionReader,
    NumberReader,
    missing,
    text_bytes,
    texts,
)
from discreet.build.geography import Nesting
from discreet.build.source import SHOWN, Batch, Reader
from discreet.build.steps import LeftOut, SwapStep
from discreet.errors import ParameterError, first_few
from discreet.population.keys import DEFAULT_MODULUS, Secret, digests, record_keys, repeated
from discreet.population.schema import MAX_CATEGORIES, Level, Schema, Variable
from discreet.progress import Tell

MAX_COUNT = 2**32 - 1
"""The largest total that a 32-bit count of a cell can take."""

MAX_AREAS = 2**24
"""The most areas of a level that are looked for in the data; the largest censuses have 11 million
blocks."""


def wanted(dataset: Dataset) -> list[str]:
    """Return the columns of the source that a data set needs."""
    source = dataset.source
    special = [source.record_id, source.household_id, source.count]
    special += [source.key[0] if source.key else None]
    special += [area.column for area in dataset.areas]
    special += [left_out.column for left_out in _left_out(dataset).values()]
    return [*(column.column for column in dataset.columns), *(c for c in special if c)]


def _left_out(dataset: Dataset) -> dict[int, LeftOut]:
    """Return the marks of records that a step leaves alone, by the number of the step."""
    return {
        number: step.left_out
        for number, step in enumerate(dataset.protect)
        if isinstance(step, SwapStep) and step.left_out
    }


class Ingest:
    """One pass over the source: codes, areas, counts, and what keys are made of, in raw files."""

    def __init__(self, dataset: Dataset, reader: Reader, secret: Secret, scratch: Path) -> None:
        self.dataset = dataset
        self.scratch = scratch
        self.rows = 0
        self.accepted: list[dict[str, str]] = []
        self._secret = secret
        self._total = 0
        self._findings = Findings()
        self._raw: dict[str, IO[bytes]] = {}
        self._ends: list[tuple[Path, int]] = []  # files, and how many rows they and all before have
        self._reader = reader
        source = dataset.source
        if source.record_id:
            self._reader.check_ids(source.record_id)
        self.categories = {column.id: self._categories(column) for column in dataset.columns}
        self._encoders = {
            column.id: CodeEncoder(
                column.column, column.id, self.categories[column.id].codes, self.dtype(column.id)
            )
            for column in dataset.columns
        }
        # Only groupings that may be subtracted from each other have to be counted.
        self.populations = {
            column.id: np.zeros(len(self.categories[column.id].codes), np.int64)
            for column in dataset.columns
            if len(column.groupings) > 1
        }
        self._count = source.count and NumberReader(source.count, "count", MAX_COUNT + 1)
        # The key of a hypercube's cell is the sum of its records' keys, perhaps not reduced yet.
        self._key: NumberReader | FractionReader | None = None
        if source.key:
            column, modulus = source.key
            self._key = (
                FractionReader(column, sums=source.count is not None)
                if modulus == 1
                else NumberReader(column, "key", 2**63 if source.count else modulus)
            )
        self.nesting = Nesting(
            dataset.areas, tuple(self._area_categories(i) for i in range(len(dataset.areas)))
        )

    def dtype(self, variable: str) -> type:
        """Return the type of a variable's codes."""
        return np.uint8 if len(self.categories[variable].codes) <= 255 else np.uint16

    def close(self) -> None:
        """Let the raw files go; they stay on disk until the scratch folder goes."""
        for file in self._raw.values():
            file.close()

    def notes(self) -> tuple[str, ...]:
        """Return what the custodian should know about this build."""
        inferred = [column.id for column in self.dataset.columns if column.categories is None]
        found = []
        if inferred:
            found.append(
                f"Categories read from the data: {', '.join(inferred)}. List them in "
                f"{self.dataset.path.name} to have unknown codes refused."
            )
        found += [
            f"Accepted: '{a['grouping']}' can be subtracted from '{a['against']}'."
            for a in self.accepted
        ]
        return tuple(found)

    def raw(self, name: str, dtype: type) -> NDArray[Any]:
        """Return a raw column."""
        return np.fromfile(self.scratch / name, dtype)

    def codes(self, variable: str) -> NDArray[Any]:
        """Return the raw codes of a variable."""
        return self.raw(f"codes-{variable}", self.dtype(variable))

    def keys(self) -> NDArray[np.uint32]:
        """Return the record keys: those given, or those made of the ids."""
        if self.has("key"):
            return self.raw("key", np.uint32)
        return record_keys(self.raw("digest", np.uint64), DEFAULT_MODULUS)

    def has(self, name: str) -> bool:
        """Whether there is a raw column of this name."""
        return name in self._raw

    def put(self, name: str, values: NDArray[Any]) -> None:
        """Replace a raw column, or add one, once all is read."""
        with (self.scratch / name).open("wb") as file:
            file.write(np.ascontiguousarray(values).data.cast("B"))
        self._raw[name] = file

    def cell_digests(self) -> NDArray[np.uint64]:
        """Return by what the cells of a hypercube are known, from its raw columns."""
        identity = [self.codes(column.id).astype(np.uint32) for column in self.dataset.columns]
        if self.dataset.areas:
            identity.append(self.raw("area", np.uint32))
        return self._cell_digests(identity)

    def schema(self) -> tuple[Schema, NDArray[np.uint32] | None]:
        """Return the schema, and the new place of each area if there is a geography."""
        variables = [self._variable(column) for column in self.dataset.columns]
        order = None
        if self.dataset.areas:
            geography, order = self.nesting.variable()
            variables.append(geography)
        dataset = self.dataset
        schema = Schema(
            dataset.id, dataset.title, dataset.unit, tuple(variables), dataset.impossible
        )
        return schema, order

    def read(self, tell: Tell) -> None:
        """Read every batch into the raw columns."""
        expected = self._reader.rows()
        compile_ahead(expected, tell)
        last: Path | None = None
        for batch in self._reader.batches():
            if batch.file != last:
                self._ends.append((batch.file, self.rows))
                last = batch.file
            self._take(batch)
            self.rows += batch.rows
            self._ends[-1] = (batch.file, self.rows)
            tell("reading", min(self.rows, expected), expected)
        self._findings.end()
        for file in self._raw.values():
            file.flush()

    def check(self) -> None:
        """Check what can only be seen when all is read."""
        if not self.rows:
            raise ParameterError("the data are empty: no file has a row.")
        if self._total > MAX_COUNT:
            what = "rows must be" if self._count is None else "counts must add up to"
            raise ParameterError(f"the {what} at most {MAX_COUNT:,}. They are more.")
        if self.has("digest"):
            self._check_duplicates()
        self.accepted = differencing.check(self.dataset, self.populations)

    def _take(self, batch: Batch) -> None:
        source, findings = self.dataset.source, self._findings
        counts = None
        if self._count:
            counts = self._count.read(batch, findings)
            self._write("count", counts.astype(np.uint32))
        self._total += batch.rows if counts is None else int(counts.sum())
        identity, by_cell = [], bool(source.count and not source.record_id)
        for column in self.dataset.columns:
            codes = self._encoders[column.id].encode(batch, findings)
            self._write(f"codes-{column.id}", codes)
            if column.id in self.populations:
                found = np.bincount(codes, counts, len(self.populations[column.id]))
                self.populations[column.id] += found.astype(np.int64)
            if by_cell:
                identity.append(codes.astype(np.uint32))
        if self.dataset.areas:
            areas = self.nesting.encode(batch, findings)
            self._write("area", areas)
            identity.append(areas)
        if source.household_id:
            missing(batch, source.household_id, findings)
            if any(step.needs_households for step in self.dataset.protect):
                data, offsets = text_bytes(batch.columns[source.household_id])
                self._write("household", digests(self._secret, data, offsets))
        for number, left_out in _left_out(self.dataset).items():
            values = batch.columns[left_out.column].cast(pa.string())
            marked = pc.is_in(values, value_set=texts(left_out.values))
            self._write(f"left-out-{number}", marked.to_numpy(zero_copy_only=False))
        if source.record_id:
            missing(batch, source.record_id, findings)
            data, offsets = text_bytes(batch.columns[source.record_id])
            self._write("digest", digests(self._secret, data, offsets))
        elif source.count:
            # A cell of a hypercube is known by its categories.
            self._write("digest", self._cell_digests(identity))
        if self._key:
            keys = self._key.read(batch, findings) % np.uint64(source.modulus)
            self._write("key", keys.astype(np.uint32))

    def _cell_digests(self, identity: list[NDArray[np.uint32]]) -> NDArray[np.uint64]:
        cells = np.ascontiguousarray(np.stack(identity, axis=1))
        offsets = np.arange(len(cells) + 1, dtype=np.int64) * cells.shape[1] * 4
        return digests(self._secret, cells.view(np.uint8).ravel(), offsets)

    def _write(self, name: str, values: NDArray[Any]) -> None:
        if name not in self._raw:
            self._raw[name] = (self.scratch / name).open("wb")
        self._raw[name].write(np.ascontiguousarray(values).data.cast("B"))

    def _check_duplicates(self) -> None:
        """Refuse records with one id, found by sorting the digests of all ids."""
        twice = repeated(self.raw("digest", np.uint64))
        if not len(twice):
            return
        hashed = self.raw("digest", np.uint64)
        nearest = np.minimum(np.searchsorted(twice, hashed), len(twice) - 1)
        again = np.flatnonzero(twice[nearest] == hashed)
        del hashed, nearest
        column = self.dataset.source.record_id
        shown, values = [], set()
        # Digests of different ids meet in a handful of rows at most: more are surely duplicates.
        for place in again[: SHOWN if len(again) > 4 * SHOWN else None].tolist():
            file, row = self._place(place)
            value = self._reader.value(column, file, row) if column else ""
            shown.append(f"{file}, row {row} {value!r}" if column else f"{file}, row {row}")
            values.add(value)
        if column and len(values) == len(again):
            return  # different ids whose digests meet: among a billion that may happen once
        what = (
            f"column '{column}' must hold each record id once"
            if column
            else ("a hypercube must hold each cell once; these rows have the same categories")
        )
        raise ParameterError(f"{what}. Again: {first_few(shown, SHOWN, len(again))}.")

    def _place(self, row: int) -> tuple[Path, int]:
        """Return the file of a row, and its number in the file."""
        ends = [end for _, end in self._ends]
        i = bisect_right(ends, row)
        return self._ends[i][0], row - (ends[i - 1] if i else 0) + 1

    def _categories(self, column: Column) -> Categories:
        if column.categories is not None:
            return column.categories
        return self._distinct(column.column, MAX_CATEGORIES, "a variable")

    def _area_categories(self, i: int) -> Categories:
        level = self.dataset.areas[i]
        if level.categories is not None:
            return level.categories
        if level.column is not None:
            return self._distinct(level.column, MAX_AREAS, "a geography")
        below = self.dataset.areas[i - 1].parents if i else None
        return self._as_listed(list(dict.fromkeys(below or ())), level.id)

    def _distinct(self, column: str, most: int, what: str) -> Categories:
        """Return the values of a column as categories, which must not be too many."""
        codes = self._reader.distinct(column, most)
        if len(codes) > most:
            raise ParameterError(
                f"column '{column}' must have at most {most:,} categories, the most a column can "
                f"hold. It has more; is it {what}?"
            )
        return self._as_listed(codes, column)

    def _variable(self, column: Column) -> Variable:
        found = self.categories[column.id]
        whole = np.arange(len(found.codes), dtype=np.uint32)
        levels = [Level(column.id, column.label, found.codes, found.labels, whole)]
        levels += [
            Level(g.id, g.label, g.categories.codes, g.categories.labels, np.array(g.of, np.uint32))
            for g in column.groupings
        ]
        return Variable(column.id, column.label, tuple(levels), column.definition)

    def _as_listed(self, found: list[str], column: str) -> Categories:
        """Return the codes found as categories; what cannot be a code is noted when it is read."""
        codes = tuple(code for code in found if why_no_code(code) is None)
        if not codes:
            files = self.dataset.source.files
            more = f" and {len(files) - 1:,} more files" if len(files) > 1 else ""
            raise ParameterError(
                f"column '{column}' has no value to read categories from in {files[0]}{more}."
            )
        return Categories(codes, codes)
