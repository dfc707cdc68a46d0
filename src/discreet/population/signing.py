"""The pair of keys by which a store signs its releases.

STORE/signing.key             the private key, mode 600, made by the first build
STORE/signing.pub             the public key, to be given to anyone who wants to check a file
STORE/signing.id              by which the store knows its key: a pair of another's is not its own
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, Sealed
from discreet.files import sync, written

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PRIVATE, PUBLIC = "signing.key", "signing.pub"
MARK = "signing.id"
HALF = "signing.new"
"""What a kill may leave of any of them."""

_REMEDY = (
    "Files signed with another key would not be known as this store's. Put the keys back, or make "
    "new ones with: discreet build DATASET.toml --out STORE --new-signing-key"
)


def make(store: Path, new: bool = False) -> None:
    """Write a fresh pair of keys, or the public one to a private one that is there.

    With `new` the pair takes the place of another; what that one signed is still genuine.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if not store.is_dir():
        raise ParameterError(f"{store} must be a folder that exists.")
    if new or not (store / PRIVATE).exists():
        fresh = Ed25519PrivateKey.generate()
        old = []
        with suppress(OSError, ParameterError):  # none is there, or none that could be used
            old = [read(store)]
        _known_by(store, fresh, *old)
        with written(store / PRIVATE, alone=True) as file:
            file.write(fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with written(store / PUBLIC, 0o644, alone=True) as file:
        file.write(_public_pem(read(store)))
    _known_by(store, read(store))
    sync(store)


def _known_by(store: Path, *keys: Ed25519PrivateKey, alone: bool = True) -> None:
    """Write by which keys a store is known: two while one takes the place of the other."""
    with written(store / MARK, alone=alone) as file:
        file.write("".join(f"{_fingerprint(key)}\n" for key in keys).encode("ascii"))


def _fingerprint(key: Ed25519PrivateKey) -> str:
    return hashlib.blake2b(_public_pem(key), digest_size=16).hexdigest()


def read(store: Path) -> Ed25519PrivateKey:
    """Return the private key of a store, which nobody but its owner may read."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    path = store / PRIVATE
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise ParameterError(
            f"{path} must be readable by its owner only (mode 600). It has mode {mode:o}: "
            f"others may have read the key; if not, run chmod 600 {path}."
        )
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ParameterError(f"{path} must hold an Ed25519 private key (PEM).")
    return key


def check(store: Path) -> None:
    """Raise `Sealed` where the keys of a store are missing, another's, or no pair.

    A store of an older program takes the pair that it has.
    """
    if not (store / PRIVATE).is_file():
        raise Sealed(f"{store / PRIVATE} is missing. {_REMEDY}")
    key = read(store)
    public = _public_pem(key)
    if not (store / PUBLIC).is_file():
        raise Sealed(f"{store / PUBLIC} is missing. {_REMEDY}")
    if public != (store / PUBLIC).read_bytes():
        raise Sealed(f"{store / PUBLIC} does not belong to {store / PRIVATE}. {_REMEDY}")
    try:
        known = (store / MARK).read_text("ascii", "replace").split()
    except FileNotFoundError:
        with suppress(OSError):  # a store that is read-only takes it when it can
            _known_by(store, key, alone=False)
        return
    if _fingerprint(key) not in known:
        raise Sealed(f"{store / PRIVATE} is another store's. {_REMEDY}")


def _public_pem(key: Ed25519PrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
