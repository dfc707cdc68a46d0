"""Magnitude tables of the synthetic register, withheld by this program and by gconfid.

gconfid (Statistics Canada) runs in an environment of its own, since it pins packages:
`python -m venv DIR && DIR/bin/pip install gconfid==2.0.4`, named by DISCREET_GCONFID=DIR. Without
it the section that is there stays.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from report import BENCH, table, timed, write_section

from discreet.desk.cells import CellTable
from discreet.desk.sensitivity import PriorPosterior, required
from discreet.desk.suppress.method import Suppression
from discreet.desk.suppress.report import read_linked
from discreet.solve.system import TableSystem
from discreet.synth.business import write
from discreet.types import Flags

GCONFID = os.environ.get("DISCREET_GCONFID", "")
RECORDS = 5_000
RULE = PriorPosterior(10.0)
# Dimensions; those with a star have their hierarchy.
TABLES = (
    "size region",
    "industry region",
    "industry size owner",
    "industry* region",
    "industry* region*",
    "product* region*",
    "industry size",
    "size form owner age",
    "region* export market",
    "product* size form",
)
# Other tables, of records of another seed: only the least number of steps was set on them.
HELD_OUT = (
    "region owner",
    "industry export",
    "region size form",
    "product region",
    "industry* size",
    "region* market",
    "product* industry*",
    "industry form market",
    "region age export",
    "product* owner age",
)
# What a cell costs: gconfid's name, and this program's.
WEIGHTS = {"CONSTANT": "number", "DIGITS": "information"}


def rows(folder: Path, tables: Sequence[str]) -> tuple[list[tuple[str, ...]], int]:
    """Each table with both weights: what either program withholds, and how long it took.

    The number is that of rows in which gconfid withholds less by the sum of its own weights.
    """
    found: list[tuple[str, ...]] = []
    cheaper = 0
    for name in tables:
        columns = [part.rstrip("*") for part in name.split()]
        trees = {c.rstrip("*"): str(folder / f"{c[:-1]}.hrc") for c in name.split() if "*" in c}
        read = read_linked(
            str(folder / "records.csv"), columns, "turnover", "holding", trees or None
        )
        cells = read.cells[0]
        for theirs, ours in WEIGHTS.items():
            method = Suppression((RULE,), objective=ours, singletons=False)  # type: ignore[arg-type]
            warm = 0 if found else 1
            spent, _, result = timed(lambda m=method, c=cells: m.apply(c), warm=warm)
            other, seconds = gconfid(cells, theirs)
            row = (
                name.replace(" ", " × "),
                theirs.lower(),
                f"{cells.values.size:,}",
                f"{int(required(cells, [RULE]).sensitive.sum()):,}",
                *_withheld(cells, result.withheld),
                f"{spent:.2f}",
                *_withheld(cells, other),
                f"{seconds:.2f}",
            )
            print(*row, flush=True)
            found.append(row)
            cheaper += _cost(cells, other, theirs) < _cost(cells, result.withheld, theirs) - 1e-9
    return found, cheaper


def _cost(cells: CellTable, withheld: Flags, weights: str) -> float:
    """Return what gconfid's weights of withheld cells add up to."""
    values = cells.values[withheld]
    return float(len(values) if weights == "CONSTANT" else np.log1p(values).sum())


def _withheld(cells: CellTable, withheld: Flags) -> tuple[str, str]:
    share = cells.values[withheld].sum() / cells.values.sum()
    return f"{int(withheld.sum()):,}", f"{share:.2%}"


