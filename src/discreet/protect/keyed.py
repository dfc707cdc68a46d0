"""Tables of counts with a column of cell keys: the same people, the same figure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, first_few
from discreet.protect.base import Chance, Method
from discreet.protect.keys import FRACTIONS, MOST_SUM, fraction_keys
from discreet.table.files import TableFile, read_table
from discreet.table.source import Layout, Source, read_source

_WHOLE = re.compile(r"\d{1,18}")
_FRACTION = re.compile(r"\d*\.?\d+([eE]-?\d{1,3})?")


@dataclass(frozen=True, eq=False)
class CellKeys:
    """The keys of a table's cells and totals, as a table of the same shape; 0 for an empty cell."""

    table: TableFile
    modulus: int

    def chance(self, method: Method, secret: bytes | None, totals: bool = False) -> Chance:
        """Return the chance of the cells or the totals: by the keys as they are, or mixed."""
        keys = self.table.figures[self.table.is_total] if totals else self.table.counts
        plain = self.modulus if secret is None else None
        reduced = keys % self.modulus
        return Chance.keyed(secret or b"", b"", reduced, modulus=plain, number=method.keys)


def read_keyed(
    path: Path, column: str, modulus: int, absent_is_zero: bool = False
) -> tuple[TableFile, CellKeys]:
    """Return the table in a long file without its column of keys, and the keys.

    Sums of record keys need not be reduced by the modulus; 1 is that of fractions. Totals that
    the file lacks have the sums of the keys of their cells.
    """
    source = read_source(path)
    texts, place = source.column(column), source.header.index(column)
    header = source.header[:place] + source.header[place + 1 :]
    rows = [(number, row[:place] + row[place + 1 :]) for number, row in source.rows]
    file = read_table(Source(source.name, header, rows, source.delimiter), absent_is_zero)
    if file.layout is not Layout.LONG:
        raise ParameterError("a table with cell keys must be long: one row for each cell.")
    keys = _parsed(texts, column, source.where, modulus)
    figures = np.zeros(len(file.rows), np.int64)
    figures[: len(keys)] = keys
    cells = np.zeros(file.shape, np.int64)
    inner = ~file.is_total
    cells[tuple(file.rows[inner].T)] = figures[inner]
    kept = replace(file, counts=cells, figures=figures)
    return file, CellKeys(kept, FRACTIONS if modulus == 1 else modulus)


def _parsed(texts: list[str], column: str, where: list[str], modulus: int) -> NDArray[np.int64]:
    """Return the keys of a column below the modulus; raise where one is none."""
    form = _FRACTION if modulus == 1 else _WHOLE
    bad = np.array([form.fullmatch(text) is None for text in texts], bool)
    good = ["0" if wrong else text for text, wrong in zip(texts, bad, strict=True)]
    if modulus == 1:
        keys, beyond = fraction_keys([float(text) for text in good], sums=True)
        bad |= beyond
    else:
        keys = np.array([int(text) for text in good], np.uint64) % np.uint64(modulus)
    if bad.any():
        rule = f"numbers from 0 to {MOST_SUM:,}" if modulus == 1 else "whole numbers of 0 or more"
        wrong = [f"{where[i]} has '{texts[i]}'" for i in np.flatnonzero(bad)]
        raise ParameterError(f"cell keys in '{column}' must be {rule}: {first_few(wrong, 3)}.")
    return keys.astype(np.int64)
