"""Tables of cells in CSV files.

A long file has its dimensions first, then a figure (`count` or `freq` for counts of people or
firms, `value` for magnitudes), then any of the columns in `EXTRAS`. Totals may be left out: they
are summed. A wide file has labels in the first row and column and counts between them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.desk.cells.codes import checked_size, number_of, trees
from discreet.desk.cells.model import MARKS, CellTable, Mark, families, summed
from discreet.errors import ParameterError, unknown
from discreet.table.files import COUNT_NAMES, read_lines
from discreet.table.published import Groups
from discreet.types import Floats

EXTRAS = ("contributors", "max1", "max2", "max3", "max4", "max5", "sensitive", "mark", "lower",
          "upper")  # fmt: skip
# Totals in files are sums of decimals that were rounded once each.
NEAR = 1e-6


def read_cells(path: str | Path, groups: Groups | None = None) -> CellTable:
    """Return the table of a CSV file with all its totals; `groups` are sums of codes.

    Combinations that the file leaves out are 0. Totals in the file must be the sums.
    """
    name, delimiter, header, lines = read_lines(path)
    if not {column.lower() for column in header} & {*COUNT_NAMES, "value"}:
        header, lines = _unfolded(header, lines)
    variables, figure, extras = _columns(name, header)
    width = len(variables)
    counts = header[figure].lower() in COUNT_NAMES
    used = [[row[axis] for _, row in lines] for axis in range(width)]
    codes, parents = trees(name, variables, used, groups or {})
    shape = tuple(len(part) for part in codes)
    size = checked_size(name, shape)
    cells = _cells(name, [number for number, _ in lines], used, codes, shape)
    figures = np.full(size, np.nan)
    figures[cells] = [
        number_of(row[figure], f"line {number} of '{name}'", counts, delimiter)
        for number, row in lines
    ]
    values = summed(figures.reshape(shape), parents)
    table = CellTable(tuple(variables), codes, parents, values, counts)
    _check_totals(name, table, figures.reshape(shape))
    return _with_extras(name, table, cells, lines, extras, delimiter)


def _unfolded(
    header: list[str], lines: list[tuple[int, list[str]]]
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return a wide file as a long one."""
    return [header[0] or "row", "column", COUNT_NAMES[0]], [
        (number, [row[0], column, figure])
        for number, row in lines
        for column, figure in zip(header[1:], row[1:], strict=True)
    ]


def _columns(name: str, header: list[str]) -> tuple[list[str], int, dict[str, int]]:
    low = [column.lower() for column in header]
    places = [i for i, column in enumerate(low) if column in (*COUNT_NAMES, "value")]
    if len(places) != 1 or places[0] == 0:
        raise ParameterError(
            f"'{name}' must have its dimensions first, then one column named count, freq or "
            f"value. Got the columns {', '.join(header)}."
        )
    figure = places[0]
    variables = header[:figure]
    if len(set(variables)) != len(variables) or "" in variables:
        raise ParameterError(f"'{name}' must name every dimension once.")
    extras = {column: figure + 1 + i for i, column in enumerate(low[figure + 1 :])}
    for column in extras:
        if column not in EXTRAS:
            raise unknown(f"column after the figure of '{name}':", column, EXTRAS)
    if len(extras) != len(header) - figure - 1:
        raise ParameterError(f"'{name}' must have each column after its figure once.")
    return variables, figure, extras


def _cells(
    name: str,
    numbers: list[int],
    used: list[list[str]],
    codes: tuple[tuple[str, ...], ...],
    shape: tuple[int, ...],
) -> NDArray[np.int64]:
    index = []
    for column, known in zip(used, codes, strict=True):
        place = {code: i for i, code in enumerate(known)}
        index.append(np.array([place[code] for code in column], np.int64))
    cells = np.ravel_multi_index(tuple(index), shape)
    order = np.argsort(cells, kind="stable")
    twice = np.flatnonzero(np.diff(cells[order]) == 0)
    if len(twice):
        first, second = order[twice[0]], order[twice[0] + 1]
        raise ParameterError(
            f"'{name}' must have each cell once. Lines {numbers[first]} and {numbers[second]} are "
            "the same cell."
        )
    return np.asarray(cells)


def _check_totals(name: str, table: CellTable, figures: Floats) -> None:
    given = ~np.isnan(figures)
    off = np.where(given, np.abs(figures - table.values), 0.0)
    wrong = np.flatnonzero(off > NEAR * np.maximum(1.0, table.values))
    if len(wrong):
        cell = int(wrong[0])
        more = f", and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        raise ParameterError(
            f"the figures of '{name}' must add up. {table.name(cell)} is "
            f"{figures.flat[cell]:,g}, but its parts sum to {table.values.flat[cell]:,g}{more}."
        )


