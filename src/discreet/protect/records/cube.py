"""Input perturbation: a table method applied once, to the finest cells there are.

Every table is then a sum of the same perturbed cells: tables add up and agree with each other. The
price is that the noise adds up too: a cell that sums n perturbed cells has n times their variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.protect.base import Chance, Method
from discreet.protect.records.swapping.households import Codes, combined
from discreet.table.transition import Counts
from discreet.types import Integers


@dataclass(frozen=True)
class InputPerturbation:
    """Applies a method to the populated cells of a hypercube, before any table is made.

    The method must leave zeros alone: the cells of nobody are too many to list, and which of
    them are impossible is not known.

    Notes
    -----
    [Shlomo2015, sec. 5.1], the methods applied to the hypercube as "input". What the method keeps
    of the cells it keeps of every table. The transition of a finest cell is the method's; a cell
    of a table, a sum of any number of them, has none of its own.

    >>> method = dc.protect.InputPerturbation(dc.protect.SmallCellAdjustment(3))
    >>> method.apply(np.array([1, 2, 7]), np.array([0.1, 0.1, 0.1])).tolist()
    [0, 0, 7]
    """

    method: Method

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise ParameterError(
                "method must be a method for tables, such as RandomRounding(3). "
                f"Got {type(self.method).__name__}."
            )
        if self.method.moves_zeros:
            raise ParameterError(
                "method must leave zeros alone: the empty cells of a hypercube are not listed."
            )

    def apply(self, counts: Counts, chance: Chance | np.random.Generator | ArrayLike) -> Counts:
        """Return the perturbed cells."""
        return self.method.apply(counts, chance)


def populated_cells(columns: Sequence[tuple[Codes, int]], rows: int) -> tuple[Integers, Integers]:
    """Return a row of each populated cell, and for every row the number of its cell.

    Columns come with the number of their categories; cells are in the order of the columns.
    """
    numbers, _ = combined(columns, rows)
    _, first, cells = np.unique(numbers, return_index=True, return_inverse=True)
    return first.astype(np.int64), cells.astype(np.int64)


def cell_sums(cells: Integers, number: int, values: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return the sum of whole numbers over each cell, exactly, wrapping at 2^64."""
    sums = np.zeros(number, np.uint64)
    np.add.at(sums, cells, values.astype(np.uint64))
    return sums
