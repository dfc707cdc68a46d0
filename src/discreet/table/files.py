"""Tables of counts in CSV files, long or wide, read and written back in the same layout.

Long: dimension columns, then a count column named `count` or `freq`, one row a cell. The tidy CSV
of a release, with labels and bounds, is read as such a table.
Wide: labels in the first row and the first column, counts between them.
A total has the code `_T` (or the word "total"); totals are set aside, never counted as cells.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.table.dimension import Dimension

TOTAL = "_T"
COUNT_NAMES = ("count", "freq")
# A long file that leaves zero cells out could name a product of categories that no memory holds.
MAX_CELLS = 100_000_000
_FAULTS = 3
_INTEGER = re.compile(r"\d{1,18}(\.0*)?")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


class Layout(StrEnum):
    """How the cells of a table lie in a file."""

    LONG = "long"
    WIDE = "wide"


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table of counts read from a file, with what is needed to write the same layout back.

    `counts` holds the inner cells alone. `rows[i]` is the index of the i-th figure of the file
    along each dimension, −1 for a total; `figures[i]` is that figure. Totals are thus remembered
    (`has_totals`) without being part of the table.
    """

    dimensions: tuple[Dimension, ...]
    counts: NDArray[np.int64]
    layout: Layout
    header: tuple[str, ...]
    total_codes: tuple[str, ...]
    rows: NDArray[np.int64]
    figures: NDArray[np.int64]
    delimiter: str = ","

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories along each dimension."""
        return self.counts.shape

    @property
    def is_total(self) -> NDArray[np.bool_]:
        """Which figures of the file are totals."""
        return np.asarray((self.rows < 0).any(axis=1))

    @property
    def has_totals(self) -> bool:
        """Whether the file holds totals beside its inner cells."""
        return bool(self.is_total.any())

    def totals_of(self, counts: ArrayLike) -> NDArray[np.int64]:
        """Return the sums of `counts` that stand where the file has totals, in file order."""
        return _sums(self._checked(counts), self.rows[self.is_total])

    def additivity_gap(self) -> int:
        """Return Σ|total in the file − sum of its cells|: 0 for a table that adds up."""
        return int(np.abs(self.figures[self.is_total] - self.totals_of(self.counts)).sum())

    def refuse_gap(self, advice: str) -> None:
        """Raise where a total of the file is not the sum of its cells: where, and by how much."""
        off = self.figures - _sums(self.counts, self.rows)
        wrong = np.flatnonzero(off)
        if not len(wrong):
            return
        faults = []
        for row in wrong[:_FAULTS]:
            parts = [
                f"{dimension.variable} {total if i < 0 else dimension.codes[i]}"
                for dimension, total, i in zip(
                    self.dimensions, self.total_codes, self.rows[row], strict=True
                )
            ]
            size = "large" if off[row] > 0 else "small"
            faults.append(f"at {', '.join(parts)} is {abs(int(off[row])):,} too {size}")
        more = f"; and {len(wrong) - _FAULTS:,} more" if len(wrong) > _FAULTS else ""
        raise ParameterError(
            f"the table must add up. The total {'; '.join(faults)}{more}. {advice}"
        )

    def aligned(self, other: TableFile) -> NDArray[np.int64]:
        """Return the counts of another file in this file's order of dimensions and codes.

        Dimensions are matched by name between long files, and by position where either is wide.
        """
        axes = list(range(len(other.dimensions)))
        if self.layout is other.layout is Layout.LONG:
            mine, theirs = (
                [dimension.variable for dimension in file.dimensions] for file in (self, other)
            )
            if sorted(mine) != sorted(theirs):
                raise ParameterError(
                    f"the two tables must have the same dimensions. "
                    f"Got {', '.join(mine)} and {', '.join(theirs)}."
                )
            axes = [theirs.index(name) for name in mine]
        elif len(axes) != len(self.dimensions):
            raise ParameterError(
                f"the two tables must have the same number of dimensions. "
                f"Got {len(self.dimensions)} and {len(axes)}."
            )
        counts = other.counts.transpose(axes)
        for axis, dimension in enumerate(self.dimensions):
            place = {code: i for i, code in enumerate(other.dimensions[axes[axis]].codes)}
            differing = sorted(set(dimension.codes) ^ set(place))
            if differing:
                where = "first" if differing[0] in dimension.codes else "second"
                raise ParameterError(
                    f"the labels of the two tables must match. '{differing[0]}' of "
                    f"{dimension.variable} is only in the {where}."
                )
            counts = counts.take([place[code] for code in dimension.codes], axis=axis)
        return counts

    def canonical(self) -> tuple[TableFile, NDArray[np.int64]]:
        """Return the table with dimensions and codes sorted, and the place of each figure there.

        The same table in another order gives the same. The two dimensions of a wide file have no
        names to go by, and stay.
        """
        named = self.layout is Layout.LONG
        axes = list(range(len(self.dimensions)))
        if named:
            axes.sort(key=lambda axis: self.dimensions[axis].variable)
        counts, dimensions, rows = self.counts.transpose(axes), [], self.rows[:, axes]
        for axis, dimension in enumerate(self.dimensions[i] for i in axes):
            order = np.array(sorted(range(len(dimension)), key=dimension.codes.__getitem__), int)
            counts = counts.take(order, axis=axis)
            rows[:, axis] = np.append(np.argsort(order), -1)[rows[:, axis]]
            codes, labels = (
                tuple(texts[i] for i in order) for texts in (dimension.codes, dimension.labels)
            )
            dimensions.append(replace(dimension, codes=codes, labels=labels))
        lines = np.lexsort(rows.T[::-1])
        header = tuple(self.header[i] for i in axes) + self.header[len(axes) :]
        same = replace(
            self,
            dimensions=tuple(dimensions),
            counts=counts,
            header=header if named else self.header,
            total_codes=tuple(self.total_codes[i] for i in axes),
            rows=rows[lines],
            figures=self.figures[lines],
        )
        return same, np.argsort(lines)

    def write(self, path: str | Path, counts: ArrayLike, totals: ArrayLike | None = None) -> None:
        """Write counts of this table's shape in the layout of the file it was read from.

        Where the file has totals, `totals` (in file order) stand there, or else the sums of the
        counts given: a total of the original file is never written.
        """
        values = self._checked(counts)
        is_total = self.is_total
        sums = self.totals_of(values) if totals is None else np.asarray(totals, np.int64)
        if sums.shape != (int(is_total.sum()),):
            raise ParameterError(
                f"totals must be one for each total of the file, {int(is_total.sum())}. "
                f"Got {sums.size}."
            )
        figures = np.empty(len(self.rows), np.int64)
        figures[is_total] = sums
        figures[~is_total] = values[tuple(self.rows[~is_total].T)]
        codes = [
            (*dimension.codes, total)
            for dimension, total in zip(self.dimensions, self.total_codes, strict=True)
        ]
        with Path(path).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter=self.delimiter, lineterminator="\n")
            writer.writerow(self.header)
            if self.layout is Layout.LONG:
                for row, figure in zip(self.rows.tolist(), figures.tolist(), strict=True):
                    labels = [column[i] for column, i in zip(codes, row, strict=True)]
                    writer.writerow([*labels, figure])
            else:
                width = len(self.header) - 1
                for start in range(0, len(figures), width):
                    label = codes[0][self.rows[start, 0]]
                    writer.writerow([label, *figures[start : start + width].tolist()])

    def with_totals(self) -> TableFile:
        """Return the same table with all its totals, for a file that has none.

        A long file gets them after its cells, a wide one as its last row and column.
        """
        if self.has_totals:
            return self
        codes = [[*range(size), -1] for size in self.shape]
        rows = np.stack(np.meshgrid(*codes, indexing="ij"), axis=-1).reshape(-1, len(codes))
        header, totals = self.header, self.total_codes
        if self.layout is Layout.WIDE:
            header, totals = (*header, "Total"), ("Total", "Total")
        else:
            rows = np.concatenate([self.rows, rows[(rows < 0).any(axis=1)]])
        return replace(
            self, header=header, total_codes=totals, rows=rows, figures=_sums(self.counts, rows)
        )

    def with_counts(self, counts: ArrayLike) -> TableFile:
        """Return the same table with other counts; totals become their sums."""
        values = self._checked(counts)
        figures = _sums(values, self.rows)
        return replace(self, counts=values, figures=figures)

    def _checked(self, counts: ArrayLike) -> NDArray[np.int64]:
        values = np.asarray(counts)
        if values.shape != self.shape:
            raise ParameterError(
                f"counts must have the shape of the table, {self.shape}. Got {values.shape}."
            )
        return values.astype(np.int64)


def read_lines(path: str | Path) -> tuple[str, str, list[str], list[tuple[int, list[str]]]]:
    """Return name, delimiter, header and numbered rows of a CSV file whose rows are all as wide."""
    name = Path(path).name
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(f"there is no file '{path}'.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"'{name}' must be a readable CSV file in UTF-8. {error}") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        lines = [
            (number, [field.strip() for field in row])
            for number, row in enumerate(reader, 1)
            if any(field.strip() for field in row)
        ]
    except csv.Error as error:
        raise ParameterError(f"'{name}' must be a CSV file. {error}") from None
    if len(lines) < 2:
        raise ParameterError(f"'{name}' must have a header and at least one row of counts.")
    header = lines[0][1]
    for number, row in lines:
        if len(row) != len(header):
            raise ParameterError(
                f"'{name}' must have {len(header)} columns in every row. "
                f"Line {number} has {len(row)}."
            )
    if len(header) < 2:
        raise ParameterError(
            f"'{name}' must have labels and counts in columns of their own. Got one column."
        )
    return name, delimiter, header, lines[1:]


def read_table(path: str | Path, absent_is_zero: bool = False) -> TableFile:
    """Return the table of counts in a CSV file; the layout is seen from its first row.

    A long file must have a row for every combination of its codes; with `absent_is_zero` the
    rows it leaves out are zeros.
    """
    name, delimiter, header, lines = read_lines(path)
    header, lines = _as_released(header, lines)
    named = [i for i, column in enumerate(header) if column.lower() in COUNT_NAMES]
    if named and named != [len(header) - 1]:
        raise ParameterError(
            f"'{name}' must have one column named count or freq, and it must be the last. "
            f"Got the columns {', '.join(header)}."
        )
    read = _read_long if named else _read_wide
    return read(name, header, lines, delimiter, absent_is_zero)


def _as_released(
    header: list[str], lines: list[tuple[int, list[str]]]
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return a tidy file of a release without its labels and bounds; others as they are."""
    labels = {f"{column}_label" for column in header} & set(header)
    if "value" not in header or not labels:
        return header, lines
    kept = [i for i, c in enumerate(header) if c not in labels | {"value", "low", "high"}]
    order = [*kept, header.index("value")]
    return (
        [*(header[i] for i in kept), COUNT_NAMES[0]],
        [(number, [row[i] for i in order]) for number, row in lines],
    )


