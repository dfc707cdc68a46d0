"""What a table shows and where: places of lines, counts or shares, the order of rows.

The page, its charts and its file are made from this, so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.release.pivot import Parts, Pivot
from discreet.table import TOTAL, Dimension, ProtectedTable

SHOWN = ("count", "row", "column")
NAMES = ("labels", "codes", "both")

Place = tuple[int, ...]


@dataclass(frozen=True)
class Options:
    """How a table is shown."""

    show: str = "count"
    names: str = "labels"
    sort: int | None = None
    layer: int = 0
    page: int = 1
    column_page: int = 1
    ranges: bool = True
    """Whether the ranges of sums stand beside them."""

    @classmethod
    def read(cls, values: Mapping[str, str]) -> Options:
        """Return the options of an address; what makes no sense is left at its default."""
        show, names = values.get("show", ""), values.get("names", "")
        return cls(
            show if show in SHOWN else "count",
            names if names in NAMES else "labels",
            _whole(values.get("sort"), -10_000) or None,
            _whole(values.get("layer"), 0) or 0,
            max(_whole(values.get("page"), 1) or 1, 1),
            max(_whole(values.get("cpage"), 1) or 1, 1),
            values.get("ranges") != "none",
        )


def _whole(text: str | None, least: int) -> int | None:
    try:
        return None if text is None else max(min(int(text[:9]), 1_000_000), least)
    except ValueError:
        return None


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The places of the lines of one layer in their order, and the figures of all layers."""

    dims: Parts[Dimension]
    names: Parts[list[str]]
    """How the categories of each dimension are called."""
    layers: tuple[Place, ...]
    layer: int
    rows: tuple[Place, ...]
    columns: tuple[Place, ...]
    sort: int | None
    """The column by which rows are sorted, counted from 1, negative for the largest first."""
    sortable: bool
    figures: NDArray[np.float64]
    """As they are shown: counts, or shares of a row or column; NaN where there is none."""

    @property
    def front(self) -> Place:
        """The place of the layer that is shown."""
        return self.layers[self.layer]

    def said_layer(self, place: Place, t: Texts) -> str:
        """Return a layer in words."""
        if place and is_total(place[:1], self.dims.layers[:1]):
            return t("table.total")
        return ", ".join(names[i] for names, i in zip(self.names.layers, place, strict=True))

    def of_row(self, row: Place) -> NDArray[np.float64]:
        """Return the figures of a row of the layer that is shown."""
        return np.array([self.figures[(*self.front, *row, *column)] for column in self.columns])


def arranged(table: ProtectedTable, state: State, options: Options, t: Texts) -> Arrangement:
    """Return what is shown of a table, and in which order."""
    pivot = Pivot.in_order(len(state.layers), len(state.rows), len(table.dimensions))
    dims, kept = pivot.split(table.dimensions), pivot.split(_kept(table))
    layers = _places(dims.layers, kept.layers, totals_first=True)
    rows = _places(dims.rows, kept.rows, totals_first=False)
    columns = _places(dims.columns, kept.columns, totals_first=True)
    at = min(options.layer, len(layers) - 1)
    figures = _figures(table, pivot, options.show)
    sortable = len(state.rows) == 1
    sort = options.sort if sortable and abs(options.sort or 0) <= len(columns) else None
    if sort is not None:
        column = columns[abs(sort) - 1]
        by = {place: float(figures[(*layers[at], *place, *column)]) for place in rows}
        rows = _sorted(rows, dims.rows, by, sort < 0)
    return Arrangement(
        dims,
        pivot.split([_names(d, options.names, t) for d in table.dimensions]),
        tuple(layers),
        at,
        tuple(rows),
        tuple(columns),
        sort,
        sortable,
        figures,
    )


def _figures(table: ProtectedTable, pivot: Pivot, show: str) -> NDArray[np.float64]:
    """Return counts, or shares of the published totals, or of sums where there are none."""
    counts = np.where(table.withheld, np.nan, table.values)
    if show == "count":
        return counts
    base = table.values
    for d in pivot.columns if show == "row" else pivot.rows:
        total = table.dimensions[d].codes[-1] == TOTAL
        base = base.take([-1], axis=d) if total else base.sum(axis=d, keepdims=True)
    found: NDArray[np.float64] = counts / np.where(base == 0, np.nan, base)
    return found


def _kept(table: ProtectedTable) -> list[list[int]]:
    """Return the categories of each dimension that are not withheld as a whole."""
    found = []
    for d in range(len(table.dimensions)):
        others = tuple(i for i in range(table.withheld.ndim) if i != d)
        gone = np.asarray(table.withheld.all(axis=others) if others else table.withheld)
        total = table.dimensions[d].codes[-1] == TOTAL
        last = len(gone) - 1
        # A total that is missing stays as a row, so that its absence is seen.
        found.append([i for i in range(len(gone)) if not gone[i] or (total and i == last)])
    return found


def _places(
    dims: tuple[Dimension, ...], kept: tuple[list[int], ...], totals_first: bool
) -> list[Place]:
    """Return the places of all lines; under the total of an outer variable there is one line."""
    if not dims:
        return [()]
    has_total = dims[0].codes[-1] == TOTAL
    last = len(dims[0].codes) - 1
    inner = _places(dims[1:], kept[1:], totals_first)
    found: list[Place] = []
    for i in kept[0]:
        if not (has_total and i == last):
            found += [(i, *rest) for rest in inner]
    if has_total:
        line = tuple(len(d.codes) - 1 for d in dims)
        found = [line, *found] if totals_first else [*found, line]
    return found


def is_total(place: Place, dims: tuple[Dimension, ...]) -> bool:
    """Whether any part of a place is a total."""
    return any(d.codes[i] == TOTAL for i, d in zip(place, dims, strict=True))


def _sorted(
    rows: list[Place], dims: tuple[Dimension, ...], by: Mapping[Place, float], largest_first: bool
) -> list[Place]:
    """Return rows by what is shown in a column, ties as they were; without a figure, then totals
    come last."""
    total = [place for place in rows if is_total(place, dims)]
    inner = [place for place in rows if not is_total(place, dims)]
    sign = -1 if largest_first else 1
    inner.sort(key=lambda place: (np.isnan(by[place]), sign * np.nan_to_num(by[place])))
    return inner + total


def _names(dimension: Dimension, how: str, t: Texts) -> list[str]:
    """Return how the categories of a dimension are called: labels, codes or both."""
    found = []
    for code, label in zip(dimension.codes, dimension.labels, strict=True):
        if code == TOTAL:
            found.append(t("table.total"))
        elif how == "both":
            found.append(f"{code} {label}" if code != label else label)
        else:
            found.append(code if how == "codes" else label)
    return found
