"""Tabulation beside DuckDB's native table and Polars in memory, on the same rows in one run.

    python benchmarks/tabulate.py [--persons 60000000] [--folder var/bench]

Everything is a ratio within one run, of CPU seconds first: the machine may be shared. The probe
reads the bytes a question needs once and writes the bytes of its result, and does nothing else.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import orjson
import polars as pl
import pyarrow as pa
from building import THREADS, machine, told
from numba import njit
from report import BENCH, table, write_section

from discreet.policy import parse_policy
from discreet.population import Level, Schema, Store, Variable, Version
from discreet.population.keys import Secret
from discreet.population.names import GEOGRAPHY
from discreet.query import Query, Question
from discreet.release import Releaser
from discreet.tabulate import ScanEngine, ViewEngine
from discreet.tabulate.chosen import WIDEST, allowed, choose
from discreet.tabulate.views import Index, View

VARIABLES = (
    "sex", "age", "marital_status", "activity", "occupation", "education", "citizenship",
    "country_of_birth", "religion", "ethnic_group", "health", "tenure",
)  # fmt: skip
QUESTIONS = (
    ("1-way", "sex", None),
    ("1-way", "age", None),
    ("2-way", "sex,age", None),
    ("3-way", "sex,age,occupation", None),
    ("3-way", "age,country_of_birth,ethnic_group", None),
    ("4-way", "sex,marital_status,activity,occupation", None),
    ("4-way", "sex,age,occupation,education", None),
    ("filtered", "sex,age", "activity=1"),
    ("filtered", "occupation,education", "sex=2,health=1|2"),
    ("recoded", "sex,age_band,occupation", None),
    ("recoded and filtered", "age_band,religion", "ethnic_group=3|4|5"),
    ("local authorities", "la,sex,age_band", None),
    ("output areas", "oa,sex,age", None),
)
TARGETS = {"output areas": 1 / 30}
SECONDS = 1.5  # spent on each question by each program, at the least three runs


@dataclass(frozen=True)
class Cost:
    """Median CPU and wall seconds of one run."""

    cpu: float
    wall: float


def measured(work: Callable[[], Any], least: int = 3) -> Cost:
    """Return the median cost after one run that does not count."""
    work()
    cpu, wall = [], []
    end = time.perf_counter() + SECONDS
    while len(cpu) < least or (time.perf_counter() < end and len(cpu) < 50):
        before = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - before[0])
        wall.append(time.perf_counter() - before[1])
    return Cost(statistics.median(cpu), statistics.median(wall))


@njit(nogil=True)
def _read(words: Any) -> Any:
    total = np.uint64(0)
    for i in range(len(words)):
        total += words[i]
    return total


def probe(version: Version, question: Question, pool: ThreadPoolExecutor) -> Callable[[], None]:
    """Return work that reads the columns and keys of a question and writes a result, no more."""
    named = {axis.variable.id for axis in question.axes}
    named |= {f.variable.id for f in question.filters}
    columns = [version.column(v) for v in version.schema.columns if v.id in named]
    words = [
        part.view(np.uint64)
        for column in (*columns, version.keys)
        for part in np.array_split(column[: len(column) // 64 * 64].reshape(-1, 64), THREADS)
    ]
    flat = [part.reshape(-1) for part in words]

    def work() -> None:
        np.zeros(question.cells, np.uint64).fill(1)
        list(pool.map(_read, flat))

    return work


def duck(version: Version, more: tuple[str, ...] = ()) -> duckdb.DuckDBPyConnection:
    """Return the same rows as a native table in memory: as many bytes a code, in the same order."""
    connection = duckdb.connect(config={"threads": THREADS})
    connection.register("source", pa.table(_columns(version, more)))
    connection.execute("CREATE TABLE people AS SELECT * FROM source")
    connection.unregister("source")
    return connection


def _columns(version: Version, more: tuple[str, ...] = ()) -> dict[str, Any]:
    named = {*VARIABLES, *more}
    columns = {v.id: version.column(v) for v in version.schema.columns if v.id in named}
    assert version.areas is not None
    areas = np.arange(len(version.areas) - 1, dtype=np.uint32)
    return {**columns, "oa": np.repeat(areas, np.diff(version.areas)), "key": version.keys}


def _recodes(version: Version, question: Question) -> dict[str, tuple[str, Any]]:
    """The axes that are not at their finest level: variable, and the group of each code."""
    return {
        axis.level.id: (_column(axis.variable.id), axis.level.of)
        for axis in question.axes
        if axis.level is not axis.variable.finest
    }


def _column(variable: str) -> str:
    return "oa" if variable == GEOGRAPHY else variable


def in_duckdb(
    connection: duckdb.DuckDBPyConnection, version: Version, question: Question
) -> Callable[[], Any]:
    """Return the question to DuckDB: groups looked up after counting, as a tuner would write it."""
    recodes = _recodes(version, question)
    finest = [_column(axis.variable.id) for axis in question.axes]
    where = " AND ".join(
        f"{_column(f.variable.id)} IN ({', '.join(map(str, np.flatnonzero(f.allowed)))})"
        for f in question.filters
    )
    inner = (
        f"SELECT {', '.join(finest)}, count(*) AS n, sum(key) AS k FROM people "
        f"{f'WHERE {where}' if where else ''} GROUP BY {', '.join(finest)}"
    )
    if not recodes:
        return lambda: connection.sql(inner).to_arrow_table()
    joins, names = [], []
    for axis in question.axes:
        column = _column(axis.variable.id)
        if axis.level.id in recodes:
            groups = f"groups_{axis.level.id}"
            codes = np.arange(len(axis.level.of), dtype=np.uint32)
            connection.register(groups, pa.table({"code": codes, "to": axis.level.of}))
            joins.append(f"JOIN {groups} ON {groups}.code = t.{column}")
            names.append(f"{groups}.to")
        else:
            names.append(f"t.{column}")
    query = (
        f"SELECT {', '.join(names)}, sum(n), sum(k) FROM ({inner}) AS t {' '.join(joins)} "
        f"GROUP BY {', '.join(names)}"
    )
    return lambda: connection.sql(query).to_arrow_table()


def in_polars(frame: pl.DataFrame, version: Version, question: Question) -> Callable[[], Any]:
    """Return the question to Polars."""
    recodes = _recodes(version, question)
    lazy = frame.lazy()
    for f in question.filters:
        codes = np.flatnonzero(f.allowed).tolist()
        lazy = lazy.filter(pl.col(_column(f.variable.id)).is_in(codes))
    counted = lazy.group_by([_column(axis.variable.id) for axis in question.axes]).agg(
        pl.len().alias("n"), pl.col("key").cast(pl.UInt64).sum().alias("k")
    )
    for name, (column, of) in recodes.items():
        codes = pl.DataFrame(
            {"code": np.arange(len(of), dtype=frame[column].to_numpy().dtype), name: of}
        )
        counted = counted.join(codes.lazy(), left_on=column, right_on="code")
    if recodes:
        by = [a.level.id if a.level.id in recodes else a.variable.id for a in question.axes]
        counted = counted.group_by(by).agg(pl.col("n").sum(), pl.col("k").sum())
    return counted.collect


def checked(version: Version, connection: Any, question: Question, ours: Any) -> None:
    """The programs must count the same people before they are compared."""
    found = in_duckdb(connection, version, question)()
    assert sum(found.column(found.num_columns - 2).to_pylist()) == int(ours.counts.sum())
    assert found.num_rows == int(np.count_nonzero(ours.counts))


def concurrent(engine: ScanEngine, questions: list[Question]) -> tuple[Cost, Cost]:
    """The cost of eight questions one after another, and of the same eight at once."""
    eight = (questions * 8)[:8]
    with ThreadPoolExecutor(8) as pool:
        row = measured(lambda: [engine.tabulate(q) for q in eight])
        together = measured(lambda: list(pool.map(engine.tabulate, eight)))
    return row, together


def covered(engine: ViewEngine, questions: list[Query], version: Version) -> Cost:
    """The cost of a question that a view covers, from its text to its table."""

    def ask() -> None:
        for query in questions:
            engine.tabulate(Question.of(query, version.schema))

    cost = measured(ask)
    return Cost(cost.cpu / len(questions), cost.wall / len(questions))


class Held:
    """An engine that has counted already: what is left to measure is everything after it."""

    def __init__(self, engine: ScanEngine) -> None:
        self.engine = engine
        self.tables: dict[str, Any] = {}

    def tabulate(self, question: Question, stop: Any = None) -> Any:
        if question.canonical not in self.tables:
            self.tables[question.canonical] = self.engine.tabulate(question, stop)
        return self.tables[question.canonical]


def released(store: Store, version: Version, engine: ScanEngine) -> Cost:
    """The cost of a release of 2,457 cells with margins after tabulation, serialised."""
    policy = parse_policy(version.policy_values, "policy", "policy")
    releaser = Releaser.alone(version, Held(engine), policy, Secret.read(store.secret))
    query = Query.parse("age_band,education,occupation", "nuts2=1")
    question = Question.of(query, version.schema)
    return measured(lambda: orjson.dumps(releaser.release(question, "protected").as_dict()))


def _views(version: Version) -> str:
    """Return what views there could be, and what those built with the store cover."""
    schema = version.schema
    levels = [v.finest.id for v in schema.columns]
    assert schema.geography is not None
    coarse = [level.id for level in schema.geography.levels if len(level) <= 255]
    sets = [
        names
        for width in range(1, WIDEST + 1)
        for names in combinations(levels + coarse, width)
        if len(set(names) & set(coarse)) < 2
    ]
    size = {name: len(schema.find(name)[1]) for name in levels + coarse}
    widest = [s for s in sets if len(s) == WIDEST]
    every = sum(8 * prod(size[name] for name in s) for s in widest)
    chosen = choose(schema, allowed(version))
    held = sum(8 * prod(size[name] for name in view) for view in chosen)
    # A view of areas answers for the larger ones that they lie in.
    index = Index(((view, View(_levels(schema, view), np.empty)) for view in chosen), schema)
    shares = [
        f"{sum(index.smallest(s) is not None for s in of) / len(of):.0%} of sets of {width}"
        for width in range(2, WIDEST + 1)
        if (of := [s for s in sets if len(s) == width])
    ]
    return (
        f"- Views over {len(levels)} variables and {', '.join(coarse)}: all {len(widest):,} of "
        f"{WIDEST} levels would take {every / 2**20:,.0f} MiB. The {len(chosen)} built with the "
        f"store take {held / 2**20:.0f} MiB and cover {', '.join(shares)}; others are built when "
        "first asked for."
    )


def _levels(schema: Schema, names: tuple[str, ...]) -> tuple[tuple[Variable, Level], ...]:
    return tuple(schema.find(name) for name in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=60_000_000)
    parser.add_argument("--folder", type=Path, default=BENCH)
    options = parser.parse_args()
    store = Store(told(options.persons, options.folder))
    version = store.open()
    engine = ScanEngine(version)
    questions = [
        (name, Question.of(Query.parse(by, where), version.schema)) for name, by, where in QUESTIONS
    ]
    for column in (*version.codes8, version.keys):
        _read(column[: len(column) // 64 * 64].view(np.uint64))  # into memory
    ours, probes = {}, {}
    with ThreadPoolExecutor(THREADS) as pool:
        for name, question in questions:
            ours[question] = measured(lambda q=question: engine.tabulate(q))
            probes[question] = measured(probe(version, question, pool))
            print(name, question.canonical, ours[question], probes[question], flush=True)
    row, together = concurrent(engine, [q for n, q in questions if n in {"2-way", "3-way"}])
    views = ViewEngine(version, engine, version.views)
    small = [q for q in views.keys if len(q) == WIDEST][:20]
    asked = [Query.parse(list(key[: 2 + i % 3])) for i, key in enumerate(small)]
    hit = covered(views, asked, version)

    theirs: dict[str, dict[Question, Cost]] = {"DuckDB": {}, "Polars": {}}
    connection = duck(version)
    for name, question in questions:
        checked(version, connection, question, engine.tabulate(question).sparse())
        theirs["DuckDB"][question] = measured(in_duckdb(connection, version, question))
        print("duckdb", name, theirs["DuckDB"][question], flush=True)
    connection.close()
    frame = pl.DataFrame(_columns(version))
    for name, question in questions:
        theirs["Polars"][question] = measured(in_polars(frame, version, question))
        print("polars", name, theirs["Polars"][question], flush=True)
    del frame

    lines = []
    for name, question in questions:
        cost, base = ours[question], probes[question]
        duckdb_, polars = theirs["DuckDB"][question], theirs["Polars"][question]
        lines.append([
            name, f"`{question.canonical.removeprefix('by=')}`", f"{question.cells:,}",
            f"{1e3 * cost.cpu:.0f}", f"{1e3 * cost.wall:.0f}",
            f"1/{duckdb_.cpu / cost.cpu:.1f}", f"1/{duckdb_.wall / cost.wall:.1f}",
            f"1/{polars.cpu / cost.cpu:.1f}", f"{cost.cpu / base.cpu:.1f}",
        ])  # fmt: skip
    missed = [
        f"{name} `{question.canonical.removeprefix('by=')}`"
        for name, question in questions
        if ours[question].cpu > TARGETS.get(name, 1 / 8) * theirs["DuckDB"][question].cpu
    ]
    slow = sum(ours[q].cpu > 3 * probes[q].cpu for _, q in questions)
    heads = ["question", "", "cells", "CPU ms", "wall ms", "of DuckDB's CPU", "of DuckDB's wall",
             "of Polars' CPU", "times the probe's CPU"]  # fmt: skip
    people = options.persons
    text = [
        f"## Tabulation, {people / 1e6:g} million people\n",
        f"{datetime.now(UTC):%Y-%m-%d}, {machine()}. Counts and key sums, {len(VARIABLES)} "
        "variables and the geography, one byte per code. Medians: questions with a filter are "
        "counted from copies of those who pass, which the second time makes (Scans, below, tell of "
        "the first and the second time). Targets: at most 1/8 of DuckDB's CPU, 1/30 for output "
        "areas; at most 3 times the probe.\n",
        table(heads, lines),
        "",
        f"- Targets missed: of DuckDB's CPU by {len(missed)} of {len(questions)} questions "
        f"({'; '.join(missed) or 'none'}), of the probe's by {slow}. A record costs one addition "
        "to a cell in memory; the probe and DuckDB's filters and one-column groups work on many "
        "records at once.",
        f"- Eight questions at once cost {together.cpu / row.cpu:.2f} times the CPU of the same in "
        f"a row ({together.wall / row.wall:.2f} times the wall time).",
        f"- A question that a view covers: {1e3 * hit.cpu:.2f} ms of CPU, {1e3 * hit.wall:.2f} ms "
        "of wall time, from its text to its table. Target: under 1 ms.",
    ]
    after = released(store, version, engine)
    text.append(
        f"- A release of 2,457 cells with margins, everything after tabulation, serialised: "
        f"{1e3 * after.cpu:.1f} ms of CPU. Target: 10 ms."
    )
    text.append(_views(version))
    write_section(f"tabulate-{people}", "\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    main()
