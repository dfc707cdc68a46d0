"""Whether anything has become slower: CPU beside DuckDB's now, and beside the ratios on file.

    python benchmarks/check.py [--persons 1000000] [--write]

Both programs run in turns in one process, on one thread each. In a turn each runs several times and
the median counts: the first times it finds the caches of the processor as the other program left
them, and the emptier the busier the machine is. A ratio is the median over the turns, so that it
holds on a machine that is shared. Fails when a ratio is more than a fifth below the one in
ratios.json; `--write` puts the new ones there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, count
from pathlib import Path
from statistics import median, quantiles
from time import process_time
from typing import Any

from building import prepare
from report import BENCH, table
from tabulate import duck, in_duckdb

from discreet.errors import QueryRefused
from discreet.policy import parse_policy
from discreet.population import Store, Version
from discreet.population.keys import Secret
from discreet.query import Query, Question
from discreet.release import Releaser
from discreet.release.formats import to_bytes
from discreet.tabulate import ScanEngine, ViewEngine

FILED = Path(__file__).with_name("ratios.json")
LEAST = 0.8
"""The share of a ratio on file below which it has fallen."""

TURNS, TIMES, FEW = 9, 15, 3
"""Turns; how often we run in one, and they, or we where nothing is to be asked twice."""

SCANS = {
    "two variables": ("sex,age", None),
    "four variables": ("sex,marital_status,activity,occupation", None),
    "five variables": ("sex,age_band,occupation,education,health", None),
    "filtered": ("occupation,education", "sex=2,health=1|2"),
    "filtered at fine areas": ("sex,age", "ward=1|2|3|4|5"),
    "output areas": ("oa,sex,age", None),
}
RELEASED = ("age_band", "occupation", "education", "religion", "ethnic_group", "health", "tenure")


@dataclass(frozen=True)
class Ratio:
    """DuckDB's CPU over ours: the median over the turns, and its quartiles."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Pair:
    """The same work by us and by them, and how often we do it in a turn."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    times: int = TIMES

    def turn(self) -> float:
        """Return how many times more CPU they take in a turn."""
        mine = _usual(self.ours, self.times)
        return _usual(self.theirs, FEW) / max(mine, 1e-9)


def in_turns(pairs: Sequence[Pair], turns: int = TURNS) -> dict[str, Ratio]:
    """Return how many times more CPU they take; the first turn does not count.

    All pairs have a turn before one has the next: what others do on the machine for a second is
    told in one turn of some, and not in all turns of one.
    """
    found = [[pair.turn() for pair in pairs] for _ in range(turns + 1)][1:]
    return {
        pair.name: Ratio(median(of), *quantiles(of, n=4)[::2])
        for pair, of in zip(pairs, zip(*found, strict=True), strict=True)
    }


def _usual(work: Callable[[], Any], times: int) -> float:
    """Return the median CPU seconds of work that is done some times in a row."""
    seconds = []
    for _ in range(times):
        begin = process_time()
        work()
        seconds.append(process_time() - begin)
    return median(seconds)


def fallen(found: Mapping[str, Ratio], filed: Mapping[str, float]) -> list[str]:
    """Return what has become slower, with the ratio on file and the one found."""
    return [
        f"{name}: {filed[name]:.2f} on file, {ratio.median:.2f} now"
        for name, ratio in found.items()
        if name in filed and ratio.median < LEAST * filed[name]
    ]


def ratios(version: Version) -> dict[str, Ratio]:
    """Return what is compared, with its ratio."""
    connection = duck(version)
    connection.execute("SET threads = 1")
    scan = ScanEngine(version, threads=1)
    views = ViewEngine(version, scan, version.views)
    pairs = []
    for name, (by, where) in SCANS.items():
        question = Question.of(Query.parse(by, where), version.schema)
        theirs = in_duckdb(connection, version, question)
        pairs.append(Pair(f"scan, {name}", partial(scan.tabulate, question), theirs))
    question = Question.of(Query.parse("sex,age_band,occupation"), version.schema)
    theirs = in_duckdb(connection, version, question)
    pairs.append(Pair("view, three variables", partial(views.tabulate, question), theirs))
    pairs.append(Pair("release, three variables", _releases(version, views), theirs, FEW))
    found = in_turns(pairs)
    scan.close()
    return found


def _releases(version: Version, views: ViewEngine) -> Callable[[], bytes]:
    """Return work that releases a table as CSV with its totals, another one each time."""
    policy = parse_policy(version.policy_values, "policy", "policy")
    releaser = Releaser.alone(version, views, policy, Secret(bytes(32)))
    questions = [",".join(names) for names in combinations(RELEASED, 3)]
    turn = count()

    def release() -> bytes:
        by = questions[next(turn) % len(questions)]
        question = Question.of(Query.parse(by), version.schema)
        try:
            return to_bytes(releaser.release(question, "protected"), "csv")
        except QueryRefused:  # which is judged like others; of few people some are
            return b""

    return release


def main() -> None:
    """Measure, show, and compare with the file or write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=BENCH)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    store = Store(prepare(chosen.persons, chosen.folder))
    found = ratios(store.open())
    held = json.loads(FILED.read_text()) if FILED.exists() else {}
    filed = held.get(str(chosen.persons), {})
    rows = [
        (name, f"{r.median:.2f}", f"{r.low:.2f}–{r.high:.2f}", f"{filed.get(name, 0):.2f}")
        for name, r in found.items()
    ]
    print(table(("DuckDB's CPU over ours", "median", "quartiles", "on file"), rows))
    if chosen.write:
        held[str(chosen.persons)] = {name: round(r.median, 3) for name, r in found.items()}
        FILED.write_text(json.dumps(held, indent=1) + "\n")
    elif slower := fallen(found, filed):
        sys.exit("slower than on file: " + "; ".join(slower))


if __name__ == "__main__":
    main()
