"""Engines beside each other on the same records: equal figures first, then what they cost.

    python benchmarks/engines.py [--persons 3000000] [--copies 20] [--questions 200]

CPU seconds of the process that counts, since the machine may be shared: of this one for the scan
and DuckDB, of the server for Spark and pysail.
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
from statistics import median

import psutil
from report import BENCH, ROOT, table, write_section

sys.path.insert(0, str(ROOT / "tests"))

from clusters import counted_by, sail, spark
from discreet.build import build
from discreet.population import Store, Version
from discreet.query import Query, Question
from discreet.synth import write
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
TARGET = 2.0  # seconds in which a question is to be answered
Cost = Callable[[], float]


def stores(persons: int, folder: Path) -> tuple[Version, Version, list[str]]:
    """Return the same census in a store here and beside one, and what the builds cost."""
    place = folder / f"engines-{persons}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    write(persons, place / "census", 1, None, lambda done: None)
    (place / "away").mkdir(mode=0o700)
    costs = []
    for name, kind in (("here", "scan"), ("away", "duckdb")):
        began = _cpu()
        build(place / "census" / "dataset.toml", place / name, engine=kind, views=2**20)
        costs.append(f"{(_cpu() - began) / persons * 1e6:.2f}")
        if name == "here":
            shutil.copy2(place / "here" / "secret", place / "away" / "secret")
    bytes_away = sum(p.stat().st_size for p in place.glob("census-coded/*/*")) / persons
    bytes_here = (place / "census" / "persons.parquet").stat().st_size / persons
    facts = [*costs, f"{bytes_here:.1f}", f"{bytes_away:.1f}"]
    return Store(place / "here").open(), Store(place / "away").open(), facts


def _cpu(process: psutil.Process | None = None) -> float:
    used = (process or psutil.Process()).cpu_times()
    return float(used.user + used.system)


@contextmanager
def engines(here: Version, away: Version, folder: Path) -> Iterator[dict[str, tuple[Engine, Cost]]]:
    """Give the engines by name, each with a clock of the CPU that it uses."""
    with ExitStack() as stack:
        found: dict[str, tuple[Engine, Cost]] = {
            "scan": (ScanEngine(here), _cpu),
            "DuckDB over Parquet": (engine_of(away), _cpu),
        }
        for name, server in (("pysail", sail), ("Spark", spark)):
            more = ("--conf", "spark.sql.codegen.wholeStage=true") if name == "Spark" else ()
            cluster = stack.enter_context(server(folder / name, *more))
            process = psutil.Process(cluster.process.pid)
            engine = engine_of(counted_by(away, "spark", cluster.remote))
            stack.callback(engine.close)
            found[name] = (engine, lambda process=process: _cpu(process))
        yield found


def compare(here: Version, away: Version, number: int, folder: Path) -> str:
    """Return how many questions gave the same counts and key sums by all engines."""
    with engines(here, away, folder / "servers") as found:
        views = ViewEngine(here, ScanEngine(here))
        counting = {**{name: one[0] for name, one in found.items()}, "views": views}
        for i, question in enumerate(random_questions(here.schema, number, 1)):
            counted = counting["scan"].tabulate(question)
            for name, engine in counting.items():
                if not same(engine.tabulate(question), counted):
                    sys.exit(f"{name} differs: {question.canonical}")
            if i % 10 == 9:
                print(i + 1, "questions are equal", flush=True)
    asked = f"{number} random questions about {here.rows:,} people"
    return f"{asked}: counts and key sums are equal by {', '.join(counting)}."


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


def measure(
    here: Version, away: Version, copies: int, folder: Path
) -> tuple[list[list[str]], dict[str, float]]:
    """Return the CPU nanoseconds a record of each question, and million records a CPU second."""
    many = linked(away, copies, folder / "linked")
    rows, rates = [], {}
    with engines(here, many, folder / "servers") as found:
        for by, where in ASKED:
            question = Question.of(Query.parse(by, where), here.schema)
            row = [f"`{by}`" + (f" where `{where}`" if where else "")]
            for name, (engine, cpu) in found.items():
                records = here.rows if name == "scan" else many.rows
                engine.tabulate(question)
                used = []
                for _ in range(RUNS):
                    began = cpu()
                    engine.tabulate(question)
                    used.append(cpu() - began)
                cost = max(median(used), 0.01) / records
                row.append(f"{cost * 1e9:,.1f}")
                rates.setdefault(name, []).append(1e-6 / cost)
            rows.append(row)
            print(row, flush=True)
    return rows, {name: min(rate) for name, rate in rates.items()}


def sized(rates: dict[str, float], facts: list[str]) -> str:
    """Return the cores that answer a question of the dearest kind within the target."""
    lines = []
    for records in (10**9, 10**10):
        for name, rate in rates.items():
            cores = records / (rate * 1e6) / TARGET
            lines.append([f"{records:,}", name, f"{ceil(cores):,}"])
    storage = ", ".join(f"{n * float(facts[3]) / 1e9:,.0f} GB for {n:,}" for n in (10**9, 10**10))
    hours = ", ".join(
        f"{n * float(facts[1]) / 1e6 / 3600:,.1f} CPU hours for {n:,}" for n in (10**9, 10**10)
    )
    head = table(("records", "engine", f"cores for {TARGET:.0f} s"), lines)
    where = "on the machine that has the secret"
    return f"{head}\n\nCoded records take {storage}. A build takes {hours}, {where}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=3_000_000)
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--folder", type=Path, default=BENCH)
    given = parser.parse_args()
    here, away, facts = stores(given.persons, given.folder)
    rows, rates = measure(here, away, given.copies, given.folder)
    equal = compare(here, away, given.questions, given.folder)
    slowest = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
    records = given.persons * given.copies
    text = f"""## Engines, {records / 1e6:,.0f} million records

CPU nanoseconds a record of one question, on a machine of two cores that others use too.
{given.copies} links to the coded records of {given.persons:,} people are what DuckDB, pysail and
Spark count; the scan counts these people once. {equal}

{table(("question", *rates), rows)}

Million records a CPU second, of the dearest of these questions: {slowest}. The original takes
{facts[2]} bytes a record and the coded records {facts[3]}. A build costs {facts[0]} CPU seconds a
million records into a store, and {facts[1]} where records stay in Parquet.

### Sizing a cluster

A model of these figures, not a measurement: cost grows with the records and is shared by the
cores. Spark adds some hundred milliseconds to a question of any size. Questions that marginal views
cover, most of them, cost the cluster nothing. A store takes at most 4,294,967,295 records; beyond
that, the model says what counting would cost, and divide the records among several stores.

{sized(rates, facts)}
"""
    write_section("engines", text)


if __name__ == "__main__":
    main()
