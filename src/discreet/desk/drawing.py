"""Charts of the desk as SVG, from as much of Vega-Lite as they are made of.

Marks are points, bars, rectangles and texts; an axis has categories, numbers or their logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

FONT = "Noto Sans, DejaVu Sans, Arial, sans-serif"
INK, SOFT, RULE = "#14211f", "#455451", "#c5cfcd"
LETTER = 6.6
STEP, LINE = 20, 16


@dataclass(frozen=True)
class Scale:
    """Where values lie along an axis: categories, numbers, or their logarithms."""

    encoding: dict[str, Any]
    values: list[Any]
    length: float

    @classmethod
    def of(cls, encoding: dict[str, Any], values: list[Any], size: Any) -> Scale:
        """Return the scale of all values of a field; a size may be given for each category."""
        known = list(dict.fromkeys(values))
        if isinstance(size, dict):
            return cls(encoding, known, size["step"] * max(len(known), 1))
        if encoding["type"] == "quantitative":
            known = [float(value) for value in known if value is not None]
        return cls(encoding, known, float(size))

    @property
    def discrete(self) -> bool:
        """Whether the axis has categories."""
        return bool(self.encoding["type"] != "quantitative")

    @property
    def step(self) -> float:
        """The width of a category."""
        return self.length / max(len(self.values), 1)

    @property
    def logarithmic(self) -> bool:
        """Whether numbers are on the scale of their logarithms."""
        return bool(self.encoding.get("scale", {}).get("type") == "log")

    @property
    def ticks(self) -> list[float]:
        """Round numbers that hold all values."""
        low, high = min(self.values, default=0.0), max(self.values, default=1.0)
        if self.logarithmic:
            return [10.0**power for power in range(floor(log10(low)), ceil(log10(high)) + 1)]
        low, high = min(low, 0.0), max(high, 0.0)
        wide = high - low or 1.0
        power = 10.0 ** floor(log10(wide / 5))
        step = next(power * head for head in (1, 2, 5, 10) if wide <= 6 * power * head)
        step = max(step, self.encoding.get("axis", {}).get("tickMinStep", 0))
        return [round(step * i, 10) for i in range(floor(low / step), ceil(high / step) + 1)]

    def at(self, value: Any) -> float:
        """Return the place of a value: the middle of a category."""
        if self.discrete:
            return (self.values.index(value) + 0.5) * self.step
        first, last = self.ticks[0], self.ticks[-1]
        if self.logarithmic:
            first, last, value = log10(first), log10(last), log10(value)
        return float(self.length * (value - first) / (last - first or 1))

    @property
    def labels(self) -> list[tuple[float, str]]:
        """The places of the ticks and what stands there."""
        if self.discrete:
            return [(self.at(value), str(value)) for value in self.values]
        return [(self.at(tick), f"{tick:,g}".replace("-", "−")) for tick in self.ticks]


@dataclass(frozen=True)
class Plot:
    """The area of a chart: scales, and how much room there is beside it."""

    x: Scale
    y: Scale
    left: float
    top: float

    def place(self, row: dict[str, Any], x: str, y: str) -> tuple[float, float]:
        """Return where a row of data lies; numbers run upwards, categories downwards."""
        up = self.y.at(row[y])
        up = up if self.y.discrete else self.y.length - up
        return self.left + self.x.at(row[x]), self.top + up


def draw(spec: dict[str, Any]) -> str:
    """Return a chart as SVG."""
    rows, encoding = spec["data"]["values"], spec["encoding"]
    layers = spec.get("layer", [{"mark": spec.get("mark")}])
    fields = {c: _fields(c, encoding, layers) for c in "xy"}
    found = {c: [row[f] for f in fields[c] for row in rows] for c in "xy"}
    x = Scale.of(encoding["x"], found["x"], spec["width"])
    y = Scale.of(encoding["y"], found["y"], spec["height"])
    at_top = encoding["x"].get("axis", {}).get("orient") == "top"
    names = max((len(text) for _, text in y.labels), default=0)
    plot = Plot(x, y, min(names, 45) * LETTER + 44, 40 + (44 if at_top else 8))
    parts = _axes(plot, at_top)
    for layer in layers:
        parts += _marks(plot, layer, encoding, rows)
    legend, used = _legend(plot, _colours(encoding, layers))
    width = plot.left + x.length + 24 + used
    height = plot.top + y.length + (16 if at_top else 52)
    title = escape(spec["title"]["text"])
    width = max(width, 24 + 1.35 * LETTER * len(title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="{FONT}" font-size="12" '
        f'fill="{INK}"><title>{title}</title><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="12" y="24" font-size="15" font-weight="700">{title}</text>'
        f"{''.join(parts)}{legend}</svg>"
    )


def _fields(channel: str, encoding: dict[str, Any], layers: Sequence[dict[str, Any]]) -> list[str]:
    """Return the fields that an axis shows, of all layers."""
    said = [encoding, *(layer.get("encoding", {}) for layer in layers)]
    names = [part[c]["field"] for part in said for c in (channel, f"{channel}2") if c in part]
    return list(dict.fromkeys(names))


def _colours(encoding: dict[str, Any], layers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    said = [encoding, *(layer.get("encoding", {}) for layer in layers)]
    return next((part["color"] for part in said if "color" in part), {})


def _text(x: float, y: float, text: str, anchor: str = "middle", **more: Any) -> str:
    said = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    short = escape(text if len(text) <= 45 else text[:44] + "…")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{said}>{short}</text>'


def _axes(plot: Plot, at_top: bool) -> list[str]:
    parts = []
    right, bottom = plot.left + plot.x.length, plot.top + plot.y.length
    line = plot.top - 8 if at_top else bottom + 18
    for at, text in _apart(plot.x):
        x = plot.left + at
        parts.append(_text(x, line, text, fill=SOFT))
        if not plot.x.discrete:
            parts.append(f'<path d="M{x:.1f} {plot.top}V{bottom}" stroke="{RULE}"/>')
    for at, text in plot.y.labels:
        y = plot.top + (at if plot.y.discrete else plot.y.length - at)
        parts.append(_text(plot.left - 8, y + 4, text, "end", fill=SOFT))
        if not plot.y.discrete:
            parts.append(f'<path d="M{plot.left} {y:.1f}H{right:.1f}" stroke="{RULE}"/>')
    title = plot.top - 28 if at_top else bottom + 38
    parts.append(_text((plot.left + right) / 2, title, plot.x.encoding["title"]))
    y = (plot.top + bottom) / 2
    turn = f"rotate(-90 16 {y:.1f})"
    parts.append(_text(16, y, plot.y.encoding["title"], transform=turn))
    return parts


def _apart(scale: Scale) -> list[tuple[float, str]]:
    """Return the labels of the axis across, fewer where they would touch."""
    labels = scale.labels
    longest = max((len(text) for _, text in labels), default=0)
    gap = min((b - a for (a, _), (b, _) in pairwise(labels)), default=scale.length)
    every = ceil((longest * LETTER + 8) / gap) if gap and not scale.discrete else 1
    return labels[::every]


def _marks(
    plot: Plot, layer: dict[str, Any], common: dict[str, Any], rows: Sequence[dict[str, Any]]
) -> list[str]:
    """Return the shapes of a layer."""
    mark = layer["mark"] if isinstance(layer["mark"], dict) else {"type": layer["mark"]}
    encoding = {**common, **layer.get("encoding", {})}
    fields = encoding["x"]["field"], encoding["y"]["field"]
    parts = []
    for row in rows:
        x, y = plot.place(row, *fields)
        fill = _fill(encoding, mark, row)
        look = f'fill="{fill}" opacity="{mark.get("opacity", 1)}"'
        if mark["type"] == "point":
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {look}/>')
        elif mark["type"] == "rect":
            w, h = plot.x.step, plot.y.step
            parts.append(_rect(x - w / 2, y - h / 2, w, h, f'{look} stroke="#fff"'))
        elif mark["type"] == "text" and row[encoding["text"]["field"]] is not None:
            parts.append(_text(x, y + 4, f"{row[encoding['text']['field']]:,.12g}"))
        elif mark["type"] == "bar" and "x2" in encoding:
            end = plot.left + plot.x.at(row[encoding["x2"]["field"]])
            parts.append(_rect(x, y - mark["height"] / 2, end - x, mark["height"], look))
        elif mark["type"] == "bar":
            w, base = 0.8 * plot.x.step, plot.top + plot.y.length - plot.y.at(0)
            parts.append(_rect(x - w / 2, y, w, base - y, look))
    return parts


def _fill(encoding: dict[str, Any], mark: dict[str, Any], row: dict[str, Any]) -> str:
    if "color" not in encoding:
        return str(mark.get("color", INK))
    scale = encoding["color"]["scale"]
    return str(scale["range"][scale["domain"].index(row[encoding["color"]["field"]])])


def _rect(x: float, y: float, width: float, height: float, look: str) -> str:
    size = f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} {look}/>'


def _legend(plot: Plot, colours: dict[str, Any]) -> tuple[str, float]:
    """Return what the colours stand for, and how wide that is."""
    if not colours:
        return "", 0.0
    x, y = plot.left + plot.x.length + 20, plot.top + 10.0
    parts = [_text(x, y, colours["title"], "start")] if colours["title"] else []
    y += LINE if parts else 0
    names = colours["scale"]["domain"]
    for name, colour in zip(names, colours["scale"]["range"], strict=True):
        parts.append(_rect(x, y - 10, 12, 12, f'fill="{colour}"'))
        parts.append(_text(x + 18, y, name, "start"))
        y += STEP
    return "".join(parts), 30 + LETTER * max(len(name) for name in [*names, colours["title"]])
