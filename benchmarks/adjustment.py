"""Controlled tabular adjustment at scale: a census hypercube, and magnitudes of businesses.

Every number of records runs in a process of its own, so that its memory can be told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from report import table, timed, write_section

from discreet.desk.adjust.records import CellRows, RecordAdjustment, adjust_records, cell_rows
from discreet.desk.sensitivity import PriorPosterior
from discreet.solve.adjust.cells import CountCells
from discreet.solve.adjust.counts import adjust_counts
from discreet.synth.business import DIMENSIONS
from discreet.synth.business import draw as draw_businesses
from discreet.synth.geography import lay_out
from discreet.synth.variables import IDS
from discreet.synth.writer import draw
from discreet.table.hierarchy import Hierarchy
from discreet.utility import ChangeListing, change_listing, listing_text

PERSONS = 1_500_000
SHAPE = (2, 2, 21, 5, 13, 9, 5)
# Shares of margin cells within 0.1% that are wanted, by the number of axes kept.
WANTED = {2: "94%", 3: "74%"}
RECORDS = (250, 500, 1_000, 5_000, 20_000)
ORDERS = (2, 3, 4, None)
P = 10.0


def hypercube() -> NDArray[np.int64]:
    """The seven-way hypercube of the synthetic census."""
    geography = lay_out(PERSONS, 1)
    block = draw(geography, 1, 0, geography.size)
    columns = {name: row.astype(np.int64) for name, row in zip(IDS, block.columns, strict=True)}
    area = block.oa.astype(np.int64) - 1
    for parent in geography.parents().values():
        area = parent[area]
    codes = (columns[name] - 1 for name in ("activity", "occupation", "education", "citizenship"))
    index = (area, columns["sex"] - 1, columns["age"] // 5, *codes)
    cells = np.bincount(np.ravel_multi_index(index, SHAPE), minlength=int(np.prod(SHAPE)))
    return cells.reshape(SHAPE)


def counts() -> str:
    cube = hypercube()
    cells = CountCells.margins(SHAPE, 3)
    adjust_counts(
        CountCells.margins((3, 3), 1), cube[0, 0, :3, 0, :3, 0, 0], np.random.default_rng(1)
    )
    cpu, wall, found = timed(lambda: adjust_counts(cells, cube, np.random.default_rng(1)))
    true, new = cells.values(cube), cells.values(found.values)
    small = int(((new > 0) & (new < 3)).sum())
    change = np.abs(new - true)
    rows = []
    for order in (1, 2, 3):
        here = cells.order == order
        near = change[here] <= 0.001 * true[here] + 1e-9
        there = true[here] > 0
        must = int(((true[here] > 0) & (true[here] < 3)).sum())
        rows.append(
            (
                f"{order}-way margins",
                f"{int(here.sum()):,}",
                f"{near.mean():.1%}",
                f"{int(there.sum()):,}",
                f"{near[there].mean():.1%}",
                f"{must}",
                WANTED.get(order, ""),
            )
        )
    inner = (cells.order == len(SHAPE)) & (true >= 3)
    header = (
        "cells", "all", "within 0.1%", "not 0", "within 0.1%", "of them 1 or 2", "wanted"
    )  # fmt: skip
    return (
        f"The hypercube of the synthetic census of {PERSONS:,} people, {cube.size:,} cells, "
        f"published with all 1- to 3-way margins: {cpu:.1f} s of CPU, {wall:.1f} s wall "
        f"(25 wanted); {found.status}. Published cells of 1 or 2 afterwards: {small}. Margin "
        "cells that are 1 or 2 must change. Of the inner cells of 3 and more "
        f"{(change[inner] > 0).mean():.0%} changed, by {change[inner].mean():.1f} people or "
        f"{(change[inner] / true[inner]).mean():.1%} on average; all ones and twos are 0 or 3.\n\n"
        + table(header, rows)
    )


@dataclass(frozen=True)
class Run:
    """What one adjustment of records gave."""

    records: int
    order: int | None
    cells: int
    equations: int
    rows: int
    cpu: float
    wall: float
    memory: float
    status: str
    short: int
    listing: ChangeListing
    by_order: tuple[float, ...]  # mean percent change of cells that are not sensitive


def peak_memory() -> float:
    """The most memory of this process so far, GiB."""
    # Not getrusage: its peak counts the parent before this process began its own program.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 2**20


def adjusted(task: tuple[int, int | None]) -> Run:
    """Adjust so many businesses, with tables of so many dimensions published."""
    number, order = task
    trees = [Hierarchy(dimension.tree) for dimension in DIMENSIONS]
    businesses = draw_businesses(number)
    # Compile before the clock runs.
    few = cell_rows(businesses.codes[:20], trees, businesses.turnover[:20], order=2)
    adjust_records(few, PriorPosterior(P).amount, np.random.default_rng(1), effort=0.01)

    def work() -> tuple[CellRows, RecordAdjustment]:
        rows = cell_rows(businesses.codes, trees, businesses.turnover, order=order)
        return rows, adjust_records(rows, PriorPosterior(P).amount, np.random.default_rng(1))

    cpu, wall, (rows, found) = timed(work)
    memory = peak_memory()
    listing = change_listing(found.true, found.released, found.sensitive, found.cells.sum(axis=1))
    safe = ~found.sensitive
    relative = np.abs(found.released - found.true)[safe] / found.true[safe]
    cells = found.cells[safe]
    means = (relative @ cells) / np.maximum(cells.sum(axis=0), 1)
    return Run(
        number, order, rows.cell_count, rows.equations, rows.size, cpu, wall, memory,
        str(found.status), found.short_cells, listing, tuple(100 * means),
    )  # fmt: skip


def scale(runs: list[Run]) -> str:
    header = (
        "records", "cells", "equations", "rows", "CPU, s", "wall, s", "GiB", "sensitive cells",
        "short, to withhold",
    )  # fmt: skip
    lines = [
        (
            f"{run.records:,}",
            f"{run.cells:,}",
            f"{run.equations:,}",
            f"{run.rows:,}",
            f"{run.cpu:.1f}",
            f"{run.wall:.1f}",
            f"{run.memory:.2f}",
            f"{run.listing.sensitive:,}",
            f"{run.short:,}",
        )
        for run in runs
    ]
    return table(header, lines)


def changes(runs: list[Run]) -> str:
    header = ["percent change"]
    header += [f"{run.records:,}: not sensitive | sensitive" for run in runs]
    lines = []
    for place, row in enumerate(runs[0].listing.changes):
        high = "above" if np.isinf(row.high) else f"{row.high:g}"
        line = [f"{row.low:g} – {high}"]
        for run in runs:
            found = run.listing.changes[place]
            line += [f"{found.nonsensitive:,} | {found.sensitive:,}"]
        lines.append(line)
    text = table(header, lines)
    # Each run has two columns under one head.
    return text.replace("|---|" + "---:|" * len(runs), "|---|" + "---:|" * 2 * len(runs))


def structure(runs: list[Run]) -> str:
    header = (
        "published", "cells", "sensitive", "short", "within 0.1%", "within 1%", "within 5%",
        "mean change of 1-way", "2-way", "3-way", "CPU, s",
    )  # fmt: skip
    lines = []
    for run in runs:
        name = "all-way" if run.order is None else f"up to {run.order}-way"
        mean = [f"{value:.2f}%" for value in run.by_order[1:4]]
        lines.append(
            (
                name,
                f"{run.cells:,}",
                f"{run.listing.sensitive / run.cells:.0%}",
                f"{run.short:,}",
                f"{run.listing.within(0.1):.1%}",
                f"{run.listing.within(1.0):.1%}",
                f"{run.listing.within(5.0):.1%}",
                *mean,
                *[""] * (3 - len(mean)),
                f"{run.cpu:.0f}",
            )
        )
    return table(header, lines)


def main() -> None:
    text = [
        "## Adjustment",
        "### Counts",
        counts(),
    ]
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        tasks = [(number, None) for number in RECORDS]
        all_way = pool.map(adjusted, tasks, chunksize=1)
        orders = pool.map(
            adjusted, [(RECORDS[-1], order) for order in ORDERS if order], chunksize=1
        )
    largest = all_way[-1]
    text += [
        "### Magnitudes",
        f"Synthetic businesses in nine dimensions, three with levels, every cell of the nine-way "
        f"table and of all its margins published; p% rule with p = {P:g}. Wanted for 20,000 "
        "records: more than 6.5 million cells and 22 million equations within 300 s of CPU and "
        "8 GiB. Rows are the different sets of two and more contributors.",
        scale(all_way),
        "Cells by percent change; a class holds its upper end:",
        changes(all_way),
        f"The listing for {largest.records:,} records in the layout of [Dandekar]:",
        f"```text\n{listing_text(largest.listing)}```",
        "What is published decides how much can stay as it is: 20,000 records, shares of the cells "
        "that are not sensitive.",
        structure([*orders, largest]),
    ]
    write_section("adjustment", "\n\n".join(text))
    print("\n\n".join(text))


if __name__ == "__main__":
    main()
