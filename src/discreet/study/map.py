"""The risk-utility map as SVG: a facet for each table, error bars, the frontier, the limit.

Marks differ by shape and colour; they are filled on the frontier and hollow where another setting
is safer and closer. The settings of a method are joined. Labels stand beside the marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, hypot, log10
from typing import TYPE_CHECKING

from discreet.study.measures import MEASURES
from discreet.study.words import limit_text, short, titled

if TYPE_CHECKING:
    from discreet.study.results import Point, Results

INK, SOFT, RULE, NO, PAPER = "#14211f", "#455451", "#c5cfcd", "#a1232a", "#ffffff"
COLOURS = ("#00586a", "#b4501a", "#a07500", "#4b8ba0", "#76827f")
FONT = "Segoe UI, -apple-system, Roboto, Noto Sans, DejaVu Sans Condensed, sans-serif"
SHAPES = (
    "M-4.2 0A4.2 4.2 0 1 0 4.2 0A4.2 4.2 0 1 0 -4.2 0Z",  # circle
    "M-3.8 -3.8H3.8V3.8H-3.8Z",  # square
    "M0 -4.8L4.6 3.4H-4.6Z",  # triangle up
    "M0 -5L5 0L0 5L-5 0Z",  # diamond
    "M0 4.8L4.6 -3.4H-4.6Z",  # triangle down
    "M-1.6 -4.6H1.6V-1.6H4.6V1.6H1.6V4.6H-1.6V1.6H-4.6V-1.6H-1.6Z",  # cross
    "M-2.4 -4.3H2.4L4.9 0L2.4 4.3H-2.4L-4.9 0Z",  # hexagon
    "M0 -5.2L1.4 -1.7L5 -1.6L2.2 .7L3.2 4.3L0 2.2L-3.2 4.3L-2.2 .7L-5 -1.6L-1.4 -1.7Z",  # star
)
WIDE, HIGH = 318, 170
At = tuple[float, float]
Box = tuple[float, float, float, float]
ALONE = (730, 360)
GAP_X, GAP_Y, LEFT, TOP, BELOW = 48, 62, 34, 42, 26
LETTER = 6.2
LINE = 12


@dataclass(frozen=True)
class Scale:
    """The axes that all facets share: from where to where, and the ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def around(cls, values: Sequence[float], most: int, zero: bool = False) -> Scale:
        """Return the scale that holds all values, with round ticks."""
        low = 0.0 if zero else min(values)
        high = max(*values, low + 1e-3)
        power = 10.0 ** floor(log10((high - low) / most))
        step = next(power * head for head in (1, 2, 5, 10) if high - low <= most * power * head)
        first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
        ticks = tuple(round(step * i, 10) for i in range(first, last + 1))
        top = ticks[-1] if ticks[-1] - high < step / 4 else high + step / 8
        return cls(ticks[0], top, tuple(tick for tick in ticks if tick <= top))

    def at(self, value: float, length: float) -> float:
        """Return the place of a value along an axis of this length."""
        return length * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Frame:
    """One facet: where it lies, how large it is, and its scales."""

    x: float
    y: float
    wide: float
    high: float
    across: Scale
    up: Scale

    def place(self, utility: float, risk: float) -> tuple[float, float]:
        """Return where a point is drawn."""
        return (
            self.x + self.across.at(utility, self.wide),
            self.y + self.high - self.up.at(risk, self.high),
        )