def _read_long(
    name: str,
    header: list[str],
    lines: list[tuple[int, list[str]]],
    delimiter: str,
    absent_is_zero: bool,
) -> TableFile:
    variables = header[:-1]
    if len(set(variables)) != len(variables) or "" in variables:
        raise ParameterError(
            f"'{name}' must name every dimension once. Got {', '.join(variables)}."
        )
    places: list[dict[str, int]] = [{} for _ in variables]
    totals = [TOTAL] * len(variables)
    rows = np.empty((len(lines), len(variables)), np.int64)
    figures = np.empty(len(lines), np.int64)
    for i, (number, row) in enumerate(lines):
        for axis, code in enumerate(row[:-1]):
            if not code:
                raise ParameterError(
                    f"'{name}' must have a code in every dimension. "
                    f"Line {number} has none for {variables[axis]}."
                )
            if is_total_code(code):
                totals[axis] = code
                rows[i, axis] = -1
            else:
                rows[i, axis] = places[axis].setdefault(code, len(places[axis]))
        figures[i] = _count(row[-1], f"line {number} of '{name}'")
    dimensions = tuple(
        _dimension(variable, list(place)) for variable, place in zip(variables, places, strict=True)
    )
    shape = tuple(len(dimension) for dimension in dimensions)
    if prod(shape) > MAX_CELLS:
        raise ParameterError(
            f"'{name}' must have at most {MAX_CELLS:,} cells. Got {prod(shape):,}."
        )
    inner = (rows >= 0).all(axis=1)
    counts, seen = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    where = tuple(rows[inner].T)
    np.add.at(seen, where, 1)
    counts[where] = figures[inner]
    _refuse_repeats(name, rows, [number for number, _ in lines])
    gaps = np.argwhere(seen == 0)
    if len(gaps) and not absent_is_zero:
        cell = ", ".join(
            f"{dimension.variable} {dimension.codes[i]}"
            for dimension, i in zip(dimensions, gaps[0], strict=True)
        )
        raise ParameterError(
            f"'{name}' must have a row for every cell, zero cells included. "
            f"Missing: {cell}{f', and {len(gaps) - 1:,} more' if len(gaps) > 1 else ''}."
        )
    rows = np.concatenate([rows, gaps])
    figures = np.concatenate([figures, np.zeros(len(gaps), np.int64)])
    return TableFile(
        dimensions, counts, Layout.LONG, tuple(header), tuple(totals), rows, figures, delimiter
    )


