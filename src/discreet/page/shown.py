"""The table as the page shows it, as a CSV file: one layer, its shares, order and names."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import isnan

from discreet.page.arrange import (
    Arrangement,
    Options,
    Place,
    arranged,
    is_total,
    names_of,
    said_place,
)
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.release import Release
from discreet.release.text import clean, guarded


def shown(
    release: Release, state: State, options: Options, said: Sequence[tuple[str, str]], t: Texts
) -> bytes:
    """Return the file; `said` are heads and texts that stand above the figures."""
    found = arranged(release.table, state, options)
    dims = release.table.dimensions
    names = [names_of(d, options.names, t) for d in dims]
    w, r = len(state.layers), len(state.layers) + len(state.rows)

    def called(place: Place, first: int, last: int) -> list[str]:
        """Return the names of a line; under the total of an outer variable there is no more."""
        heads = [names[first + d][i] for d, i in enumerate(place)]
        if place and is_total(place[:1], dims[first : first + 1]):
            heads[1:] = [""] * (last - first - 1)
        return heads

    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    for head, text in said:
        writer.writerow([head, _safe(text)])
    if w:
        layer = said_place(found.front, names[:w], dims[:w], t)
        writer.writerow([t("table.layer"), _safe(layer)])
    writer.writerow([])
    across = [called(place, r, len(dims)) for place in found.columns]
    stub = [_safe(d.label) for d in dims[w:r]] or [""]
    for d in range(r, len(dims)):
        lead = stub if d == len(dims) - 1 else [""] * len(stub)
        writer.writerow([*lead, *(_safe(heads[d - r]) for heads in across)])
    if r == len(dims):
        writer.writerow([*stub, t("table.count")])
    for place in found.rows:
        heads = [_safe(text) for text in called(place, w, r)] or [""]
        writer.writerow([*heads, *_figures(found, place, options.show)])
    return file.getvalue().encode("utf-8-sig")


def _figures(found: Arrangement, row: Place, show: str) -> list[str]:
    figures = [float(found.figures[(*found.front, *row, *column)]) for column in found.columns]
    return [
        "" if isnan(x) else f"{x:.0f}" if show == "count" else f"{100 * x:.1f}" for x in figures
    ]


def _safe(text: str) -> str:
    return guarded(clean(text))
