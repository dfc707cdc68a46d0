"""Tables of true counts. They never leave the process: writers do not accept them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.table.dimension import Dimension
from discreet.table.showing import named


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        # No figure: what is shown of true counts ends in logs and saved notebooks.
        return f"CountTable({named(self.dimensions)}, true counts)"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the counts, every cell held."""
        found = self.dense().counts
        return np.array(found, dtype) if copy is not False else np.asarray(found, dtype)

    def to_pandas(self, labels: bool = False) -> Any:
        """Return the counts as a pandas data frame: codes (or labels), then the count.

        >>> dc.open("people").tabulate("town").to_pandas(labels=True)["count"].tolist()
        [2000, 1400, 600]
        """
        import pandas as pd

        names = [d.level for d in self.dimensions]
        index = pd.MultiIndex.from_product(
            [d.labels if labels else d.codes for d in self.dimensions], names=names
        )
        counts = self.dense().counts.ravel().astype(np.int64)
        return pd.DataFrame({"count": counts}, index).reset_index()

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
