"""The drawings: bars and stacked bars, the pyramid, the heat map."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.page.charts.svg import Svg, shorten, ticks, wrapped
from discreet.page.texts import Texts
from discreet.types import Floats

if TYPE_CHECKING:
    from discreet.page.charts.choose import Data

Names = tuple[str, ...]
STEPS = 6
STYLE = (
    "svg{background:#fff}text{font:15px 'Noto Sans','DejaVu Sans',Arial,sans-serif;fill:#14211f}"
    ".mid{text-anchor:middle}.end{text-anchor:end}.soft{fill:#455451}.bold{font-weight:700}"
    ".title{font:24px 'Noto Serif','DejaVu Serif',serif}.grid{stroke:#c5cfcd}.axis{stroke:#14211f}"
    ".s1{fill:#00586a}.s2{fill:#b4501a}.s3{fill:#a07500}.s4{fill:#4b8ba0}.s5{fill:#76827f}"
    ".h0{fill:#f0f4f3}.h1{fill:#cfe3e6}.h2{fill:#9fc7ce}.h3{fill:#66a3ae}.h4{fill:#2c7a89}"
    ".h5{fill:#00485a}.small{font-size:13px}"
)


def _row_height(names: Names, width: float) -> tuple[float, float, int]:
    """Return the height of a line, of its bar, and how many lines share a label."""
    if len(names) <= 30:
        lines = max(len(wrapped(name, width)) for name in names)
        step = 38 if len(names) <= 12 else 26
        return max(step, 18 * lines + 6), 28 if len(names) <= 12 else 19, 1
    return (9, 7, 5) if len(names) > 60 else (18, 13, 1)


def _name(svg: Svg, x: float, y: float, step: float, name: str, width: float, kind: str) -> None:
    """Write the name of a line in the middle of its height, broken where there is room."""
    lines = wrapped(name, width) if step > 18 else [shorten(name, width)]
    top = y + step / 2 + 5 - 9 * (len(lines) - 1)
    for i, line in enumerate(lines):
        svg.text(x, top + 18 * i, line, kind)


def _said(found: Data, parts: list[str], value: float, t: Texts) -> str:
    return f"{', '.join(p for p in parts if p)}: {found.said(value, t)}"


def _tick(found: Data, tick: int, t: Texts) -> str:
    return t.percent(tick / 100, 0) if found.percent else t.number(tick)


def _ticks(found: Data, lengths: Floats, most: int) -> tuple[list[int], float]:
    """Return the ticks of an axis, and the number up to which it has room.

    An axis of percentages ends at 100: parts whose total was changed on its own may run beyond.
    """
    largest = float(lengths.max())
    axis = ticks(min(largest, 100) if found.percent else largest, most)
    return axis, max(axis[-1], largest)


def bars(found: Data, series: Names, values: Floats, width: float, t: Texts) -> Svg:
    """Return horizontal bars, stacked where there are series (values: series × categories)."""
    margin = _margin(found, 16, width * (0.42 if width < 500 else 0.3))
    step, thick, every = _row_height(found.categories, margin - 12)
    top, right = 8, 36
    axis, reach = _ticks(found, np.nansum(values, axis=0), 3 if width < 500 else 6)
    scale = (width - margin - right) / reach
    bottom = top + step * len(found.categories)
    svg = Svg(width, bottom + 34, found.title, "chart")
    _axis(svg, found, axis, margin, scale, top, bottom, t)
    for i, name in enumerate(found.categories):
        y = top + i * step
        if i % every == 0:
            _name(svg, margin - 10, y, step, name, margin - 12, "end")
        labels = [[name, series[s] if series else ""] for s in range(len(values))]
        kinds = [f"s{s % 5 + 1}" for s in range(len(values))]
        at = margin, y + (step - thick) / 2, thick
        _stack(svg, found, values[:, i], scale, at, labels, kinds, t)
    svg.line(margin, top, margin, bottom, "axis")
    return svg


def _margin(found: Data, room: float, most: float) -> float:
    """Return the width that the names of the categories take."""
    return min(max(len(name) for name in found.categories) * 7.6 + room, most)


def _axis(
    svg: Svg,
    found: Data,
    axis: list[int],
    base: float,
    scale: float,
    top: float,
    bottom: float,
    t: Texts,
) -> None:
    """Draw the lines of the ticks and what they stand for; a negative scale runs to the left."""
    for tick in axis:
        x = base + tick * scale
        svg.line(x, top, x, bottom, "grid")
        svg.text(x, bottom + 22, _tick(found, tick, t), "mid soft")


def _stack(
    svg: Svg,
    found: Data,
    values: Floats,
    scale: float,
    at: tuple[float, float, float],
    labels: list[list[str]],
    kinds: list[str],
    t: Texts,
) -> None:
    """Draw the parts of a bar one after the other; a negative scale runs to the left."""
    x, y, thick = at
    for s, value in enumerate(values.tolist()):
        if np.isnan(value):
            continue
        length = value * abs(scale)
        # Less a hair, so that stacked parts are told apart without colour.
        shown = length - 1.5 if s < len(values) - 1 and length > 3 else length
        left = x - shown if scale < 0 else x
        svg.rect(left, y, shown, thick, kinds[s], _said(found, labels[s], value, t))
        x += value * scale


def pyramid(found: Data, width: float, t: Texts) -> Svg:
    """Return a pyramid: the first side to the left, the oldest at the top."""
    values, series = found.values, found.series
    middle = _margin(found, 24, width * 0.34)
    step, thick, every = _row_height(found.categories, middle - 8)
    half = (width - middle) / 2 - 44
    top = 30
    # A number of six digits takes 60 pixels beside the next one.
    axis, reach = _ticks(found, np.nansum(values, axis=1), max(1, min(5, int(half // 60))))
    bases, scales = (44 + half, 44 + half + middle), (-half / reach, half / reach)
    bottom = top + step * len(found.categories)
    svg = Svg(width, bottom + 34, found.title, "chart pyramid")
    for base, scale, name, kind in zip(
        bases, scales, found.sides, ("end bold", "bold"), strict=True
    ):
        svg.text(base, 18, name, kind)
        _axis(svg, found, axis, base, scale, top, bottom, t)
    for i, name in enumerate(found.categories):
        y = bottom - (i + 1) * step
        if i % every == 0:
            _name(svg, sum(bases) / 2, y, step, name, middle - 8, "mid")
        for side, (base, scale) in enumerate(zip(bases, scales, strict=True)):
            many = range(values.shape[1])
            labels = [[found.sides[side], name, series[s] if series else ""] for s in many]
            kinds = [f"s{(s if series else side * 3) % 5 + 1}" for s in many]
            at = base, y + (step - thick) / 2, thick
            _stack(svg, found, values[side, :, i], scale, at, labels, kinds, t)
    for base in bases:
        svg.line(base, top, base, bottom, "axis")
    return svg


def heat(found: Data, series: Names, values: Floats, width: float, t: Texts) -> Svg:
    """Return a heat map with a scale for each column, and a key (values: series × categories).

    Columns differ in size far more than the cells of one: a common scale would leave most empty.
    """
    margin = _margin(found, 16, width * 0.34)
    step, _, every = _row_height(found.categories, margin - 12)
    step = min(step, 9) if len(found.categories) > 60 else max(min(step, 44), 18)
    cell, angle, top = _heads(series, width - margin - 8)
    bottom = top + step * len(found.categories)
    svg = Svg(width, bottom + 78, found.title, "chart heat")
    steps = _steps(values)
    for s, name in enumerate(series):
        _head(svg, margin + s * cell + cell / 2, top, angle, name)
    for i, name in enumerate(found.categories):
        y = top + i * step
        if i % every == 0:
            _name(svg, margin - 10, y, step, name, margin - 12, "end")
        for s in np.flatnonzero(~np.isnan(values[:, i])).tolist():
            said = _said(found, [name, series[s]], float(values[s, i]), t)
            x = margin + s * cell + 1
            svg.rect(x, y + 1, cell - 2, step - 2, f"h{steps[s, i]}", said)
    _key(svg, bottom, t)
    return svg


def _head(svg: Svg, x: float, top: float, angle: int, name: str) -> None:
    """Write the head of a column, turned where it has to be."""
    if not angle:
        svg.text(x, top - 10, name, "mid")
        return
    turn = f'transform="rotate(-{angle} {x:.1f} {top - 8:.1f})"'
    short = escape(shorten(name, 260))
    svg.parts.append(f'<text x="{x:.1f}" y="{top - 8:.1f}" {turn} class="small">{short}</text>')


def _heads(names: Names, width: float) -> tuple[float, int, float]:
    """Return the width of a column, by how much its head is turned, and the height of heads."""
    cell = min(width / max(len(names), 1), 120)
    longest = max((len(name) for name in names), default=1)
    if longest * 8 <= cell:
        return cell, 0, 28
    # A slanted head runs over the columns to its right; the last ones must not leave the picture.
    slanted = min((width - 4.6 * len(name)) / (i + 0.5) for i, name in enumerate(names))
    if min(slanted, cell) >= 22:
        return min(slanted, cell), 48, min(longest * 5.4 + 20, 190)
    return cell, 90, min(longest * 6.8 + 16, 240)


def _steps(values: Floats) -> NDArray[np.int64]:
    """Return 0 for nothing, and 1 to 5 for each fifth of the largest of the series."""
    largest = np.maximum(np.nan_to_num(values).max(axis=1, keepdims=True), 1e-9)
    found = np.ceil((STEPS - 1) * np.nan_to_num(values) / largest)
    return np.asarray(np.clip(found, 0, STEPS - 1), np.int64)


def _key(svg: Svg, bottom: float, t: Texts) -> None:
    """Say what the steps of a heat map stand for."""
    side = min(96, (svg.width - 24) / STEPS)
    svg.text(12, bottom + 24, t("chart.scale" if svg.width > 500 else "chart.scale_short"), "small")
    for i in range(STEPS):
        svg.rect(12 + i * side, bottom + 36, side - 3, 12, f"h{i}")
        said = f"≤ {t.percent(i / (STEPS - 1), 0)}" if i else t.number(0)
        svg.text(12 + i * side, bottom + 66, said, "small soft")


def legend_needed(found: Data, kind: str) -> Names:
    """Return the names that colours stand for in a chart."""
    if kind in ("heat", "bars"):
        return ()
    if kind == "stacked" and not found.series:
        return found.sides
    return found.series


def framed(svg: Svg, found: Data, kind: str, source: str) -> str:
    """Return a chart as a file of its own, with title, legend and source."""
    names = legend_needed(found, kind)
    title, said = wrapped(found.title, svg.width, 23, 4), wrapped(source, svg.width, 13, 8)
    head = 28 + 30 * len(title) + (30 if names else 0)
    foot = svg.height + head + 40
    outer = Svg(svg.width + 48, foot + 20 * len(said), found.title, svg.kind)
    for i, line in enumerate(title):
        outer.text(24, 36 + 30 * i, line, "title")
    x = 24.0
    for i, name in enumerate(names):
        outer.rect(x, head - 28, 14, 14, f"s{i % 5 + 1}")
        outer.text(x + 20, head - 15, name)
        x += 20 + 8.2 * len(name) + 28
    outer.parts.append(f'<g transform="translate(24 {head + 4})">{"".join(svg.parts)}</g>')
    for i, line in enumerate(said):
        outer.text(24, foot + 20 * i, line, "small soft")
    return outer.text_of(STYLE)