def gconfid(cells: CellTable, cost: str) -> tuple[Flags, float]:
    """Return what gconfid withholds of a table, and its CPU seconds."""
    system = TableSystem.table(cells.hierarchies)
    value, amount = np.zeros(system.variables), np.zeros(system.variables)
    value[system.variable] = cells.values.reshape(-1)
    amount[system.variable] = required(cells, [RULE]).upper.reshape(-1)
    folder = BENCH / "gconfid"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{part}.csv" for part in ("cells", "constraints", "statuses")]
    there = np.flatnonzero(value > 0)
    lines = ["CellId,TotalNoise,Sensitivity,Status,Type"]
    for one in there:
        told = f"{amount[one]},S" if amount[one] > 0 else "-1,V"
        lines.append(f"{one + 1},{value[one]},{told},C")
    paths[0].write_text("\n".join(lines) + "\n")
    lines = ["ConstraintId,CellId,Coefficient"]
    sums = system.equations.tocoo()
    for row, one, factor in zip(sums.row, sums.col, sums.data, strict=True):
        if value[one] > 0:
            lines.append(f"{row + 1},{one + 1},{factor}")
    paths[1].write_text("\n".join(lines) + "\n")
    script = Path(__file__).with_name("gconfid_run.py")
    command = [f"{GCONFID}/bin/python", str(script), *map(str, paths[:2]), cost, str(paths[2])]
    clean = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=clean)
    kept = np.zeros(system.variables, bool)
    for line in paths[2].read_text().splitlines()[1:]:
        cell, status = line.split(",")
        kept[int(float(cell)) - 1] = status == "X"
    withheld = kept[system.variable].reshape(cells.shape)
    return withheld, float(run.stdout.split()[-1])


def won(found: list[tuple[str, ...]], cheaper: int) -> str:
    """Return sentences on the rows that gconfid wins in cells, value or time, and by weight."""
    lost = []
    for row in found:
        wins = [
            word
            for word, ours, theirs in (("cells", 4, 7), ("value", 5, 8), ("time", 6, 9))
            if _number(row[theirs]) < _number(row[ours])
        ]
        if wins:
            lost.append(f"{row[0]}, {row[1]} ({' and '.join(wins)})")
    weighed = f"By the sum of its own weights, which both keep small, it wins {cheaper or 'none'}."
    if not lost:
        return f"gconfid wins no row. {weighed}"
    told = f"gconfid wins {len(lost)} of {len(found)} rows in something: {'; '.join(lost)}."
    return f"{told} {weighed}"


def _told(found: list[tuple[str, ...]], cheaper: int) -> str:
    return won(found, cheaper) + "\n\n" + table(HEADER, found)


def _number(text: str) -> float:
    return float(text.replace(",", "").rstrip("%"))


def section(seed: int, tables: Sequence[str]) -> tuple[list[tuple[str, ...]], int]:
    """The rows of tables of one draw of the register."""
    folder = BENCH / f"register-{seed}"
    write(RECORDS, folder, seed)
    return rows(folder, tables)


HEADER = (
    "table", "weights", "cells", "primary", "withheld", "of all values", "CPU s",
    "gconfid withheld", "of all values", "its CPU s",
)  # fmt: skip


def main() -> None:
    """Run everything, or with "held-out" the tables of another seed, and write."""
    if not GCONFID:
        print("DISCREET_GCONFID names no environment with gconfid: left out")
        return
    if sys.argv[1:] != ["held-out"]:
        found, cheaper = section(1, TABLES)
        text = (
            "### Magnitudes beside gconfid\n\n"
            f"Turnover of the synthetic register ({RECORDS:,} records, seed 1), p = 10, against "
            "everybody but contributors, which is what gconfid 2.0.4 (Statistics Canada) gives; "
            "both with the same weights or nearly: constant against number, digits, "
            "log(1 + value), against information, log(1 + value / least value). It is the best "
            "peer. The steps of the search were set on these tables. Dimensions with a star have "
            "their hierarchy. Cells withheld, their share of all values, CPU seconds of one run; "
            "imports and compiling are not counted. "
        )
        write_section("suppression-gconfid", text + _told(found, cheaper))
    others, cheaper = section(2, HELD_OUT)
    text = (
        "### Other magnitudes beside gconfid\n\nTen tables of records of another seed (2); of all "
        "constants only the least number of steps was set with an eye on their time. All else as "
        "above. "
    )
    write_section("suppression-gconfid-2", text + _told(others, cheaper))


if __name__ == "__main__":
    main()
