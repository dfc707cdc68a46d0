"""Tables of true counts. They never leave the process: writers do not accept them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.table.dimension import Dimension


@dataclass(frozen=True, eq=False)
class CountTable:
    """True counts of a cross-tabulation, with the sum of record keys of each cell.

    Dense: `counts` and `keys` have the table's shape. Sparse (`coordinates` is not None): they are
    vectors over the populated cells, and `coordinates[d, i]` is the index of cell i along
    dimension d, cells in row-major order. Keys are below `modulus`.
    """

    dimensions: tuple[Dimension, ...]
    counts: NDArray[np.unsignedinteger[Any]]
    keys: NDArray[np.unsignedinteger[Any]]
    modulus: int
    coordinates: NDArray[np.uint32] | None = None

    def __post_init__(self) -> None:
        if self.counts.shape != self.keys.shape:
            raise ParameterError("counts and keys must have one shape.")
        if self.coordinates is None and self.counts.shape != self.shape:
            raise ParameterError(
                f"a dense table must have the shape of its dimensions, {self.shape}. "
                f"Got {self.counts.shape}."
            )
        if self.coordinates is not None and self.coordinates.shape != (
            len(self.dimensions),
            len(self.counts),
        ):
            raise ParameterError("a sparse table must have one coordinate a dimension and cell.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories along each dimension."""
        return tuple(len(dimension) for dimension in self.dimensions)

    @property
    def size(self) -> int:
        """The number of cells, empty ones included."""
        return prod(self.shape)

    @property
    def is_sparse(self) -> bool:
        """Whether only populated cells are held."""
        return self.coordinates is not None

    def dense(self) -> CountTable:
        """Return the same table with every cell held; the caller knows that it fits in memory.

        >>> dc.open("people").tabulate("town,sex").dense().counts.shape
        (3, 2)
        """
        if self.coordinates is None:
            return self
        counts = np.zeros(self.shape, self.counts.dtype)
        keys = np.zeros(self.shape, self.keys.dtype)
        where = tuple(self.coordinates)
        counts[where] = self.counts
        keys[where] = self.keys
        return CountTable(self.dimensions, counts, keys, self.modulus)

    def sparse(self) -> CountTable:
        """Return the same table with only its populated cells held.

        >>> dc.open("people").tabulate("town,sex").sparse().coordinates.tolist()
        [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]]
        """
        if self.coordinates is not None:
            return self
        where = np.nonzero(self.counts)
        coordinates = np.array(where, np.uint32).reshape(len(self.dimensions), -1)
        return CountTable(
            self.dimensions, self.counts[where], self.keys[where], self.modulus, coordinates
        )