def _read_wide(
    name: str,
    header: list[str],
    lines: list[tuple[int, list[str]]],
    delimiter: str,
    absent_is_zero: bool,
) -> TableFile:
    del absent_is_zero  # a wide file has a place for every cell
    labels = ([row[0] for _, row in lines], header[1:])
    variables = (header[0] or "row", "column")
    axes, dimensions, totals = [], [], []
    for variable, codes in zip(variables, labels, strict=True):
        if "" in codes:
            raise ParameterError(f"'{name}' must have a label for every {variable}. One is empty.")
        inner = [code for code in codes if not is_total_code(code)]
        dimensions.append(_dimension(variable, inner))
        totals.append(next((code for code in codes if is_total_code(code)), TOTAL))
        place = {code: i for i, code in enumerate(inner)}
        axes.append(np.array([place.get(code, -1) for code in codes], np.int64))
        if int((axes[-1] < 0).sum()) > 1:
            raise ParameterError(f"'{name}' must have at most one total along {variable}.")
    values = np.array(
        [
            [
                _count(field, f"column {column} of line {number} of '{name}'")
                for column, field in zip(header[1:], row[1:], strict=True)
            ]
            for number, row in lines
        ],
        np.int64,
    )
    counts = values[np.ix_(axes[0] >= 0, axes[1] >= 0)]
    rows = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    return TableFile(
        tuple(dimensions),
        counts,
        Layout.WIDE,
        tuple(header),
        tuple(totals),
        rows,
        values.ravel(),
        delimiter,
    )


