"""A site's own record: everything that was asked of it, nonces, and for which sites it answered.

STORE/site.db, in SQLite, written before an answer leaves. The set of sites is fixed for an
edition: the difference of two sums, with a site and without, would be that site's part.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from discreet.errors import InternalError
from discreet.federation.messages import WINDOW

FILE = "site.db"
_FIGURES = ("figures", "masked")
_TABLES = """
CREATE TABLE IF NOT EXISTS nonces (nonce TEXT PRIMARY KEY, time INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sets (edition TEXT PRIMARY KEY, sites TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS asked (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, class TEXT NOT NULL,
    sites TEXT NOT NULL, outcome TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS turned_away (reason TEXT PRIMARY KEY, number INTEGER NOT NULL);
"""


@dataclass(frozen=True)
class Asked:
    """One request of the hub, and what became of it."""

    time: str
    kind: str
    of: str
    sites: tuple[str, ...]
    outcome: str


class SiteRecord:
    """The record in a store; any number of threads and processes may write."""

    def __init__(self, store: Path) -> None:
        self._path = store / FILE
        self._turn = Lock()
        self._db: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever asked."""
        return self._path.exists()

    @contextmanager
    def _open(self, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Give a transaction; what is `durable` outlives a power cut, all else a killed process."""
        try:
            with self._turn:
                db = self._connected()
                db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                db.execute("BEGIN IMMEDIATE")
                with db:  # commits, or undoes it all
                    yield db
        except sqlite3.Error as error:
            raise InternalError("what is asked could not be written down") from error

    def _connected(self) -> sqlite3.Connection:
        """Return the one connection, opened when it is first used: closing one costs a sync."""
        if self._db is None:
            new = not self._path.exists()
            self._db = sqlite3.connect(
                self._path, timeout=30, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._db.close)
            if new:
                self._path.chmod(0o600)
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.executescript(_TABLES)
        return self._db

    def close(self) -> None:
        """Let the file go."""
        with self._turn:
            if self._db is not None:
                self._db.close()
            self._db = None

    def first_time(self, nonce: str, now: float) -> bool:
        """Whether a nonce was never seen; it is now. Those too old to be accepted are forgotten."""
        with self._open() as db:
            db.execute("DELETE FROM nonces WHERE time < ?", (int(now) - 3 * WINDOW,))
            done = db.execute("INSERT OR IGNORE INTO nonces VALUES (?, ?)", (nonce, int(now)))
            return done.rowcount == 1

    def answers_for(self, edition: str, sites: Sequence[str]) -> bool:
        """Whether a set of sites may be answered for in an edition: the one fixed, or the first."""
        with self._open() as db:
            row = db.execute("SELECT sites FROM sets WHERE edition = ?", (edition,)).fetchone()
        return row is None or row[0] == _text(sites)

    def fix(self, edition: str, sites: Sequence[str]) -> bool:
        """Fix the set of sites of an edition; whether it is the one that is fixed now."""
        with self._open(durable=True) as db:
            db.execute("INSERT OR IGNORE INTO sets VALUES (?, ?)", (edition, _text(sites)))
            row = db.execute("SELECT sites FROM sets WHERE edition = ?", (edition,)).fetchone()
        return bool(row[0] == _text(sites))

    def write(self, kind: str, of: str, sites: Sequence[str], outcome: str) -> None:
        """Write down a request of the hub, durably where figures leave."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        with self._open(durable=kind in _FIGURES) as db:
            row = (time, kind[:64], of[:1_000], _text(sites), outcome)
            db.execute(
                "INSERT INTO asked (time, kind, class, sites, outcome) VALUES (?, ?, ?, ?, ?)", row
            )

    def turn_away(self, reason: str) -> None:
        """Count a request that was not answered: anybody can send those, and fill no disk."""
        with self._open() as db:
            db.execute(
                "INSERT INTO turned_away VALUES (?, 1) "
                "ON CONFLICT (reason) DO UPDATE SET number = number + 1",
                (reason,),
            )

    def asked(self) -> list[Asked]:
        """Return everything that the hub asked, in order."""
        with self._open() as db:
            rows = db.execute(
                "SELECT time, kind, class, sites, outcome FROM asked ORDER BY id"
            ).fetchall()
        return [Asked(r[0], r[1], r[2], tuple(json.loads(r[3])), r[4]) for r in rows]

    def turned_away(self) -> dict[str, int]:
        """Return how many requests were turned away, by reason."""
        with self._open() as db:
            return dict(db.execute("SELECT reason, number FROM turned_away ORDER BY reason"))


def _text(sites: Sequence[str]) -> str:
    return json.dumps(sorted(sites))
