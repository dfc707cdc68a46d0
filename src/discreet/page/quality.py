"""How far off a figure may be, as a picture of a hundred figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.page.charts.svg import Svg
from discreet.page.texts import Texts
from discreet.policy import Protection
from discreet.risk.public import possible_ranges
from discreet.risk.sums import ninety
from discreet.table.transition import Transition

UNPUBLISHED_SMALL = 20
"""Where the bound is not told, figures under this are marked: a few more or less matters."""
_WORKED = (20, 200, 2_000)


@dataclass(frozen=True)
class Worked:
    """A figure with what the true count may be."""

    shown: int
    low: int
    high: int
    off: str


@dataclass(frozen=True)
class Quality:
    """What may be told of the method: its largest change and a hundred changes."""

    text: str
    bound: int | None
    dots: tuple[tuple[int, int], ...]
    near: int
    small: int
    worked: tuple[Worked, ...]
    picture: str

    def said(self, t: Texts) -> str:
        """Return how far off a figure may be."""
        if self.bound is None:
            return t(f"quality.{self.text}")
        return t(f"quality.{self.text}", n=self.bound, near=self.near)


def changes(transition: Transition) -> dict[int, float]:
    """Return the chances of each change of a large count, over the rows that repeat."""
    found: dict[int, float] = {}
    last = slice(len(transition.changes) - transition.period, None)
    for row, chances in zip(
        transition.changes[last].tolist(), transition.probabilities[last].tolist(), strict=True
    ):
        for change, chance in zip(row, chances, strict=True):
            if chance > 0:
                found[change] = found.get(change, 0.0) + chance / transition.period
    return dict(sorted(found.items()))


def hundred(chances: dict[int, float]) -> dict[int, int]:
    """Return a hundred figures shared out by the chances, by largest remainders."""
    exact = {change: 100 * chance for change, chance in chances.items()}
    found = {change: int(np.floor(number)) for change, number in exact.items()}
    order = sorted(exact, key=lambda change: (found[change] - exact[change], abs(change)))
    for change in order[: 100 - sum(found.values())]:
        found[change] += 1
    return found


def quality(protection: Protection, dimensions: int, beforehand: bool, t: Texts) -> Quality:
    """Return what may be told of the changes that a method makes.

    Where records were altered beforehand nothing is: the changes come on top of others.
    """
    effect = protection.effect(dimensions)
    transition = effect.transition
    known = transition is not None or effect.largest_change is not None
    if beforehand or not protection.published or not known:
        text = "unknown" if transition is None else "unpublished"
        return Quality(text, None, (), 0, UNPUBLISHED_SMALL, (), "")
    if transition is None:
        largest = effect.largest_change
        assert largest is not None
        return Quality("only_bound", largest, (), 0, 5 * largest, (), "")
    chances = changes(transition)
    bound = int(np.abs(transition.changes[transition.probabilities > 0]).max())
    dots = hundred(chances)
    near = sum(number for change, number in dots.items() if abs(change) <= 1)
    worked = []
    for least in _WORKED:
        shown, low, high = _released(transition, least)
        share = max(shown - low, high - shown) / shown
        worked.append(Worked(shown, low, high, t.percent(share, 1 if share < 0.01 else 0)))
    counted = tuple(dots.items())
    picture = _picture(dots, near, t)
    return Quality("bound", bound, counted, near, 5 * bound, tuple(worked), picture)


def off_by(
    protection: Protection, dimensions: int, beforehand: bool, parts: int
) -> tuple[int | None, int | None]:
    """Return by how much a sum of so many figures is off at most, and in nine of ten.

    None where it is not known, or not to be told.
    """
    if protection.build is None and not beforehand:
        return 0, 0
    effect = protection.effect(dimensions)
    bound, chances = effect.largest_change, effect.transition
    if bound is None or not protection.published or beforehand:
        return None, None
    often = None if chances is None else int(ninety(chances, np.array([parts]))[0])
    return parts * bound, often


@dataclass(frozen=True)
class SumLine:
    """How far off a sum of so many figures may be: at most, and in nine of ten."""

    parts: int
    at_most: int
    often: int | None


MOST_LINES = 5


def sum_lines(
    protection: Protection, dimensions: int, beforehand: bool, parts: Sequence[int]
) -> tuple[SumLine, ...]:
    """Return a line for one figure and for each number of figures added up; a few of many."""
    many = sorted(set(parts) | {1})
    if len(many) > MOST_LINES:
        chosen = np.linspace(0, len(many) - 1, MOST_LINES).round().astype(int)
        many = [many[i] for i in chosen]
    found = []
    for number in many:
        at_most, often = off_by(protection, dimensions, beforehand, number)
        if at_most is not None:
            found.append(SumLine(number, at_most, often))
    return tuple(found)


def sum_picture(lines: Sequence[SumLine], t: Texts) -> str:
    """Return a bar for each number of figures: nine of ten, with whiskers at most."""
    row, left, right, width = 42, 95, 265, 380
    middle, reach = (left + right) / 2, (right - left) / 2
    largest = max((line.at_most for line in lines), default=1) or 1
    svg = Svg(width, 40 + row * len(lines) + 26, t("sums.picture"), "sums")
    for x, text in (
        (middle, t("sums.true")),
        (width - 52, t("sums.often")),
        (width, t("sums.most")),
    ):
        svg.text(x, 14, text, "small soft mid" if x == middle else "small soft end")
    svg.line(middle, 24, middle, 34 + row * len(lines), "axis")
    for i, line in enumerate(lines):
        y = 24 + row * (i + 0.5) + 6
        far = reach * line.at_most / largest
        svg.text(0, y + 5, t("sums.one") if line.parts == 1 else t("sums.of", n=line.parts))
        svg.path(f"M{middle - far:.1f} {y}H{middle + far:.1f}", "whisker")
        for x in (middle - far, middle + far):
            svg.path(f"M{x:.1f} {y - 6}V{y + 6}", "whisker")
        if line.often is not None:
            band = reach * line.often / largest
            svg.rect(middle - band, y - 6, 2 * band, 12, "s1")
            svg.text(width - 52, y + 5, t.number(line.often), "end")
        svg.text(width, y + 5, t.number(line.at_most), "end")
    floor = 40 + row * len(lines) + 14
    for x, text in (
        (left, f"−{t.number(largest)}"),
        (middle, "0"),
        (right, f"+{t.number(largest)}"),
    ):
        svg.text(x, floor, text, "small soft mid")
    return svg.text_of()


def _released(transition: Transition, least: int) -> tuple[int, int, int]:
    """Return the first figure from a number on that the method may show, and its true counts."""
    figures = np.arange(least, least + 1_000)
    low, high = possible_ranges(transition, figures)
    # A figure that is never shown stands for itself.
    at = int(np.argmax(high > low))
    return int(figures[at]), int(low[at]), int(high[at])


def _picture(dots: dict[int, int], near: int, t: Texts) -> str:
    """Return a hundred dots, each a figure, standing over its change."""
    across, step, radius = 3, 13, 4.6
    order = range(min(dots), max(dots) + 1)
    while max(-(-dots.get(c, 0) // across) for c in order) > 13:
        across += 1
    gap = across * step + 16
    width = gap * len(order) + 24
    tallest = max(-(-number // across) for number in dots.values())
    floor = 34 + tallest * step + 6
    svg = Svg(width, floor + 46, t("quality.picture", near=near), "dots")
    for i, change in enumerate(order):
        left = 12 + i * gap + (gap - across * step) / 2 + step / 2
        kind = "d0" if change == 0 else "d1" if abs(change) == 1 else "d2"
        for n in range(dots.get(change, 0)):
            svg.circle(left + n % across * step, floor - 8 - n // across * step, radius, kind)
        sign = f"+{change}" if change > 0 else f"−{-change}" if change else "0"
        svg.text(12 + i * gap + gap / 2, floor + 18, sign, "mid")
    svg.line(8, floor, width - 8, floor, "axis")
    low = list(order).index(max(-1, min(order)))
    high = list(order).index(min(1, max(order)))
    x1, x2 = 12 + low * gap + 6, 12 + (high + 1) * gap - 6
    svg.path(f"M{x1:.1f} 32V26H{x2:.1f}V32", "brace")
    svg.text((x1 + x2) / 2, 16, t("quality.of_hundred", n=near), "mid")
    svg.text(12, floor + 38, t("quality.too_low"), "soft")
    svg.text(12 + (list(order).index(0) + 0.5) * gap, floor + 38, t("quality.same"), "mid soft")
    svg.text(width - 12, floor + 38, t("quality.too_high"), "end soft")
    return svg.text_of()
