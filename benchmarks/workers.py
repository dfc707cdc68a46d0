"""One worker and several, in turns: how many distinct questions a server answers a second.

    python benchmarks/workers.py [--persons 1000000] [--folder var/bench] [--seconds 15] [--pairs 3]

Each turn has a fresh copy of the store's state, so that every question is new. Whoever asks runs on
the same cores. CPU is the server's alone, all its processes together; on a machine that others use
too, CPU for each question says more than questions a second.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from asking import asked, cpu, fresh, prepare, questions, server
from report import BENCH, table, write_section

USERS = 16
TARGET = 1.7


@dataclass
class Turn:
    """What one server did in its turn."""

    answered: int
    wall: float
    cpu: float
    p99: float
    others: int

    @property
    def rate(self) -> float:
        """Questions a second."""
        return self.answered / self.wall

    @property
    def cost(self) -> float:
        """Milliseconds of CPU for each question."""
        return 1e3 * self.cpu / self.answered

    @property
    def cores(self) -> float:
        """Cores that the server used."""
        return self.cpu / self.wall


def turn(store: Path, workers: int, seconds: float) -> Turn:
    """Let a server with so many workers answer for a while."""
    with tempfile.TemporaryDirectory(dir=store.parent) as name:
        folder = Path(name)
        copy = fresh(store, folder / "store")
        with server(copy, folder, workers) as (port, process):
            used, began = cpu(process), time.perf_counter()
            seen = asyncio.run(asked(port, questions(), USERS, seconds))
            wall, spent = time.perf_counter() - began, cpu(process) - used
    answered = seen.statuses[200] + seen.statuses[403]
    return Turn(answered, wall, spent, seen.percentile(99), seen.statuses.total() - answered)


def told(pairs: list[tuple[Turn, Turn]], workers: int) -> str:
    """Return what was measured."""
    rows = []
    for name, turns in (("1", [one for one, _ in pairs]), (str(workers), [n for _, n in pairs])):
        rows.append([
            name, f"{median(t.rate for t in turns):.0f}", f"{median(t.cost for t in turns):.2f}",
            f"{median(t.cores for t in turns):.2f}", f"{median(t.p99 for t in turns):.0f}",
            str(sum(t.others for t in turns)),
        ])  # fmt: skip
    heads = ["workers", "a second", "CPU ms each", "cores used", "p99 ms", "not answered"]
    ratios = sorted(n.rate / one.rate for one, n in pairs)
    cpus = sorted(n.cost / one.cost for one, n in pairs)
    cores = len(os.sched_getaffinity(0))
    return "\n".join([
        table(heads, rows),
        "",
        f"- {workers} workers answered {median(ratios):.2f} times as many distinct questions a "
        f"second as one ({ratios[0]:.2f} to {ratios[-1]:.2f} over {len(pairs)} pairs in turns). "
        f"Target: {TARGET}.",
        f"- They took {median(cpus):.2f} times the CPU for each question. One worker used "
        f"{median(one.cores for one, _ in pairs):.2f} cores, {workers} used "
        f"{median(n.cores for _, n in pairs):.2f} of {cores}, of which whoever asks takes a share.",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=BENCH)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--note", default="", help="a sentence on the machine")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    store = prepare(options.persons, options.folder)
    pairs = []
    for number in range(options.pairs):
        order = (1, options.workers) if number % 2 == 0 else (options.workers, 1)
        found = {workers: turn(store, workers, options.seconds) for workers in order}
        pairs.append((found[1], found[options.workers]))
        print(found, flush=True)
    text = told(pairs, options.workers)
    cores = len(os.sched_getaffinity(0))
    head = (
        f"## Workers, {options.persons / 1e6:g} million people\n\n"
        f"{datetime.now(UTC):%Y-%m-%d}, {cores} cores shared with whoever asks: {USERS} users, "
        f"distinct questions, CSV over the loopback. Medians of turns of {options.seconds:g} "
        f"seconds. {options.note}".rstrip()
        + "\n"
    )
    write_section("workers", f"{head}\n{text}")
    print(text)


if __name__ == "__main__":
    main()
