"""A release as rows and columns of a page: spanning heads, totals, percentages, order, pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby, islice, product

import numpy as np

from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.release import Release
from discreet.table import TOTAL, Dimension, ProtectedTable

MOST_CELLS = 2_000
MOST_COLUMNS = 60
SHOWN = ("count", "row", "column")
NAMES = ("labels", "codes", "both")

Place = tuple[int, ...]


@dataclass(frozen=True)
class Head:
    """A head cell: its text, how many columns and rows it spans, whether it is of a total."""

    text: str
    span: int
    depth: int
    total: bool
    leaf: int | None = None
    """The number of its column, where it is the head of one."""


@dataclass(frozen=True)
class Cell:
    """A figure as it is shown; kind is "", small, zero or missing."""

    text: str
    kind: str
    total: bool
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True)
class Row:
    """A row with the heads that begin in it."""

    heads: tuple[Head, ...]
    cells: tuple[Cell, ...]
    total: bool


@dataclass(frozen=True)
class Layer:
    """One of the tables behind each other."""

    index: int
    text: str


@dataclass(frozen=True)
class Grid:
    """One page of one layer."""

    corner: tuple[str, ...]
    heads: tuple[tuple[Head, ...], ...]
    rows: tuple[Row, ...]
    layers: tuple[Layer, ...]
    layer: int
    page: int
    pages: int
    column_page: int
    column_pages: int
    columns: int
    all_rows: int
    sort: int | None
    """The column by which rows are sorted, counted from 1, negative for the largest first."""
    sortable: bool


@dataclass(frozen=True)
class Options:
    """How a table is shown."""

    show: str = "count"
    names: str = "labels"
    sort: int | None = None
    layer: int = 0
    page: int = 1
    column_page: int = 1

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
        )


def _whole(text: str | None, least: int) -> int | None:
    try:
        return None if text is None else max(min(int(text[:9]), 1_000_000), least)
    except ValueError:
        return None


def grid(release: Release, state: State, options: Options, small: int, t: Texts) -> Grid:
    """Return a page of a table; `small` is the figure below which one is marked."""
    table = release.table
    counts = (len(state.layers), len(state.rows), len(state.columns))
    w, r = counts[0], counts[0] + counts[1]
    dims = table.dimensions
    names = [_names(d, options.names, t) for d in dims]
    kept = _kept(table)
    layers = _places(dims[:w], kept[:w], totals_first=True)
    rows = _places(dims[w:r], kept[w:r], totals_first=False)
    columns = _places(dims[r:], kept[r:], totals_first=True)
    at = min(options.layer, len(layers) - 1)
    front = layers[at]
    sortable = counts[1] == 1
    order = (
        options.sort if sortable and options.sort and abs(options.sort) <= len(columns) else None
    )
    if order is not None:
        rows = _sorted(rows, dims[w:r], table, front, columns[abs(order) - 1], order < 0)
    width = min(len(columns), MOST_COLUMNS)
    column_pages = -(-len(columns) // width)
    height = max(MOST_CELLS // width, 1)
    pages = -(-len(rows) // height)
    page, column_page = min(options.page, pages), min(options.column_page, column_pages)
    shown_rows = rows[(page - 1) * height : page * height]
    shown_columns = columns[(column_page - 1) * width : column_page * width]
    shares = _Shares(table, options.show, front, rows, columns)
    lines = []
    heads = row_heads(shown_rows, names[w:r], dims[w:r])
    for place, begins in zip(shown_rows, heads, strict=True):
        total = _is_total(place, dims[w:r])
        cells = tuple(
            _cell(table, (*front, *place, *column), small, t, shares,
                  total or _is_total(column, dims[r:]))
            for column in shown_columns
        )  # fmt: skip
        lines.append(Row(begins, cells, total))
    corner = tuple(d.label for d in dims[w:r]) or ("",)
    first = (column_page - 1) * width
    return Grid(
        corner,
        column_heads(shown_columns, names[r:], dims[r:], first, t),
        tuple(lines),
        tuple(
            Layer(i, _place_text(place, names[:w], dims[:w], t)) for i, place in enumerate(layers)
        ),
        at,
        page,
        pages,
        column_page,
        column_pages,
        len(columns),
        len(rows),
        order,
        sortable,
    )


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


def _places(dims: tuple[Dimension, ...], kept: list[list[int]], totals_first: bool) -> list[Place]:
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


def _is_total(place: Place, dims: tuple[Dimension, ...]) -> bool:
    return any(d.codes[i] == TOTAL for i, d in zip(place, dims, strict=True))


def _names(dimension: Dimension, how: str, t: Texts) -> list[str]:
    found = []
    for code, label in zip(dimension.codes, dimension.labels, strict=True):
        if code == TOTAL:
            found.append(t("table.total"))
        elif how == "both":
            found.append(f"{code} {label}" if code != label else label)
        else:
            found.append(code if how == "codes" else label)
    return found


def _place_text(place: Place, names: list[list[str]], dims: tuple[Dimension, ...], t: Texts) -> str:
    if place and _is_total(place[:1], dims[:1]):
        return t("table.total")
    return ", ".join(names[d][i] for d, i in enumerate(place))


def _sorted(
    rows: list[Place],
    dims: tuple[Dimension, ...],
    table: ProtectedTable,
    front: Place,
    column: Place,
    largest_first: bool,
) -> list[Place]:
    """Return rows by the figure in a column, ties as they were; the total stays last."""
    total = [place for place in rows if _is_total(place, dims)]
    inner = [place for place in rows if not _is_total(place, dims)]
    sign = -1 if largest_first else 1
    inner.sort(key=lambda place: sign * int(table.values[(*front, *place, *column)]))
    return inner + total


def column_heads(
    places: list[Place], names: list[list[str]], dims: tuple[Dimension, ...], first: int, t: Texts
) -> tuple[tuple[Head, ...], ...]:
    """Return the lines of heads over the columns; `first` is the number of columns before them."""
    if not dims:
        return ((Head(t("table.count"), 1, 1, False, 1),),)
    depth = len(dims)
    lines: list[list[Head]] = [[] for _ in dims]
    for d in range(depth):
        at = 0
        for key, group in groupby(places, key=lambda place: place[: d + 1]):
            span = len(list(group))
            above = d > 0 and _is_total(key[:d], dims[:d])
            total = _is_total(key[d:], dims[d : d + 1])
            if not above:
                leaf = first + at + 1 if d == depth - 1 or total else None
                tall = depth - d if total else 1
                lines[d].append(Head(names[d][key[d]], span, tall, total, leaf))
            at += span
    return tuple(tuple(line) for line in lines)


def row_heads(
    places: list[Place], names: list[list[str]], dims: tuple[Dimension, ...]
) -> list[tuple[Head, ...]]:
    """Return the heads that begin in each row."""
    if not dims:
        return [(Head("", 1, 1, False),) for _ in places]
    begins: list[list[Head]] = [[] for _ in places]
    depth = len(dims)
    for d in range(depth):
        at = 0
        for key, group in groupby(places, key=lambda place: place[: d + 1]):
            tall = len(list(group))
            above = d > 0 and _is_total(key[:d], dims[:d])
            total = _is_total(key[d:], dims[d : d + 1])
            if not above:
                begins[at].append(Head(names[d][key[d]], depth - d if total else 1, tall, total))
            at += tall
    return [tuple(heads) for heads in begins]


class _Shares:
    """What a figure is divided by: the published total of its row or column, or else their sum."""

    def __init__(
        self,
        table: ProtectedTable,
        show: str,
        front: Place,
        rows: list[Place],
        columns: list[Place],
    ) -> None:
        self.show = show
        self.table = table
        self.split = len(front), len(front) + (len(rows[0]) if rows else 0)
        self.lines = columns if show == "row" else rows
        self._known: dict[Place, int] = {}

    def of(self, place: Place) -> float | None:
        w, r = self.split
        own = (place[:w], place[w:r] if self.show == "row" else place[r:])
        key = (*own[0], *own[1])
        if key not in self._known:
            self._known[key] = self._base(place)
        base = self._known[key]
        return int(self.table.values[place]) / base if base else None

    def _base(self, place: Place) -> int:
        w, r = self.split
        dims = self.table.dimensions
        span = range(r, len(dims)) if self.show == "row" else range(w, r)
        if all(dims[d].codes[-1] == TOTAL for d in span):
            whole = list(place)
            for d in span:
                whole[d] = len(dims[d].codes) - 1
            return int(self.table.values[tuple(whole)])
        if self.show == "row":
            return sum(int(self.table.values[(*place[:r], *line)]) for line in self.lines)
        return sum(int(self.table.values[(*place[:w], *line, *place[r:])]) for line in self.lines)


def _cell(
    table: ProtectedTable, place: Place, small: int, t: Texts, shares: _Shares, total: bool
) -> Cell:
    if table.withheld[place]:
        return Cell("–", "missing", total)
    value = int(table.values[place])
    kind = "zero" if value == 0 else "small" if value < small else ""
    low = high = None
    if table.low is not None and table.high is not None:
        low, high = int(table.low[place]), int(table.high[place])
    if shares.show == "count":
        return Cell(t.number(value), kind, total, low, high)
    share = shares.of(place)
    return Cell("–" if share is None else t.percent(share), kind, total)


def layer_places(release: Release, layers: int) -> list[Place]:
    """Return the places of the tables behind each other, in the order in which they are shown."""
    kept = _kept(release.table)
    return _places(release.table.dimensions[:layers], kept[:layers], totals_first=True)


def first_places(sizes: list[int], most: int) -> list[Place]:
    """Return the first places of axes of these sizes, without making all of them."""
    return list(islice(product(*(range(size) for size in sizes)), most))