def draw(results: Results) -> str:
    """Return the map of all tables as a picture by itself."""
    tables = results.judged
    columns = 1 if len(tables) == 1 else 2
    wide, high = ALONE if len(tables) == 1 else (WIDE, HIGH)
    rows = -(-len(tables) // columns)
    across, up = _scales(results)
    parts = []
    for i, table in enumerate(tables):
        x = LEFT + (i % columns) * (wide + GAP_X)
        y = TOP + (i // columns) * (high + GAP_Y)
        frame = Frame(x, y, wide, high, across, up)
        parts.append(_facet(results, table, frame, first=i == 0))
    width = LEFT + columns * wide + (columns - 1) * GAP_X + 14
    height = TOP + rows * high + (rows - 1) * GAP_Y + BELOW
    title = f"Risk and utility of {len(results.under)} settings"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{title}" font-family="{FONT}" font-size="11" '
        f'fill="{INK}"><title>{title}</title><rect width="{width}" height="{height}" '
        f'fill="{PAPER}"/>{"".join(parts)}</svg>\n'
    )


def _scales(results: Results) -> tuple[Scale, Scale]:
    utility = [v for p in results.points for v in _span(p.utility.mean, p.utility.error)]
    risk = [v for p in results.points for v in _span(p.risk.mean, p.risk.error)]
    score = results.study.judged.utility in ("score", "unchanged")
    across = Scale.around([*utility, 1.0] if score else utility, 5)
    return across, Scale.around([*risk, results.study.judged.limit * 1.1], 5, zero=True)


def _span(mean: float, error: float) -> tuple[float, float]:
    spread = 2 * error if error == error else 0.0
    return mean - spread, mean + spread


def _facet(results: Results, table: str, frame: Frame, first: bool) -> str:
    held = next(t for t in results.study.tables if t.name == table)
    points = [p for p in results.points if p.table == table and p.risk.mean == p.risk.mean]
    parts = [_axes(frame), _head(frame, table, held.title)]
    boxes: list[Box] = []
    if first:
        parts.append(_text(frame.x, frame.y - 8, "↑ risk", fill=SOFT))
        words = "utility →" if not MEASURES[results.study.judged.utility].low else "loss →"
        right, foot = frame.x + frame.wide, frame.y + frame.high
        parts.append(_text(right, foot - 6, words, "end", SOFT))
        boxes.append((right - LETTER * len(words), foot - 18, right, foot))
    y = frame.place(0, results.study.judged.limit)[1]
    parts.append(
        f'<path d="M{frame.x:.1f} {y:.1f}H{frame.x + frame.wide:.1f}" stroke="{NO}" '
        'stroke-width="1.5" stroke-dasharray="5 3"/>'
    )
    taken = [(frame.place(p.utility.mean, p.risk.mean), 7.0) for p in points]
    limit = ((frame.x, y), (frame.x + frame.wide, y))
    lines = [*_lines(results, points, frame), limit]
    thin = [(at, 1.0) for line in lines for at in _along(*line)]
    if first:
        told = f"limit, {limit_text(results.study.judged.limit)}"
        parts.append(_text(frame.x + 3, y - 4, told, fill=NO))
        boxes.append((frame.x, y - 14, frame.x + 3 + LETTER * len(told), y))
    parts.append(_frontier(results, points, frame))
    methods = list(dict.fromkeys(p.method for p in results.points))
    for method in dict.fromkeys(p.method for p in points):
        parts.append(_series(results, [p for p in points if p.method == method], frame, methods))
    labels = []
    for method in dict.fromkeys(p.method for p in points):
        mine = [frame.place(p.utility.mean, p.risk.mean) for p in points if p.method == method]
        labels.append(_label(method, mine, taken + thin, boxes, frame))
    leads, names = zip(*labels, strict=True) if labels else ((), ())
    return "".join([*parts, *leads, *names])  # no line crosses a name


def _axes(frame: Frame) -> str:
    parts = []
    for tick in frame.up.ticks:
        y = frame.place(0, tick)[1]
        ink = INK if tick == frame.up.low else RULE
        parts.append(
            f'<path d="M{frame.x} {y:.1f}H{frame.x + frame.wide}" stroke="{ink}" stroke-width="1"/>'
        )
        parts.append(_text(frame.x - 6, y + 4, _tick(tick), "end", SOFT))
    for tick in frame.across.ticks:
        x = frame.place(tick, 0)[0]
        parts.append(_text(x, frame.y + frame.high + 15, _tick(tick), "middle", SOFT))
    return "".join(parts)


def _tick(value: float) -> str:
    text = f"{value:g}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and value else text


def _head(frame: Frame, table: str, title: str) -> str:
    fits = max(int(frame.wide / LETTER) - len(table) - 8, 2)
    cut = title if len(title) <= fits else title[: fits - 1].rstrip() + "…"
    name, cut = titled(table), "" if title == table else cut
    return (
        f'<text x="{frame.x}" y="{frame.y - 24}"><tspan font-weight="650">{escape(name)}</tspan>'
        f'<tspan dx="6" fill="{SOFT}">{escape(cut)}</tspan></text>'
    )


def _series(results: Results, points: list[Point], frame: Frame, methods: list[str]) -> str:
    """Return the marks of a method with their bars, joined by a hairline."""
    number = methods.index(points[0].method)
    colour, shape = COLOURS[number % len(COLOURS)], SHAPES[number % len(SHAPES)]
    at = [frame.place(p.utility.mean, p.risk.mean) for p in points]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
    parts = [f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width=".7" opacity=".7"/>']
    for point, (x, y) in zip(points, at, strict=True):
        left, right = (frame.place(u, 0)[0] for u in _span(point.utility.mean, point.utility.error))
        low, high = (frame.place(0, r)[1] for r in _span(point.risk.mean, point.risk.error))
        bars = f"M{left:.1f} {y:.1f}H{right:.1f}M{x:.1f} {low:.1f}V{high:.1f}"
        best = (point.table, point.full) in results.frontier
        told = (
            f"{point.full}: risk {short(point.risk.mean)}, utility {short(point.utility.mean)}"
            f"{', on the frontier' if best else ''}"
        )
        parts.append(
            f'<path d="{bars}" stroke="{colour}" stroke-width="1"/>'
            f'<path d="{shape}" transform="translate({x:.1f} {y:.1f})" stroke="{colour}" '
            f'stroke-width="1.5" fill="{colour if best else PAPER}"><title>{escape(told)}</title>'
            "</path>"
        )
    return "".join(parts)


def _frontier(results: Results, points: list[Point], frame: Frame) -> str:
    best = [p for p in points if (p.table, p.full) in results.frontier]
    at = sorted(frame.place(p.utility.mean, p.risk.mean) for p in best)
    if len(at) < 2:
        return ""
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
    return f'<path d="M{line}" fill="none" stroke="{INK}" stroke-width="1.5"/>'


def _lines(results: Results, points: list[Point], frame: Frame) -> list[tuple[At, At]]:
    """Return what is drawn beside the marks: bars, what joins a method's settings, the frontier."""
    found: list[tuple[At, At]] = []
    for point in points:
        x, y = frame.place(point.utility.mean, point.risk.mean)
        left, right = (frame.place(u, 0)[0] for u in _span(point.utility.mean, point.utility.error))
        low, high = (frame.place(0, r)[1] for r in _span(point.risk.mean, point.risk.error))
        found += [((left, y), (right, y)), ((x, low), (x, high))]
    best = [p for p in points if (p.table, p.full) in results.frontier]
    for method in dict.fromkeys(p.method for p in points):
        mine = [frame.place(p.utility.mean, p.risk.mean) for p in points if p.method == method]
        found += list(pairwise(mine))
    return found + list(pairwise(sorted(frame.place(p.utility.mean, p.risk.mean) for p in best)))


def _along(start: At, end: At) -> list[At]:
    """Return places along a line, every few points."""
    (a, b), (c, d) = start, end
    steps = max(int(max(abs(c - a), abs(d - b)) / 6), 1)
    return [(a + (c - a) * i / steps, b + (d - b) * i / steps) for i in range(steps + 1)]


def _label(
    method: str,
    mine: list[tuple[float, float]],
    taken: list[tuple[tuple[float, float], float]],
    boxes: list[Box],
    frame: Frame,
) -> tuple[str, str]:
    """Return the line to a method's name, if it needs one, and the name where it covers least."""
    width = LETTER * len(method) + 2
    others = [at for at, size in taken if size > 1 and at not in mine]
    tried: list[tuple[float, Box]] = []
    for x, y in mine:
        for far in (9.0, 20.0, 32.0, 46.0):
            for left, top in (
                (x + far, y - LINE / 2),
                (x - far - width, y - LINE / 2),
                (x - width / 2, y - far - LINE),
                (x - width / 2, y + far),
                (x + far * 0.7, y - far - LINE / 2),
                (x - far * 0.7 - width, y + far - LINE / 2),
                (x - far * 0.7 - width, y - far - LINE / 2),
                (x + far * 0.7, y + far - LINE / 2),
            ):
                box = (left, top, left + width, top + LINE)
                cost = _cost(box, taken, boxes, frame) + far / 10
                tried.append((cost + 30.0 * _astray(box, mine, others), box))
    box = min(tried)[1]
    boxes.append(box)
    near = min(mine, key=lambda at: abs(at[0] - (box[0] + width / 2)) + abs(at[1] - box[1] - 6))
    lead = ""
    if abs(near[1] - (box[1] + LINE / 2)) > 22:
        edge = box[1] + (LINE if near[1] > box[1] else 0)
        lead = (
            f'<path d="M{near[0]:.1f} {near[1]:.1f}L{box[0] + width / 2:.1f} {edge:.1f}" '
            f'stroke="{SOFT}" stroke-width=".5"/>'
        )
    return lead, (
        f'<text x="{box[0]:.1f}" y="{box[1] + LINE - 3:.1f}" font-weight="650" stroke="{PAPER}" '
        f'stroke-width="3" paint-order="stroke" stroke-linejoin="round">{escape(method)}</text>'
    )


def _astray(box: Box, mine: list[At], others: list[At]) -> bool:
    """Whether a label would stand nearer to a mark of another method than to its own."""
    left, top, right, bottom = box

    def far(at: At) -> float:
        x, y = at
        return hypot(max(left - x, 0, x - right), max(top - y, 0, y - bottom))

    return min(map(far, mine)) > min(map(far, others), default=1e9)


def _cost(
    box: Box,
    taken: list[tuple[tuple[float, float], float]],
    boxes: list[Box],
    frame: Frame,
) -> float:
    """Return how much a label at this place would cover, or stick out."""
    left, top, right, bottom = box
    cost = 100.0 * (left < frame.x - 4) + 100.0 * (right > frame.x + frame.wide + 10)
    cost += 100.0 * (top < frame.y - 10) + 60.0 * (bottom > frame.y + frame.high - 2)
    for (x, y), size in taken:
        hit = left - size < x < right + size and top - size < y < bottom + size
        cost += (12.0 if size > 1 else 0.8) * hit
    for a, b, c, d in boxes:
        cost += 50.0 * (left < c and a < right and top < d and b < bottom)
    return cost


def _text(x: float, y: float, text: str, anchor: str = "start", fill: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
    )
