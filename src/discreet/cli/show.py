"""A table of counts as text that fits the terminal, and as a plain CSV file."""

from __future__ import annotations

import csv
import os
import shutil
from itertools import product
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.table import CountTable, Dimension

MOST_ROWS = 60
"""Lines of a table on the terminal; beyond it a file is the better place."""


def text(table: CountTable, title: str, width: int | None = None) -> str:
    """Return the table laid out for reading: a dimension across if one fits, the last first."""
    width = width or shutil.get_terminal_size((80, 24)).columns
    if table.size > 100_000:
        return f"{title}\n{table.size:,} cells: too many to show. Write them to a file: --out"
    dense = table.dense()
    counts = np.asarray(dense.counts)
    dimensions = list(dense.dimensions)
    lines = _lines(dimensions, counts, across=False)
    for d in range(len(dimensions) - 1, -1, -1):
        if len(dimensions) == 1:
            break
        turned = [*dimensions[:d], *dimensions[d + 1 :], dimensions[d]]
        laid = _lines(turned, np.moveaxis(counts, d, -1), across=True)
        if max(map(len, laid)) <= width:
            lines = laid
            break
    head = " by ".join(dimension.label for dimension in dimensions)
    more = len(lines) - MOST_ROWS
    if more > 0:
        lines = [*lines[:MOST_ROWS], f"… and {more:,} lines more. All of them: --out FILE.csv"]
    return "\n".join([title, head, "", *(line[:width] for line in lines)])


def _lines(dimensions: list[Dimension], counts: NDArray[Any], across: bool) -> list[str]:
    stub = dimensions[:-1] if across else dimensions
    heads = list(dimensions[-1].labels) if across else ["count"]
    values = counts.reshape(-1, len(heads))
    rows = [
        [*labels, *(f"{value:,}" for value in line)]
        for labels, line in zip(product(*(d.labels for d in stub)), values.tolist(), strict=True)
    ]
    # Long heads are broken between words and stand on the line below.
    top = [[dimension.label] for dimension in stub]
    for i, label in enumerate(heads):
        figures = max((len(row[len(stub) + i]) for row in rows), default=0)
        widest = max(figures, *(len(word) for word in label.split() or [""]))
        top.append(wrap(label, max(1, widest)) or [""])
    height = max(map(len, top))
    head_rows = [[([""] * (height - len(t)) + t)[y] for t in top] for y in range(height)]
    widths = [max(len(row[i]) for row in [*head_rows, *rows]) for i in range(len(top))]

    def line(cells: list[str]) -> str:
        aligned = [
            cell.ljust(widths[i]) if i < len(stub) else cell.rjust(widths[i])
            for i, cell in enumerate(cells)
        ]
        return "  ".join(aligned).rstrip()

    lines = [*map(line, head_rows), "─" * (sum(widths) + 2 * (len(widths) - 1))]
    before: list[str] = []
    for row in rows:
        # A label is printed where it changes, as in a printed table.
        same = next((i for i in range(len(stub)) if row[i : i + 1] != before[i : i + 1]), 0)
        lines.append(line([*([""] * min(same, len(stub) - 1)), *row[min(same, len(stub) - 1) :]]))
        before = row
    return lines


def write_csv(table: CountTable, path: Path) -> None:
    """Write one line a cell: the codes, then the count; of a sparse table the populated cells.

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
