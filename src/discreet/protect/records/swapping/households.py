"""From records to households: who lives together, what households have in common, who stands out.

Combinations of categories are numbered exactly, never hashed: two households match if and only if
they have as many members in every category.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.types import Integers

_ROOM = 2**62
_DENSE = 2**27
"""The most cells of a table that are counted in an array; larger ones are sorted."""

Codes = NDArray[Any]


def combined(columns: Iterable[tuple[Codes, int]], rows: int) -> tuple[Integers, int]:
    """Return a number for each combination of the columns' values, and a bound that none reaches.

    Each column comes with the number of its categories. Integers stay in the order of the columns
    (as long as the product of the sizes fits, they are mixed-radix).
    """
    numbers, size = np.zeros(rows, np.int64), 1
    for values, categories in columns:
        if len(values) != rows:
            raise ParameterError(f"every column must have {rows:,} values. Got {len(values):,}.")
        if size * max(categories, 1) > _ROOM:
            found, numbers = np.unique(numbers, return_inverse=True)
            size = len(found)
        numbers *= categories
        numbers += values
        size *= max(categories, 1)
    return numbers, size


def dense(numbers: Integers, size: int) -> tuple[Integers, int]:
    """Return numbers from 0 without large gaps, in the same order."""
    if size <= _DENSE:
        return numbers, size
    found, places = np.unique(numbers, return_inverse=True)
    return places.astype(np.int64, copy=False), len(found)


def numbered(ids: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the household of each record as a number from 0, and the id of each household.

    Households are numbered in the order of their ids, so that the order of the records does not
    matter. Records that lie together are looked up once.
    """
    if not len(ids):
        return np.empty(0, np.int32), ids
    begins = np.concatenate([[0], np.flatnonzero(ids[1:] != ids[:-1]) + 1])
    found, of_run = np.unique(ids[begins], return_inverse=True)
    lengths = np.diff(begins, append=len(ids))
    return np.repeat(of_run.astype(np.int32), lengths), found


def composition(
    household: NDArray[np.integer],
    households: int,
    columns: Sequence[tuple[Codes, int]] = (),
) -> Integers:
    """Return a number for each household: equal if both have as many members in every cell.

    The cells are the combinations of the columns; without columns only the number of members
    counts.
    """
    cells, size = dense(*combined(columns, len(household)))
    present = np.flatnonzero(np.bincount(cells, minlength=size))
    place = np.full(size, -1, np.int64)
    place[present] = np.arange(len(present))
    if len(present) > 64:
        return _by_list(household, households, place[cells])
    counts = (
        (n := np.bincount(household[cells == cell], minlength=households), int(n.max()) + 1)
        for cell in present
    )
    return dense(*combined(counts, households))[0]


def _by_list(household: NDArray[np.integer], households: int, cells: Integers) -> Integers:
    """The same for many cells: the sorted list of the members' cells, one member at a time."""
    order = np.lexsort((cells, household))
    home, cell = household[order], cells[order]
    members = np.bincount(household, minlength=households)
    start = np.cumsum(members) - members
    numbers, size = members.astype(np.int64), int(members.max(initial=0)) + 1
    kinds = int(cells.max(initial=0)) + 2
    nth = np.arange(len(home)) - start[home]
    for k in range(int(members.max(initial=0))):
        column = np.zeros(households, np.int64)
        here = nth == k
        column[home[here]] = cell[here] + 1
        numbers, size = combined([(numbers, size), (column, kinds)], households)
        found, numbers = np.unique(numbers, return_inverse=True)
        size = len(found)
    return numbers.astype(np.int64, copy=False)


def in_small_cells(
    columns: Sequence[tuple[Codes, int]], rows: int, below: int
) -> NDArray[np.bool_]:
    """Return which records are in a cell of fewer than `below` records of the table by columns.

    Notes
    -----
    The cells of 1 and 2 of a table [Longhurst2007, §3.1] are those below 3. A record for which
    fewer than k share its values is one that is not k-anonymous: below = k.
    """
    from discreet.protect.records.swapping.kernels import small_cells

    cells, size = dense(*combined(columns, rows))
    found = np.zeros(rows, bool)
    small_cells(cells, size, below, found)
    return found


def of_households(
    household: NDArray[np.integer], households: int, marked: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which households have a member that is marked."""
    found = np.zeros(households, bool)
    found[household[marked]] = True
    return found
