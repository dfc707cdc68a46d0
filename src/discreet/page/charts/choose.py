"""Which charts a table can have, and the numbers they show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.page.charts import draw
from discreet.page.charts.svg import Svg
from discreet.page.grid import Options, layer_places
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.release import Release
from discreet.table import TOTAL

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
    """What a chart shows: values by category, series and, for a pyramid, side."""

    title: str
    unit: str
    categories: tuple[str, ...]
    series: tuple[str, ...]
    sides: tuple[str, ...]
    values: NDArray[np.int64]  # sides × series × categories
    by_series: NDArray[np.int64] | None  # series × categories: the published totals of the sides
    by_category: NDArray[np.int64] | None  # the published totals of sides and series


def data(release: Release, state: State, options: Options, title: str, t: Texts) -> Data | None:
    """Return what can be drawn: two variables, or three of which one has two categories.

    Other variables stand at their totals; where there are none, nothing is drawn.
    """
    table = release.table
    dims, values, gone = table.dimensions, table.values, table.withheld
    order = [d.variable for d in dims]
    layers = len(state.layers)
    if layers:
        front = _front(release, state, options)
        values, gone = values[front], gone[front]
        dims, order = dims[layers:], order[layers:]
    inner = [len(d.codes) - (d.codes[-1] == TOTAL) for d in dims]
    # Two-sided first, then the longest along the axis, then what is stacked.
    binary = next((i for i, n in enumerate(inner) if n == 2), None)
    ages = next((i for i, v in enumerate(order) if v == "age" or v.startswith("age_")), None)
    rows = [i for i in range(len(dims)) if i < len(state.rows)]
    along = ages if ages is not None else (rows[0] if rows else 0)
    pyramid = ages is not None and binary is not None and binary != along
    free = [i for i in range(len(dims)) if i != along and not (pyramid and i == binary)]
    stacked = next((i for i in free if inner[i] <= MOST_SERIES), free[0] if free else None)
    if pyramid and stacked is not None and inner[stacked] > MOST_SERIES:
        stacked = None
    used = [i for i in ((binary if pyramid else None), stacked, along) if i is not None]
    index: list[int | slice] = []
    for i, d in enumerate(dims):
        if i == along:
            index.append(slice(0, inner[i]))
        elif i in used:
            index.append(slice(None))  # with its total, which is not the sum of its parts
        elif d.codes[-1] == TOTAL:
            index.append(len(d.codes) - 1)
        else:
            return None
    part, missing = values[tuple(index)], gone[tuple(index)]
    left = [i for i in range(len(dims)) if i in used]
    part = part.transpose([left.index(i) for i in used])
    missing = missing.transpose([left.index(i) for i in used])
    there = ~np.asarray(missing.all(axis=tuple(range(missing.ndim - 1))))
    there = there if missing.ndim > 1 else ~missing
    part = part[..., there]
    names = [dims[i].labels[: inner[i]] for i in used]
    series = tuple(names[-2]) if stacked is not None else ()
    sides = tuple(names[0]) if pyramid else ()
    categories = tuple(n for n, keep in zip(names[-1], there, strict=True) if keep)
    if not categories:
        return None
    if stacked is None:
        part = np.expand_dims(part, -2)
    if not pyramid:
        part = part[None]
    by_series = by_category = None
    # One more than there are names: the published total is the last.
    if part.shape[0] > len(sides):
        by_series = part[-1, : max(len(series), 1)]
        if part.shape[1] > len(series):
            by_category = part[-1, -1]
    return Data(
        title,
        t.inside(unit_word(release.provenance.unit, t)),
        categories,
        series,
        sides,
        part[: max(len(sides), 1), : max(len(series), 1)],
        by_series,
        by_category,
    )


def unit_word(unit: str, t: Texts) -> str:
    """Return the unit that is counted as this language says it."""
    return t(f"units.{unit}") if t.has(f"units.{unit}") else unit.capitalize()


def _front(release: Release, state: State, options: Options) -> tuple[int, ...]:
    places = layer_places(release, len(state.layers))
    return places[min(options.layer, len(places) - 1)]


def charts(found: Data | None, t: Texts) -> list[Chart]:
    """Return the kinds that suit the data, the best first."""
    if found is None:
        return []
    kinds = []
    _, series, categories = found.values.shape
    if found.sides:
        kinds.append("pyramid")
    if found.series and series <= MOST_SERIES and categories <= MOST_BARS and not found.sides:
        kinds.append("stacked")
    if not found.series and not found.sides and categories <= MOST_BARS:
        kinds.append("bars")
    if found.sides and categories <= MOST_BARS and not found.series:
        kinds.append("stacked")
    flat = found.by_series is not None if found.series else bool(found.sides)
    if flat and categories <= 3 * MOST_HEAT and series <= MOST_HEAT:
        kinds.append("heat")
    if "bars" not in kinds and categories <= MOST_BARS and found.by_category is not None:
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
        return draw.pyramid(found.categories, series, sides, values, found, width, t)
    if kind == "heat":
        return draw.heat(found.categories, series, values[0], found, width, t)
    if kind == "bars":
        whole = values[0, 0] if found.by_category is None else found.by_category
        return draw.bars(found.categories, (), whole[None], found, width, t)
    return draw.bars(found.categories, series, values[0], found, width, t)


def standalone(found: Data, kind: str, source: str, t: Texts) -> str:
    """Return a chart as a file: with its title, source and colours."""
    return draw.framed(drawn(found, kind, WIDTHS[0], t), found, kind, source)
