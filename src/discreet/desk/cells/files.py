"""Tables of cells, read.

A long table has its dimensions first, then a figure (`count` or `freq` for counts of people or
firms, `value` for magnitudes), then any of the columns in `EXTRAS`. Totals may be left out: they
are summed. A wide table holds counts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from discreet.desk.cells.model import MARKS, CellTable, Mark, summed
from discreet.errors import ParameterError, unknown
from discreet.table.decimals import refuse_sum_beyond
from discreet.table.grid import grid_of
from discreet.table.hierarchy import Groups
from discreet.table.source import Given, Listing, listed, number_of
from discreet.types import Flags, Floats, Integers

EXTRAS = ("contributors", "max1", "max2", "max3", "max4", "max5", "sensitive", "mark", "lower",
          "upper")  # fmt: skip
# Totals in files are sums of decimals that were rounded once each.
NEAR = 1e-6


def read_cells(given: Given, groups: Groups | None = None) -> CellTable:
    """Return the table of a CSV file or data frame with all its totals; `groups` sum codes.

    Combinations that it leaves out are 0. Totals in it must be the sums.
    """
    listing = listed(given, extras=EXTRAS)
    grid, cells = grid_of(listing, groups, total=True)
    figures = np.full(grid.shape, np.nan)
    figure = partial(number_of, delimiter=listing.source.delimiter, whole=listing.counts)
    figures.flat[cells] = listing.parsed(listing.figures, figure)
    inner = figures[np.ix_(*grid.inner)]
    refuse_sum_beyond(f"the figures of '{listing.name}'", inner[~np.isnan(inner)])
    values = summed(figures, grid.hierarchies)
    table = CellTable(grid.variables, grid.codes, grid.parents, values, listing.counts)
    _check_totals(listing.name, table, figures)
    return _with_extras(table, listing, cells)


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


def _with_extras(table: CellTable, listing: Listing, cells: Integers) -> CellTable:
    """Return the table with what the further columns say."""
    name, extras = listing.name, listing.extras

    def numbers(column: str) -> Floats:
        def parse(field: str, where: str) -> float:
            whole = column == "contributors"
            there = f"{column} in {where}"
            return number_of(field, there, listing.source.delimiter, whole) if field else np.nan

        found = np.full(table.shape, np.nan)
        found.flat[cells] = listing.parsed(extras[column], parse)
        return found

    ranks = [column for column in extras if column.startswith("max")]
    if sorted(ranks) != [f"max{i + 1}" for i in range(len(ranks))]:
        raise ParameterError(f"'{name}' must have max1, max2 and so on without a gap.")
    said: dict[str, Any] = {}
    if ranks:
        said["ranked"] = _ranked(name, table, [numbers(column) for column in sorted(ranks)])
    if "contributors" in extras:
        given = numbers("contributors")
        _refuse_unknown(name, "contributors", table, ~np.isnan(given))
        said["contributors"] = _contributors(table, given)
    if "sensitive" in extras:
        flags = numbers("sensitive")
        if not np.isin(flags[~np.isnan(flags)], (0, 1)).all():
            raise ParameterError(f"sensitive in '{name}' must be 0 or 1.")
        said["sensitive"] = flags == 1
    for side in {"lower", "upper"} & set(extras):
        said[side] = numbers(side)
    if "mark" in extras:
        said["marks"] = np.zeros(table.shape, np.int8)
        said["marks"].flat[cells] = [_mark(word.lower()) for word in extras["mark"]]
    return replace(table, **said)


def _mark(word: str) -> int:
    if word not in MARKS:
        raise unknown("mark", word, [mark for mark in MARKS if mark])
    return MARKS.index(Mark(word))


def _refuse_unknown(name: str, column: str, table: CellTable, given: Flags) -> None:
    """Raise where nothing is said of an inner cell: it would pass for a safe one."""
    inner = np.zeros(table.shape, bool)
    inner[np.ix_(*table.inner)] = True
    unknown_cells = np.flatnonzero(inner & (table.values > 0) & ~given)
    if len(unknown_cells):
        raise ParameterError(
            f"{column} in '{name}' must be given for every cell that is no sum and not 0. That of "
            f"{table.name(int(unknown_cells[0]))} is empty."
        )


def _contributors(table: CellTable, given: Floats) -> Integers:
    """Return the number of contributors; of sums that are not given those of their parts.

    One who contributes to several parts is one of the sum: what is given for it stands.
    """
    numbers, known = np.nan_to_num(given), ~np.isnan(given)
    for axis, hierarchy in enumerate(table.hierarchies):
        lines, said = np.moveaxis(numbers, axis, 0), np.moveaxis(known, axis, 0)
        for parent, parts in hierarchy.families:
            lines[parent] = np.where(said[parent], lines[parent], lines[parts].sum(axis=0))
    return numbers.astype(np.int64)


def _ranked(name: str, table: CellTable, columns: list[Floats]) -> Floats:
    """Return the largest contributions; those of sums not given are the largest of the parts."""
    ranked = np.nan_to_num(np.stack(columns, axis=-1))
    given = ~np.isnan(columns[0])
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
    for axis, hierarchy in enumerate(table.hierarchies):
        lines, known = np.moveaxis(ranked, axis, 0), np.moveaxis(given, axis, 0)
        for parent, parts in hierarchy.families:
            merged = -np.sort(-np.concatenate(list(lines[parts]), axis=-1), axis=-1)[
                ..., : len(columns)
            ]
            lines[parent] = np.where(known[parent][..., None], lines[parent], merged)
    return ranked
