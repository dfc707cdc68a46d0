"""The table as the page shows it, as a CSV file: one layer, its shares, order and names."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import isnan

from discreet.page.arrange import Arrangement, Options, Place, arranged, is_total
from discreet.page.grid import ranges_of
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.release import Release
from discreet.release.text import clean, guarded
from discreet.table import Dimension, ProtectedTable
from discreet.types import Integers


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
    ranges = _ranges(release.table, options)
    across = [
        heads
        for place in found.columns
        for heads in [_called(place, found.names.columns, found.dims.columns)] * (1 + len(ranges))
    ]
    parts = [t("table.parts")] if ranges else []
    stub = [*([_safe(d.label) for d in found.dims.rows] or [""]), *parts]
    for d in range(len(found.dims.columns)):
        lead = stub if not ranges and d == len(found.dims.columns) - 1 else [""] * len(stub)
        writer.writerow([*lead, *(heads[d] for heads in across)])
    if ranges:
        names = [t("table.sum"), t("table.at_most"), t("table.nine")][: 1 + len(ranges)]
        writer.writerow([*stub, *names * len(found.columns)])
    elif not found.dims.columns:
        writer.writerow([*stub, t("table.count")])
    for place in found.rows:
        heads = _called(place, found.names.rows, found.dims.rows) or [""]
        if ranges:
            heads.append(_parts(release.table, found, place, t))
        writer.writerow([*heads, *_figures(found, place, options.show, ranges)])
    return file.getvalue().encode("utf-8-sig")


def _ranges(table: ProtectedTable, options: Options) -> list[Integers]:
    """Return how far off sums may be, as the page shows it."""
    shown = ranges_of(table, options) - 1
    return [array for array in (table.off_at_most, table.off_90) if array is not None][:shown]


def _parts(table: ProtectedTable, found: Arrangement, row: Place, t: Texts) -> str:
    """Return how many figures were added up in a row."""
    assert table.parts is not None
    many = [int(table.parts[(*found.front, *row, *column)]) for column in found.columns]
    low, high = min(many), max(many)
    return str(low) if low == high else t("table.to", low=str(low), high=str(high))


def _called(place: Place, names: Sequence[Sequence[str]], dims: tuple[Dimension, ...]) -> list[str]:
    """Return the names of a line; under the total of an outer variable there is no more."""
    heads = [_safe(called[i]) for called, i in zip(names, place, strict=True)]
    if place and is_total(place[:1], dims[:1]):
        heads[1:] = [""] * (len(dims) - 1)
    return heads


def _figures(found: Arrangement, row: Place, show: str, ranges: list[Integers]) -> list[str]:
    shown = []
    for column, x in zip(found.columns, found.of_row(row).tolist(), strict=True):
        shown.append("" if isnan(x) else f"{x:.0f}" if show == "count" else f"{100 * x:.1f}")
        shown += [str(array[(*found.front, *row, *column)]) for array in ranges]
    return shown


def _safe(text: str) -> str:
    return guarded(clean(text))
