"""Cells of the tables of adjusted records that are short, and others withheld for their sake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from discreet.desk.adjust.pattern import Hidden, safe_pattern
from discreet.desk.adjust.records import RecordAdjustment
from discreet.desk.adjust.records.chosen import cells_of
from discreet.desk.cells import Records
from discreet.desk.sensitivity import Rule
from discreet.desk.suppress.insiders import Contributions
from discreet.progress import Tell
from discreet.types import Floats

# More cells of tables than this are not looked through for others to withhold.
MOST_CELLS = 1_000_000

Cell = tuple[str, ...]
"""The code of a cell in every dimension, totals too."""


@dataclass(frozen=True)
class Short:
    """The cells that are `short` of their protection, and `others` withheld for their sake.

    `others` is None where no pattern protects them, or there are too many cells to find one.
    """

    short: tuple[Cell, ...]
    others: tuple[Cell, ...] | None


def short_cells(
    records: Records,
    found: RecordAdjustment,
    order: int | None,
    tables: Sequence[Sequence[int]] | None,
) -> Iterator[tuple[Cell, float]]:
    """Yield every cell that is short of its protection, and what it needs."""
    rows = found.rows
    for entry in np.flatnonzero(found.short).tolist():
        members = np.array([entry - rows.size])
        if entry < rows.size:
            members = np.asarray(rows.members[rows.starts[entry] : rows.starts[entry + 1]])
        for cell in cells_of(records, members, order, tables):
            yield cell, float(found.needed[entry])


def with_complements(
    records: Records,
    found: RecordAdjustment,
    order: int | None,
    tables: Sequence[Sequence[int]] | None,
    rules: Sequence[Rule],
    tell: Tell | None = None,
) -> Short:
    """Return the cells to withhold from the tables of adjusted records.

    Notes
    -----
    The tables add up, so a cell alone could be computed from the others: nearer to the truth than
    its rule allows. The pattern is one of cell suppression on all tables together, of true and of
    adjusted records, in which every such cell keeps the room that it needs, on either side, against
    everybody and every contributor. Zeros: are published.
    """
    if found.short_cells > MOST_CELLS:
        return Short((), None)
    needs = dict(short_cells(records, found, order, tables))
    number = len(records.variables)
    kept = tables or list(combinations(range(number), number if order is None else order))
    sizes = [len(codes) for codes in records.codes]
    if sum(prod(sizes[d] for d in table) for table in kept) > MOST_CELLS:
        return Short(tuple(needs), None)
    totals = [
        codes[parents.index(-1)]
        for codes, parents in zip(records.codes, records.parents, strict=True)
    ]
    chosen = [_hidden(records, found, table, needs, totals) for table in kept]
    given = [Contributions.of_records(_by(records, table)) for table in kept]
    results = safe_pattern(chosen, rules, given, tell)
    if results is None:
        return Short(tuple(needs), None)
    others: dict[Cell, None] = {}
    for table, result in zip(kept, results, strict=True):
        for at in np.argwhere(result).tolist():
            cell = list(totals)
            for d, code in zip(table, at, strict=True):
                cell[d] = records.codes[d][code]
            if tuple(cell) not in needs:
                others[tuple(cell)] = None
    return Short(tuple(needs), tuple(others))


def _by(records: Records, table: Sequence[int], amounts: Floats | None = None) -> Records:
    """Return the records by the dimensions of a table, with these amounts or their own."""
    return Records(
        tuple(records.variables[d] for d in table),
        tuple(records.codes[d] for d in table),
        tuple(records.parents[d] for d in table),
        records.at[:, list(table)], records.amounts if amounts is None else amounts, records.units,
        False, records.file,
    )  # fmt: skip


def _hidden(
    records: Records,
    found: RecordAdjustment,
    table: Sequence[int],
    needs: dict[Cell, float],
    totals: list[str],
) -> Hidden:
    """Return a table of true and adjusted records; its cells that are short are withheld."""
    cells = _by(records, table).table()
    place = [{code: i for i, code in enumerate(records.codes[d])} for d in table]
    amount = np.zeros(cells.shape)
    for cell, need in needs.items():
        if all(code == totals[d] for d, code in enumerate(cell) if d not in table):
            amount[tuple(at[cell[d]] for at, d in zip(place, table, strict=True))] = need
    return Hidden(
        cells, _by(records, table, found.records).table().values, amount > 0, amount, amount,
        np.ones(cells.shape, bool),
    )  # fmt: skip
