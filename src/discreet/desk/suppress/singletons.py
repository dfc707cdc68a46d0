"""Contributors who are alone in a cell: they know its figure, whether it is published or not.

All for the custodian. Cells of the same lone contributor have the same number, so that protection
against that contributor can be asked for: what the contributor knows is all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.desk.cells import CellTable, Records
from discreet.table.hierarchy import Hierarchy
from discreet.types import Integers

Owners = NDArray[np.int32]


def lone_contributors(cells: CellTable) -> Owners:
    """Return the number of the one contributor of each cell, −1 where there are more, or none.

    Notes
    -----
    Singletons as in the insider view of [Domingo2002, sec. 4.4]. Of counts, cells of 1. A total
    of one contributor holds the same contributor as its parts. A contributor who is alone in two
    cells without a common total of one is two here: only records tell. Zeros: nobody's.
    """
    contributors = cells.values if cells.counts else cells.contributors
    owner = np.full(cells.shape, -1, np.int32)
    if contributors is None:
        return owner
    lone = np.argwhere(contributors == 1)
    leaves = [_leaves(hierarchy) for hierarchy in cells.hierarchies]
    places = np.arange(cells.values.size).reshape(cells.shape)
    above = np.arange(cells.values.size)

    def top(cell: int) -> int:
        while above[cell] != cell:
            cell = int(above[cell])
        return cell

    for index in lone:
        block = np.ix_(*(inside[code] for inside, code in zip(leaves, index, strict=True)))
        parts = places[block][contributors[block] > 0]
        for part in (*parts[1:].tolist(), int(places[tuple(index)])):
            above[top(part)] = top(int(parts[0]))
    numbers: dict[int, int] = {}
    for index in lone:
        root = top(int(places[tuple(index)]))
        owner[tuple(index)] = numbers.setdefault(root, len(numbers))
    return owner


def lone_holdings(records: Records) -> Owners:
    """Return the number of the one holding of each cell, −1 where there are more, or none.

    Notes
    -----
    As `lone_contributors` [Domingo2002, sec. 4.4], with the same number wherever a holding is
    alone. Zeros: a cell of records that are all 0 still has its contributors.
    """
    least = np.full(records.shape, np.iinfo(np.int64).max)
    most = np.full(records.shape, -1, np.int64)
    for there, index in records.everywhere():
        np.minimum.at(least, index, records.units[there])
        np.maximum.at(most, index, records.units[there])
    return np.where(least == most, most, -1).astype(np.int32)


def _leaves(hierarchy: Hierarchy) -> list[Integers]:
    """Return the inner codes that each code is the sum of: itself, where it is inner."""
    members = hierarchy.members
    return [hierarchy.leaves[members[code].indices] for code in range(len(hierarchy))]
