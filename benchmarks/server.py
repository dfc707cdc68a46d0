"""The server under load, on the loopback: distinct tables, repeated ones, expensive ones.

    python benchmarks/server.py [--persons 10000000] [--folder var/bench] [--seconds 20]

The server is a process of its own; whoever asks runs on the same cores, so the throughput is a
lower bound. CPU is the server's alone. Everything is bounded: so many users, so many seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from urllib.parse import quote

import numpy as np
import psutil
from report import BENCH, table, write_section

VARIABLES = (
    "sex", "age_band", "marital_status", "activity", "occupation", "education", "citizenship",
    "religion", "ethnic_group", "travel_to_work", "health", "illness", "tenure", "household_size",
)  # fmt: skip
FILTERS = ("sex=1", "sex=2", "health=1", "region=1", "region=2", "tenure=1")
USERS = 100
REPEATS = 3_000
# A whole scan and tens of thousands of cells each, within the limit on cells at any size.
HEAVY = [f"by=ward,illness,{name}" for name in VARIABLES[1:11]]
TABLE = "/api/v1/datasets/census/table"


@dataclass
class Seen:
    """What came back: seconds of each answer, and how many of each status."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def percentile(self, share: float) -> float:
        return 1e3 * float(np.percentile(self.seconds, share)) if self.seconds else float("nan")


class Connection:
    """A kept-alive connection that asks and throws the answer away."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def __aenter__(self) -> Connection:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.writer.close()
        await self.writer.wait_closed()

    async def ask(self, path: str, seen: Seen, headers: str = "") -> dict[str, str]:
        begin = time.perf_counter()
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        told = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        await self.reader.readexactly(int(told.get("content-length", 0)))
        seen.seconds.append(time.perf_counter() - begin)
        seen.statuses[int(head[0].split()[1])] += 1
        return told


def questions() -> Iterator[str]:
    """Yield distinct questions in a random but fixed order."""
    found = [
        f"by={','.join(names)}" + (f"&where={quote(where)}" if where else "")
        for width in (1, 2, 3)
        for names in combinations(VARIABLES, width)
        for where in ("", *FILTERS)
        if not where or where.split("=")[0] not in names
    ]
    found += [f"by=la,{','.join(names)}" for names in combinations(VARIABLES, 2)]
    random.Random(1).shuffle(found)
    yield from found


@contextmanager
def server(store: Path, folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Run the server without a limit on requests."""
    settings = folder / "server.toml"
    settings.write_text("rate = 100000000\nburst = 100000000\n")
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", str(store)]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--port", "0", "--settings", str(settings)],
            stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


async def ready(port: int) -> None:
    for _ in range(600):
        seen = Seen()
        async with Connection(port) as connection:
            await connection.ask("/readyz", seen)
        if seen.statuses[200]:
            return
        await asyncio.sleep(0.1)
    raise SystemExit("the server does not become ready")


