"""Time and memory from ten thousand records on: build, question and release, beside others.

    python benchmarks/growth.py [--sizes 10000 100000 1000000 10000000] [--folder var/bench]

Each point is a process of its own, which loads, asks once without counting and then takes the
median. Memory is the most that was resident, mapped files included. What is measured stays in
growth.json, from which scripts/draw_growth.py draws the picture: give other sizes to add to it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from report import BENCH, ROOT, table, write_section

FILED = Path(__file__).with_name("growth.json")
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
PROGRAMS = ("discreet", "duckdb", "polars")
COVERED = ("age", "occupation", "education")
SCANNED = ("sex", "age", "occupation", "education", "health")
RELEASED = ("age_band", "occupation", "education", "health", "tenure")
Found = dict[str, float]


def asked(work: Callable[[], Any]) -> float:
    """Return the median CPU seconds of a question, after one that does not count."""
    work()
    seconds, end = [], perf_counter() + 2
    while len(seconds) < 3 or (perf_counter() < end and len(seconds) < 25):
        begin = process_time()
        work()
        seconds.append(process_time() - begin)
    return median(seconds)


def build_discreet(place: Path) -> Found:
    """Build a store from the Parquet file."""
    from discreet.build import build

    shutil.rmtree(place / "store", ignore_errors=True)
    begin = process_time()
    build(place / "census" / "dataset.toml", place / "store")
    return {"build": process_time() - begin}


def ask_discreet(place: Path) -> Found:
    """Ask an open store what its views cover, what they do not, and for releases."""
    from itertools import combinations, cycle

    from discreet.policy import parse_policy
    from discreet.population import Store
    from discreet.population.keys import Secret
    from discreet.query import Query, Question
    from discreet.release import Releaser
    from discreet.release.formats import to_bytes
    from discreet.tabulate import ScanEngine, ViewEngine

    version = Store(place / "store").open()
    scan = ScanEngine(version)
    views = ViewEngine(version, scan, version.views)
    covered, scanned = (
        Question.of(Query.parse(",".join(names)), version.schema) for names in (COVERED, SCANNED)
    )
    policy = parse_policy(version.policy_values, "policy", "policy")
    releaser = Releaser.alone(version, views, policy, Secret(bytes(32)))
    tables = cycle(combinations(RELEASED, 2))

    def release() -> bytes:
        question = Question.of(Query.parse(",".join(("sex", *next(tables)))), version.schema)
        return to_bytes(releaser.release(question, "protected"), "csv")

    return {
        "covered": asked(lambda: views.tabulate(covered)),
        "scanned": asked(lambda: scan.tabulate(scanned)),
        "release": asked(release),
    }


def duckdb(place: Path) -> Found:
    """Load the Parquet file into a native table, and ask that."""
    import duckdb

    connection = duckdb.connect()
    columns = ", ".join(dict.fromkeys((*COVERED, *SCANNED, "tenure", "person_id")))
    begin = process_time()
    source = place / "census" / "persons.parquet"
    connection.execute(f"CREATE TABLE people AS SELECT {columns} FROM '{source}'")
    loaded = process_time() - begin

    def ask(names: tuple[str, ...]) -> Any:
        by = ", ".join(names)
        query = f"SELECT {by}, count(*), sum(person_id) FROM people GROUP BY {by}"
        return connection.sql(query).to_arrow_table()

    return {
        "build": loaded,
        "covered": asked(lambda: ask(COVERED)),
        "scanned": asked(lambda: ask(SCANNED)),
    }


def polars(place: Path) -> Found:
    """Load the Parquet file into memory, and ask that."""
    import polars as pl

    columns = [*dict.fromkeys((*COVERED, *SCANNED, "tenure", "person_id"))]
    begin = process_time()
    frame = pl.read_parquet(place / "census" / "persons.parquet", columns=columns)
    loaded = process_time() - begin

    def ask(names: tuple[str, ...]) -> Any:
        return frame.lazy().group_by(names).agg(pl.len(), pl.col("person_id").sum()).collect()

    return {
        "build": loaded,
        "covered": asked(lambda: ask(COVERED)),
        "scanned": asked(lambda: ask(SCANNED)),
    }


WORK = {"build_discreet": build_discreet, "discreet": ask_discreet, "duckdb": duckdb,
        "polars": polars}  # fmt: skip


def worked(name: str, place: Path) -> Found:
    """Return what a process of its own found, and its memory in MiB."""
    command = [sys.executable, __file__, "--work", name, "--folder", str(place)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: Found = json.loads(out.splitlines()[-1])
    return found


def measured(size: int, folder: Path) -> dict[str, Found]:
    """Return what each program takes for so many people."""
    place = folder / f"growth-{size}"
    if not (place / "census").exists():
        synth = [sys.executable, "-m", "discreet", "synth", "--persons", str(size)]
        subprocess.run([*synth, "--out", str(place / "census")], check=True, capture_output=True)
    worked("build_discreet", place)  # kernels are compiled once on a machine
    built = worked("build_discreet", place)
    found = {"discreet": worked("discreet", place)}
    found["discreet"] |= {"build": built["build"], "building": built["memory"]}
    for name in ("duckdb", "polars"):
        found[name] = worked(name, place)
    shutil.rmtree(place)
    return found


def section(filed: dict[str, dict[str, Found]]) -> str:
    """Return the text for the page."""
    rows = []
    for size, programs in sorted(filed.items(), key=lambda one: int(one[0])):
        for name, found in programs.items():
            rows.append([
                f"{int(size):,}", {"duckdb": "DuckDB", "polars": "Polars"}.get(name, "Discreet"),
                f"{found['build']:.3g}", f"{1e3 * found['covered']:.3g}",
                f"{1e3 * found['scanned']:.3g}",
                f"{1e3 * found['release']:.3g}" if "release" in found else "",
                f"{found.get('building', found['memory']):,.0f}", f"{found['memory']:,.0f}",
            ])  # fmt: skip
    heads = ["people", "", "build or load, CPU s", "three variables, CPU ms",
             "five variables, CPU ms", "release, CPU ms", "MiB to build", "MiB to ask"]  # fmt: skip
    return "\n".join([
        "## Growth\n",
        "![Time and memory of build, questions and releases by the number of records, beside "
        "DuckDB and Polars, on logarithmic axes](pictures/growth.svg)\n",
        "One Parquet file of the synthetic census for all. Discreet builds a store: every value "
        "checked, ids hashed, records sorted, checksums, marginal tables, all on the disk. DuckDB "
        "and Polars load the columns that are asked for into memory. The questions give counts and "
        "a sum; of three variables a view answers, of five the records are read. A release is a "
        "table of sex and two variables more, counted, protected, judged and written as CSV. CPU "
        "seconds of all threads, medians; memory is the most that was resident, mapped files "
        "included. Points are measured; broken lines go on from the last one as the records do, "
        "and are not.\n",
        table(heads, rows),
    ])  # fmt: skip


def main() -> None:
    """Measure the sizes that are asked for, add them to the file, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--folder", type=Path, default=BENCH)
    parser.add_argument("--work", choices=WORK)
    chosen = parser.parse_args()
    if chosen.work:
        found = WORK[chosen.work](chosen.folder)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(json.dumps({**found, "memory": peak}))
        return
    filed = json.loads(FILED.read_text()) if FILED.exists() else {}
    for size in chosen.sizes:
        filed[str(size)] = measured(size, chosen.folder)
        print(size, filed[str(size)], flush=True)
        FILED.write_text(json.dumps(filed, indent=1) + "\n")
    write_section("growth", section(filed))
    subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "draw_growth.py")], check=True, env=os.environ
    )


if __name__ == "__main__":
    main()
