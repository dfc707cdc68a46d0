"""Tables that may be released. A different type from true counts: writers accept only these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.extras import with_extra
from discreet.table.dimension import TOTAL, Dimension
from discreet.table.showing import named, table_html


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTable:
    """Released figures of a cross-tabulation.

    Figures are whole numbers; those of a file that was converted may have decimals. `withheld`
    marks the cells that are not available, whose values are 0 here and missing in every file. `low`
    and `high` bound the true counts where the policy publishes its method. In a table with sums
    `parts` is the number of published figures that each figure is the sum of, `off_at_most` and
    `off_90` by how much it may be off, at most and in nine of ten.
    """

    dimensions: tuple[Dimension, ...]
    values: NDArray[np.int64] | NDArray[np.float64]
    withheld: NDArray[np.bool_]
    low: NDArray[np.int64] | None = None
    high: NDArray[np.int64] | None = None
    parts: NDArray[np.int64] | None = None
    off_at_most: NDArray[np.int64] | None = None
    off_90: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.values.shape != self.shape or self.withheld.shape != self.shape:
            raise ParameterError(
                f"a released table must have the shape of its dimensions, {self.shape}. "
                f"Got {self.values.shape}."
            )
        if (self.low is None) != (self.high is None):
            raise ParameterError("low and high must be given together.")
        if self.values.size and int(self.values.min()) < 0:
            raise ParameterError("released figures must not be negative.")
        if self.values[self.withheld].any():
            raise ParameterError("a withheld cell must have the value 0.")
        for array in (self.values, self.withheld, *self.told.values()):
            if array is not None:
                array.setflags(write=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories along each dimension, totals included."""
        return tuple(len(dimension) for dimension in self.dimensions)

    @property
    def decimals(self) -> int:
        """How many digits after the point the figures have at most."""
        if self.values.dtype.kind != "f":
            return 0
        texts = (figure_text(value) for value in np.unique(self.values).tolist())
        return max((len(text.partition(".")[2]) for text in texts), default=0)

    @property
    def told(self) -> dict[str, NDArray[np.int64]]:
        """What is told of each figure beside it, by the name of its column."""
        names = ("low", "high", "parts", "off_at_most", "off_90")
        found = {name: getattr(self, name) for name in names}
        return {name: array for name, array in found.items() if array is not None}

    @property
    def figures(self) -> dict[str, NDArray[Any]]:
        """What is released of each cell, by the name of its column: `value`, and what is told."""
        return {"value": self.values, **self.told}

    @property
    def inner(self) -> tuple[slice, ...]:
        """The cells that are no totals."""
        return tuple(
            slice(0, len(dimension) - (TOTAL in dimension.codes[-1:]))
            for dimension in self.dimensions
        )

    def columns(self, labels: bool = False) -> dict[str, list[Any] | NDArray[Any]]:
        """Return a column of codes (or labels) for each dimension, `value` and what is told of it.

        One row for each cell, the last dimension fastest; a withheld cell has the value None.

        >>> table = dc.open("people").release("town").table
        >>> table.columns(labels=True)["town"]
        array(['Aston', 'Bexby', 'Corley'], dtype=object)
        """
        found: dict[str, list[Any] | NDArray[Any]] = {}
        for d, dimension in enumerate(self.dimensions):
            texts = np.array(dimension.labels if labels else dimension.codes, object)
            inner = int(np.prod(self.shape[d + 1 :]))
            outer = int(np.prod(self.shape[:d]))
            found[dimension.level] = np.tile(np.repeat(texts, inner), outer)
        missing = self.withheld.ravel()
        for name, array in self.figures.items():
            column = array.ravel().astype(object)
            column[missing] = None
            found[name] = column
        return found

    def __repr__(self) -> str:
        return f"ProtectedTable({named(self.dimensions)})"

    def _repr_html_(self) -> str:
        return table_html("Released figures", self.dimensions, self._shown())

    def _shown(self) -> NDArray[Any]:
        found = self.values.astype(object)
        found[self.withheld] = None
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the figures; there is no array where some are withheld."""
        if self.withheld.any():
            raise ParameterError(
                "the figures must all be available to be an array. "
                f"{int(self.withheld.sum()):,} are withheld; to_pandas() has them as <NA>."
            )
        return np.array(self.values, dtype) if copy is not False else np.asarray(self.values, dtype)

    @with_extra()
    def to_arrow(self, labels: bool = False) -> Any:
        """Return the cells as an Arrow table: codes (or labels), then the value.

        >>> dc.open("people").release("town,health").table.to_arrow().num_rows
        9
        """
        import pyarrow as pa

        columns = self.columns(labels)
        kinds = dict.fromkeys(self.figures, pa.int64())
        return pa.table(
            {name: pa.array(list(column), kinds.get(name, pa.string()))
             for name, column in columns.items()}
        )  # fmt: skip

    @with_extra()
    def to_pandas(self, labels: bool = False) -> Any:
        """Return the cells as a pandas data frame: codes, then the value (<NA> if withheld).

        `labels` are labels instead of codes, as categories in the order of the table.

        >>> list(dc.open("people").release("town,health").table.to_pandas().columns)
        ['town', 'health', 'value']
        """
        import pandas as pd

        frame = pd.DataFrame(self.columns(labels))
        kinds: dict[str, Any] = dict.fromkeys(self.figures, "Int64")
        if labels:
            kinds |= {
                d.level: pd.CategoricalDtype(list(dict.fromkeys(d.labels)), ordered=True)
                for d in self.dimensions
            }
        return frame.astype(kinds)

    @with_extra()
    def to_polars(self, labels: bool = False) -> Any:
        """Return the cells as a polars data frame: codes (or labels), then the value.

        >>> dc.open("people").release("town,health").table.to_polars().columns
        ['town', 'health', 'value']
        """
        import polars as pl

        kinds = dict.fromkeys(self.figures, pl.Int64())
        columns = self.columns(labels)
        return pl.DataFrame(
            {name: list(column) for name, column in columns.items()},
            {name: kinds.get(name, pl.String()) for name in columns},
        )

    @with_extra()
    def to_xarray(self, labels: bool = False) -> Any:
        """Return the figures as an xarray array with a coordinate for each dimension.

        A withheld figure is NaN; where none is, the figures are whole numbers.

        >>> dc.open("people").release("town,health").table.to_xarray().dims
        ('town', 'health')
        """
        import xarray as xr

        missing = self.withheld.any()
        figures = np.where(self.withheld, np.nan, self.values) if missing else self.values.copy()
        names = {d.level: list(d.labels if labels else d.codes) for d in self.dimensions}
        return xr.DataArray(figures, names, tuple(names), name="value")


def figure_text(value: float) -> str:
    """Return a figure in digits, without an exponent and without zeros that say nothing."""
    if isinstance(value, int) or value.is_integer():
        return str(int(value))
    return np.format_float_positional(value, trim="-")