def is_total_code(code: str) -> bool:
    """Return whether a code stands for the sum over its dimension."""
    return code == TOTAL or code.lower() == "total"


def _dimension(variable: str, codes: Sequence[str]) -> Dimension:
    if not codes:
        raise ParameterError(f"{variable} must have a category beside its total.")
    return Dimension(variable, variable, variable, tuple(codes), tuple(codes))


def _count(field: str, where: str) -> int:
    if _INTEGER.fullmatch(field):
        return int(field.partition(".")[0])
    if not field:
        problem = "Missing"
    elif not _NUMBER.fullmatch(field):
        problem = f"Got the text '{field}'"
    elif field.startswith("-"):
        problem = f"Got the negative number {field}"
    else:
        problem = f"Got {field}"
    raise ParameterError(f"a count must be a whole number of 0 or more. {problem} in {where}.")


def _refuse_repeats(name: str, rows: NDArray[np.int64], numbers: list[int]) -> None:
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    if (counts > 1).any():
        again = int(first[counts > 1].min())
        twin = int(np.flatnonzero((rows == rows[again]).all(axis=1))[1])
        raise ParameterError(
            f"'{name}' must have each cell once. "
            f"Lines {numbers[again]} and {numbers[twin]} are the same cell."
        )


def _sums(counts: NDArray[np.int64], rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the sum of the cells that each row stands for, −1 meaning every category."""
    sums = np.empty(len(rows), np.int64)
    summed = rows < 0
    for pattern in np.unique(summed, axis=0):
        chosen = (summed == pattern).all(axis=1)
        margin = counts.sum(axis=tuple(np.flatnonzero(pattern)))
        sums[chosen] = margin[tuple(rows[chosen][:, ~pattern].T)]
    return sums