def cpu(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


async def distinct(port: int, seconds: float) -> Seen:
    """Many users, no question asked twice."""
    seen, todo = Seen(), questions()
    end = time.perf_counter() + seconds

    async def user() -> None:
        async with Connection(port) as connection:
            for question in todo:
                if time.perf_counter() > end:
                    return
                await connection.ask(f"{TABLE}?{question}&format=csv", seen)

    await asyncio.gather(*(user() for _ in range(USERS)))
    return seen


async def repeated(port: int, process: psutil.Process, number: int) -> tuple[float, float, Seen]:
    """Return CPU ms of the server for each repeated answer, whole and unchanged."""
    seen = Seen()
    path = f"{TABLE}?by=age_band,sex,tenure&format=csv"
    async with Connection(port) as connection:
        tag = (await connection.ask(path, seen))["etag"]
        costs = []
        for headers in ("", f"If-None-Match: {tag}\r\n"):
            for _ in range(100):
                await connection.ask(path, Seen(), headers)
            before = cpu(process)
            for _ in range(number):
                await connection.ask(path, seen, headers)
            costs.append(1e3 * (cpu(process) - before) / number)
    return costs[0], costs[1], seen


async def starved(port: int, seconds: float) -> tuple[Seen, Seen, Seen]:
    """Return cheap questions alone, cheap ones beside ten expensive ones, and the expensive."""
    alone, beside, heavy = Seen(), Seen(), Seen()
    cheap = [f"by={a},{b}&totals=protected" for a, b in combinations(VARIABLES, 2)]

    async def ask(todo: list[str], seen: Seen, until: asyncio.Task[None] | None) -> None:
        async with Connection(port) as connection:
            for question in todo:
                if until is not None and until.done():
                    return
                await connection.ask(f"{TABLE}?{question}&format=csv", seen)

    async def expensive() -> None:
        async def one(question: str) -> None:
            async with Connection(port) as connection:
                await connection.ask(f"{TABLE}?{question}&format=csv", heavy)

        await asyncio.gather(*(one(question) for question in HEAVY))

    await ask(cheap[:40], alone, None)
    load = asyncio.create_task(expensive())
    await asyncio.sleep(0.01)
    await ask(cheap[40:], beside, load)
    await load
    return alone, beside, heavy


def prepare(persons: int, folder: Path) -> Path:
    """Return a store of a synthetic census, made once."""
    from discreet.build import build
    from discreet.synth import write

    place = folder / f"census-{persons}"
    store = place / "store"
    if not (store / "CURRENT").exists():
        place.mkdir(parents=True, exist_ok=True)
        write(persons, place / "census", 1, None, lambda more: None)
        build(place / "census" / "dataset.toml", store)
    return store


async def run(port: int, process: psutil.Process, seconds: float) -> str:
    await ready(port)
    memory = [process.memory_info().rss]
    begin, used = time.perf_counter(), cpu(process)
    load = asyncio.create_task(distinct(port, seconds))
    while not load.done():
        await asyncio.sleep(0.5)
        memory.append(process.memory_info().rss)
    many = await load
    wall, spent = time.perf_counter() - begin, cpu(process) - used
    whole, unchanged, again = await repeated(port, process, REPEATS)
    alone, beside, heavy = await starved(port, seconds)
    errors = sum(
        number
        for seen in (many, again, alone, beside, heavy)
        for status, number in seen.statuses.items()
        if status not in (200, 304, 403)
    )
    asked = len(many.seconds)
    rows = [
        [f"{USERS} users, distinct tables", f"{asked:,}", f"{asked / wall:.0f}",
         f"{many.percentile(50):.0f}", f"{many.percentile(99):.0f}", f"{1e3 * spent / asked:.2f}"],
        ["one user, one table again", f"{REPEATS:,}", "", f"{again.percentile(50):.2f}",
         f"{again.percentile(99):.2f}", f"{whole:.2f}"],
        ["the same, unchanged (304)", f"{REPEATS:,}", "", "", "", f"{unchanged:.2f}"],
        ["one user, cheap tables", f"{len(alone.seconds)}", "", f"{alone.percentile(50):.1f}",
         f"{alone.percentile(99):.1f}", ""],
        ["the same beside 10 expensive ones", f"{len(beside.seconds)}", "",
         f"{beside.percentile(50):.1f}", f"{beside.percentile(99):.1f}", ""],
        ["the 10 expensive ones", f"{len(heavy.seconds)}", "", f"{heavy.percentile(50):.0f}",
         f"{heavy.percentile(99):.0f}", ""],
    ]  # fmt: skip
    refused = many.statuses[403]
    heads = ["", "questions", "a second", "p50 ms", "p99 ms", "server CPU ms each"]
    return "\n".join([
        table(heads, rows),
        "",
        f"- Errors: {errors}. Of the distinct tables {refused:,} were refused by a disclosure "
        "rule, with hints, which are answers too.",
        f"- Memory of the server: {memory[0] / 2**20:.0f} MiB at the start, "
        f"{max(memory) / 2**20:.0f} MiB at most, {memory[-1] / 2**20:.0f} MiB at the end of the "
        f"{wall:.0f} seconds of distinct tables.",
        "- Targets: no error; at most 0.6 ms of server CPU for a repeated question; cheap "
        "questions not starved by expensive ones.",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=BENCH)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--store", type=Path, help="a store of a synthetic census that exists")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    store = options.store or prepare(options.persons, options.folder)
    with server(store, options.folder) as (port, process):
        text = asyncio.run(run(port, process, options.seconds))
    cores = len(os.sched_getaffinity(0))
    head = (
        f"## The server, {options.persons / 1e6:g} million people\n\n"
        f"{datetime.now(UTC):%Y-%m-%d}, {cores} cores shared with whoever asks. CSV over the "
        "loopback, kept-alive connections.\n"
    )
    write_section("server", f"{head}\n{text}")
    print(text)


if __name__ == "__main__":
    main()
