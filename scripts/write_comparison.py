"""Writes the tables of docs/comparison.md from the folders of studies that were run.

    discreet study shlomo2015 --data store --out runs/shlomo2015
    python scripts/write_comparison.py runs

Every folder named after a paper fills the section of that name; the others stay as they are. The
small cells of the invented country are written in any case.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import country
import numpy as np

from discreet import risk, utility
from discreet.protect import IndividualSwapping
from discreet.study.measures import MEASURES
from discreet.study.papers import FOLDER, NAMES

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from report import table, write_section  # noqa: E402

PRINTED = json.loads((ROOT / "tests/published/shlomo2015/figures.json").read_text("utf-8"))
SEEDS = (1, 2)  # searched for were averages; seeds were looked at besides
PAGE = ROOT / "docs" / "comparison.md"
WORDS = {"transition": "risk", "score": "utility"}
HEAD = ["table", "setting", "measure", "in print", "here", "standard error"]


def rows(name: str, folder: Path) -> list[list[str]]:
    """Return every figure in print that the study has too; rows and columns of tables left out."""
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        found = {
            (row["table"], _full(row), row["measure"]): row
            for row in csv.DictReader(file)
            if not row["variable"]
        }
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        printed = [row for row in csv.DictReader(file) if not row.get("variable")]
    lines = []
    for row in printed:
        before = row["measure"] == "before"
        measure = "transition" if before else row["measure"]
        here = found.get((row["table"], row["setting"], measure))
        if here is not None and here["mean"]:
            words = "risk before" if before else WORDS.get(measure, MEASURES[measure].words)
            error = f"{float(here['standard_error'] or 0):.3f}"
            figures = [f"{float(row['value']):.3f}", f"{float(here['mean']):.3f}", error]
            lines.append([row["table"], row["setting"], words, *figures])
    return lines


def _full(row: dict[str, str]) -> str:
    return f"{row['method']}, {row['setting']}" if row["setting"] else row["method"]


def small_cells() -> list[list[str]]:
    """Return the small cells of hypercube and output tables: in print, on average, of two seeds."""
    cubes = [country.hypercube(seed) for seed in SEEDS]
    cells = PRINTED["hypercube"]["cells_by_value"]
    whole = [cells[size] for size in ("0", "1", "2", "3-5")]
    lines = _small("hypercube", whole, country.small_expected(), map(country.small, cubes))
    for name, table_ in PRINTED["output_tables"].items():
        there = [table_["zeros"], table_["ones"], table_["twos"]]
        there.append(table_["threes"] + table_["fours"] + table_["fives"])
        here = [country.small(country.table(cube, name)) for cube in cubes]
        lines += _small(name, there, country.small_expected(name), here)
    return lines


def _small(
    name: str, there: list[int], means: list[float], here: Iterable[list[float]]
) -> list[list[str]]:
    lines = []
    sizes = zip(("0", "1", "2", "3 to 5"), there, means, *here, strict=True)
    for size, in_print, mean, *seeds in sizes:
        figures = [f"{mean:.1f}", f"{mean / in_print:.2f}", *(f"{n:.0f}" for n in seeds)]
        lines.append([name, size, f"{in_print}", *figures])
    return lines


def swapped() -> list[list[str]]:
    """Return what a swap of a tenth costs each output table, and the entropy of the subgroups."""
    cubes = [country.hypercube(seed) for seed in SEEDS]
    lines = []
    for name, both in PRINTED["risk_utility"].items():
        scores = []
        for seed, cube in zip(SEEDS, cubes, strict=True):
            after = IndividualSwapping(0.1, axis=0).apply(cube, np.random.default_rng(seed))
            scores.append(utility.score(country.table(cube, name), country.table(after, name)))
        lines.append(
            [f"utility of table {name}", *(f"{s:.3f}" for s in (both["swapping"][1], *scores))]
        )
    entropies = [f"{risk.median_entropy(cube, (0, 1, 2)):.2f}" for cube in cubes]
    return [*lines, ["median entropy", "2.36", *entropies]]


def _seed(seed: int) -> str:
    return f"seed {seed}"


def main(runs: Path) -> None:
    head = ["table", "cells of", "in print", "on average", "of print", *map(_seed, SEEDS)]
    write_section("country", table(head, small_cells()), PAGE)
    head = ["", "in print", *map(_seed, SEEDS)]
    write_section("swapped", table(head, swapped()), PAGE)
    for name in NAMES:
        folder = runs / name
        if (folder / "results.csv").is_file():
            write_section(name, table(HEAD, rows(name, folder)), PAGE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
