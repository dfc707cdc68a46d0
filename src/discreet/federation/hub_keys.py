"""What a hub makes once and never anew in silence: its own key, and a secret for each store.

Sites know the hub by its key, and noise follows from the secret: with another, the same totals
would have other noise, and the two can be averaged. A copy of the hub's key lies in each of its
stores, so that their backups hold it.
"""

from __future__ import annotations

from pathlib import Path

from discreet.errors import Sealed
from discreet.files import read_bytes, written
from discreet.population import Store, signing, state
from discreet.population.keys import Secret
from discreet.population.sealed import secret_of
from discreet.release.signature import Signer

STORES = COMBINED, COUNTRIES = "combined", "countries"
COPY = "hub.key"
_BACK = "Put it back from a backup of the hub."


def hub_signer(folder: Path) -> Signer:
    """Return the hub's key, made when it is first asked for; raise where something was lost."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    begun = [store for store in (Store(folder / kind) for kind in STORES) if _begun(store)]
    private = folder / signing.PRIVATE
    if not private.exists() and (begun or (folder / signing.PUBLIC).exists()):
        copies = [str(one.path / COPY) for one in begun if (one.path / COPY).exists()]
        how = f"Copy {copies[0]} there." if copies else _BACK
        raise Sealed(
            f"{private} is missing. Sites know the hub by this key: with a new one none would "
            f"answer until it accepts a new document. {how}"
        )
    for store in begun:
        _check(store)
    _pair(folder)
    return Signer(signing.read(folder))


def secret_for(store: Store) -> Secret:
    """Return the secret of a hub's store, made when there is none yet."""
    if store.current() is not None:
        return secret_of(store, store.open().manifest)
    if not store.secret.exists():
        Secret.fresh().write(store.secret)
    return Secret.read(store.secret)  # a start that was cut off had made it


def copy_key(folder: Path, store: Path) -> None:
    """Put a copy of the hub's key into a store."""
    with written(store / COPY, alone=True) as file:
        file.write(read_bytes(folder / signing.PRIVATE))


def _begun(store: Store) -> bool:
    """Whether a store was ever served: something of it is there that the first start makes last."""
    there = (store.path / "CURRENT").exists() or bool(store.list())
    return there or state.made(store.path)


def _check(store: Store) -> None:
    """Raise `Sealed` where a store lacks what it was begun with."""
    if store.current() is None:
        held = store.list()
        last = f" It holds the name of the newest version, {held[-1]}." if held else ""
        raise Sealed(f"{store.path / 'CURRENT'} is missing. {_BACK}{last}")
    try:
        secret_of(store, store.open().manifest)
    except Sealed:
        raise Sealed(
            f"{store.secret} is missing, or is not the one with which this store began. Another "
            f"would be new noise on the same totals, which can be averaged with the old. {_BACK}"
        ) from None
    if not (store.path / signing.PRIVATE).exists():
        raise Sealed(
            f"{store.path / signing.PRIVATE} is missing. Files signed with another key would not "
            f"be known as this hub's. {_BACK}"
        )
    _pair(store.path)


def _pair(folder: Path) -> None:
    """See that a folder has both halves of its key; the public one follows from the other."""
    if not (folder / signing.PUBLIC).exists():
        signing.make(folder)
    try:
        signing.check(folder)
    except Sealed:
        raise Sealed(
            f"{folder / signing.PUBLIC} does not belong to {folder / signing.PRIVATE}. {_BACK}"
        ) from None
