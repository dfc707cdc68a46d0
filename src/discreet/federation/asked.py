"""A site's own record: everything that was asked of it, nonces, and for which sites it answered.

STORE/site.db, in SQLite, written before an answer leaves. The set of sites is fixed for an
edition: the difference of two sums, with a site and without, would be that site's part. What the
set hangs on is in that one file as soon as it is written, not in a log beside it.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from discreet.errors import InternalError
from discreet.federation import kept
from discreet.federation.messages import WINDOW

JOINT = "+"  # between the editions of the cubes of a site
_FIGURES = ("figures", "masked")


@dataclass(frozen=True)
class Asked:
    """One request of the hub, and what became of it."""

    time: str
    kind: str
    of: str
    sites: tuple[str, ...]
    outcome: str


class SiteRecord:
    """The record in the first store of a site; any number of threads and processes may write."""

    def __init__(self, *stores: Path) -> None:
        kept.check(*stores)
        self._path = stores[0] / kept.FILE
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
            self._db = sqlite3.connect(
                f"{self._path.resolve().as_uri()}?mode=rw",  # never made here
                timeout=30, isolation_level=None, check_same_thread=False, uri=True,
            )  # fmt: skip
            self._db.execute("PRAGMA journal_mode = WAL")
            weakref.finalize(self, self._db.close)
        return self._db

    def close(self) -> None:
        """Let the file go, with all that was written in it."""
        with self._turn:
            if self._db is not None:
                _gather(self._db)
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

    def fix(self, edition: str, sites: Sequence[str], made: tuple[str, str]) -> bool:
        """Fix the set of sites of an edition; whether it is the one that is fixed now.

        `made` is the version and the class of the joint table for which it is.
        """
        with self._open(durable=True) as db:
            if not _fits(db, edition, sites):
                return False
            db.execute("INSERT OR IGNORE INTO sets VALUES (?, ?)", (edition, _text(sites)))
            new = db.execute("INSERT OR IGNORE INTO joint VALUES (?, ?)", made).rowcount
        if new:
            with self._turn:
                _gather(self._connected())
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


def _gather(db: sqlite3.Connection) -> None:
    """Put all that was written into the one file, which may be copied by itself; none is beside it.

    Where somebody else reads, that is left to whoever closes it last.
    """
    with suppress(sqlite3.OperationalError):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _fits(db: sqlite3.Connection, edition: str, sites: Sequence[str]) -> bool:
    """Whether no other set is fixed for any cube as it is in an edition."""
    mine = set(edition.split(JOINT))
    rows = db.execute("SELECT edition, sites FROM sets").fetchall()
    return all(held == _text(sites) for of, held in rows if mine & set(of.split(JOINT)))


def _text(sites: Sequence[str]) -> str:
    return json.dumps(sorted(sites))
