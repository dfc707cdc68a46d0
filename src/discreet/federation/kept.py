"""The file of a site's record, STORE/site.db: whole, this site's own, and in step with its stores.

The first acceptance makes it. It is never made anew in silence, nor used where it knows less than
the records of the stores: it would answer for another set of sites in the same edition. All joint
tables, by version and class, are in it before a line of them is in the records of a store.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from discreet.errors import InternalError, ParameterError, Sealed
from discreet.files import read_bytes, sync
from discreet.json import parsed
from discreet.population import Store, signing
from discreet.release.signature import read_public_key

FILE, ACCEPTED = "site.db", "federation.json"
_TAIL = 2**24  # bytes of a store's records, the newest, that are compared
_TABLES = """
CREATE TABLE owner (key TEXT NOT NULL);
CREATE TABLE joint (version TEXT NOT NULL, class TEXT NOT NULL, PRIMARY KEY (version, class));
CREATE TABLE nonces (nonce TEXT PRIMARY KEY, time INTEGER NOT NULL);
CREATE TABLE sets (edition TEXT PRIMARY KEY, sites TEXT NOT NULL);
CREATE TABLE asked (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, class TEXT NOT NULL,
    sites TEXT NOT NULL, outcome TEXT NOT NULL
);
CREATE TABLE turned_away (reason TEXT PRIMARY KEY, number INTEGER NOT NULL);
"""


def make(*stores: Path) -> None:
    """Make the record of a site of which nothing was asked in this edition; one there stays.

    Joint tables of earlier editions, which the records tell of, are known to it from the start.
    """
    path = stores[0] / FILE
    if path.exists():
        return
    told = [store for store in stores if answered(store)]
    if told:
        raise ParameterError(
            f"joint tables were made from this edition of {told[0]}: with an empty record it would "
            f"answer for another set of sites. Put {FILE} back from a backup, or build a new "
            "edition first."
        )
    part = path.with_name(f".{FILE}.new")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(part)) as fresh, fresh:
        fresh.executescript(_TABLES)
        fresh.execute("INSERT INTO owner VALUES (?)", (_key(stores[0]),))
        fresh.executemany("INSERT INTO joint VALUES (?, ?)", _recorded(stores))
    os.replace(part, path)
    sync(stores[0])


def check(*stores: Path) -> None:
    """Raise `Sealed` unless a site's record is whole, its own, and knows all joint tables made."""
    path = stores[0] / FILE
    if not path.exists() or not path.stat().st_size:
        raise _sealed(stores, "emptied" if path.exists() else "missing")
    told = _recorded(stores)  # first: of a table that is made meanwhile the file knows before
    try:
        with closing(sqlite3.connect(path, timeout=30)) as db:
            if db.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
                raise _sealed(stores, "damaged")
            owner = {key for (key,) in db.execute("SELECT key FROM owner")}
            known = set(db.execute("SELECT version, class FROM joint"))
            db.execute("SELECT 1 FROM sets, asked, nonces, turned_away LIMIT 1")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise InternalError(f"{path} is in use by another program.") from error
        raise _sealed(stores, "damaged") from None
    if not owner or not owner <= {_key(stores[0]), _accepted_by(stores[0])}:
        raise _sealed(stores, "of another store")
    if not told <= known:
        raise _sealed(stores, "older than the records of the store, which tell of joint tables")


def own(store: Path) -> None:
    """Write down that a record is of the key that a store has now."""
    with closing(sqlite3.connect(store / FILE, timeout=30)) as db, db:
        db.execute("UPDATE owner SET key = ?", (_key(store),))


def answered(store: Path) -> bool:
    """Whether a joint table was made from the people of the current edition, by the records."""
    held = Store(store)
    made = {version for version, _ in _joint(store / "records", None)}
    if not made:
        return False
    now = set(held.open().alike)
    return any(now & set(held.open(name).alike) for name in held.list() if name in made)


def _recorded(stores: Sequence[Path]) -> set[tuple[str, str]]:
    """Return the newest joint tables that the records of some stores tell of."""
    return {one for store in stores for one in _joint(store / "records", _TAIL)}


def _joint(records: Path, most: int | None) -> set[tuple[str, str]]:
    """Return version and question of joint tables, from at `most` so many bytes at the end."""
    if not records.exists():
        return set()
    with records.open("rb") as file:
        if most is not None:
            file.seek(max(0, records.stat().st_size - most))
        lines = [_line(line) for line in file if b'"joint"' in line]
    return {(str(one["data_version"]), str(one["question"])) for one in lines if one}


def _line(line: bytes) -> dict[str, Any] | None:
    """Return a line on a joint table; what a kill or the tail cut off is none."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("verdict") == "joint" else None


def _key(store: Path) -> str:
    public = store / signing.PUBLIC
    return read_public_key(public).hex() if public.exists() else ""


def _accepted_by(store: Path) -> str:
    """Return the key that signed the acceptance: a new signing key accepts again."""
    path = store / ACCEPTED
    if not path.exists():
        return _key(store)
    return str(parsed(read_bytes(path), str(path)).get("acceptance", {}).get("key", ""))


def _sealed(stores: Sequence[Path], what: str) -> Sealed:
    path, named = stores[0] / FILE, " ".join(map(str, stores))
    away = "" if not path.exists() else "move it away, "
    return Sealed(
        f"{path} is {what}: it says for which sites this one answered, and without it the site "
        "would answer for others in the same edition. Put the file back from a backup. If it is "
        f"lost, {away}build a new edition; after that, or if nothing was ever asked of this site, "
        f"make an empty one: discreet site log {named} --new"
    )
