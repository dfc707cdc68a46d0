"""Suppression of linked tables of the shape of the public instances: three-way, ten variables.

    python benchmarks/suppression_linked.py [40 80 120] [--jj]

From records, or with --jj from a JJ file of the same tables, which names neither dimensions nor
codes: the time of reading it is counted.
"""

from __future__ import annotations

import resource
import sys
from itertools import combinations
from math import prod
from pathlib import Path

import numpy as np
from adjustment_linked import RECORDS, SIZES, TABLES, P, records
from report import BENCH, kept_rows, table, timed, write_section

from discreet.desk.cells import CellTable, Records
from discreet.desk.sensitivity import PriorPosterior
from discreet.desk.suppress import Objective
from discreet.desk.suppress.jj import jj_of, suppress_jj
from discreet.desk.suppress.method import Suppressed, Suppression
from discreet.table.jj import read_jj, write_jj

HEADER = (
    "tables", "cells", "not 0", "primary", "secondary", "of all values", "CPU, s", "wall, s", "GiB",
)  # fmt: skip
# One pass instead of two.
EFFORT = 0.5


METHOD = Suppression(
    (PriorPosterior(P),), objective=Objective.NUMBER, singletons=False, effort=EFFORT
)


def chosen(number: int) -> list[tuple[int, ...]]:
    """The largest three-way tables."""
    every = sorted(combinations(range(len(SIZES)), 3), key=lambda t: -prod(SIZES[d] for d in t))
    return every[:number]


def cells_of(tables: list[tuple[int, ...]]) -> list[CellTable]:
    """The tables of the records."""
    codes, values = records()
    return [
        Records(
            tuple(f"v{d}" for d in kept),
            tuple((*map(str, range(SIZES[d])), "_T") for d in kept),
            tuple((*[SIZES[d]] * SIZES[d], -1) for d in kept),
            codes[:, list(kept)], values, np.arange(len(values)), False,
        ).table()
        for kept in tables
    ]  # fmt: skip


def suppressed(tables: list[tuple[int, ...]]) -> list[Suppressed]:
    """The tables with what is withheld of them, against everybody but contributors."""
    return METHOD.apply_linked(cells_of(tables))


def jj_file(number: int) -> Path:
    """Write so many tables as a JJ file, once."""
    path = BENCH / f"linked-{number}.jj"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        system, _, problem = METHOD.stated(cells_of(chosen(number)))
        write_jj(jj_of(system, problem), path)
    return path


def jj_row(number: int) -> tuple[str, ...]:
    """The cells of a JJ file, and what becomes of them."""
    path = jj_file(number)
    cpu, wall, found = timed(lambda: suppress_jj(read_jj(path), path.name, effort=EFFORT))
    facts, values = found.facts, found.table.values
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{len(values):,}", f"{int((values > 0).sum()):,}", f"{facts['primary']:,}",
        f"{facts['secondary']:,}", f"{facts['share_of_value']:.1%}", f"{cpu:.0f}", f"{wall:.0f}",
        f"{peak:.2f}",
    )  # fmt: skip


def row(number: int) -> tuple[str, ...]:
    """The cells of so many tables, each once: how many there are, and what becomes of them."""
    tables = chosen(number)
    cpu, wall, found = timed(lambda: suppressed(tables))
    cells: dict[frozenset[tuple[int, int]], tuple[int, float]] = {}
    for kept, one in zip(tables, found, strict=True):
        for at in np.ndindex(one.cells.shape):
            key = frozenset((d, c) for d, c in zip(kept, at, strict=True) if c < SIZES[d])
            cells[key] = int(one.marks[at]), float(one.cells.values[at])
    marks, values = (np.array(side) for side in zip(*cells.values(), strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{len(cells):,}", f"{int((values > 0).sum()):,}",
        f"{int((marks == 1).sum()):,}", f"{int((marks == 2).sum()):,}",
        f"{values[marks > 0].sum() / values.sum():.1%}", f"{cpu:.0f}", f"{wall:.0f}", f"{peak:.2f}",
    )  # fmt: skip


def section(rows: list[list[str]]) -> str:
    """The rows with what they are."""
    return (
        "## Suppression of linked tables\n\n"
        f"The same tables and {RECORDS:,} records as for the adjustment of linked tables, p% rule "
        f"with p = {P}, fewest cells, one pass of the search, against everybody but contributors. "
        "Every primary cell has its certificates, checked in whole numbers against the equations "
        "of all tables together: none is left short, and none can be computed. No cube is made. "
        "The machine was shared: the wall time says little.\n\n" + table(HEADER, rows)
    )


def jj_section(rows: list[list[str]]) -> str:
    """The rows of JJ files with what they are."""
    return (
        "The same tables from a JJ file, which names neither dimensions nor codes; a cell costs as "
        "much as there are tables that show it. The time of reading the file is counted.\n\n"
        + table(HEADER, rows)
    )


def main() -> None:
    """Run and write the section; numbers on the command line stand for so many tables alone."""
    given = [one for one in sys.argv[1:] if one != "--jj"]
    for number in [int(one) for one in given] or TABLES:
        if "--jj" in sys.argv:
            rows = kept_rows("suppression-linked-jj", number, jj_row)
            write_section("suppression-linked-jj", jj_section(rows))
        else:
            rows = kept_rows("suppression-linked", number, row)
            write_section("suppression-linked", section(rows))


if __name__ == "__main__":
    main()
