"""Areas as squares: filled where a table is available."""

from __future__ import annotations

from discreet.page.charts.svg import Svg
from discreet.page.texts import Texts

_MOST = 400
_ROWS = 12


def squares(available: int, areas: int, t: Texts) -> str:
    """Return the picture; beyond 400 areas a square stands for several."""
    if not areas:
        return ""
    many = max(-(-areas // _MOST), 1)
    number, full = -(-areas // many), available // many
    if available < areas:
        full = min(full, number - 1)
    rows = min(_ROWS, max(round((number / 2) ** 0.5), 1))
    columns = -(-number // rows)
    svg = Svg(columns * 16, rows * 16, t("refused.picture", n=available, of=areas), "squares")
    for i in range(number):
        column, row = divmod(i, rows)
        if i < full:
            svg.rect(column * 16 + 2, row * 16 + 2, 12, 12, "full")
        else:
            svg.rect(column * 16 + 3, row * 16 + 3, 10, 10, "open")
    return svg.text_of()
