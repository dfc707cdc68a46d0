"""Time and memory from ten thousand records on: build, question and release, beside others.

    python benchmarks/growth.py [--sizes 10000 100000 1000000 10000000] [--folder var/bench]

Each point is a process of its own, which loads, asks once without counting and then takes the
median. Memory is the most that was resident, mapped files included. What is measured stays in
growth.json, from which scripts/draw_growth.py draws the picture: give other sizes to add to it.

From 10^8 records on all stay in Parquet on the disk, for every program (`--sizes 100000000
1000000000`). A census of 10^8 people is drawn and built; more are its files several times over, by
links. What was drawn and built stays in the folder: what was stopped goes on.
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
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from report import BENCH, ROOT, table, write_section

FILED = Path(__file__).with_name("growth.json")
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
ON_DISK = 10**8
"""Records from which on nothing is loaded: Parquet on the disk is asked, each question once."""

PARTS = 100
MEMORY = "5GB"  # that DuckDB may take then
COVERED = ("age", "occupation", "education")
SCANNED = ("sex", "age", "occupation", "education", "health")
RELEASED = ("age_band", "occupation", "education", "health", "tenure", "activity", "religion",
            "marital_status", "citizenship")  # fmt: skip
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


def once(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of a question that is asked once."""
    begin = process_time()
    work()
    return process_time() - begin


def build_discreet(place: Path) -> Found:
    """Build a store from the Parquet file."""
    return _built(place, "scan")


def build_on_disk(place: Path) -> Found:
    """Build a store whose records stay in Parquet beside it."""
    return _built(place, "duckdb")


def _built(place: Path, engine: str) -> Found:
    from discreet.build import build

    shutil.rmtree(place / "store", ignore_errors=True)
    shutil.rmtree(place / "census-coded", ignore_errors=True)
    return {
        "build": once(
            lambda: build(place / "census" / "dataset.toml", place / "store", engine=engine)
        )
    }


def ask_discreet(place: Path) -> Found:
    """Ask an open store what its views cover, what they do not, and for releases."""
    from discreet.population import Store

    return _asked(Store(place / "store").open(), asked)


def ask_on_disk(place: Path) -> Found:
    """Ask a store whose records are in Parquet, some times over as the name of the folder says."""
    from engines import linked

    from discreet.population import Store

    copies = int(place.name.partition("-")[2]) // ON_DISK
    version = Store(place.with_name(f"growth-{ON_DISK}") / "store").open()
    if copies > 1:
        version = linked(version, copies, place / "coded")
    found = _asked(version, once)
    shutil.rmtree(place / "coded", ignore_errors=True)
    return found


def _asked(version: Any, scanning: Callable[[Callable[[], Any]], float]) -> Found:
    from itertools import combinations

    from discreet.policy import parse_policy
    from discreet.population.keys import Secret
    from discreet.query import Query, Question
    from discreet.release import Releaser
    from discreet.release.formats import to_bytes
    from discreet.tabulate import ViewEngine, engine_of

    scan = engine_of(version)
    verified = {} if version.elsewhere is None else {"verified": once(version.verified)}
    views = ViewEngine(version, scan, version.views)
    covered, scanned = (
        Question.of(Query.parse(",".join(names)), version.schema) for names in (COVERED, SCANNED)
    )
    policy = parse_policy(version.policy_values, "policy", "policy")
    releaser = Releaser.alone(version, views, policy, Secret(bytes(32)))
    tables = combinations(RELEASED, 2)  # more than are asked for: none is asked for twice

    def release() -> bytes:
        question = Question.of(Query.parse(",".join(("sex", *next(tables)))), version.schema)
        return to_bytes(releaser.release(question, "protected"), "csv")

    return {
        **verified,
        "covered": asked(lambda: views.tabulate(covered)),
        "scanned": scanning(lambda: scan.tabulate(scanned)),
        "release": asked(release),
    }


def duckdb(place: Path) -> Found:
    """Load the Parquet file into a native table, and ask that."""
    import duckdb

    connection = duckdb.connect()
    columns = ", ".join(dict.fromkeys((*COVERED, *SCANNED, "tenure", "person_id")))
    source = place / "census" / "persons.parquet"
    loaded = once(
        lambda: connection.execute(f"CREATE TABLE people AS SELECT {columns} FROM '{source}'")
    )
    return {
        "build": loaded,
        "covered": asked(lambda: _by_duckdb(connection, "people", COVERED)),
        "scanned": asked(lambda: _by_duckdb(connection, "people", SCANNED)),
    }


def duckdb_on_disk(place: Path) -> Found:
    """Ask the Parquet files."""
    import duckdb

    connection = duckdb.connect(config={"memory_limit": MEMORY})
    source = f"'{place / 'census' / 'persons' / '*.parquet'}'"
    return {
        "covered": once(lambda: _by_duckdb(connection, source, COVERED)),
        "scanned": once(lambda: _by_duckdb(connection, source, SCANNED)),
    }


def _by_duckdb(connection: Any, source: str, names: tuple[str, ...]) -> Any:
    by = ", ".join(names)
    query = f"SELECT {by}, count(*), sum(person_id) FROM {source} GROUP BY {by}"
    return connection.sql(query).to_arrow_table()


def polars(place: Path) -> Found:
    """Load the Parquet file into memory, and ask that."""
    import polars as pl

    columns = [*dict.fromkeys((*COVERED, *SCANNED, "tenure", "person_id"))]
    begin = process_time()
    frame = pl.read_parquet(place / "census" / "persons.parquet", columns=columns).lazy()
    loaded = process_time() - begin
    return {
        "build": loaded,
        "covered": asked(lambda: _by_polars(frame, COVERED).collect()),
        "scanned": asked(lambda: _by_polars(frame, SCANNED).collect()),
    }


