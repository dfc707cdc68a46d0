"""Suppression of linked tables of the shape of the public instances: three-way, ten variables."""

from __future__ import annotations

import resource
import sys
from itertools import combinations
from math import prod

import numpy as np
from adjustment_linked import RECORDS, SIZES, TABLES, P, records
from report import kept_rows, table, timed, write_section

from discreet.desk.cells import Records
from discreet.desk.sensitivity import PriorPosterior
from discreet.desk.suppress import Objective
from discreet.desk.suppress.method import Suppressed, Suppression

# One pass instead of two.
EFFORT = 0.5


def suppressed(tables: list[tuple[int, ...]]) -> list[Suppressed]:
    """The tables with what is withheld of them, against everybody but contributors."""
    codes, values = records()
    cells = [
        Records(
            tuple(f"v{d}" for d in kept),
            tuple((*map(str, range(SIZES[d])), "_T") for d in kept),
            tuple((*[SIZES[d]] * SIZES[d], -1) for d in kept),
            codes[:, list(kept)], values, np.arange(len(values)), False,
        ).table()
        for kept in tables
    ]  # fmt: skip
    method = Suppression(
        (PriorPosterior(P),), objective=Objective.NUMBER, singletons=False, effort=EFFORT
    )
    return method.apply_linked(cells)


def row(number: int) -> tuple[str, ...]:
    """The cells of so many tables, each once: how many there are, and what becomes of them."""
    every = sorted(combinations(range(len(SIZES)), 3), key=lambda t: -prod(SIZES[d] for d in t))
    tables = every[:number]
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
        "The machine was shared: the wall time says little.\n\n"
        + table(
            ("tables", "cells", "not 0", "primary", "secondary", "of all values", "CPU, s",
             "wall, s", "GiB"),
            rows,
        )
    )  # fmt: skip


def main() -> None:
    """Run and write the section; numbers on the command line stand for so many tables alone."""
    for number in [int(one) for one in sys.argv[1:]] or TABLES:
        write_section("suppression-linked", section(kept_rows("suppression-linked", number, row)))


if __name__ == "__main__":
    main()
