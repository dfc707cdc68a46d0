"""Questions that no view covers, beside DuckDB on the same rows: five variables, fine areas.

    python benchmarks/scans.py [--persons 10000000] [--folder var/bench]

Both programs run in turns in one process on one thread each; a ratio is the median over the turns.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

from check import in_turns
from report import BENCH, table, write_section
from tabulate import duck, in_duckdb, prepare

from discreet.query import Query, Question
from discreet.tabulate import ScanEngine

TURNS = 5
QUESTIONS = (
    ("sex,age,occupation,education,health", None),
    ("age,occupation,education,religion,tenure", None),
    ("sex,age,health,tenure,education", "activity=1"),
    ("age,religion,tenure,education", "ethnic_group=3|4|5"),
    ("ward,sex,health", None),
    ("ward,sex", "activity=1"),
    ("oa,sex", "health=1|2"),
    ("oa,age", None),
    ("sex,age", "ward=1|2|3|4|5"),
)
TRIED = """\
Tried, and kept: records that filters leave out are added to cells that are thrown away, where a
quarter or more of a block pass (2.2 times as fast as listing those that pass). For the marginal
tables of a build, records packed into one word, sorted in chunks and merged, so that one addition
stands for several people and near cells come together. Tried, and not kept: four far-apart records
of a block in turn instead of neighbours (a fifth slower); sums of runs of one cell in a register
(half slower); one loop instead of four steps for the unfiltered scan (the same); filters folded
into larger tables (mostly the same, slower where few pass); wide tables of 2^20 or 2^22 cells
instead of 2^21 (a tenth slower). Not tried: two histograms in registers, pairs of columns.
"""


def main() -> None:
    """Measure in turns, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=BENCH)
    chosen = parser.parse_args()
    version = prepare(chosen.persons, chosen.folder)[0].open()
    scan, connection = ScanEngine(version, threads=1), duck(version)
    connection.execute("SET threads = 1")
    rows = []
    for by, where in QUESTIONS:
        question = Question.of(Query.parse(by, where), version.schema)
        ratio = in_turns(
            lambda q=question: scan.tabulate(q), in_duckdb(connection, version, question), TURNS
        )
        begin = process_time()
        scan.tabulate(question)
        took = process_time() - begin
        name = f"`{question.canonical.removeprefix('by=')}`".replace("|", "\\|")
        spread = f"{ratio.low:.1f}–{ratio.high:.1f}"
        rows.append(
            [name, f"{question.cells:,}", f"{1e3 * took:.1f}", f"1/{ratio.median:.1f}", spread]
        )
        print(rows[-1], flush=True)
    scan.close()
    missed = sum(float(row[3][2:]) < 10 for row in rows)
    text = (
        f"## Scans, {chosen.persons / 1e6:g} million people\n\nQuestions that views do not cover. "
        f"Target: at most 1/10 of DuckDB's CPU, missed by {missed} of {len(rows)}.\n\n"
    )
    heads = ["question", "cells", "CPU ms", "of DuckDB's CPU", "times less, quartiles"]
    write_section("scans", text + table(heads, rows) + "\n\n" + TRIED)


if __name__ == "__main__":
    main()
