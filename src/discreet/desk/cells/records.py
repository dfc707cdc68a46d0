"""Records: one line a contributor; the table of cells they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.desk.cells.codes import checked_size, number_of, trees
from discreet.desk.cells.model import RANKS, CellTable, alphabetical, reordered
from discreet.errors import ParameterError, unknown
from discreet.table.decimals import in_units
from discreet.table.files import read_lines
from discreet.table.published import Groups
from discreet.types import Floats


@dataclass(frozen=True, eq=False)
class Records:
    """Contributors: `at[r, d]` is the code of record r along dimension d, never a sum.

    `units[r]` is the number of the holding that record r belongs to; `counts` says that every
    record counts 1. Codes and parents are as in `CellTable`.
    """

    name: str
    variables: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    at: NDArray[np.int64]
    amounts: Floats
    units: NDArray[np.int64]
    counts: bool

    def canonical(self) -> tuple[Records, NDArray[np.int64]]:
        """Return the records sorted by codes, value and holding, and the place of each there.

        The same records in another order of lines give the same.
        """
        order = alphabetical(self.codes)
        codes, parents = reordered(self.codes, self.parents, order)
        at = np.stack([np.argsort(p)[self.at[:, d]] for d, p in enumerate(order)], axis=1)
        lines = np.lexsort((self.units, self.amounts, *at.T[::-1]))
        # Holdings are numbered as they come: those of one record have no name to go by.
        units = np.unique(self.units[lines], return_index=True, return_inverse=True)
        number = np.argsort(np.argsort(units[1]))[units[2].reshape(-1)]
        records = Records(
            self.name,
            self.variables,
            codes,
            parents,
            at[lines],
            self.amounts[lines],
            number,
            self.counts,
        )
        return records, np.argsort(lines)

    def table(self) -> CellTable:
        """Return all cells and totals, with the largest contributions to each."""
        shape = tuple(len(part) for part in self.codes)
        size = checked_size(self.name, shape)
        cells, owners, parts = [], [], []
        amounts, unit = in_units(self.amounts)
        chains = [_chain(self.at[:, d], np.array(up)) for d, up in enumerate(self.parents)]
        for levels in product(*chains):
            there = np.all([level >= 0 for level in levels], axis=0)
            cells.append(np.ravel_multi_index(tuple(level[there] for level in levels), shape))
            owners.append(self.units[there])
            parts.append(amounts[there])
        # One contribution for each cell and holding, then the largest of each cell first.
        most = int(self.units.max()) + 1
        keys = np.concatenate(cells) * most + np.concatenate(owners)
        pairs, place = np.unique(keys, return_inverse=True)
        amount = np.bincount(place.reshape(-1), np.concatenate(parts))
        cell = pairs // most
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
    path: str | Path,
    by: Sequence[str],
    value: str | None = None,
    holding: str | None = None,
    groups: Groups | None = None,
) -> Records:
    """Return the records of a CSV file; `groups` are sums of codes.

    Without `value` every record counts 1. Records of one `holding` are one contributor.
    """
    name, delimiter, header, lines = read_lines(path)
    places = {column: i for i, column in enumerate(header)}
    for column in (*by, *(c for c in (value, holding) if c is not None)):
        if column not in places:
            raise unknown(f"column of '{name}'", column, header)
    if not by or len(set(by)) != len(by):
        raise ParameterError("by must name at least one column, each once.")
    used = [[row[places[column]] for _, row in lines] for column in by]
    amounts = np.ones(len(lines))
    if value is not None:
        amounts = np.array(
            [
                number_of(row[places[value]], f"line {n} of '{name}'", False, delimiter)
                for n, row in lines
            ]
        )
    units = np.arange(len(lines))
    if holding is not None:
        owners = [row[places[holding]] for _, row in lines]
        if "" in owners:
            raise ParameterError(f"every record of '{name}' must have a {holding}. One has none.")
        units = np.unique(np.array(owners), return_inverse=True)[1].reshape(-1)
    codes, parents = trees(name, list(by), used, groups or {})
    at = _places(name, by, codes, parents, used)
    return Records(name, tuple(by), codes, parents, at, amounts, units, value is None)


def _places(
    name: str,
    by: Sequence[str],
    codes: tuple[tuple[str, ...], ...],
    parents: tuple[tuple[int, ...], ...],
    used: list[list[str]],
) -> NDArray[np.int64]:
    at = np.empty((len(used[0]), len(by)), np.int64)
    for d, (variable, known, up, column) in enumerate(zip(by, codes, parents, used, strict=True)):
        place = {code: i for i, code in enumerate(known)}
        at[:, d] = [place[code] for code in column]
        sums = np.isin(at[:, d], np.array(up))
        if sums.any():
            raise ParameterError(
                f"a record of '{name}' must have a code that is no sum. Got "
                f"'{column[int(np.argmax(sums))]}' of {variable}."
            )
    return at


def _chain(at: NDArray[np.int64], parents: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the code of each record, then its parent, and so on; −1 above the top."""
    chain = []
    while (at >= 0).any():
        chain.append(at)
        at = np.where(at >= 0, parents[at], -1)
    return chain
