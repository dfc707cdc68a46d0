"""Adjustment of linked tables of the shape of the public instances: three-way, ten variables."""

from __future__ import annotations

import resource
import sys
from itertools import combinations
from math import prod

import numpy as np
from report import kept_rows, table, timed, write_section

from discreet.desk.adjust.records import RecordAdjustment, adjust_records, cell_rows, needs_of
from discreet.desk.adjust.records.chosen import margins_of
from discreet.desk.sensitivity import PriorPosterior
from discreet.table.hierarchy import Hierarchy

# So that 40, 80 and 120 tables have about 210,000, 275,000 and 324,000 cells, as those have.
SIZES = (28, 25, 20, 15, 14, 11, 9, 8, 6, 6)
TABLES, RECORDS, P = (40, 80, 120), 20_000, 10


def records() -> tuple[np.ndarray, np.ndarray]:
    """Records in categories of unequal size, with skewed values."""
    rng = np.random.default_rng(1)
    codes = [rng.choice(size, RECORDS, p=rng.dirichlet(np.full(size, 2.0))) for size in SIZES]
    return np.stack(codes, axis=1), np.rint(rng.lognormal(6, 1.5, RECORDS)) + 1


def adjusted(number: int) -> tuple[int, RecordAdjustment]:
    """The number of cells, zeros included, and the records adjusted for so many tables."""
    every = sorted(combinations(range(len(SIZES)), 3), key=lambda t: -prod(SIZES[d] for d in t))
    tables = every[:number]
    cells = sum(prod(SIZES[d] for d in kept) for kept in margins_of(tables))
    codes, values = records()
    rows = cell_rows(codes, [Hierarchy.flat(size) for size in SIZES], values, tables=tables)
    needs = needs_of(rows, [PriorPosterior(P)])
    return cells, adjust_records(rows, needs, np.random.default_rng(1), decimals=0)


def row(number: int) -> tuple[str, ...]:
    """What so many tables come to."""
    cpu, wall, (cells, found) = timed(lambda: adjusted(number))
    many, others = found.cells.sum(axis=1), ~found.sensitive
    change = np.abs(found.released - found.true) / np.maximum(found.true, 1)
    within = [many[others & (change <= share)].sum() / many[others].sum() for share in (0.01, 0.05)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{cells:,}", f"{found.rows.cell_count:,}", f"{found.rows.equations:,}",
        f"{int(many[found.sensitive].sum()):,}", f"{found.short_cells:,}",
        "yes" if found.decimals == 0 else "no", *(f"{share:.1%}" for share in within),
        f"{cpu:.0f}", f"{wall:.0f}", f"{peak:.2f}",
    )  # fmt: skip


def section(rows: list[list[str]]) -> str:
    """The rows with what they are."""
    numbers = ", ".join(one[0] for one in rows[:-1]) + (" and " if rows[1:] else "") + rows[-1][0]
    return (
        "## Adjustment of linked tables\n\n"
        f"The largest {numbers} three-way tables over ten variables "
        f"of {', '.join(map(str, SIZES))} codes, with all their margins, from {RECORDS:,} records "
        f"by the p% rule with p = {P}: the shape of the public instances of 210,183, 274,638 and "
        "323,539 cells, not their data. No cube is made. Shares are of cells that are not "
        "sensitive, and not 0. The machine was shared: the wall time says little.\n\n"
        + table(
            ("tables", "cells", "not 0", "equations", "sensitive", "short", "whole figures",
             "within 1%", "within 5%", "CPU, s", "wall, s", "GiB"),
            rows,
        )
    )  # fmt: skip


def main() -> None:
    """Run and write the section; numbers on the command line stand for so many tables alone."""
    for number in [int(one) for one in sys.argv[1:]] or TABLES:
        write_section("adjustment-linked", section(kept_rows("adjustment-linked", number, row)))


if __name__ == "__main__":
    main()
