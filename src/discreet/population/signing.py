"""The pair of keys by which a store signs its releases.

STORE/signing.key             the private key, mode 600, made by the first build
STORE/signing.pub             the public key, to be given to anyone who wants to check a file
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, Sealed
from discreet.files import sync, written

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PRIVATE, PUBLIC = "signing.key", "signing.pub"
HALF = "signing.new"
"""What a kill may leave of either."""

_REMEDY = (
    "Files signed with another key would not be known as this store's. Put the keys back, or make "
    "new ones with: discreet build DATASET.toml --out STORE --new-signing-key"
)


def make(store: Path) -> None:
    """Write a fresh pair of keys, or the public one to a private one that is there."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if not store.is_dir():
        raise ParameterError(f"{store} must be a folder that exists.")
    if not (store / PRIVATE).exists():
        fresh = Ed25519PrivateKey.generate()
        with written(store / PRIVATE, alone=True) as file:
            file.write(fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with written(store / PUBLIC, 0o644, alone=True) as file:
        file.write(_public_pem(read(store)))
    sync(store)


def forget(store: Path) -> None:
    """Take the keys away, so that a build makes new ones; what they signed is still genuine."""
    for name in (PRIVATE, PUBLIC):
        (store / name).unlink(missing_ok=True)


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
    """Raise `Sealed` where the keys of a store are missing, or do not belong together."""
    if not (store / PRIVATE).is_file():
        raise Sealed(f"{store / PRIVATE} is missing. {_REMEDY}")
    public = _public_pem(read(store))
    if not (store / PUBLIC).is_file():
        raise Sealed(f"{store / PUBLIC} is missing. {_REMEDY}")
    if public != (store / PUBLIC).read_bytes():
        raise Sealed(f"{store / PUBLIC} does not belong to {store / PRIVATE}. {_REMEDY}")


def _public_pem(key: Ed25519PrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
