"""Engines beside each other on the same records: equal figures first, then what they cost.

    python benchmarks/engines.py [--persons 3000000] [--copies 20] [--questions 200]

CPU seconds of the process that counts, since the machine may be shared: of this one for the scan
and DuckDB, of the server for Spark and pysail. Takes some ten minutes and half a gigabyte of disk,
which it gives back.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import ceil
from pathlib import Path
from time import process_time

import numpy as np
import psutil
from report import BENCH, ROOT, table, write_section

sys.path.insert(0, str(ROOT / "tests"))

from clusters import counted_by, sail, spark
from discreet.build import build
from discreet.population import Store, Version
from discreet.population.intact import Guard
from discreet.query import Query, Question
from discreet.synth import write
from discreet.table import CountTable
from discreet.tabulate import Engine, ScanEngine, ViewEngine, engine_of
from questions import random_questions
from tabulations import same

ASKED = (
    ("sex", None),
    ("sex,age", None),
    ("sex,age,occupation", None),
    ("age_band,la", None),
    ("oa,sex", None),
    ("occupation,education", "sex=2,health=1|2"),
)
RUNS = 3
DISTANT = 60  # of the random questions for Spark and pysail, which take longest
TARGET = 2.0  # seconds in which a question is to be answered
SIZES = (10**9, 10**10)
FAST = ("--conf", "spark.sql.codegen.wholeStage=true", "--driver-java-options", "-XX:+UseSerialGC")
"""Spark as it is set up for many records, not for short tests."""
SERVERS = {"pysail": sail, "Spark": spark}
Cost = Callable[[], float]


def stores(persons: int, folder: Path) -> tuple[Version, Version, list[str]]:
    """Return the same census in a store here and beside one, and what the builds cost."""
    place = folder / "stores"
    shutil.rmtree(folder, ignore_errors=True)
    place.mkdir(parents=True)
    write(persons, place / "census", 1, None, lambda done: None)
    (place / "away").mkdir(mode=0o700)
    costs = []
    for name, kind in (("here", "scan"), ("away", "duckdb")):
        began = process_time()
        build(place / "census" / "dataset.toml", place / name, engine=kind, views=2**20)
        costs.append(f"{(process_time() - began) / persons * 1e6:.2f}")
        if name == "here":
            shutil.copy2(place / "here" / "secret", place / "away" / "secret")
    bytes_away = sum(p.stat().st_size for p in place.glob("census-coded/*/*")) / persons
    bytes_here = (place / "census" / "persons.parquet").stat().st_size / persons
    facts = [*costs, f"{bytes_here:.1f}", f"{bytes_away:.1f}"]
    return Store(place / "here").open(), Store(place / "away").open(), facts


def _cpu_of(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


@contextmanager
def engines(here: Version, away: Version, folder: Path) -> Iterator[dict[str, tuple[Engine, Cost]]]:
    """Give the engines by name, each with a clock of the CPU that it uses."""
    with ExitStack() as stack:
        found: dict[str, tuple[Engine, Cost]] = {
            "scan": (ScanEngine(here), process_time),
            "DuckDB over Parquet": (engine_of(away), process_time),
        }
        for name, server in SERVERS.items():
            more = FAST if name == "Spark" else ()
            cluster = stack.enter_context(server(folder / name, *more))
            process = psutil.Process(cluster.process.pid)
            engine = engine_of(counted_by(away, "spark", cluster.remote))
            stack.callback(engine.close)
            found[name] = (engine, lambda process=process: _cpu_of(process))
        yield found


def compare(here: Version, found: dict[str, tuple[Engine, Cost]], number: int) -> str:
    """Return how many questions gave the same counts and key sums by all engines."""
    asked: dict[str, int] = dict.fromkeys(["views", *found], 0)
    counting: dict[str, Engine] = {name: one[0] for name, one in found.items()}
    counting["views"] = ViewEngine(here, ScanEngine(here))
    for i, question in enumerate(random_questions(here.schema, number, 1)):
        counted = counting["scan"].tabulate(question)
        for name, engine in counting.items():
            if name in SERVERS and i >= DISTANT:
                continue
            if not same(engine.tabulate(question), counted):
                sys.exit(f"{name} differs: {question.canonical}")
            asked[name] += 1
        if i % 10 == 9:
            print(i + 1, "questions are equal", flush=True)
    by = ", ".join(f"{name} {count}" for name, count in asked.items())
    return (
        f"Random questions about {here.rows:,} people, of up to four variables and with filters, "
        f"asked of each engine: {by}. No count and no key sum differs."
    )


def linked(away: Version, copies: int, folder: Path) -> Version:
    """Return a version whose coded records are those of another one, some times over.

    The files are links to the same ones: what engines read and count is as much as of as many
    people, and no disk is needed.
    """
    assert away.elsewhere is not None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for i in range(copies):
        for path in Path(away.elsewhere.coded).glob("*.parquet"):
            (folder / f"{i:03}-{path.name}").hardlink_to(path)
    files = {path.name: path.stat().st_size for path in folder.iterdir()}
    said = {**away.manifest["engine"], "coded": str(folder), "files": files}
    facts = {**away.manifest, "engine": said, "rows": away.rows * copies}
    return replace(away, manifest=facts)


def repeated(here: Version, copies: int) -> Version:
    """Return a version in memory that has every record some times over."""
    arrays = [
        np.repeat(here.codes8, copies, axis=1),
        np.repeat(here.codes16, copies, axis=1),
        np.repeat(here.keys, copies),
    ]
    for array in arrays:
        array.setflags(write=False)  # of one type with mapped columns, for the kernels
    areas = None if here.areas is None else here.areas * copies
    facts = {**here.manifest, "rows": here.rows * copies}
    codes8, codes16, keys = arrays
    return replace(
        here, manifest=facts, codes8=codes8, codes16=codes16, keys=keys, areas=areas, guard=Guard()
    )


def measure(
    version: Version, found: dict[str, tuple[Engine, Cost]], runs: int
) -> tuple[list[list[str]], dict[str, float]]:
    """Return the CPU nanoseconds a record of each question, and million records a CPU second."""
    rows: list[list[str]] = []
    rates: dict[str, list[float]] = {}
    for by, where in ASKED:
        question = Question.of(Query.parse(by, where), version.schema)
        asked = f"`{by}`" + (f" where `{where}`" if where else "")
        row = [asked.replace("|", "\\|")]  # which would end a column of the page
        counted: CountTable | None = None
        for name, (engine, cpu) in found.items():
            table = engine.tabulate(question)
            counted = counted or table
            if not same(table, counted):
                sys.exit(f"{name} differs: {question.canonical}")
            began = cpu()
            for _ in range(runs):
                engine.tabulate(question)
            # A server's clock has steps of a hundredth of a second.
            cost = max(cpu() - began, 0.01 if name in SERVERS else 0.0) / runs / version.rows
            row.append(f"{cost * 1e9:,.1f}")
            rates.setdefault(name, []).append(1e-6 / cost)
        rows.append(row)
        print(row, flush=True)
    return rows, {name: min(rate) for name, rate in rates.items()}


def sized(rates: dict[str, float], facts: list[str]) -> str:
    """Return the cores that answer a question of the dearest kind within the target."""
    lines = []
    for records in SIZES:
        for name, rate in rates.items():
            cores = records / (rate * 1e6) / TARGET
            lines.append([f"{records:,}", name, f"{ceil(cores):,}"])
    storage = ", ".join(f"{n * float(facts[3]) / 1e9:,.0f} GB for {n:,}" for n in SIZES)
    hours = ", ".join(f"{n * float(facts[1]) / 3.6e9:,.1f} CPU hours for {n:,}" for n in SIZES)
    head = table(("records", "engine", f"cores for {TARGET:.0f} s"), lines)
    where = "on the machine that has the secret"
    return f"{head}\n\nCoded records take {storage}. A build takes {hours}, {where}."


def written(rates: dict[str, float]) -> str:
    """Return the rates as a sentence has them."""
    return ", ".join(f"{name} {rate:,.1f}" for name, rate in rates.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=3_000_000)
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--folder", type=Path, default=BENCH)
    given = parser.parse_args()
    folder = given.folder / "engines"
    try:
        here, away, facts = stores(given.persons, folder)
        with engines(here, away, folder / "servers") as found:
            equal = compare(here, found, given.questions)
            small, small_rates = measure(here, found, RUNS)
        many = repeated(here, given.copies)
        with engines(many, linked(away, given.copies, folder / "linked"), folder / "more") as found:
            large, rates = measure(many, found, 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = f"""## Engines, {given.persons / 1e6:,.0f} and {many.rows / 1e6:,.0f} million records

{equal}

CPU nanoseconds a record of one question, on a machine of two cores that others use too, about
{given.persons:,} people:

{table(("question", *small_rates), small)}

Million records a CPU second, of the dearest of these questions: {written(small_rates)}.

The same about {many.rows:,} records, every one of those people {given.copies} times (for the scan
repeated in memory, for the others as links to the same Parquet files). Their tables are equal too:

{table(("question", *rates), large)}

Million records a CPU second, of the dearest: {written(rates)}. The original takes
{facts[2]} bytes a record and the coded records {facts[3]}. A build costs {facts[0]} CPU seconds a
million records into a store, and {facts[1]} where records stay in Parquet.

### Sizing a cluster

**Extrapolated**, not measured: cost grows with the records, as from {given.persons / 1e6:,.0f} to
{many.rows / 1e6:,.0f} million, and is shared by the cores without loss. A question that marginal
views cover costs the cluster nothing. A store takes at most 4,294,967,295 records: more have to be
divided among several stores, and the figures for them are what counting all would cost.

{sized(rates, facts)}
"""
    write_section("engines", text)


if __name__ == "__main__":
    main()
