"""Record keys: the only randomness of keyed methods, derived from a secret and the record id.

The secret lives in the store, outside its versions, and is kept when data are built again: fresh
keys on the same data would be fresh noise, and fresh noise can be averaged away.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.checks import whole
from discreet.compiling import SMALL
from discreet.errors import ParameterError
from discreet.files import written

DEFAULT_MODULUS = 2**32
_PERSON = b"discreet record\0"
_FINGERPRINT = b"discreet secret\0"
_EDITION = b"discreet edition"


@dataclass(frozen=True)
class Secret:
    """Thirty-two secret bytes; never printed, never part of a release."""

    value: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.value) != 32:
            raise ParameterError("the secret must be 32 bytes; is the file damaged?")

    @classmethod
    def fresh(cls) -> Secret:
        """Return a new secret from the system's randomness."""
        return cls(secrets.token_bytes(32))

    @classmethod
    def read(cls, path: Path) -> Secret:
        """Return the secret in a file, which nobody but its owner may read."""
        mode = path.stat().st_mode & 0o777
        if not path.is_file():
            raise ParameterError(f"{path} must be a file of 64 hexadecimal digits.")
        if mode & 0o077:
            raise ParameterError(
                f"{path} must be readable by its owner only (mode 600). It has mode {mode:o}: "
                f"others may have read the secret; if not, run chmod 600 {path}."
            )
        try:
            return cls(bytes.fromhex(path.read_text(encoding="ascii").strip()))
        except ValueError:
            raise ParameterError(f"{path} must hold 64 hexadecimal digits.") from None

    def fingerprint(self) -> str:
        """Return what a version keeps to recognise its secret by; it reveals nothing of it."""
        return hashlib.blake2b(digest_size=16, key=self.value, person=_FINGERPRINT).hexdigest()

    def of_edition(self, edition: int) -> Secret:
        """Return what noise is drawn with in an edition: the same in one, unrelated in two.

        Figures that stay the same from one edition to the next would show which ones changed.
        """
        if edition == 1:
            return self
        name = str(edition).encode("ascii")
        return Secret(
            hashlib.blake2b(name, digest_size=32, key=self.value, person=_EDITION).digest()
        )

    def write(self, path: Path) -> None:
        """Write the secret to a file of mode 600, at once or not at all."""
        with written(path, alone=True) as file:
            file.write(f"{self.value.hex()}\n".encode("ascii"))


def digests(
    secret: Secret, data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return 64 bits of BLAKE2b(secret, id) for each id data[offsets[i]:offsets[i + 1]].

    Notes: keyed BLAKE2b [Saarinen2015, §2.9] with a digest of 8 bytes, the secret as key and a
    personalisation of its own; `hashlib.blake2b` gives the same.
    """
    out = np.empty(len(offsets) - 1, np.uint64)
    if len(out) <= SMALL:
        raw, ends = data.tobytes(), offsets.tolist()
        out[:] = [digest(secret, raw[a:b]) for a, b in pairwise(ends)]
        return out
    from discreet.population.kernels import IV, blake2b_64

    # Parameter block (§2.5): digest length 8, key length 32, fanout and depth 1; person in 6 and 7.
    start = IV.copy()
    start[0] ^= np.uint64(8 | 32 << 8 | 1 << 16 | 1 << 24)
    start[6:] ^= np.frombuffer(_PERSON, np.uint64)
    blake2b_64(start, np.frombuffer(secret.value, np.uint8), data, offsets, out)
    return out


def digest(secret: Secret, record: bytes) -> int:
    """Return the digest of one id, by the standard library."""
    hashed = hashlib.blake2b(record, digest_size=8, key=secret.value, person=_PERSON)
    return int.from_bytes(hashed.digest(), "little")


def repeated(hashed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the digests that are there more than once, in their order; the given ones may move."""
    if len(hashed) <= SMALL:
        hashed.sort()
        return np.unique(hashed[1:][hashed[1:] == hashed[:-1]])
    from discreet.population.kernels import twice

    # Parts of some ten thousand digests fit in the second cache.
    return np.unique(twice(hashed, max(0, len(hashed).bit_length() - 14)))


def record_keys(hashed: NDArray[np.uint64], modulus: int) -> NDArray[np.uint32]:
    """Return keys below the modulus, uniform up to 1 part in 2^32."""
    if modulus == 2**32:
        return hashed.astype(np.uint32)  # which cuts the rest off
    return (hashed % np.uint64(modulus)).astype(np.uint32)


def check_modulus(modulus: object) -> int:
    """Return the modulus if keys below it fit in four bytes; 1 is that of fractions."""
    return whole("the modulus of record keys", modulus, 1, 2**32)
