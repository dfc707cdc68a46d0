"""A release as rows and columns of a page: spanning heads, totals, percentages, order, pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice, product
from math import isnan

from discreet.page.arrange import Options, Place, arranged, is_total, names_of, said_place
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.release import Release
from discreet.table import Dimension, ProtectedTable

MOST_CELLS = 2_000
MOST_COLUMNS = 60


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


def grid(release: Release, state: State, options: Options, small: int, t: Texts) -> Grid:
    """Return a page of a table; under `small` a figure is marked."""
    table, dims = release.table, release.table.dimensions
    found = arranged(table, state, options)
    w, r = len(state.layers), len(state.layers) + len(state.rows)
    names = [names_of(d, options.names, t) for d in dims]
    rows, columns = found.rows, found.columns
    width = min(len(columns), MOST_COLUMNS)
    height = max(MOST_CELLS // width, 1)
    pages, column_pages = -(-len(rows) // height), -(-len(columns) // width)
    page, column_page = min(options.page, pages), min(options.column_page, column_pages)
    shown_rows = rows[(page - 1) * height : page * height]
    first = (column_page - 1) * width
    shown_columns = columns[first : first + width]
    lines = []
    heads = row_heads(shown_rows, names[w:r], dims[w:r])
    for place, begins in zip(shown_rows, heads, strict=True):
        total = is_total(place, dims[w:r])
        cells = []
        for column in shown_columns:
            at = (*found.front, *place, *column)
            figure = float(found.figures[at])
            summed = total or is_total(column, dims[r:])
            cells.append(_cell(table, at, figure, options.show, small, t, summed))
        lines.append(Row(begins, tuple(cells), total))
    return Grid(
        tuple(d.label for d in dims[w:r]) or ("",),
        column_heads(shown_columns, names[r:], dims[r:], first, t),
        tuple(lines),
        tuple(
            Layer(i, said_place(place, names[:w], dims[:w], t))
            for i, place in enumerate(found.layers)
        ),
        found.layer,
        page,
        pages,
        column_page,
        column_pages,
        len(columns),
        len(rows),
        found.sort,
        found.sortable,
    )


def column_heads(
    places: Sequence[Place],
    names: list[list[str]],
    dims: tuple[Dimension, ...],
    first: int,
    t: Texts,
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
            above = d > 0 and is_total(key[:d], dims[:d])
            total = is_total(key[d:], dims[d : d + 1])
            if not above:
                leaf = first + at + 1 if d == depth - 1 or total else None
                tall = depth - d if total else 1
                lines[d].append(Head(names[d][key[d]], span, tall, total, leaf))
            at += span
    return tuple(tuple(line) for line in lines)


def row_heads(
    places: Sequence[Place], names: list[list[str]], dims: tuple[Dimension, ...]
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
            above = d > 0 and is_total(key[:d], dims[:d])
            total = is_total(key[d:], dims[d : d + 1])
            if not above:
                begins[at].append(Head(names[d][key[d]], depth - d if total else 1, tall, total))
            at += tall
    return [tuple(heads) for heads in begins]


def _cell(
    table: ProtectedTable, place: Place, figure: float, show: str, small: int, t: Texts, total: bool
) -> Cell:
    if table.withheld[place]:
        return Cell("–", "missing", total)
    value = int(table.values[place])
    kind = "zero" if value == 0 else "small" if value < small else ""
    if show != "count":
        return Cell("–" if isnan(figure) else t.percent(figure), kind, total)
    low = high = None
    if table.low is not None and table.high is not None:
        low, high = int(table.low[place]), int(table.high[place])
    return Cell(t.number(value), kind, total, low, high)


def first_places(sizes: list[int], most: int) -> list[Place]:
    """Return the first places of axes of these sizes, without making all of them."""
    return list(islice(product(*(range(size) for size in sizes)), most))
