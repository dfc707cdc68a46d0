"""Which charts a table can have, and the numbers they show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.page.arrange import Arrangement, Options, arranged
from discreet.page.charts import draw
from discreet.page.charts.svg import Svg
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.release import Release
from discreet.table import TOTAL, Dimension
from discreet.types import Floats

WIDTHS = (1040, 640, 340)
MOST_SERIES = 5
MOST_BARS = 130
MOST_HEAT = 40


@dataclass(frozen=True)
class Chart:
    """A kind of chart."""

    id: str
    label: str


@dataclass(frozen=True, eq=False)
class Data:
    """What a chart shows: values by category, series and, for a pyramid, side.

    Values are as the table shows them, counts or per cent; NaN where there is none.
    """

    title: str
    unit: str
    percent: bool
    categories: tuple[str, ...]
    series: tuple[str, ...]
    sides: tuple[str, ...]
    values: Floats  # sides × series × categories
    by_series: Floats | None  # series × categories: the published totals of the sides
    by_category: Floats | None  # the published totals of sides and series
    adds: bool = True
    """Whether series may be stacked: per cent of different wholes do not add up."""
    tells: bool = True
    """Whether the totals tell something: not where each is all of its row."""

    def said(self, value: float, t: Texts) -> str:
        """Return a value as the table says it."""
        return t.percent(value / 100) if self.percent else t.number(int(value))


@dataclass(frozen=True)
class _Roles:
    """Which dimension runs along the axis, makes the sides of a pyramid, and is stacked."""

    along: int
    sides: int | None
    stacked: int | None

    @property
    def used(self) -> list[int]:
        return [i for i in (self.sides, self.stacked, self.along) if i is not None]


def data(release: Release, state: State, options: Options, title: str, t: Texts) -> Data | None:
    """Return what can be drawn: two variables, or three of which one has two categories.

    Other variables stand at their totals; where there are none, nothing is drawn. Rows come in
    the order of the table, under the names that it shows.
    """
    found = arranged(release.table, state, options, t)
    dims, counted = (*found.dims.rows, *found.dims.columns), options.show == "count"
    names, values = _in_order(found)
    ends = [len(n) - (d.codes[-1] == TOTAL) for n, d in zip(names, dims, strict=True)]
    roles = _roles([d.variable for d in dims], ends)
    part = _part(values, dims, ends, roles)
    if part is None:
        return None
    there = np.asarray(~np.isnan(part).all(axis=(0, 1)), bool)
    categories = tuple(n for n, keep in zip(names[roles.along], there, strict=False) if keep)
    if not categories:
        return None
    part = part[..., there] * (1 if counted else 100)
    series, sides = (_named(names, ends, which) for which in (roles.stacked, roles.sides))
    # One more than there are names: the published total is the last.
    totals = part[-1] if part.shape[0] > len(sides) else None
    rows = len(found.dims.rows)
    span = range(rows, len(dims)) if options.show == "row" else range(rows)
    return Data(
        _titled(title, found, options, t),
        t.inside(unit_word(release.provenance.unit, t)),
        not counted,
        categories,
        series,
        sides,
        part[: max(len(sides), 1), : max(len(series), 1)],
        None if totals is None else totals[: max(len(series), 1)],
        totals[-1] if totals is not None and len(totals) > len(series) else None,
        counted or roles.stacked in span or (roles.sides in span and not series),
        counted or roles.along in span or len(dims) == 1,
    )


def _in_order(found: Arrangement) -> tuple[list[list[str]], Floats]:
    """Return names of rows and columns and the figures of the layer, rows as they are sorted."""
    names, values = [*found.names.rows, *found.names.columns], found.figures[found.front]
    if len(found.dims.rows) == 1:
        order = [place[0] for place in found.rows]
        values = values[order]
        names[0] = [names[0][i] for i in order]
    return names, values


def _titled(title: str, found: Arrangement, options: Options, t: Texts) -> str:
    """Return the title with the layer that is shown and what figures are per cent of."""
    said = [found.said_layer(found.front, t)] if found.dims.layers else []
    said += [] if options.show == "count" else [t(f"table.{options.show}")]
    return f"{title} ({', '.join(said)})" if said else title


def _roles(variables: list[str], sizes: list[int]) -> _Roles:
    """Return what each dimension does: two-sided first, then the ages, then what is stacked."""
    binary = next((i for i, n in enumerate(sizes) if n == 2), None)
    ages = next((i for i, v in enumerate(variables) if v == "age" or v.startswith("age_")), None)
    along = ages if ages is not None else 0
    sides = binary if ages is not None and binary != along else None
    free = [i for i in range(len(sizes)) if i not in (along, sides)]
    stacked = next((i for i in free if sizes[i] <= MOST_SERIES), free[0] if free else None)
    if sides is not None and stacked is not None and sizes[stacked] > MOST_SERIES:
        stacked = None
    return _Roles(along, sides, stacked)


def _part(
    values: Floats, dims: tuple[Dimension, ...], ends: list[int], roles: _Roles
) -> Floats | None:
    """Return values as sides × series × categories, with totals but of the categories."""
    index: list[int | slice] = []
    for i, d in enumerate(dims):
        if i == roles.along:
            index.append(slice(0, ends[i]))
        elif i in roles.used:
            index.append(slice(None))  # with its total, which is not the sum of its parts
        elif d.codes[-1] == TOTAL:
            index.append(-1)
        else:
            return None
    left = [i for i in range(len(dims)) if i in roles.used]
    part = values[tuple(index)].transpose([left.index(i) for i in roles.used])
    if roles.stacked is None:
        part = np.expand_dims(part, -2)
    return part if roles.sides is not None else part[None]


def _named(names: list[list[str]], ends: list[int], which: int | None) -> tuple[str, ...]:
    return () if which is None else tuple(names[which][: ends[which]])


def unit_word(unit: str, t: Texts) -> str:
    """Return the unit that is counted as this language says it."""
    return t(f"units.{unit}") if t.has(f"units.{unit}") else unit.capitalize()


def charts(found: Data | None, t: Texts) -> list[Chart]:
    """Return the kinds that suit the data, the best first."""
    if found is None:
        return []
    kinds = []
    _, series, categories = found.values.shape
    bars = categories <= MOST_BARS
    if found.sides and (found.adds or not found.series):
        kinds.append("pyramid")
    if found.series and series <= MOST_SERIES and bars and not found.sides and found.adds:
        kinds.append("stacked")
    if not found.series and not found.sides and bars:
        kinds.append("bars")
    if found.sides and bars and not found.series and found.adds:
        kinds.append("stacked")
    flat = found.by_series is not None if found.series else bool(found.sides)
    if flat and categories <= 3 * MOST_HEAT and series <= MOST_HEAT:
        kinds.append("heat")
    if "bars" not in kinds and bars and found.by_category is not None and found.tells:
        kinds.append("bars")
    return [Chart(kind, t(f"chart.{kind}")) for kind in kinds]


def drawn(found: Data, kind: str, width: float, t: Texts) -> Svg:
    """Return a chart at a width."""
    values = found.values
    series, sides = found.series, found.sides
    if sides and kind in ("stacked", "heat") and not series:
        values, series = values.transpose(1, 0, 2), sides
    elif kind == "heat" and found.by_series is not None:
        values = found.by_series[None]
    if kind == "pyramid":
        return draw.pyramid(found, width, t)
    if kind == "heat":
        return draw.heat(found, series, values[0], width, t)
    if kind == "bars":
        whole = values[0, 0] if found.by_category is None else found.by_category
        return draw.bars(found, (), whole[None], width, t)
    return draw.bars(found, series, values[0], width, t)


def standalone(found: Data, kind: str, source: str, t: Texts) -> str:
    """Return a chart as a file: with its title, source and colours."""
    return draw.framed(drawn(found, kind, WIDTHS[0], t), found, kind, source)
