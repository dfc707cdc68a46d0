"""Files that only the holder of a passphrase or of a private key can read.

A file begins with a line that says how its key is found. Then follow pieces of a mebibyte, each
encrypted and authenticated by AES-256-GCM under a key of this file alone; the number of the piece,
and whether it is the last, are part of its nonce, so that none can be left out, moved or added
[Hoang2015]. The key of the file is itself encrypted: by a key that scrypt [Percival2016] makes of
the passphrase, or by one agreed with the owner of a public key, X25519 [Langley2016].
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from discreet.errors import ParameterError
from discreet.files import read_bytes
from discreet.json import parsed

MAGIC = b"discreet backup 1\n"
PIECE = 2**20
SHORTEST = 12
"""Characters of a passphrase: four words of a dice list have more."""
_TAG = 16
_LONGEST_LINE = 4_096
_WORK = 2**17  # of scrypt: 128 MiB and about half a second for every guess


@dataclass(frozen=True)
class Passphrase:
    """A passphrase that seals and opens files."""

    text: str

    def __post_init__(self) -> None:
        if len(self.text) < SHORTEST:
            raise ParameterError(f"the passphrase must have at least {SHORTEST} characters.")

    @classmethod
    def read(cls, path: Path) -> Passphrase:
        """Return the passphrase in the first line of a file that only its owner can read."""
        text = read_bytes(path).decode("utf-8", "replace").partition("\n")[0].rstrip("\r")
        mode = path.stat().st_mode & 0o777
        if mode & 0o077:
            raise ParameterError(
                f"{path} must be readable by its owner only (mode 600). It has mode {mode:o}."
            )
        return cls(text)

    def seal(self) -> tuple[dict[str, Any], bytes]:
        """Return what is said of a key that was just made, and the key."""
        salt = os.urandom(16)
        return {"by": "passphrase", "salt": salt.hex()}, self._key(salt)

    def open(self, said: dict[str, Any]) -> bytes:
        """Return the key that was said."""
        if said.get("by") != "passphrase":
            raise ParameterError("the file was encrypted for a key: give --key.")
        return self._key(_hex(said, "salt", 16))

    def _key(self, salt: bytes) -> bytes:
        return Scrypt(salt, 32, _WORK, 8, 1).derive(self.text.encode())


@dataclass(frozen=True)
class Recipient:
    """A public key, to which a file is sealed that only its owner opens."""

    public: X25519PublicKey

    @classmethod
    def read(cls, path: Path) -> Recipient:
        """Return the X25519 public key in a file, in PEM."""
        raw = read_bytes(path)
        try:
            key = load_pem_public_key(raw)
        except ValueError:
            key = None
        if not isinstance(key, X25519PublicKey):
            raise ParameterError(f"'{path}' must hold an X25519 public key (PEM).")
        return cls(key)

    def seal(self) -> tuple[dict[str, Any], bytes]:
        """Return what is said of a key that was just agreed, and the key."""
        ours = X25519PrivateKey.generate()
        sent = _raw(ours.public_key())
        said = {"by": "x25519", "to": _raw(self.public).hex(), "from": sent.hex()}
        return said, _agreed(ours.exchange(self.public), sent, _raw(self.public))


@dataclass(frozen=True)
class Owner:
    """A private key, which opens the files that were sealed to its public key."""

    private: X25519PrivateKey

    @classmethod
    def read(cls, path: Path) -> Owner:
        """Return the X25519 private key in a file, in PEM."""
        raw = read_bytes(path)
        try:
            key = load_pem_private_key(raw, None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, X25519PrivateKey):
            raise ParameterError(f"'{path}' must hold an X25519 private key (PEM).")
        return cls(key)

    def open(self, said: dict[str, Any]) -> bytes:
        """Return the key that was said."""
        if said.get("by") != "x25519":
            raise ParameterError("the file was encrypted by a passphrase: give that.")
        mine = _raw(self.private.public_key())
        if _hex(said, "to", 32) != mine:
            raise ParameterError("the file was encrypted for another key.")
        sent = _hex(said, "from", 32)
        try:
            shared = self.private.exchange(X25519PublicKey.from_public_bytes(sent))
        except ValueError:
            raise _damaged() from None
        return _agreed(shared, sent, mine)


class Sealing(io.RawIOBase):
    """A stream that encrypts what is written to it, in pieces; `finish` writes the last."""

    def __init__(self, file: BinaryIO, by: Passphrase | Recipient) -> None:
        said, wrapping = by.seal()
        key = os.urandom(32)
        said["key"] = AESGCM(wrapping).encrypt(bytes(12), key, MAGIC).hex()
        self._head = MAGIC + json.dumps(said).encode() + b"\n"
        self._cipher, self._file = AESGCM(key), file
        self._waiting, self._number = bytearray(), 0
        file.write(self._head)

    def writable(self) -> bool:
        """It is only written to."""
        return True

    def write(self, data: Any) -> int:
        """Take some bytes; a piece is written once more than a piece is there."""
        self._waiting += data
        while len(self._waiting) > PIECE:
            self._piece(PIECE, False)
        return len(data)

    def finish(self) -> None:
        """Write the last piece, without which the file is no whole one."""
        self._piece(len(self._waiting), True)

    def _piece(self, size: int, last: bool) -> None:
        nonce = _nonce(self._number, last)
        self._file.write(self._cipher.encrypt(nonce, bytes(self._waiting[:size]), self._head))
        del self._waiting[:size]
        self._number += 1


class Opening(io.RawIOBase):
    """A stream of what was sealed; nothing of a piece is given that is not as it was written."""

    def __init__(self, file: BinaryIO, by: Passphrase | Owner) -> None:
        start = file.read(len(MAGIC))
        if start != MAGIC:
            raise ParameterError("the file must be one that discreet backup wrote.")
        line = file.readline(_LONGEST_LINE)
        said = parsed(line, "the head of the backup")
        wrapped = _hex(said, "key", 32 + _TAG)
        try:
            key = AESGCM(by.open(said)).decrypt(bytes(12), wrapped, MAGIC)
        except InvalidTag:
            raise ParameterError(
                "the passphrase or the key is another than the file was encrypted by, or the file "
                "is damaged."
            ) from None
        self._head, self._cipher, self._file = start + line, AESGCM(key), file
        self._number, self._given = 0, b""
        self._next = file.read(PIECE + _TAG)
        self._ended = False

    def readable(self) -> bool:
        """It is only read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next."""
        if not self._given and not self._ended:
            self._piece()
        size = min(len(buffer), len(self._given))
        buffer[:size] = self._given[:size]
        self._given = self._given[size:]
        return size

    def _piece(self) -> None:
        piece, self._next = self._next, self._file.read(PIECE + _TAG)
        self._ended = not self._next
        try:
            nonce = _nonce(self._number, self._ended)
            self._given = self._cipher.decrypt(nonce, piece, self._head)
        except (InvalidTag, ValueError):
            raise _damaged() from None
        self._number += 1


def _nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _agreed(shared: bytes, sent: bytes, received: bytes) -> bytes:
    return HKDF(SHA256(), 32, sent + received, MAGIC).derive(shared)


def _raw(key: X25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _hex(said: dict[str, Any], name: str, size: int) -> bytes:
    try:
        found = bytes.fromhex(said[name])
    except (KeyError, TypeError, ValueError):
        found = b""
    if len(found) != size:
        raise _damaged()
    return found


def _damaged() -> ParameterError:
    return ParameterError("the backup is damaged or was cut short. Nothing was restored.")
