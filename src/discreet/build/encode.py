"""From values in files to the codes of a population, with every bad value told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.build.source import SHOWN, Batch
from discreet.compiling import SMALL
from discreet.errors import ParameterError, first_few
from discreet.protect.keys import MOST_SUM, fraction_keys

_LONGEST_SPAN = 2**24


class Findings:
    """Bad values by file, column and rule: the first few of each, and how many there are."""

    def __init__(self) -> None:
        self._found: dict[tuple[Path, str, str], tuple[list[str], int]] = {}

    def note(self, batch: Batch, column: str, rule: str, bad: NDArray[np.bool_]) -> None:
        """Note the values of a column in the rows marked bad."""
        where = np.flatnonzero(bad)
        if not len(where):
            return
        shown, count = self._found.get((batch.file, column, rule), ([], 0))
        for i in where[: max(0, SHOWN - len(shown))].tolist():
            value = batch.columns[column][i].as_py()
            row = "a row" if batch.first is None else f"row {batch.first + i}"
            shown.append(row + ("" if value is None else f" {str(value)!r}"))
        self._found[batch.file, column, rule] = (shown, count + len(where))

    def __bool__(self) -> bool:
        return bool(self._found)

    def end(self) -> None:
        """Raise one error with everything found."""
        lines = [
            f"{file}, column '{column}': {rule}: {first_few(shown, SHOWN, count)}"
            for (file, column, rule), (shown, count) in self._found.items()
        ]
        if lines:
            listed = lines[0] if len(lines) == 1 else "".join(f"\n  - {line}" for line in lines)
            raise ParameterError(f"the data do not fit their description: {listed}")


def missing(batch: Batch, column: str, findings: Findings) -> NDArray[np.bool_]:
    """Return which values of a column are missing, and note them."""
    array = batch.columns[column]
    if not array.null_count:
        return np.zeros(batch.rows, bool)
    absent: NDArray[np.bool_] = pc.is_null(array).to_numpy(zero_copy_only=False)
    findings.note(batch, column, "missing values", absent)
    return absent


def filled(array: Any, value: int) -> NDArray[Any]:
    """Return the numbers of an array, with a value where there is none.

    Read from its buffer: `to_numpy` loads pandas where it is there, which takes half a second.
    """
    if array.null_count:
        array = array.fill_null(value)
    type_ = np.dtype(array.type.to_pandas_dtype())
    if not len(array):
        return np.empty(0, type_)
    return np.frombuffer(array.buffers()[1], type_, len(array), array.offset * type_.itemsize)


def texts(values: Sequence[str]) -> Any:
    """Return an Arrow array of texts, without pandas, which `pa.array` loads where it is there."""
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    data = pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), data)


class CodeEncoder:
    """Turns the values of one column into the indices of their categories."""

    def __init__(self, column: str, what: str, codes: tuple[str, ...], dtype: type) -> None:
        self.column = column
        self.dtype = dtype
        shown = ", ".join(codes[:8]) + (", …" if len(codes) > 8 else "")
        self._rule = f"not a category of '{what}' ({shown})"
        self._codes = texts(codes)
        self._lookup, self._lowest = _integer_lookup(codes)
        # Codes that are whole numbers in a row: an index is a difference.
        found = self._lookup
        self._in_a_row = found is not None and bool((found == np.arange(len(found))).all())

    def encode(self, batch: Batch, findings: Findings) -> NDArray[Any]:
        """Return the index of each value; rows with a bad value get index 0 and are noted."""
        array = batch.columns[self.column]
        if (quick := self._quick(array)) is not None:
            return quick
        absent = missing(batch, self.column, findings)
        if pa.types.is_integer(array.type) and self._lookup is not None:
            values = filled(array, 0)
            place = values.astype(np.int64, copy=False) - self._lowest
            outside = (place < 0) | (place >= len(self._lookup))
            if values.dtype == np.uint64:
                outside |= values > np.uint64(2**63 - 1)  # negative in eight signed bytes
            if outside.any():
                place = np.where(outside, 0, place)
            index = self._lookup[place]
            bad = outside | (index < 0)
        else:
            if not pa.types.is_string(array.type):
                array = array.cast(pa.string())
            index = filled(pc.index_in(array, self._codes), -1)
            bad = index < 0
        bad &= ~absent
        if bad.any():
            findings.note(batch, self.column, self._rule, bad)
        if bad.any() or absent.any():
            index = np.where(bad | absent, 0, index)
        codes: NDArray[Any] = index.astype(self.dtype)
        return codes

    def _quick(self, array: pa.Array) -> NDArray[Any] | None:
        """Return the index of each value where all are whole numbers and right, else None."""
        if not (self._in_a_row and pa.types.is_integer(array.type) and len(array)):
            return None
        if array.null_count or self._lookup is None:
            return None
        values = filled(array, 0)
        highest = self._lowest + len(self._lookup) - 1
        if int(values.min()) < self._lowest or int(values.max()) > highest:
            return None
        # Cut to the bytes of a code both, so is their difference, which fits in them.
        lowest: Any = np.int64(self._lowest).astype(self.dtype)
        codes: NDArray[Any] = np.subtract(values, lowest, dtype=self.dtype, casting="unsafe")
        return codes


def _integer_lookup(codes: tuple[str, ...]) -> tuple[NDArray[np.int32] | None, int]:
    """Return an index for each integer from the lowest code on, if every code is an integer."""
    try:
        values = np.array([int(code) for code in codes], np.int64)
    except (ValueError, OverflowError):
        return None, 0
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest >= _LONGEST_SPAN or [str(v) for v in values.tolist()] != list(codes):
        return None, 0
    lookup = np.full(highest - lowest + 1, -1, np.int32)
    lookup[values - lowest] = np.arange(len(codes))
    return lookup, lowest


class NumberReader:
    """Reads a column of non-negative whole numbers: counts of a hypercube, or keys."""

    def __init__(self, column: str, what: str, below: int) -> None:
        self.column = column
        self.below = below
        self._rule = f"not a {what}, a whole number from 0 to {below - 1}"

    def read(self, batch: Batch, findings: Findings) -> NDArray[np.uint64]:
        """Return the numbers; rows with a bad value get 0 and are noted."""
        absent = missing(batch, self.column, findings)
        array = batch.columns[self.column]
        if not pa.types.is_integer(array.type):
            whole = pc.fill_null(pc.match_substring_regex(array, r"^\d{1,19}$"), False)
            bad = ~whole.to_numpy(zero_copy_only=False)
            array = pc.if_else(whole, array, "0").cast(pa.uint64())
        else:
            array = array.fill_null(0) if array.null_count else array
            nothing = pa.scalar(0, array.type)
            bad = pc.less(array, nothing).to_numpy(zero_copy_only=False)
            array = pc.if_else(pa.array(bad), nothing, array).cast(pa.uint64())
        numbers: NDArray[np.uint64] = array.to_numpy(zero_copy_only=False)
        bad = (bad | (numbers > np.uint64(self.below - 1))) & ~absent
        if bad.any():
            findings.note(batch, self.column, self._rule, bad)
            numbers = np.where(bad, np.uint64(0), numbers)
        return numbers


class FractionReader:
    """Reads a column of keys in [0, 1), as the R package cellKey makes them, or of their sums."""

    def __init__(self, column: str, sums: bool) -> None:
        self.column = column
        self._sums = sums
        limit = f"up to {MOST_SUM:,}" if sums else "up to 1 of at most nine decimals"
        self._rule = f"not a key, a number from 0 {limit}"

    def read(self, batch: Batch, findings: Findings) -> NDArray[np.uint64]:
        """Return the keys as whole numbers; rows with a bad value get 0 and are noted."""
        absent = missing(batch, self.column, findings)
        array = batch.columns[self.column]
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            number = pc.match_substring_regex(array, r"^\d*\.?\d+([eE]-?\d{1,3})?$")
            array = pc.if_else(pc.fill_null(number, False), array, "nan")
        values = array.cast(pa.float64(), safe=False).fill_null(np.nan)
        keys, bad = fraction_keys(values.to_numpy(zero_copy_only=False), self._sums)
        if (bad & ~absent).any():
            findings.note(batch, self.column, self._rule, bad & ~absent)
        return keys


def text_bytes(array: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the UTF-8 bytes of an array of ids and where each begins and ends."""
    # Integers are hashed as their decimal text, so that CSV and Parquet give the same keys.
    small = pa.types.is_integer(array.type) and not pa.types.is_uint64(array.type)
    if small and not array.null_count and len(array) > SMALL:
        return _decimals(filled(array, 0).astype(np.int64, copy=False))
    if not pa.types.is_large_string(array.type):
        array = array.cast(pa.large_string())
    array = array.fill_null("") if array.null_count else array
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return content, places


def _decimals(values: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return many whole numbers as text: what Arrow writes, in a fraction of the time."""
    from discreet.population.kernels import decimals

    data, offsets = np.empty(20 * len(values), np.uint8), np.empty(len(values) + 1, np.int64)
    end = decimals(values, data, offsets)
    content, places = data[:end], offsets
    for array in (content, places):
        array.setflags(write=False)  # of one type with what Arrow gives
    return content, places