def _with_extras(
    name: str,
    table: CellTable,
    cells: NDArray[np.int64],
    lines: list[tuple[int, list[str]]],
    extras: dict[str, int],
    delimiter: str,
) -> CellTable:
    """Return the table with what the further columns say."""
    size = table.values.size

    def numbers(column: str) -> Floats:
        found = np.full(size, np.nan)
        for cell, (number, row) in zip(cells.tolist(), lines, strict=True):
            if row[extras[column]]:
                where = f"{column} in line {number} of '{name}'"
                whole = column == "contributors"
                found[cell] = number_of(row[extras[column]], where, whole, delimiter)
        return found

    ranks = [column for column in extras if column.startswith("max")]
    if sorted(ranks) != [f"max{i + 1}" for i in range(len(ranks))]:
        raise ParameterError(f"'{name}' must have max1, max2 and so on without a gap.")
    if ranks:
        table = replace(table, ranked=_ranked(name, table, [numbers(c) for c in sorted(ranks)]))
    if "contributors" in extras:
        given = numbers("contributors").reshape(table.shape)
        _refuse_unknown(name, "contributors", table, ~np.isnan(given))
        table = replace(table, contributors=_contributors(table, given))
    if "sensitive" in extras:
        flags = numbers("sensitive")
        if not np.isin(flags[~np.isnan(flags)], (0, 1)).all():
            raise ParameterError(f"sensitive in '{name}' must be 0 or 1.")
        table = replace(table, sensitive=(flags == 1).reshape(table.shape))
    if "lower" in extras:
        table = replace(table, lower=numbers("lower").reshape(table.shape))
    if "upper" in extras:
        table = replace(table, upper=numbers("upper").reshape(table.shape))
    if "mark" in extras:
        marks = np.zeros(size, np.int8)
        for cell, (_, row) in zip(cells.tolist(), lines, strict=True):
            word = row[extras["mark"]].lower()
            if word not in MARKS:
                raise unknown("mark", word, [mark for mark in MARKS if mark])
            marks[cell] = MARKS.index(Mark(word))
        table = replace(table, marks=marks.reshape(table.shape))
    return table


def _refuse_unknown(name: str, column: str, table: CellTable, given: NDArray[np.bool_]) -> None:
    """Raise where nothing is said of an inner cell: it would pass for a safe one."""
    inner = np.zeros(table.shape, bool)
    inner[np.ix_(*table.inner)] = True
    unknown_cells = np.flatnonzero(inner & (table.values > 0) & ~given)
    if len(unknown_cells):
        raise ParameterError(
            f"{column} in '{name}' must be given for every cell that is no sum and not 0. That of "
            f"{table.name(int(unknown_cells[0]))} is empty."
        )


def _contributors(table: CellTable, given: Floats) -> NDArray[np.int64]:
    """Return the number of contributors; of sums that are not given those of their parts.

    One who contributes to several parts is one of the sum: what is given for it stands.
    """
    numbers, known = np.nan_to_num(given), ~np.isnan(given)
    for axis, above in enumerate(table.parents):
        lines, said = np.moveaxis(numbers, axis, 0), np.moveaxis(known, axis, 0)
        for parent, parts in families(above):
            lines[parent] = np.where(said[parent], lines[parent], lines[parts].sum(axis=0))
    return numbers.astype(np.int64)


def _ranked(name: str, table: CellTable, columns: list[Floats]) -> Floats:
    """Return the largest contributions; those of sums not given are the largest of the parts."""
    ranked = np.zeros((*table.shape, len(columns)))
    given = ~np.isnan(columns[0]).reshape(table.shape)
    for k, column in enumerate(columns):
        ranked[..., k] = np.nan_to_num(column).reshape(table.shape)
    if (np.diff(ranked, axis=-1) > 0).any():
        raise ParameterError(f"max1, max2 … of a cell in '{name}' must fall.")
    over = ranked.sum(axis=-1) > table.values * (1 + NEAR) + NEAR
    if (over & given).any():
        cell = int(np.flatnonzero(over & given)[0])
        raise ParameterError(
            f"the contributions to a cell in '{name}' must not exceed its value. Those of "
            f"{table.name(cell)} do."
        )
    _refuse_unknown(name, "max1", table, given)
    under = (ranked[..., -1] == 0) & (ranked.sum(axis=-1) < table.values * (1 - NEAR) - NEAR)
    if (under & given).any():
        cell = int(np.flatnonzero(under & given)[0])
        raise ParameterError(
            f"max1, max2 … in '{name}' must be given until they add up to the cell. Those of "
            f"{table.name(cell)} end before."
        )
    for axis, above in enumerate(table.parents):
        lines, known = np.moveaxis(ranked, axis, 0), np.moveaxis(given, axis, 0)
        for parent, parts in families(above):
            merged = -np.sort(-np.concatenate(list(lines[parts]), axis=-1), axis=-1)[
                ..., : len(columns)
            ]
            lines[parent] = np.where(known[parent][..., None], lines[parent], merged)
    return ranked
