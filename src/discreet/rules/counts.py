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
    Code.SINGLE_LINES,
)


def broken_rules(values: NDArray[np.int64], rules: CountRules, areas: bool) -> list[Code | None]:
    """Return for each area (the first axis), or for the whole table, the first rule it breaks."""
    broken = every_broken_rule(values if areas else values[None], rules)
    # A last row that is always true stands for "none".
    rows = [*(broken[code] for code in ORDER), np.ones_like(broken[Code.EMPTY])]
    codes = (*ORDER, None)
    return [codes[first] for first in np.argmax(rows, axis=0).tolist()]


def every_broken_rule(
    tables: NDArray[np.int64], rules: CountRules
) -> dict[Code, NDArray[np.bool_]]:
    """Return by rule whether each table (along the first axis) breaks it."""
    flat = tables.reshape(len(tables), -1)
    cells = flat.shape[1]
    people = flat.sum(axis=1)
    some = flat > 0
    populated = _number(some)
    ones = _number(some & (flat <= rules.one))
    small = _number(some & (flat <= rules.small))
    return {
        Code.EMPTY: people == 0,
        Code.MIN_POPULATION: people < rules.minimum_population,
        Code.MEAN_CELL: people < of_steps(cells, rules.minimum_mean),
        Code.SMALL_CELLS: small > of_steps(cells, rules.max_small),
        Code.SPARSE: (ones > of_steps(populated, rules.max_ones_of_populated))
        | (small > of_steps(populated, rules.max_small_of_populated)),
        Code.SINGLE_LINES: _single_lines(tables) > rules.max_single_lines,
    }


def _number(cells: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many cells of each table are marked; those of one are counted, not added up."""
    return np.array([np.count_nonzero(cells)]) if len(cells) == 1 else cells.sum(axis=1)


def _single_lines(tables: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of lines, or of people in lines, with one populated cell: the largest.

    The largest over the variables of each table and their pairs. Of the lines, because a small
    group counts as much as a large one; of the people, because a few lines may hold nearly all.
    """
    from discreet.risk.attribute import near_empty_lines  # a build need not wait for all of risk

    worst = np.zeros(len(tables))
    for lines, people in near_empty_lines(tables).values():
        worst = np.maximum(worst, np.maximum(lines, people))
    return worst


def withheld_areas(
    failing: NDArray[np.bool_], parents: NDArray[np.integer], people: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the areas to withhold: those that fail, and never one alone under a parent.

    One area missing under a published parent is the parent less the others; a second one, the
    smallest by its protected count, goes with it. `parents` is the parent of each area.
    """
    out = failing.copy()
    family = np.unique(parents, return_inverse=True)[1]
    alone = (np.bincount(family, out) == 1) & (np.bincount(family) > 1)
    left = np.flatnonzero(~out & alone[family])
    # By parent and then by people: the first of each parent is its smallest that is left.
    left = left[np.lexsort((people[left], family[left]))]
    out[left[np.unique(family[left], return_index=True)[1]]] = True
    return out
