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
MARK = "ledger.id"
"""The file of the id by which a store knows its ledger, wherever that is kept."""
SETTING = "DISCREET_DATABASE_URL"
"""The environment variable with the address of another database."""

_OURS = 0x44495343


def make(store: Path) -> None:
    """Make the state of a store in which nothing is released yet, unless one is there."""
    path = store / FILE
    if path.exists() and path.stat().st_size:
        return
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(path)) as fresh:
        fresh.execute(f"PRAGMA application_id = {_OURS}")  # from now on it is never empty
    sync(store)


def made(store: Path) -> bool:
    """Whether any table was ever made from a store, by its records."""
    records = store / "records"
    return records.exists() and records.stat().st_size > 0


def check(store: Path) -> None:
    """Raise `Sealed` where the state of a store is missing or emptied, and kept nowhere else."""
    path = store / FILE
    if os.environ.get(SETTING) or (path.exists() and path.stat().st_size):
        return
    raise Sealed(
        f"{path} is {'emptied' if path.exists() else 'missing'}: it says which tables are "
        "released, and without it detail would be released again that is used up. Put the file "
        "back from a backup. If it is lost, or nothing was ever released from this store, make a "
        f"new one: discreet ledger {store} --new"
    )
