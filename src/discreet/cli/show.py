"""A table of counts as text that fits the terminal, and as a plain CSV file."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.release import Release
from discreet.release.pivot import Pivot
from discreet.release.told import NINE_IN_TEN
from discreet.table import CountTable, Dimension

MOST_CELLS = 100_000
MOST_ROWS = 60
"""Lines of a table on the terminal; beyond it a file is the better place."""


def text(table: CountTable, title: str, width: int | None = None, codes: bool = False) -> str:
    """Return a table of true counts laid out for reading, with labels or with codes."""
    if table.size > MOST_CELLS:
        return f"{title}\n{table.size:,} cells: too many to show. Write them to a file: --out"
    dense = table.dense()
    over = _shown(dense.dimensions, codes)
    head = " by ".join(dimension.label for dimension in over)
    lines = _laid_out(over, np.asarray(dense.counts).astype(object), width)
    return "\n".join([title, head, "", *lines])


def release_text(release: Release, width: int | None = None, codes: bool = False) -> str:
    """Return a release laid out for reading, with its notes, with labels or with codes."""
    width = width or shutil.get_terminal_size((80, 24)).columns
    table = release.table
    said = [release.title, release.population]
    said += [f"{name}: {', '.join(labels)}" for name, labels in release.filters]
    said = [line for text in said for line in wrap(text, width)]
    if table.values.size > MOST_CELLS:
        said += ["", f"{table.values.size:,} cells: too many to show. Write them to a file: --out"]
    else:
        figures = table.values.astype(object)
        figures[table.withheld] = None
        said += ["", *_laid_out(_shown(table.dimensions, codes), figures, width)]
    notes = [*release.notes, *release.public_quality.sentences]
    if NINE_IN_TEN in release.notes:
        notes.append("Low and high are in files: --out FILE.csv")
    if release.availability:
        names = ", ".join(area.label for area in release.withheld[:5])
        more = f" and {len(release.withheld) - 5:,} more" if len(release.withheld) > 5 else ""
        notes.append(f"{release.availability}. Not available: {names}{more}.")
    notes += [f"{h.text}: --by {h.by}{f' --where {h.where}' if h.where else ''}"
              for h in release.hints]  # fmt: skip
    for note in notes:
        said += ["", *wrap(note, width)] if note is notes[0] else wrap(note, width)
    source = release.provenance
    said += ["", *wrap(f"{source.dataset}, data of {source.data_date[:10]}, policy "
                       f"{source.policy_version}", width)]  # fmt: skip
    return "\n".join(said)


def _shown(over: Sequence[Dimension], codes: bool) -> Sequence[Dimension]:
    """Return the dimensions as they are to be named: by labels, or by codes and levels."""
    return [replace(d, label=d.level, labels=d.codes) for d in over] if codes else over


def _laid_out(over: Sequence[Dimension], counts: NDArray[Any], width: int | None) -> list[str]:
    """Return the lines of a table: a dimension across if one fits, the last first."""
    width = width or shutil.get_terminal_size((80, 24)).columns
    lines: list[str] = []
    for pivot, broken in _layouts(len(over)):
        lines = _lines(over, counts, pivot, broken)
        if max(map(len, lines)) <= width:
            break
    more = len(lines) - MOST_ROWS
    if more > 0:
        lines = [*lines[:MOST_ROWS], f"… and {more:,} lines more. All of them: --out FILE.csv"]
    return [line[:width] for line in lines]


def _layouts(dimensions: int) -> Iterator[tuple[Pivot, bool]]:
    """Yield how a table may lie and whether its heads are broken between words, the best first."""
    every = tuple(range(dimensions))
    for d in reversed(every) if dimensions > 1 else ():
        for broken in (False, True):
            yield Pivot((), tuple(other for other in every if other != d), (d,)), broken
    yield Pivot((), every, ()), False


def _lines(
    dimensions: Sequence[Dimension], counts: NDArray[Any], pivot: Pivot, broken: bool
) -> list[str]:
    _, stub, across = pivot.split(dimensions)
    heads = across[0].labels if across else ("count",)
    rows = [
        [*labels, *("–" if value is None else f"{value:,}" for value in line)]
        for labels, line in zip(
            product(*(d.labels for d in stub)), pivot.cut(counts)[0].tolist(), strict=True
        )
    ]
    top = [[dimension.label] for dimension in stub]
    for i, label in enumerate(heads, len(stub)):
        top.append(_broken(label, [row[i] for row in rows]) if broken else [label])
    height = max(map(len, top))
    head_rows = [[([""] * (height - len(t)) + t)[y] for t in top] for y in range(height)]
    widths = [max(map(len, column)) for column in zip(*head_rows, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        aligned = [
            cell.ljust(wide) if i < len(stub) else cell.rjust(wide)
            for i, (cell, wide) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(aligned).rstrip()

    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    return [*map(line, head_rows), rule, *map(line, _as_printed(rows, len(stub)))]


def _broken(label: str, figures: list[str]) -> list[str]:
    """Return the lines of a head, no wider than its figures and its longest word."""
    return wrap(label, max([1, *map(len, figures), *map(len, label.split())])) or [""]


def _as_printed(rows: list[list[str]], stub: int) -> Iterator[list[str]]:
    """Yield rows with a label where it changes, as in a printed table."""
    before: list[str] = []
    for row in rows:
        same = next((i for i in range(stub) if row[i : i + 1] != before[i : i + 1]), 0)
        blank = min(same, stub - 1)
        yield [*([""] * blank), *row[blank:]]
        before = row


def write_csv(table: CountTable, path: Path) -> None:
    """Write one line per cell, the codes and the count; of a sparse table the populated cells.

    The file is readable by its owner only: it holds true counts.
    """
    codes = [dimension.codes for dimension in table.dimensions]
    descriptor = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    os.fchmod(descriptor, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(dimension.level for dimension in table.dimensions), "count"])
        if table.coordinates is None:
            flat = np.asarray(table.counts).ravel().tolist()
            writer.writerows([*cell, n] for cell, n in zip(product(*codes), flat, strict=True))
        else:
            for cell, n in zip(table.coordinates.T.tolist(), table.counts.tolist(), strict=True):
                writer.writerow([*(codes[d][i] for d, i in enumerate(cell)), n])
