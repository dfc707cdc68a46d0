"""Contributors as attackers: each knows what is their own, in every cell that they are in.

All for the custodian. Records tell which holding has what in which cell. A table alone tells of the
largest contributions to each cell, whose contributors are in every total above it as well; in two
cells of the same table they are taken for different ones, unless they are alone in one total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.desk.cells import CellTable, Records
from discreet.desk.sensitivity import Rule, required_against
from discreet.desk.suppress.solver import Insiders, Problem
from discreet.solve.system import TableSystem
from discreet.types import Flags, Floats, Integers

# Of the contributors to a cell the two largest know at least as much as every other.
LARGEST = 2


@dataclass(frozen=True, eq=False)
class Contributions:
    """A row for each contributor and cell: who, which cell, how much, and whether nobody else.

    A contributor has at least that much in the cell. Numbers of those known from records are the
    same in every table; others are numbered by the cell they are known from, `home`.
    """

    who: Integers
    cell: Integers
    amount: Floats
    alone: Flags
    home: bool

    @classmethod
    def of_records(cls, records: Records) -> Contributions:
        """Return what each holding has in each cell.

        Notes
        -----
        Insiders as in [Domingo2002, sec. 4.4]. Zeros: a cell of records that are all 0 still has
        its contributors.
        """
        cell, unit, amount = records.contributions()
        return cls(unit, cell, amount, np.bincount(cell)[cell] == 1, False)

    @classmethod
    def of_table(cls, cells: CellTable) -> Contributions:
        """Return what the largest contributors to each cell have in it and in what is above it.

        Notes
        -----
        Insiders as in [Domingo2002, sec. 4.4]. In counts everybody counts 1, and one stands for
        all of an inner cell. Zeros: nobody's.
        """
        values = cells.values.reshape(-1)
        if cells.counts:
            inner = np.zeros(cells.shape, bool)
            inner[np.ix_(*cells.inner)] = True
            home = np.flatnonzero(inner.reshape(-1) & (values > 0))
            return cls._above(cells, home, home, np.ones(len(home)), values == 1)
        numbers = None if cells.contributors is None else cells.contributors.reshape(-1)
        largest = np.zeros((values.size, LARGEST))
        if cells.ranked is not None:
            ranked = cells.ranked.reshape(values.size, -1)[:, :LARGEST]
            largest[:, : ranked.shape[1]] = ranked
        if numbers is not None:
            largest[numbers == 1, 0] = values[numbers == 1]
        alone = largest[:, 0] >= values if numbers is None else numbers == 1
        home, rank = np.nonzero(largest > 0)
        amount = np.minimum(largest[home, rank], values[home])
        return cls._above(cells, home * LARGEST + rank, home, amount, alone & (values > 0))

    @classmethod
    def _above(
        cls, cells: CellTable, who: Integers, home: Integers, amount: Floats, alone: Flags
    ) -> Contributions:
        """Return contributors to cells in those cells and in every sum that holds them."""
        index = np.unravel_index(home, cells.shape)
        levels = [tree.levels(part) for tree, part in zip(cells.hierarchies, index, strict=True)]
        rows, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for chosen in product(*levels):
            there = np.all([level >= 0 for level in chosen], axis=0)
            rows.append(np.flatnonzero(there))
            places.append(
                np.ravel_multi_index(tuple(codes[there] for codes in chosen), cells.shape)
            )
        row, cell = np.concatenate(rows), np.concatenate(places)
        return cls(who[row], cell, amount[row], alone[cell], True)


def insiders(
    system: TableSystem,
    tables: Sequence[CellTable],
    given: Sequence[Contributions],
    rules: Sequence[Rule],
    problem: Problem,
    amounts: bool,
) -> Insiders:
    """Return what each contributor knows of the cells of tables, and what is asked against them.

    `amounts`: what is asked are the rules' amounts, and no width.
    """
    who, variable, amount, alone = _merged(system, tables, given)
    primary = np.zeros(system.variables, bool)
    primary[system.variable[problem.primary]] = True
    asked = np.zeros((2, len(who)))
    out = np.zeros((2, system.variables))
    if amounts:
        inside = np.flatnonzero(primary[variable])
        asked[:, inside] = _asked(system, tables, rules, problem, variable[inside], amount[inside])
        targets = np.flatnonzero(primary)
        out[:, targets] = _asked(system, tables, rules, problem, targets, np.zeros(len(targets)))
    # Cells that are one variable have the same rows.
    cell, row = _spread(system, variable)
    room = np.where(alone[row], -1.0, np.maximum(problem.values[cell] - amount[row], 0.0))
    kept = ~problem.forbidden[cell] & ((problem.values[cell] > 0) | alone[row])
    cell, row, room = cell[kept], row[kept], room[kept]
    fall = np.minimum(asked[1, row], np.maximum(room, 0.0))
    return Insiders.of(
        cell, who[row], room, asked[0, row], fall,
        (out[0, system.variable], out[1, system.variable]),
    )  # fmt: skip


def _merged(
    system: TableSystem, tables: Sequence[CellTable], given: Sequence[Contributions]
) -> tuple[Integers, Integers, Floats, Flags]:
    """Return the contributions to variables, one row for each and whoever has it.

    Contributors known from the same variable are the same, and so are two who are alone in one.
    """
    starts = np.cumsum([0, *(table.values.size for table in tables)])
    who, variable = [], []
    for one, start in zip(given, starts, strict=False):
        variable.append(system.variable[one.cell + start])
        number = one.who
        if one.home:
            ranks = 1 if tables[0].counts else LARGEST
            number = system.variable[one.who // ranks + start] * ranks + one.who % ranks
        who.append(number)
    whom, where = np.concatenate(who), np.concatenate(variable)
    amount = np.concatenate([one.amount for one in given])
    alone = np.concatenate([one.alone for one in given])
    size = int(whom.max(initial=-1)) + 1
    links = sparse.coo_matrix(
        (np.ones(int(alone.sum())), (whom[alone], size + where[alone])),
        (size + system.variables,) * 2,
    )
    _, label = connected_components(links, directed=False)
    whom = np.unique(label[whom], return_inverse=True)[1].reshape(-1)
    pair, group = np.unique(whom * system.variables + where, return_inverse=True)
    most, lone = np.zeros(len(pair)), np.zeros(len(pair), bool)
    np.maximum.at(most, group, amount)
    np.logical_or.at(lone, group, alone)
    return pair // system.variables, pair % system.variables, most, lone


def _asked(
    system: TableSystem,
    tables: Sequence[CellTable],
    rules: Sequence[Rule],
    problem: Problem,
    variable: Integers,
    amount: Floats,
) -> NDArray[np.float64]:
    """Return the rise and fall asked of variables against who has an amount in them."""
    asked = np.zeros((2, len(variable)))
    start = 0
    for table in tables:
        cells = np.arange(start, start + table.values.size)
        start += table.values.size
        place = np.full(system.variables, -1)
        place[system.variable[cells[problem.primary[cells]]]] = np.flatnonzero(
            problem.primary[cells]
        )
        there = np.flatnonzero(place[variable] >= 0)
        lower, upper = required_against(table, rules, place[variable[there]], amount[there])
        asked[0, there] = np.maximum(asked[0, there], upper)
        asked[1, there] = np.maximum(asked[1, there], lower)
    return asked


def _spread(system: TableSystem, variable: Integers) -> tuple[Integers, Integers]:
    """Return every cell of the variables, and the row of each."""
    order = np.argsort(system.variable, kind="stable")
    starts = np.searchsorted(system.variable[order], np.arange(system.variables + 1))
    counts = starts[variable + 1] - starts[variable]
    row = np.repeat(np.arange(len(variable)), counts)
    place = np.arange(len(row)) - np.searchsorted(row, row)
    return order[starts[variable][row] + place], row
