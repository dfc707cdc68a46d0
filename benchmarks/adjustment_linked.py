"""Adjustment of linked tables of the shape of the public instances: three-way, ten variables.

    python benchmarks/adjustment_linked.py [40 80 120] [--jj]

From records, or with --jj from a JJ file of the same tables, which names neither dimensions nor
codes nor contributors: the time of reading it is counted.
"""

from __future__ import annotations

import resource
import sys
from itertools import combinations
from math import prod

import numpy as np
from report import kept_rows, table, timed, write_section

from discreet.desk.adjust.jj import adjust_jj
from discreet.desk.adjust.records import RecordAdjustment, adjust_records, cell_rows, needs_of
from discreet.desk.adjust.records.chosen import margins_of
from discreet.desk.sensitivity import PriorPosterior
from discreet.table.hierarchy import Hierarchy
from discreet.table.jj import read_jj

# So that 40, 80 and 120 tables have about 210,000, 275,000 and 324,000 cells, as those have.
SIZES = (28, 25, 20, 15, 14, 11, 9, 8, 6, 6)
TABLES, RECORDS, P = (40, 80, 120), 20_000, 10
HEADER = (
    "tables", "cells", "not 0", "equations", "sensitive", "short", "whole figures", "within 1%",
    "within 5%", "CPU, s", "wall, s", "GiB",
)  # fmt: skip


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
        + table(HEADER, rows)
    )


def jj_row(number: int) -> tuple[str, ...]:
    """What the JJ file of so many tables comes to."""
    # Its own import: that file takes the records from here.
    from suppression_linked import jj_file

    path = jj_file(number)
    cpu, wall, found = timed(lambda: adjust_jj(read_jj(path), path.name, seed=1))
    true, others = found.table.values, ~found.table.sensitive & (found.table.values > 0)
    change = np.abs(found.change[others]) / true[others]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    facts = found.facts
    return (
        f"{len(true):,}", f"{facts['cells']:,}", f"{facts['equations']:,}",
        f"{facts['sensitive']:,}", f"{len(facts['short']):,}",
        "yes" if (found.values == np.rint(found.values)).all() else "no",
        *(f"{(change <= share).mean():.1%}" for share in (0.01, 0.05)),
        f"{cpu:.0f}", f"{wall:.0f}", f"{peak:.2f}",
    )  # fmt: skip


def jj_section(rows: list[list[str]]) -> str:
    """The rows of JJ files with what they are."""
    return (
        "The same tables from a JJ file, which names neither dimensions nor codes nor "
        "contributors; equations are all lines of the file. The time of reading it is counted, and "
        "that of loading kernels. Where cells are short nothing is written.\n\n"
        + table(HEADER, rows)
    )


def main() -> None:
    """Run and write the section; numbers on the command line stand for so many tables alone."""
    given = [one for one in sys.argv[1:] if one != "--jj"]
    for number in [int(one) for one in given] or TABLES:
        if "--jj" in sys.argv:
            rows = kept_rows("adjustment-linked-jj", number, jj_row)
            write_section("adjustment-linked-jj", jj_section(rows))
            continue
        write_section("adjustment-linked", section(kept_rows("adjustment-linked", number, row)))


if __name__ == "__main__":
    main()
