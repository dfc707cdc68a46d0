"""What benchmarks of a server share: a server with workers, connections, questions, its memory."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from pathlib import Path
from urllib.parse import quote

import numpy as np
import psutil

CATEGORIES = {
    "sex": 2, "age_band": 21, "marital_status": 6, "activity": 5, "occupation": 13, "education": 9,
    "citizenship": 5, "religion": 9, "ethnic_group": 19, "travel_to_work": 11, "health": 5,
    "illness": 2, "tenure": 4, "household_size": 8,
}  # fmt: skip
"""The variables of the synthetic census that are asked for, coded from 1."""

VARIABLES = tuple(CATEGORIES)
FILTERS = ("sex=1", "sex=2", "health=1", "region=1", "region=2", "tenure=1")
TABLE = "/api/v1/datasets/census/table"
SIZES = CATEGORIES | {"country_of_birth": 17, "region": 10}
"""What tables with margins are of: more variables, so that there are more of about one size."""

TYPICAL = 2_457
"""Cells of the table by which costs are told."""


@dataclass
class Seen:
    """What came back: seconds of each answer, and how many of each status."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def percentile(self, share: float) -> float:
        """Return milliseconds in which this share of answers came, in percent."""
        return 1e3 * float(np.percentile(self.seconds, share)) if self.seconds else float("nan")

    @property
    def errors(self) -> int:
        """How many were neither answered nor refused by a disclosure rule."""
        return sum(n for status, n in self.statuses.items() if status not in (200, 304, 403))


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
        """Ask, and return the headers of the answer."""
        begin = time.perf_counter()
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        told = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        await self.reader.readexactly(int(told.get("content-length", 0)))
        seen.seconds.append(time.perf_counter() - begin)
        seen.statuses[int(head[0].split()[1])] += 1
        return told


async def asked(
    port: int, todo: Iterator[str], users: int, seconds: float, seen: Seen | None = None
) -> Seen:
    """Let many users ask, one question after another, for so many seconds at most."""
    seen = Seen() if seen is None else seen
    end = time.perf_counter() + seconds

    async def user() -> None:
        async with Connection(port) as connection:
            while time.perf_counter() < end and (question := next(todo, None)) is not None:
                await connection.ask(f"{TABLE}?{question}&format=csv", seen)

    await asyncio.gather(*(user() for _ in range(users)))
    return seen


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


def with_margins() -> Iterator[str]:
    """Yield distinct tables of three variables and about 2,457 cells, with their margins."""
    found = [
        f"by={','.join(names)}&totals=protected"
        for names in combinations(SIZES, 3)
        if TYPICAL / 2 <= prod(SIZES[name] for name in names) <= TYPICAL * 2
    ]
    random.Random(1).shuffle(found)
    yield from found


def endless() -> Iterator[str]:
    """Yield distinct questions without end: parts of tables of two to four variables."""
    draw, seen = random.Random(2), set[int]()
    while True:
        *names, chosen = draw.sample(VARIABLES, draw.randint(2, 4))
        codes = range(1, CATEGORIES[chosen] + 1)
        picked = sorted(draw.sample(codes, draw.randint(1, len(codes) - 1)))
        where = f"{chosen}={'|'.join(map(str, picked))}"
        question = f"by={','.join(names)}&where={quote(where)}"
        if hash(question) not in seen:
            seen.add(hash(question))
            yield question


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


def fresh(store: Path, place: Path) -> Path:
    """Return a copy of a store whose data are links, and whose state is its own."""

    def take(source: str, target: str) -> None:
        own = Path(source).parent == store
        (shutil.copy2 if own else os.link)(source, target)

    shutil.copytree(store, place, copy_function=take)
    (place / "records").unlink(missing_ok=True)
    return place


@contextmanager
def server(store: Path, folder: Path, workers: int) -> Iterator[tuple[int, psutil.Process]]:
    """Run a server without a limit on requests, and wait until all workers answer."""
    settings, log = folder / "server.toml", folder / "server.log"
    settings.write_text("rate = 100000000\nburst = 100000000\n[limits]\nwait = 30\n")
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", str(store)]
    command += ["--port", "0", "--settings", str(settings), "--workers", str(workers)]
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        asyncio.run(_ready(port))
        while workers > 1 and log.read_text().count('"status":"answers"') < workers:
            time.sleep(0.1)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


async def _ready(port: int) -> None:
    for _ in range(1200):
        seen = Seen()
        async with Connection(port) as connection:
            await connection.ask("/readyz", seen)
        if seen.statuses[200]:
            return
        await asyncio.sleep(0.1)
    raise SystemExit("the server does not become ready")


def cpu(process: psutil.Process) -> float:
    """Return the CPU seconds of a server with all its workers."""
    used = [one.cpu_times() for one in (process, *process.children())]
    return float(sum(times.user + times.system for times in used))


@dataclass(frozen=True)
class Memory:
    """MiB of a server with all its workers, as the operating system counts them.

    `own` is what is theirs alone, `shared` what they made and share, `mapped` pages of files, which
    the system takes back when it needs them.
    """

    own: float
    shared: float
    mapped: float

    @classmethod
    def of(cls, process: psutil.Process) -> Memory:
        """Return what a server takes now."""
        found = [_resident(one.pid) for one in (process, *process.children())]
        own, mapped, shared = zip(*found, strict=True)
        return cls(sum(own), max(shared), max(mapped))

    @property
    def held(self) -> float:
        """What the server holds: what is its own and what its workers share."""
        return self.own + self.shared


def _resident(pid: int) -> tuple[float, float, float]:
    """Return MiB of a process that are its own, of files, and shared."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    said = dict(line.split(":", 1) for line in lines)
    own, mapped, shared = (said[name] for name in ("RssAnon", "RssFile", "RssShmem"))
    return tuple(int(kib.split()[0]) / 2**10 for kib in (own, mapped, shared))  # type: ignore[return-value]
