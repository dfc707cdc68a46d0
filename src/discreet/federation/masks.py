"""Masks that cancel in the sum: X25519 between two sites, HKDF-SHA256, a ChaCha20 stream.

Site i adds the stream it shares with each later site and subtracts that with each earlier one,
modulo 2^64. Over all sites every stream is there once with + and once with −.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from discreet.errors import InternalError, ParameterError
from discreet.table import CountTable

Words = NDArray[np.uint64]
WIDTH = 64
_MOST = 2**32
_NONCE = bytes(16)  # a key makes one stream


def check_modulus(modulus: int) -> int:
    """Return what key sums are multiplied by, so that sums of them wrap as keys do."""
    if modulus < 2 or modulus & (modulus - 1):
        raise ParameterError(f"the modulus of keys must be a power of two. Got {modulus}.")
    return int(2**WIDTH // modulus)


def encoded(table: CountTable) -> Words:
    """Return counts, then key sums in the upper bits, as numbers modulo 2^64.

    The sum of key sums modulo 2^64 is then their sum modulo the modulus and says no more, such as
    how often it wrapped.
    """
    dense = table.dense()
    scale = np.uint64(check_modulus(table.modulus))
    counts, keys = (np.asarray(a, np.uint64).ravel() for a in (dense.counts, dense.keys))
    return np.concatenate([counts, keys * scale])


def decoded(words: Words, modulus: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the counts and key sums of a total.

    Masks that did not cancel leave random numbers, which are no counts and not of the form of key
    sums: those are refused.
    """
    counts, keys = np.split(words, 2)
    scale = np.uint64(check_modulus(modulus))
    if (counts >= np.uint64(_MOST)).any() or (keys % scale).any():
        raise InternalError("the answers of the sites do not belong together")
    return counts.astype(np.uint32), (keys // scale).astype(np.uint32)


def masked(
    words: Words, site: str, private: X25519PrivateKey, publics: Mapping[str, bytes], round: bytes
) -> Words:
    """Return the numbers of a site with the masks that it shares with each of the others.

    `round` is a hash of all that a round is about, the public halves included.
    """
    out = words.copy()
    for other in sorted(publics):
        if other == site:
            continue
        try:
            shared = private.exchange(X25519PublicKey.from_public_bytes(publics[other]))
        except ValueError:  # too short, or a point of small order, with which nothing is secret
            raise ParameterError(f"the key of site '{other}' must be one of X25519.") from None
        mask = stream(shared, round, min(site, other), max(site, other), len(words))
        if site < other:
            out += mask
        else:
            out -= mask
    return out


def stream(shared: bytes, round: bytes, low: str, high: str, length: int) -> Words:
    """Return the mask of two sites in a round."""
    info = b"discreet mask\0" + low.encode() + b"\0" + high.encode()
    key = HKDF(SHA256(), 32, round, info).derive(shared)
    drawn = Cipher(ChaCha20(key, _NONCE), None).encryptor().update(bytes(8 * length))
    return np.frombuffer(drawn, "<u8").astype(np.uint64)


def total(answers: Iterable[Words]) -> Words:
    """Return the sum of what all sites sent."""
    parts = list(answers)
    if len({len(part) for part in parts}) != 1:
        raise InternalError("the answers of the sites do not belong together")
    out = parts[0].copy()
    for part in parts[1:]:
        out += part
    return out
