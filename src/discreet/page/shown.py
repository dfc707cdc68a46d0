"""The table as the page shows it, as a CSV file: one layer, its shares, order and names."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import isnan

from discreet.page.arrange import Arrangement, Options, Place, arranged, is_total
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.release import Release
from discreet.release.text import clean, guarded
from discreet.table import Dimension


def shown(
    release: Release, state: State, options: Options, said: Sequence[tuple[str, str]], t: Texts
) -> bytes:
    """Return the file; `said` are heads and texts that stand above the figures."""
    found = arranged(release.table, state, options, t)
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    for head, text in said:
        writer.writerow([head, _safe(text)])
    if state.layers:
        writer.writerow([t("table.layer"), _safe(found.said_layer(found.front, t))])
    writer.writerow([])
    across = [_called(place, found.names.columns, found.dims.columns) for place in found.columns]
    stub = [_safe(d.label) for d in found.dims.rows] or [""]
    for d in range(len(found.dims.columns)):
        lead = stub if d == len(found.dims.columns) - 1 else [""] * len(stub)
        writer.writerow([*lead, *(heads[d] for heads in across)])
    if not found.dims.columns:
        writer.writerow([*stub, t("table.count")])
    for place in found.rows:
        heads = _called(place, found.names.rows, found.dims.rows) or [""]
        writer.writerow([*heads, *_figures(found, place, options.show)])
    return file.getvalue().encode("utf-8-sig")


def _called(place: Place, names: Sequence[Sequence[str]], dims: tuple[Dimension, ...]) -> list[str]:
    """Return the names of a line; under the total of an outer variable there is no more."""
    heads = [_safe(called[i]) for called, i in zip(names, place, strict=True)]
    if place and is_total(place[:1], dims[:1]):
        heads[1:] = [""] * (len(dims) - 1)
    return heads


def _figures(found: Arrangement, row: Place, show: str) -> list[str]:
    return [
        "" if isnan(x) else f"{x:.0f}" if show == "count" else f"{100 * x:.1f}"
        for x in found.of_row(row).tolist()
    ]


def _safe(text: str) -> str:
    return guarded(clean(text))
