"""Rules on protected counts: what the released table must be like, each area for itself.

Protected, because a refusal that rested on true counts would be an answer about them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.policy import CountRules
from discreet.rules.codes import Code
from discreet.table.decimals import of_steps

# In the order in which they are judged; the first that is broken is the one that is told.
ORDER = (
    Code.EMPTY,
    Code.MIN_POPULATION,
    Code.MEAN_CELL,
    Code.SMALL_CELLS,
    Code.SPARSE,
    Code.SINGLE_SLICES,
)


def broken_rules(values: NDArray[np.int64], rules: CountRules, areas: bool) -> list[Code | None]:
    """Return for each area (the first axis), or for the whole table, the first rule it breaks."""
    tables = values if areas else values[None]
    flat = tables.reshape(len(tables), -1)
    cells = flat.shape[1]
    people = flat.sum(axis=1)
    populated = (flat > 0).sum(axis=1)
    ones = ((flat > 0) & (flat <= rules.one)).sum(axis=1)
    small = ((flat > 0) & (flat <= rules.small)).sum(axis=1)
    broken = {
        Code.EMPTY: people == 0,
        Code.MIN_POPULATION: people < rules.minimum_population,
        Code.MEAN_CELL: people < of_steps(cells, rules.minimum_mean),
        Code.SMALL_CELLS: small > of_steps(cells, rules.max_small),
        Code.SPARSE: (ones > of_steps(populated, rules.max_ones_of_populated))
        | (small > of_steps(populated, rules.max_small_of_populated)),
        Code.SINGLE_SLICES: _single_slices(tables) > rules.max_single_slices,
    }
    found: list[Code | None] = []
    for i in range(len(tables)):
        found.append(next((code for code in ORDER if broken[code][i]), None))
    return found


def _single_slices(tables: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of populated slices with one populated cell, the worst axis of each table.

    A table of one dimension has no slices with more than one cell, and none to judge.
    """
    worst = np.zeros(len(tables))
    dimensions = tables.ndim - 1
    if dimensions < 2:
        return worst
    populated = tables > 0
    for axis in range(1, tables.ndim):
        if tables[0].size == tables.shape[axis]:
            continue  # slices of one cell
        others = tuple(a for a in range(1, tables.ndim) if a != axis)
        cells = populated.sum(axis=others)
        slices = (cells > 0).sum(axis=1)
        single = (cells == 1).sum(axis=1)
        worst = np.maximum(worst, single / np.maximum(slices, 1))
    return worst
