"""A server for minutes on end: users ask, data are built anew, it is killed, its database fails.

    python tests/soaking.py [--minutes 10] [--users 20] [--database sqlite|postgresql]

The file of SQLite hangs, and PostgreSQL crashes and comes back.

The same records are built again and again, so that every question has one answer for good. What
may come back is that answer, the one refusal of a question, or 503. `make soak` runs ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from discreet.build import build
from discreet.errors import LedgerUnavailable
from postgres import Postgres, postgres
from servers import Running, running
from stores import build_town

TABLE = "/api/v1/datasets/town/table"
QUESTIONS = [
    *(f"{TABLE}?by=sex,health&where=age={age}" for age in range(80)),
    *(f"{TABLE}?by=sex&where=age_band=old,health={health}" for health in range(1, 6)),
    *(f"{TABLE}?by=district,{name}" for name in ("sex", "health", "age_band")),
    f"{TABLE}?by=ward,sex",
    f"{TABLE}?by=ward,rare",  # refused for its counts
]


@dataclass
class Seen:
    """What came back, and what the server used, life by life."""

    answers: dict[str, str] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    kibibytes: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    builds: int = 0
    kills: int = 0
    failed: int = 0

    def take(self, url: str, answer: httpx.Response) -> None:
        """Note an answer, and compare it with those before."""
        self.statuses[answer.status_code] += 1
        self.seconds.append(answer.elapsed.total_seconds())
        if answer.status_code == 503:
            return
        said = answer.json()
        told = said.get("value") or said.get("error", {}).get("code")
        text = json.dumps([answer.status_code, told])
        if self.answers.setdefault(url, text) != text:
            self.wrong.append(url)

    @property
    def failures(self) -> list[int]:
        """The statuses that there must not be."""
        return [status for status in self.statuses if status not in (200, 403, 503)]

    def percentile(self, share: float) -> float:
        """Return the seconds within which such a share was answered, or told to come back."""
        return sorted(self.seconds)[int(share * (len(self.seconds) - 1))]


@dataclass
class Soak:
    """One store, one server at a time, and all that goes on around them."""

    folder: Path
    seconds: float
    users: int
    kills: int
    database: Postgres | None = None
    seen: Seen = field(default_factory=Seen)
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> Seen:
        """Return what was seen in all these seconds."""
        if self.database is not None:
            os.environ["DISCREET_DATABASE_URL"] = self.database.url  # of builds and of the server
        store = build_town(self.folder, self.folder / "store")
        around = [self._users, lambda: self._building(store), lambda: self._failing(store)]
        self._url = ""
        threads = [threading.Thread(target=work) for work in around]
        with ExitStack() as stack:
            stack.callback(lambda: [thread.join() for thread in threads])
            stack.callback(self._stop.set)
            for life in range(self.kills + 1):
                with running([store], self.folder / f"life-{life}") as server:
                    self._url = server.url
                    if not life:
                        for thread in threads:
                            thread.start()
                    self._live(server, life)
        return self.seen

    def _live(self, server: Running, life: int) -> None:
        """Let a server live its share of the time; then it is killed, but for the last."""
        end = time.monotonic() + self.seconds / (self.kills + 1)
        memory = descriptors = 0
        while time.monotonic() < end and server.process.poll() is None:
            place = Path("/proc", str(server.process.pid))
            memory = max(memory, int((place / "statm").read_text().split()[1]) * 4)
            descriptors = max(descriptors, len(os.listdir(place / "fd")))
            time.sleep(0.2)
        if server.process.poll() is not None:
            self.seen.wrong.append("the server ended by itself")
        self.seen.kibibytes.append(memory)
        self.seen.descriptors.append(descriptors)
        if life < self.kills:
            server.process.kill()
            self.seen.kills += 1

    def _users(self) -> None:
        users = [threading.Thread(target=self._ask, args=(i,)) for i in range(self.users)]
        for user in users:
            user.start()
        for user in users:
            user.join()

    def _ask(self, user: int) -> None:
        draw = random.Random(user)
        while not self._stop.is_set():
            with httpx.Client(trust_env=False, timeout=60) as client:
                try:
                    for url in draw.sample(QUESTIONS, 20):
                        self.seen.take(url, client.get(self._url + url))
                        time.sleep(draw.random() * 0.1)
                except httpx.TransportError:
                    time.sleep(0.1)  # it was killed, and comes back

    def _building(self, store: Path) -> None:
        while not self._stop.wait(self.seconds / 20):
            with suppress(LedgerUnavailable):  # said by the build, which leaves all as it was
                build(self.folder / "dataset.toml", store)
                self.seen.builds += 1

    def _failing(self, store: Path) -> None:
        """Keep everybody out of the state database for a while, now and then."""
        while not self._stop.wait(self.seconds / 15):
            if self.database is not None:
                self.database.stop(signal.SIGQUIT)
                self._stop.wait(self.seconds / 60)
                self.database.start()
            else:
                self._hang(store)
            self.seen.failed += 1

    def _hang(self, store: Path) -> None:
        with closing(sqlite3.connect(store / "state.db", timeout=60)) as state:
            state.execute("BEGIN EXCLUSIVE")
            self._stop.wait(self.seconds / 60)
            state.rollback()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-soak-"))
        server = stack.enter_context(postgres()) if given.database == "postgresql" else None
        seen = Soak(Path(folder), 60 * given.minutes, given.users, 9, server).run()
    print(f"{seen.statuses.total():,} answers: {dict(seen.statuses)}; wrong: {len(seen.wrong)}")
    print(f"{seen.builds} builds, {seen.kills} kills, {seen.failed} times the database failed")
    print(f"99% within {seen.percentile(0.99):.2f} s")
    print(f"memory of each life, MiB: {[size // 1024 for size in seen.kibibytes]}")
    print(f"descriptors of each life: {seen.descriptors}")
    return int(bool(seen.wrong or seen.failures))


if __name__ == "__main__":
    sys.exit(main())
