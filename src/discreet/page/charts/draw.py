"""The drawings: bars and stacked bars, the pyramid, the heat map."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.page.charts.svg import Svg, shorten, ticks
from discreet.page.texts import Texts

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


def _row_height(categories: int) -> tuple[float, float, int]:
    """Return the height of a line, of its bar, and how many lines share a label."""
    if categories <= 12:
        return 38, 28, 1
    if categories <= 30:
        return 26, 19, 1
    return (9, 7, 5) if categories > 60 else (18, 13, 1)


def _said(found: Data, parts: list[str], value: int, t: Texts) -> str:
    return f"{', '.join(p for p in parts if p)}: {t.number(value)}"


def bars(
    categories: Names, series: Names, values: NDArray[np.int64], found: Data, width: float, t: Texts
) -> Svg:
    """Return horizontal bars, stacked where there are series (values: series × categories)."""
    step, thick, every = _row_height(len(categories))
    margin = min(
        max(len(name) for name in categories) * 7.6 + 16, width * (0.42 if width < 500 else 0.3)
    )
    top, right = 8, 36
    axis = ticks(float(values.sum(axis=0).max()), 3 if width < 500 else 6)
    scale = (width - margin - right) / axis[-1]
    bottom = top + step * len(categories)
    svg = Svg(width, bottom + 34, found.title, "chart")
    for tick in axis:
        svg.line(margin + tick * scale, top, margin + tick * scale, bottom, "grid")
        label = t.number(tick)
        svg.text(margin + tick * scale, bottom + 22, label, "mid soft")
    for i, name in enumerate(categories):
        y, x = top + i * step, margin
        if i % every == 0:
            svg.text(margin - 10, y + step / 2 + 5, shorten(name, margin - 12), "end")
        for s in range(len(values)):
            value = int(values[s, i])
            length = value * scale
            label = _said(found, [name, series[s] if series else ""], value, t)
            svg.rect(
                x,
                y + (step - thick) / 2,
                _gapped(length, s, len(values)),
                thick,
                f"s{s % 5 + 1}",
                label,
            )
            x += length
    svg.line(margin, top, margin, bottom, "axis")
    return svg


def _gapped(length: float, at: int, of: int) -> float:
    """Return a length less a hair, so that stacked parts are told apart without colour."""
    return length - 1.5 if at < of - 1 and length > 3 else length


def pyramid(
    categories: Names,
    series: Names,
    sides: Names,
    values: NDArray[np.int64],
    found: Data,
    width: float,
    t: Texts,
) -> Svg:
    """Return a pyramid: the first side to the left, the oldest at the top."""
    step, thick, every = _row_height(len(categories))
    middle = min(max(len(name) for name in categories) * 7.6 + 24, width * 0.34)
    half = (width - middle) / 2 - 44
    top = 30
    axis = ticks(float(values.sum(axis=1).max()), 2 if width < 500 else 3 if width < 800 else 5)
    scale = half / axis[-1]
    left, right = 44 + half, 44 + half + middle
    bottom = top + step * len(categories)
    svg = Svg(width, bottom + 34, found.title, "chart pyramid")
    svg.text(left, 18, sides[0], "end bold")
    svg.text(right, 18, sides[1], "bold")
    for tick in axis:
        for base, sign in ((left, -1), (right, 1)):
            x = base + sign * tick * scale
            svg.line(x, top, x, bottom, "grid")
            svg.text(x, bottom + 22, t.number(tick), "mid soft")
    for i, name in enumerate(categories):
        y = bottom - (i + 1) * step
        if i % every == 0:
            svg.text((left + right) / 2, y + step / 2 + 5, shorten(name, middle - 8), "mid")
        for side, (base, sign) in enumerate(((left, -1), (right, 1))):
            x = base
            for s in range(values.shape[1]):
                value = int(values[side, s, i])
                length = value * scale
                label = _said(found, [sides[side], name, series[s] if series else ""], value, t)
                kind = f"s{(s if series else side * 3) % 5 + 1}"
                shown = _gapped(length, s, values.shape[1])
                svg.rect(
                    x - shown if sign < 0 else x, y + (step - thick) / 2, shown, thick, kind, label
                )
                x += sign * length
    svg.line(left, top, left, bottom, "axis")
    svg.line(right, top, right, bottom, "axis")
    return svg


def heat(
    categories: Names, series: Names, values: NDArray[np.int64], found: Data, width: float, t: Texts
) -> Svg:
    """Return a heat map in six steps by rank of value, with a key (values: series × categories)."""
    margin = min(max(len(name) for name in categories) * 7.6 + 16, width * 0.34)
    step = 26 if len(categories) <= 60 else 9
    every = 1 if step > 15 else 5
    cell = min((width - margin - 8) / max(len(series), 1), 120)
    longest = max((len(name) for name in series), default=1)
    slanted = longest * 8 > cell
    top = min(longest * 5.4 + 20, 150) if slanted else 28
    bottom = top + step * len(categories)
    svg = Svg(width, bottom + 56, found.title, "chart heat")
    edges = _edges(values)
    for s, name in enumerate(series):
        x = margin + s * cell + cell / 2
        if slanted:
            turn = f'transform="rotate(-48 {x:.1f} {top - 8:.1f})"'
            short = escape(shorten(name, 190))
            svg.parts.append(
                f'<text x="{x:.1f}" y="{top - 8:.1f}" {turn} class="small">{short}</text>'
            )
        else:
            svg.text(x, top - 10, name, "mid")
    for i, name in enumerate(categories):
        y = top + i * step
        if i % every == 0:
            svg.text(margin - 10, y + step / 2 + 5, shorten(name, margin - 12), "end")
        for s, label in enumerate(series):
            value = int(values[s, i])
            kind = f"h{int(np.searchsorted(edges, value, side='right'))}"
            svg.rect(
                margin + s * cell + 1, y + 1, cell - 2, step - 2, kind,
                _said(found, [name, label], value, t),
            )  # fmt: skip
    side = min(96, (width - 24) / STEPS)
    for i in range(STEPS):
        low = 0 if i == 0 else int(edges[i - 1])
        svg.rect(12 + i * side, bottom + 16, side - 3, 12, f"h{i}")
        svg.text(
            12 + i * side,
            bottom + 46,
            t.number(low) + ("+" if i == STEPS - 1 else ""),
            "small soft",
        )
    return svg


def _edges(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the steps begin: round numbers, evenly between 0 and the largest."""
    top = max(int(values.max()), STEPS)
    raw = np.array([top * i / STEPS for i in range(1, STEPS)])
    digits = max(len(str(top)) - 2, 0)
    rounded = (np.round(raw / 10**digits) * 10**digits).astype(np.int64)
    return np.asarray(np.maximum(rounded, np.arange(1, STEPS)), np.int64)


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
    head = 56 + (30 if names else 0)
    outer = Svg(svg.width + 48, svg.height + head + 60, found.title, svg.kind)
    outer.text(24, 36, shorten(found.title, svg.width, 23), "title")
    x = 24.0
    for i, name in enumerate(names):
        outer.rect(x, 56, 14, 14, f"s{i % 5 + 1}")
        outer.text(x + 20, 69, name)
        x += 20 + 8.2 * len(name) + 28
    outer.parts.append(f'<g transform="translate(24 {head + 4})">{"".join(svg.parts)}</g>')
    outer.text(24, svg.height + head + 40, shorten(source, svg.width, 13), "small soft")
    return outer.text_of(STYLE)