def polars_on_disk(place: Path) -> Found:
    """Ask the Parquet files, by the engine that does not load them all."""
    import polars as pl

    frame = pl.scan_parquet(place / "census" / "persons" / "*.parquet")
    return {
        "covered": once(lambda: _by_polars(frame, COVERED).collect(engine="streaming")),
        "scanned": once(lambda: _by_polars(frame, SCANNED).collect(engine="streaming")),
    }


def _by_polars(frame: Any, names: tuple[str, ...]) -> Any:
    import polars as pl

    return frame.group_by(names).agg(pl.len(), pl.col("person_id").cast(pl.UInt64).sum())


ON_DISK_TEXT = """\
From 10^8 people on, the squares, nothing is loaded: the engine [`duckdb`](engines.md) keeps \
coded records in Parquet on the disk, and DuckDB and Polars (its streaming engine) ask the \
Parquet files of the original, so that they have no time to load. Each question is asked once of \
each. A census of 10^8 people was drawn and built. **10^9 are its files ten times over**, by \
links, for all three programs: what is read and counted is as much as of a billion people, from \
files that are small enough to stay in the memory of the system. It was not built: its views are \
those of 10^8, and the broken line is by model. Discreet compares all files with their checksums \
before it counts for the first time, which took {verified:.0f} CPU seconds more for 10^8. There \
five variables take {by_duckdb:.2f} times the CPU of DuckDB and {by_polars:.2f} times that of \
Polars; for 10^9, {by_duckdb_more:.2f} and {by_polars_more:.2f} times. Three variables and \
releases come from the views, of 10^8 people for both. Records have their keys whole, as they are, \
and are grouped by one number that is made of their codes: by this engine, at 10^7 and on two \
threads, five variables take 230 ms of CPU, where keys in halves and a group by five columns take \
430.
"""
WORK = {"build_discreet": build_discreet, "discreet": ask_discreet, "duckdb": duckdb,
        "polars": polars}  # fmt: skip
WORK |= {"build_discreet_on_disk": build_on_disk, "discreet_on_disk": ask_on_disk,
         "duckdb_on_disk": duckdb_on_disk, "polars_on_disk": polars_on_disk}  # fmt: skip


def worked(name: str, place: Path) -> Found:
    """Return what a process of its own found, and its memory in MiB."""
    command = [sys.executable, __file__, "--work", name, "--folder", str(place)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: Found = json.loads(out.splitlines()[-1])
    return found


def measured(size: int, folder: Path) -> dict[str, Found]:
    """Return what each program takes for so many people."""
    place = folder / f"growth-{size}"
    if size >= ON_DISK:
        return _measured_on_disk(place, folder / f"growth-{ON_DISK}", size // ON_DISK)
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


def _measured_on_disk(place: Path, one: Path, copies: int) -> dict[str, Found]:
    """Return what each program takes for the files of a census in Parquet, some times over."""
    if not (one / "census").exists():
        synth = [sys.executable, "-m", "discreet", "synth", "--persons", str(ON_DISK)]
        synth += ["--parts", str(PARTS), "--out", str(one / "census")]
        subprocess.run(synth, check=True, capture_output=True)
    if not (one / "built.json").exists():
        (one / "built.json").write_text(json.dumps(worked("build_discreet_on_disk", one)))
    people = place / "census" / "persons"
    if copies > 1 and not people.exists():
        people.mkdir(parents=True)
        for i, path in product(range(copies), (one / "census" / "persons").iterdir()):
            (people / f"{i:03}-{path.name}").hardlink_to(path)
    found = {name: worked(f"{name}_on_disk", place) for name in ("discreet", "duckdb", "polars")}
    if copies == 1:
        built = json.loads((one / "built.json").read_text())
        found["discreet"] |= {"build": built["build"], "building": built["memory"]}
    return found


def section(filed: dict[str, dict[str, Found]]) -> str:
    """Return the text for the page."""
    rows = []
    for size, programs in sorted(filed.items(), key=lambda one: int(one[0])):
        for name, found in programs.items():
            rows.append([
                f"{int(size):,}", {"duckdb": "DuckDB", "polars": "Polars"}.get(name, "Discreet"),
                f"{found['build']:.3g}" if "build" in found else "",
                f"{1e3 * found['covered']:.3g}",
                f"{1e3 * found['scanned']:.3g}",
                f"{1e3 * found['release']:.3g}" if "release" in found else "",
                f"{found.get('building', found['memory']):,.0f}" if "build" in found else "",
                f"{found['memory']:,.0f}",
            ])  # fmt: skip
    most = filed.get(str(ON_DISK))
    on_disk = "" if most is None else _on_disk(most, filed.get(str(10 * ON_DISK), most))
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
        "table of sex and two variables more, another one each time, counted, protected, judged "
        "and written as CSV. CPU "
        "seconds of all threads, medians; memory is the most that was resident, mapped files "
        "included.\n",
        on_disk,
        table(heads, rows),
    ])  # fmt: skip


def _on_disk(one: dict[str, Found], ten: dict[str, Found]) -> str:
    """Return what is to be said where nothing is loaded."""

    def times(found: dict[str, Found], program: str) -> float:
        return found["discreet"]["scanned"] / found[program]["scanned"]

    return ON_DISK_TEXT.format(
        verified=one["discreet"]["verified"],
        by_duckdb=times(one, "duckdb"),
        by_polars=times(one, "polars"),
        by_duckdb_more=times(ten, "duckdb"),
        by_polars_more=times(ten, "polars"),
    )


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
