"""A site's own record: everything that was asked of it, nonces, and for which sites it answered.

STORE/site.db, in SQLite, written before an answer leaves. The set of sites is fixed for an
edition: the difference of two sums, with a site and without, would be that site's part. The first
acceptance makes the file. It is never made anew in silence: an empty one would answer for another
set.
"""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from discreet.errors import InternalError, Sealed
from discreet.federation.messages import WINDOW
from discreet.files import sync
from discreet.json import parsed
from discreet.population import Store

FILE = "site.db"
JOINT = "+"  # between the editions of the cubes of a site
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


def make(store: Path) -> None:
    """Make the record of a site of which nothing was asked yet; one that is there stays."""
    path = store / FILE
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    with closing(sqlite3.connect(path)) as fresh:
        fresh.execute("PRAGMA journal_mode = WAL")
        fresh.executescript(_TABLES)
    sync(store)


def check(store: Path) -> None:
    """Raise `Sealed` where the record of a site is missing or emptied."""
    path = store / FILE
    if path.exists() and path.stat().st_size > 0:
        return
    raise Sealed(
        f"{path} is {'emptied' if path.exists() else 'missing'}: it says for which sites this one "
        "answered, and without it the site would answer for others in the same edition. Put the "
        "file back from a backup. If it is lost, build a new edition; after that, or if nothing "
        f"was ever asked of this site, make an empty one: discreet site log {store} --new"
    )


def answered(store: Store) -> bool:
    """Whether a joint table was made from the current edition of a store, by its records."""
    records, edition = store.path / "records", store.open().edition
    if not records.exists():
        return False
    lines = [line for line in records.read_bytes().splitlines() if b'"joint"' in line]
    made = {parsed(line, str(records)).get("data_version") for line in lines}
    return any(store.open(name).edition == edition for name in store.list() if name in made)


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
        check(store)
        self._store, self._path = store, store / FILE
        self._turn = Lock()
        self._db: sqlite3.Connection | None = None

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
            check(self._store)
            self._db = sqlite3.connect(
                self._path, timeout=30, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._db.close)
        return self._db

    def close(self) -> None:
        """Let the file go."""
        with self._turn:
            if self._db is not None:
                self._db.close()
            self._db = None

    def why_not(self, nonce: str, now: float) -> str:
        """Return why a request of this nonce must not be answered, empty if it is seen first.

        Nonces too old to be accepted are forgotten. The newest stays, and says how late it was
        once: for a clock that is set back, requests whose nonce is forgotten would be new again.
        """
        with self._open() as db:
            (latest,) = db.execute("SELECT MAX(time) FROM nonces").fetchone()
            if latest is not None and now < latest - WINDOW:
                return "the clock of the site was set back"
            db.execute("DELETE FROM nonces WHERE time < ?", (int(now) - 3 * WINDOW,))
            done = db.execute("INSERT OR IGNORE INTO nonces VALUES (?, ?)", (nonce, int(now)))
            return "" if done.rowcount == 1 else "seen before"

    def answers_for(self, edition: str, sites: Sequence[str]) -> bool:
        """Whether a set of sites may be answered for in an edition: the one fixed, or the first.

        The edition of a site with cubes is that of all of them. A set that was fixed holds for as
        long as one of its cubes is the same: cubes share margins.
        """
        with self._open() as db:
            return _fits(db, edition, sites)

    def fix(self, edition: str, sites: Sequence[str]) -> bool:
        """Fix the set of sites of an edition; whether it is the one that is fixed now."""
        with self._open(durable=True) as db:
            if not _fits(db, edition, sites):
                return False
            db.execute("INSERT OR IGNORE INTO sets VALUES (?, ?)", (edition, _text(sites)))
            return True

    def write(self, kind: str, of: str, sites: Sequence[str], outcome: str) -> None:
        """Write down a request of the hub, durably where figures leave."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        with self._open(durable=kind in _FIGURES) as db:
            row = (time, kind, of, _text(sites), outcome)
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


def _fits(db: sqlite3.Connection, edition: str, sites: Sequence[str]) -> bool:
    """Whether no other set is fixed for any cube as it is in an edition."""
    mine = set(edition.split(JOINT))
    rows = db.execute("SELECT edition, sites FROM sets").fetchall()
    return all(held == _text(sites) for of, held in rows if mine & set(of.split(JOINT)))


def _text(sites: Sequence[str]) -> str:
    return json.dumps(sorted(sites))
