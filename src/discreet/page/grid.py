"""A release as rows and columns of a page: spanning heads, totals, percentages, order, pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, product
from math import isnan

from discreet.page.arrange import Arrangement, Options, Place, arranged, is_total
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
    """A figure as it is shown; kind is "", small, zero or missing.

    `parts` is how many published figures it is the sum of, `at_most` and `often` how far off it may
    be: at most, and in nine of ten.
    """

    text: str
    kind: str
    total: bool
    low: int | None = None
    high: int | None = None
    parts: int = 1
    at_most: int | None = None
    often: int | None = None
    value: int = 0

    @property
    def usual(self) -> tuple[int, int] | None:
        """Between which counts the true one is in nine of ten sums."""
        if self.often is None or self.low is None or self.high is None:
            return None
        return max(self.value - self.often, self.low), min(self.value + self.often, self.high)


@dataclass(frozen=True)
class Row:
    """A row with the heads that begin in it."""

    heads: tuple[Head, ...]
    cells: tuple[Cell, ...]
    total: bool

    @property
    def parts(self) -> tuple[int, int]:
        """The least and the most figures that were added up."""
        many = [cell.parts for cell in self.cells if cell.kind != "missing"] or [0]
        return min(many), max(many)


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
    sort: int | None
    """The column by which rows are sorted, counted from 1, negative for the largest first."""
    sortable: bool
    ranges: int = 1
    """The columns of each figure: itself, off at most, off in nine of ten; 1 without ranges."""


def grid(release: Release, state: State, options: Options, small: int, t: Texts) -> Grid:
    """Return a page of a table; under `small` a figure is marked."""
    found = arranged(release.table, state, options, t)
    rows, columns = found.rows, found.columns
    width = min(len(columns), MOST_COLUMNS)
    height = max(MOST_CELLS // width, 1)
    pages, column_pages = -(-len(rows) // height), -(-len(columns) // width)
    page, column_page = min(options.page, pages), min(options.column_page, column_pages)
    shown = rows[(page - 1) * height : page * height]
    first = (column_page - 1) * width
    across = columns[first : first + width]
    return Grid(
        tuple(d.label for d in found.dims.rows) or ("",),
        column_heads(across, found.names.columns, found.dims.columns, first, t),
        tuple(_rows(release.table, found, shown, across, options.show, small, t)),
        tuple(Layer(i, found.said_layer(place, t)) for i, place in enumerate(found.layers)),
        found.layer,
        page,
        pages,
        column_page,
        column_pages,
        len(columns),
        found.sort,
        found.sortable,
        ranges_of(release.table, options),
    )


def of_sums(table: ProtectedTable) -> bool:
    """Whether figures are sums of published ones, totals aside."""
    return table.parts is not None and bool((table.parts[table.inner] > 1).any())


def ranges_of(table: ProtectedTable, options: Options) -> int:
    """Return the columns of each figure: itself, and how far off it may be where it is a sum."""
    if not of_sums(table) or options.show != "count" or not options.ranges:
        return 1
    return 1 + (table.off_at_most is not None) + (table.off_90 is not None)


def _rows(
    table: ProtectedTable,
    found: Arrangement,
    rows: Sequence[Place],
    columns: Sequence[Place],
    show: str,
    small: int,
    t: Texts,
) -> Iterator[Row]:
    heads = row_heads(rows, found.names.rows, found.dims.rows)
    summed = [is_total(column, found.dims.columns) for column in columns]
    for row, begins in zip(rows, heads, strict=True):
        total, cells = is_total(row, found.dims.rows), []
        for column, also in zip(columns, summed, strict=True):
            at = (*found.front, *row, *column)
            figure = float(found.figures[at])
            cells.append(_cell(table, at, figure, show, small, t, total or also))
        yield Row(begins, tuple(cells), total)


@dataclass(frozen=True)
class _Span:
    """Lines next to each other that share the categories of the first dimensions."""

    depth: int
    first: int
    lines: int
    category: int
    total: bool


def _spans(places: Sequence[Place], dims: tuple[Dimension, ...]) -> Iterator[_Span]:
    """Yield the spans of each dimension; under a total there are no more."""
    for d in range(len(dims)):
        at = 0
        for key, group in groupby(places, key=lambda place: place[: d + 1]):
            lines = len(list(group))
            if not is_total(key[:d], dims[:d]):
                yield _Span(d, at, lines, key[d], is_total(key[d:], dims[d : d + 1]))
            at += lines


def column_heads(
    places: Sequence[Place],
    names: Sequence[Sequence[str]],
    dims: tuple[Dimension, ...],
    first: int,
    t: Texts,
) -> tuple[tuple[Head, ...], ...]:
    """Return the lines of heads over the columns; `first` is the number of columns before them."""
    if not dims:
        return ((Head(t("table.count"), 1, 1, False, 1),),)
    lines: list[list[Head]] = [[] for _ in dims]
    for span in _spans(places, dims):
        below = len(dims) - span.depth if span.total else 1
        leaf = first + span.first + 1 if span.depth + below == len(dims) else None
        text = names[span.depth][span.category]
        lines[span.depth].append(Head(text, span.lines, below, span.total, leaf))
    return tuple(tuple(line) for line in lines)


def row_heads(
    places: Sequence[Place], names: Sequence[Sequence[str]], dims: tuple[Dimension, ...]
) -> list[tuple[Head, ...]]:
    """Return the heads that begin in each row."""
    if not dims:
        return [(Head("", 1, 1, False),) for _ in places]
    begins: list[list[Head]] = [[] for _ in places]
    for span in _spans(places, dims):
        across = len(dims) - span.depth if span.total else 1
        text = names[span.depth][span.category]
        begins[span.first].append(Head(text, across, span.lines, span.total))
    return [tuple(heads) for heads in begins]


def _cell(
    table: ProtectedTable, place: Place, figure: float, show: str, small: int, t: Texts, total: bool
) -> Cell:
    if table.withheld[place]:
        return Cell("–", "missing", total)
    value = int(table.values[place])
    kind = "zero" if value == 0 else "small" if value < small else ""
    if show != "count":
        parts = 1 if table.parts is None else int(table.parts[place])
        return Cell("–" if isnan(figure) else t.percent(figure), kind, total, parts=parts)
    low = high = None
    if table.low is not None and table.high is not None:
        low, high = int(table.low[place]), int(table.high[place])
    told = (table.off_at_most, table.off_90)
    at_most, often = (None if array is None else int(array[place]) for array in told)
    parts = 1 if table.parts is None else int(table.parts[place])
    return Cell(t.number(value), kind, total, low, high, parts, at_most, often, value)


def first_places(sizes: list[int], most: int) -> list[Place]:
    """Return the first places of axes of these sizes, without making all of them."""
    return list(islice(product(*(range(size) for size in sizes)), most))
