"""The file of a store's state: which tables are released, and which detail is used up.

The first build makes it, empty. It is never made anew in silence: an empty one would let detail be
released again that is used up.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from discreet.errors import Sealed
from discreet.files import sync

FILE = "state.db"
SETTING = "DISCREET_DATABASE_URL"
"""The environment variable with the address of another database."""

_OURS = 0x44495343
_HEADER = 4096  # bytes of a database without tables


def make(store: Path) -> None:
    """Make the state of a store in which nothing is released yet; one that is there stays."""
    try:
        os.close(os.open(store / FILE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    with closing(sqlite3.connect(store / FILE)) as fresh:
        fresh.execute(f"PRAGMA application_id = {_OURS}")  # from now on it is never empty
    sync(store)


def made(store: Path) -> bool:
    """Whether any table was ever made from a store, by its records."""
    records = store / "records"
    return records.exists() and records.stat().st_size > 0


def check(store: Path) -> None:
    """Raise `Sealed` where the state of a store is missing or emptied, and kept nowhere else."""
    if os.environ.get(SETTING):
        return
    path, beside = store / FILE, store / f"{FILE}-wal"
    size = path.stat().st_size if path.exists() else -1
    waiting = beside.exists() and beside.stat().st_size > 0
    if size == 0 or (0 < size <= _HEADER and not waiting and made(store)):
        raise Sealed(
            f"{path} says that nothing is released, but tables were made from this store. Put the "
            f"file back from a backup, or set {SETTING} if the state is kept elsewhere."
        )
    if size < 0:
        raise Sealed(
            f"{store / FILE} is missing: it says which tables are released, and without it detail "
            "would be released again that is used up. Put the file back from a backup. If nothing "
            f"was ever released from this store, make an empty one: discreet ledger {store} --new"
        )
