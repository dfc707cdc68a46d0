"""Records: one line for each contributor; the table of cells they add up to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from discreet.desk.cells.model import RANKS, CellTable, alphabetical, reordered
from discreet.errors import ParameterError
from discreet.table.decimals import in_units, refuse_sum_beyond
from discreet.table.grid import Grid, checked_size, codes_of
from discreet.table.hierarchy import Groups
from discreet.table.source import Given, Source, number_of, read_source
from discreet.types import Flags, Floats, Integers


@dataclass(frozen=True, eq=False)
class Records(Grid):
    """Contributors: `at[r, d]` is the code of record r along dimension d, never a sum.

    `units[r]` is the number of the holding that record r belongs to; `counts` says that every
    record counts 1.
    """

    at: Integers
    amounts: Floats
    units: Integers
    counts: bool
    file: str = "the records"

    def canonical(self) -> tuple[Records, Integers]:
        """Return the records sorted by codes, value and holding, and the place of each there.

        The same records in another order of dimensions or lines give the same.
        """
        axes = sorted(range(len(self.variables)), key=self.variables.__getitem__)
        order = alphabetical(self.codes)
        codes, parents = reordered(self.codes, self.parents, order)
        at = np.stack([np.argsort(order[d])[self.at[:, d]] for d in axes], axis=1)
        lines = np.lexsort((self.units, self.amounts, *at.T[::-1]))
        # Holdings are numbered as they come: those of one record have no name to go by.
        units = np.unique(self.units[lines], return_index=True, return_inverse=True)
        number = np.argsort(np.argsort(units[1]))[units[2].reshape(-1)]
        records = Records(
            tuple(self.variables[d] for d in axes),
            tuple(codes[d] for d in axes),
            tuple(parents[d] for d in axes),
            at[lines], self.amounts[lines], number, self.counts, self.file,
        )  # fmt: skip
        return records, np.argsort(lines)

    def everywhere(self) -> Iterator[tuple[Flags, tuple[Integers, ...]]]:
        """Yield, for every level of every dimension, which records have it and their cells."""
        levels = [tree.levels(self.at[:, d]) for d, tree in enumerate(self.hierarchies)]
        for chosen in product(*levels):
            there = np.all([level >= 0 for level in chosen], axis=0)
            yield there, tuple(level[there] for level in chosen)

    def contributions(self) -> tuple[Integers, Integers, Floats]:
        """Return cells, holdings and what each has in the cell: a row for each that is in it."""
        cell, unit, amount, one = self._contributions()
        return cell, unit, amount / one

    def _contributions(self) -> tuple[Integers, Integers, Floats, float]:
        """Return the same in units of the last decimal, and how many of these are one."""
        cells, owners, parts = [], [], []
        amounts, unit = in_units(self.amounts)
        for there, index in self.everywhere():
            cells.append(np.ravel_multi_index(index, self.shape))
            owners.append(self.units[there])
            parts.append(amounts[there])
        most = int(self.units.max()) + 1
        keys = np.concatenate(cells) * most + np.concatenate(owners)
        pairs, place = np.unique(keys, return_inverse=True)
        amount = np.bincount(place.reshape(-1), np.concatenate(parts)).astype(np.float64)
        return pairs // most, pairs % most, amount, unit

    def table(self) -> CellTable:
        """Return all cells and totals, with the largest contributions to each."""
        shape, size = self.shape, checked_size(self.file, self)
        # One contribution for each cell and holding, then the largest of each cell first.
        cell, _, amount, unit = self._contributions()
        order = np.lexsort((-amount, cell))
        cell, amount = cell[order], amount[order]
        rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
        ranked = np.zeros((size, RANKS))
        top = rank < RANKS
        ranked[cell[top], rank[top]] = amount[top]
        return CellTable(
            self.variables,
            self.codes,
            self.parents,
            np.bincount(cell, amount, size).astype(np.float64).reshape(shape) / unit,
            self.counts,
            ranked.reshape(*shape, RANKS) / unit,
            np.bincount(cell, minlength=size).reshape(shape),
        )


def read_records(
    given: Given,
    by: Sequence[str],
    value: str | None = None,
    holding: str | None = None,
    groups: Groups | None = None,
) -> Records:
    """Return the records of a CSV file or data frame; `groups` are sums of codes.

    Without `value` every record counts 1. Records of one `holding` are one contributor.
    """
    source = read_source(given)
    used = [source.column(name) for name in by]
    if not by or len(set(by)) != len(by):
        raise ParameterError("by must name at least one column, each once.")
    if value in by:
        raise ParameterError(f"by must not name the value: {value} would stand in the codes.")
    for variable, column in zip(by, used, strict=True):
        if "" in column:
            raise ParameterError(
                f"'{source.name}' must have a code in every dimension. One of {variable} is empty."
            )
    amounts = np.ones(len(source.rows))
    if value is not None:
        places = (f"{where} of '{source.name}'" for where in source.where)
        figure = partial(number_of, delimiter=source.delimiter)
        amounts = np.array(list(map(figure, source.column(value), places)))
        refuse_sum_beyond(f"{value} in '{source.name}'", amounts)
    grid = codes_of(source.name, by, used, groups or {}, total=True)
    return Records(
        grid.variables,
        grid.codes,
        grid.parents,
        _places(source.name, grid, used),
        amounts,
        _units(source, holding),
        value is None,
        source.name,
    )


def _units(source: Source, holding: str | None) -> Integers:
    """Return the number of each record's holding; without holdings each is its own."""
    if holding is None:
        return np.arange(len(source.rows))
    owners = source.column(holding)
    if "" in owners:
        raise ParameterError(
            f"every record of '{source.name}' must have a {holding}. One has none."
        )
    return np.unique(np.array(owners), return_inverse=True)[1].reshape(-1)


def _places(name: str, grid: Grid, used: list[list[str]]) -> Integers:
    at = np.empty((len(used[0]), len(used)), np.int64)
    for d, column in enumerate(used):
        place = {code: i for i, code in enumerate(grid.codes[d])}
        at[:, d] = [place[code] for code in column]
        sums = np.isin(at[:, d], np.array(grid.parents[d]))
        if sums.any():
            raise ParameterError(
                f"a record of '{name}' must have a code that is no sum. Got "
                f"'{column[int(np.argmax(sums))]}' of {grid.variables[d]}."
            )
    return at
