"""The grid of a table: all codes of its dimensions, totals included, and what each is part of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import ParameterError, unknown
from discreet.table.dimension import TOTAL
from discreet.table.hierarchy import (
    Groups,
    Hierarchy,
    is_total_code,
    refuse_strange_members,
    tree,
)
from discreet.table.sheet import Sheet
from discreet.table.source import Listing
from discreet.types import Integers

# Enough for any table a person publishes; beyond it a proof would take hours.
MAX_CELLS = 5_000_000


@dataclass(frozen=True, eq=False)
class Grid:
    """The dimensions of a table with their codes: the cells are all combinations, in C order.

    `parents[d][i]` is the code that code i of dimension d is part of, −1 if of none.
    """

    variables: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of codes along each dimension, totals included."""
        return tuple(len(codes) for codes in self.codes)

    @cached_property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """The tree of each dimension."""
        return tuple(Hierarchy(parents) for parents in self.parents)

    @property
    def inner(self) -> tuple[Integers, ...]:
        """The codes of each dimension that are nobody's sum."""
        return tuple(hierarchy.leaves for hierarchy in self.hierarchies)

    @property
    def order(self) -> Integers:
        """How many dimensions each cell is not summed over: 0 for the grand total."""
        order = np.zeros((), np.int64)
        for parents in self.parents:
            total = [parent < 0 and code in parents for code, parent in enumerate(parents)]
            order = np.add.outer(order, (~np.array(total)).astype(np.int64))
        return order

    def name(self, cell: int) -> str:
        """Return a cell as a reader knows it: "region 3, sex f"."""
        index = np.unravel_index(cell, self.shape)
        parts = zip(self.variables, self.codes, index, strict=True)
        return ", ".join(f"{variable} {codes[i]}" for variable, codes, i in parts)

    def cell(self, codes: Mapping[str, str]) -> int:
        """Return the number of the cell with these codes; dimensions left out mean their total."""
        for name in codes:
            if name not in self.variables:
                raise unknown("dimension", name, self.variables)
        index = []
        for variable, known in zip(self.variables, self.codes, strict=True):
            code = codes.get(variable) or next((c for c in known if is_total_code(c)), None)
            if code is None:
                raise ParameterError(f"the cell must have a code for {variable}.")
            if code not in known:
                raise unknown(f"code of {variable}", code, known)
            index.append(known.index(code))
        return int(np.ravel_multi_index(tuple(index), self.shape))

    def sheet(
        self,
        columns: Mapping[str, Sequence[Any]],
        cells: ArrayLike | None = None,
        texts: Mapping[str, Callable[[Any], str]] | None = None,
    ) -> Sheet:
        """Return the codes of the cells, all of them if not said, and then the columns."""
        chosen = np.arange(prod(self.shape)) if cells is None else np.asarray(cells, np.int64)
        index = np.unravel_index(chosen, self.shape)
        labels = [
            [codes[i] for i in part.tolist()] for codes, part in zip(self.codes, index, strict=True)
        ]
        return Sheet((*self.variables, *columns), [*labels, *columns.values()], texts or {})


def codes_of(
    name: str, variables: Sequence[str], used: Sequence[Sequence[str]], groups: Groups, total: bool
) -> Grid:
    """Return the grid of the codes that a file uses; with `total` every dimension has one."""
    for variable in groups:
        if variable not in variables:
            raise unknown("dimension", variable, variables)
    codes, parents = [], []
    for variable, column in zip(variables, used, strict=True):
        mine, what = groups.get(variable, {}), f"{variable} of '{name}'"
        _refuse_strangers(name, variable, column, mine)
        refuse_strange_members(column, mine, what, unpublished=not total)
        listed, above = tree(column, mine, what)
        # One code above all others is the total, whatever it is called.
        if total and (above.count(-1) > 1 or len(listed) == 1):
            listed, above = tree([*column, TOTAL], mine, what)
        if total and len(listed) < 2:
            raise ParameterError(f"{what} must have a code beside its total.")
        codes.append(listed)
        parents.append(above)
    return Grid(tuple(variables), tuple(codes), tuple(parents))


def checked_size(name: str, grid: Grid) -> int:
    """Return the number of cells; raise where they are too many to hold."""
    if prod(grid.shape) > MAX_CELLS:
        raise ParameterError(
            f"'{name}' must have at most {MAX_CELLS:,} combinations of codes. "
            f"Got {prod(grid.shape):,}."
        )
    return prod(grid.shape)


def grid_of(listing: Listing, groups: Groups | None, total: bool) -> tuple[Grid, Integers]:
    """Return the grid of a table, and where in it each cell of the listing is."""
    grid = codes_of(listing.name, listing.variables, listing.codes, groups or {}, total)
    checked_size(listing.name, grid)
    index = []
    for column, known in zip(listing.codes, grid.codes, strict=True):
        place = {code: i for i, code in enumerate(known)}
        index.append(np.array([place[code] for code in column], np.int64))
    cells = np.ravel_multi_index(tuple(index), grid.shape)
    refuse_repeats(listing, cells)
    return grid, np.asarray(cells)


def refuse_repeats(listing: Listing, cells: Integers) -> None:
    """Raise where two places of a listing are one cell."""
    order = np.argsort(cells, kind="stable")
    twice = np.flatnonzero(np.diff(cells[order]) == 0)
    if len(twice):
        first, second = (listing.where[place] for place in order[twice[0] :][:2])
        raise ParameterError(
            f"'{listing.name}' must have each cell once. {first.capitalize()} and {second} are the "
            "same cell."
        )


def _refuse_strangers(
    name: str, variable: str, column: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> None:
    """Raise where no code of a column is in its hierarchy: it is the hierarchy of another."""
    if groups and set(groups).union(*groups.values()).isdisjoint(column):
        raise ParameterError(
            f"the groups of {variable} must be made of its codes in '{name}'. None is: the groups "
            f"are {', '.join(list(groups)[:5])}, the codes {', '.join(sorted(set(column))[:5])}."
        )
