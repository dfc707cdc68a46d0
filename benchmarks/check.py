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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, count
from pathlib import Path
from statistics import median, quantiles
from time import process_time
from typing import Any

from report import BENCH, table
from tabulate import duck, in_duckdb, prepare

from discreet.policy import parse_policy
from discreet.population import Version
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


def in_turns(
    ours: Callable[[], Any], theirs: Callable[[], Any], turns: int = TURNS, times: int = TIMES
) -> Ratio:
    """Return how many times more CPU they take; the first turn does not count."""
    found = []
    for _ in range(turns + 1):
        mine = _usual(ours, times)
        found.append(_usual(theirs, FEW) / max(mine, 1e-9))
    low, _, high = quantiles(found[1:], n=4)
    return Ratio(median(found[1:]), low, high)


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


def ratios(version: Version) -> Iterator[tuple[str, Ratio]]:
    """Yield what is compared, with its ratio."""
    connection = duck(version)
    connection.execute("SET threads = 1")
    scan = ScanEngine(version, threads=1)
    for name, (by, where) in SCANS.items():
        question = Question.of(Query.parse(by, where), version.schema)
        theirs = in_duckdb(connection, version, question)
        yield f"scan, {name}", in_turns(lambda q=question: scan.tabulate(q), theirs)
    views = ViewEngine(version, scan, version.views)
    question = Question.of(Query.parse("sex,age_band,occupation"), version.schema)
    theirs = in_duckdb(connection, version, question)
    yield "view, three variables", in_turns(lambda: views.tabulate(question), theirs)
    yield "release, three variables", in_turns(_releases(version, views), theirs, times=FEW)
    scan.close()


def _releases(version: Version, views: ViewEngine) -> Callable[[], bytes]:
    """Return work that releases a table as CSV with its totals, another one each time."""
    policy = parse_policy(version.policy_values, "policy", "policy")
    releaser = Releaser.alone(version, views, policy, Secret(bytes(32)))
    questions = [",".join(names) for names in combinations(RELEASED, 3)]
    turn = count()

    def release() -> bytes:
        by = questions[next(turn) % len(questions)]
        found = releaser.release(Question.of(Query.parse(by), version.schema), "protected")
        return to_bytes(found, "csv")

    return release


def main() -> None:
    """Measure, show, and compare with the file or write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=BENCH)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    store, _ = prepare(chosen.persons, chosen.folder)
    found = dict(ratios(store.open()))
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
