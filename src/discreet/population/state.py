"""The file of a store's state: which tables are released, and which detail is used up.

The first build makes it, empty. It is never made anew in silence: an empty one would let detail be
released again that is used up.
"""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import Sealed
from discreet.files import sync

FILE = "state.db"
SETTING = "DISCREET_DATABASE_URL"
"""The environment variable with the address of another database."""


def make(store: Path) -> None:
    """Make the state of a store in which nothing is released yet; one that is there stays."""
    try:
        os.close(os.open(store / FILE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    sync(store)


def check(store: Path) -> None:
    """Raise `Sealed` where the state of a store is missing, and kept nowhere else."""
    if not os.environ.get(SETTING) and not (store / FILE).exists():
        raise Sealed(
            f"{store / FILE} is missing: it says which tables are released, and without it detail "
            "would be released again that is used up. Put the file back from a backup. If nothing "
            f"was ever released from this store, make an empty one: discreet ledger {store} --new"
        )
