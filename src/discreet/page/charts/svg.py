"""A small writer of SVG: classes instead of styles, so that dark and print need no second file."""

from __future__ import annotations

from html import escape


class Svg:
    """A picture that grows by shapes; it names itself to screen readers."""

    def __init__(self, width: float, height: float, title: str, kind: str) -> None:
        self.width, self.height, self.title, self.kind = width, height, title, kind
        self.parts: list[str] = []

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, title: str = ""
    ) -> None:
        """Add a rectangle, with what it stands for when one points at it."""
        shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}"'
        end = f"><title>{escape(title)}</title></rect>" if title else "/>"
        self.parts.append(f'{shape} class="{kind}"{end}')

    def circle(self, x: float, y: float, radius: float, kind: str) -> None:
        """Add a dot."""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{kind}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Add a line."""
        ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        self.parts.append(f'<line {ends} class="{kind}"/>')

    def path(self, shape: str, kind: str) -> None:
        """Add a path."""
        self.parts.append(f'<path d="{shape}" class="{kind}"/>')

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Add a text; the class says how it is aligned."""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>')

    def text_of(self, style: str = "") -> str:
        """Return the picture, with a style of its own where it stands alone."""
        name = "" if style else f' aria-label="{escape(self.title, quote=True)}"'
        inside = f"<title>{escape(self.title)}</title><style>{style}</style>" if style else ""
        size = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        size += f' width="{self.width:.0f}" height="{self.height:.0f}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"{name} '
            f'class="drawing {self.kind}">{inside}{"".join(self.parts)}</svg>'
        )


def ticks(largest: float, most: int) -> list[int]:
    """Return round numbers from 0 to at least the largest, at most so many steps."""
    largest = max(largest, 1)
    step = 1
    for power in range(15):
        for head in (1, 2, 5):
            step = head * 10**power
            if largest / step <= most:
                number = int(-(-largest // step))
                return [step * i for i in range(number + 1)]
    return [0, step]


def shorten(text: str, width: float, size: float = 15) -> str:
    """Return a text that fits a width, cut with an ellipsis if it must be."""
    fits = max(int(width / (size * 0.5)), 3)
    return text if len(text) <= fits else text[: fits - 1].rstrip() + "…"


def wrapped(text: str, width: float, size: float = 15, most: int = 3) -> list[str]:
    """Return a text in lines that fit a width; the last of so many is cut if it must be."""
    fits = max(int(width / (size * 0.5)), 3)
    lines: list[str] = []
    rest = text
    while len(rest) > fits and len(lines) < most - 1:
        at = rest.rfind(" ", 0, fits + 1)
        if at < 1:
            break
        lines.append(rest[:at])
        rest = rest[at + 1 :]
    return [*lines, shorten(rest, width, size)]
