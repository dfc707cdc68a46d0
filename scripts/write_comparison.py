"""Writes the tables of docs/comparison.md from the folders of studies that were run.

    discreet study shlomo2015 --data store --out runs/shlomo2015
    python scripts/write_comparison.py runs

Every folder named after a paper fills the section of that name; the others stay as they are.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from discreet.study.measures import MEASURES
from discreet.study.papers import FOLDER, NAMES

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from report import table, write_section  # noqa: E402

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
        measure = _map_risk(found) if before else row["measure"]
        here = found.get((row["table"], row["setting"], measure))
        if here is not None and here["mean"]:
            words = "risk before" if before else WORDS.get(measure, MEASURES[measure].words)
            error = f"{float(here['standard_error'] or 0):.3f}"
            figures = [f"{float(row['value']):.3f}", f"{float(here['mean']):.3f}", error]
            lines.append([row["table"], row["setting"], words, *figures])
    return lines


def _full(row: dict[str, str]) -> str:
    return f"{row['method']}, {row['setting']}" if row["setting"] else row["method"]


def _map_risk(found: dict[tuple[str, str, str], dict[str, str]]) -> str:
    """Return the measure of risk of the map, which comes first."""
    return next(measure for _, _, measure in found)


def main(runs: Path) -> None:
    for name in NAMES:
        folder = runs / name
        if (folder / "results.csv").is_file():
            write_section(name, table(HEAD, rows(name, folder)), PAGE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
