"""Where chance comes from: cell keys as uniform numbers, and generators for whole tables.

The key of a cell is the sum of the keys of its records, modulo m. Sums add: the key of a union is
the sum of the keys of its parts. With a look-up that grows with the key, the noise of two cells
then explains a large part of the noise of their union. The keyed mix breaks this: a pseudo-random
function of a secret and the key sum. Cells with the same contributors still get the same number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.compiling import pays
from discreet.errors import ParameterError
from discreet.protect import kernels, plain

Secret = str | Path | bytes
"""The path of a file of at least 16 bytes, or the bytes themselves."""

FRACTIONS = 10**9
"""The modulus of keys that are fractions of 1, as the R package cellKey has them: 9 decimals."""

MOST_SUM = 2**20
"""The largest sum of fractions: beyond it a double no longer has nine decimals."""

LEAST_SECRET = 16
"""Bytes: fewer could be tried one by one by whoever knows one record's cell."""


@dataclass(frozen=True)
class KeyMix:
    """A pseudo-random function from cell keys to uniforms, known only with the secret.

    `purpose` separates uses of one secret: two methods on one cell must not share their luck.

    Notes
    -----
    SipHash-2-4 [Aumasson2012] of the key sum as one 8-byte word, under a 128-bit key that is
    BLAKE2b [Saarinen2015] of the purpose under the secret; the upper 53 bits of the result over
    2^53 are the uniform.

    >>> mix = dc.protect.KeyMix(b"a secret of at least 16 bytes")
    >>> uniforms = mix.uniforms(np.array([7, 7, 9], np.uint64))
    >>> bool(uniforms[0] == uniforms[1]), bool(uniforms[0] == uniforms[2])
    (True, False)
    """

    secret: bytes = field(repr=False)
    purpose: str = "cell key"

    def __post_init__(self) -> None:
        _derive(self.secret, b"", 16)  # refuses a secret that is none

    def uniforms(self, keys: ArrayLike) -> NDArray[np.float64]:
        """Return a number in [0, 1) for each cell key, the same for the same key."""
        return unit_interval(self.words(keys))

    def words(self, keys: ArrayLike) -> NDArray[np.uint64]:
        """Return a random 64-bit number for each key, the same for the same key."""
        words = _checked(keys)
        halves = np.frombuffer(_derive(self.secret, self.purpose.encode(), 16), "<u8")
        mixed = np.empty(words.size, np.uint64)
        siphash = kernels.siphash if pays(kernels.siphash, words.size) else plain.siphash
        siphash(words.reshape(-1), halves[0], halves[1], mixed)
        return mixed.reshape(words.shape)


def unit_interval(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the upper 53 bits of each number over 2^53: uniform in [0, 1)."""
    return np.ldexp((words >> np.uint64(11)).astype(np.float64), -53)


def purposes(words: NDArray[np.uint64], purpose: int) -> NDArray[np.uint64]:
    """Return numbers for one of several uses of the same random words, unrelated to the others.

    Notes
    -----
    The finaliser of SplitMix64 [Steele2014] of word + purpose·γ. It is no cipher: the words must
    be secret and random already, as those of `KeyMix` are.
    """
    x = words + np.uint64(purpose * 0x9E3779B97F4A7C15 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def checked_words(keys: ArrayLike, number: int) -> NDArray[np.uint64]:
    """Return random words, one for each record, or raise where they are none."""
    words = np.asarray(keys)
    if words.dtype != np.uint64 or words.shape != (number,):
        raise ParameterError(f"keys must be {number:,} random numbers of type uint64.")
    return words


def plain_uniforms(keys: ArrayLike, modulus: int) -> NDArray[np.float64]:
    """Return key / modulus for each cell key: for offices whose keys are in use already.

    Notes
    -----
    The R package cellKey takes the first interval whose upper bound is at least key / modulus;
    here it is the first whose bound exceeds the uniform. The largest number below key / modulus
    makes the two the same, whatever the bounds.

    >>> dc.protect.plain_uniforms([1, 2, 3], modulus=4).round(2).tolist()
    [0.25, 0.5, 0.75]
    """
    words = _checked(keys)
    if words.size and int(words.max()) >= modulus:
        raise ParameterError(f"keys must be below the modulus, {modulus}.")
    return np.asarray(np.maximum(np.nextafter(words / modulus, -1.0), 0.0))


def fraction_keys(
    values: ArrayLike, sums: bool = False
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return keys below `FRACTIONS` of numbers in [0, 1], and which numbers are no such keys.

    A number of more than nine decimals is none, lest figures differ from those of other programs;
    `sums` of keys, which carry the errors of floating point, are rounded. 1 is 0, as modulo 1.
    """
    given = np.asarray(values, np.float64)
    fine = np.isfinite(given) & (given >= 0) & (given <= (MOST_SUM if sums else 1))
    scaled = np.where(fine, given, 0) * FRACTIONS
    whole = np.rint(scaled)
    # A product below 10^9 has an error below 10^-6; a tenth decimal would be 0.1.
    bad = ~fine if sums else ~fine | (np.abs(scaled - whole) > 1e-4)
    return whole.astype(np.uint64) % np.uint64(FRACTIONS), bad


def whole_uniforms(keys: ArrayLike, modulus: int, number: int) -> NDArray[np.float64]:
    """Return uniforms that pick the entry of each cell key among a number of them, all alike.

    For explicit look-ups, whose keys are in use already: the entry is the key modulo the number.

    >>> dc.protect.whole_uniforms([0, 3, 4], modulus=8, number=4).tolist()
    [0.125, 0.875, 0.125]
    """
    words = _checked(keys)
    if modulus % number:
        raise ParameterError(
            f"keys must have a modulus that is a multiple of {number}, the keys of the look-up. "
            f"Got {modulus}."
        )
    if words.size and int(words.max()) >= modulus:
        raise ParameterError(f"keys must be below the modulus, {modulus}.")
    return np.asarray((words % number + 0.5) / number)


def table_generator(secret: bytes, question: bytes) -> np.random.Generator:
    """Return the source of chance of a table-wise method: the same question, the same answer.

    `question` is all that makes the table, in a canonical form. The generator is Philox, keyed by
    BLAKE2b of the question under the secret: another question has an independent stream.

    >>> draws = [dc.protect.table_generator(b"0123456789abcdef", b"by=sex") for _ in "12"]
    >>> bool(draws[0].random() == draws[1].random())
    True
    """
    key = np.frombuffer(_derive(secret, b"table\0" + question, 16), "<u8")
    return np.random.Generator(np.random.Philox(key=key))


def _derive(secret: bytes, purpose: bytes, size: int) -> bytes:
    """Return a key for one purpose, from which neither the secret nor other keys follow."""
    if not isinstance(secret, bytes) or len(secret) < LEAST_SECRET:
        raise ParameterError(f"the secret must have at least {LEAST_SECRET} bytes.")
    strong = blake2b(secret, digest_size=32).digest()
    return blake2b(purpose, key=strong, digest_size=size).digest()


def _checked(keys: ArrayLike) -> NDArray[Any]:
    words = np.ascontiguousarray(keys)
    if words.dtype.kind not in "iu" or (words.size and int(words.min()) < 0):
        raise ParameterError(f"keys must be non-negative integers. Got the type {words.dtype}.")
    return words.reshape(np.shape(keys))


def generator(
    table: object, method: str, options: dict[str, str], secret: Secret | None, seed: int | None
) -> np.random.Generator:
    """Return the source of chance: the secret and the table, the seed, or the system's own.

    `table` is all that makes the table, with a repr that says it all.
    """
    if secret is not None and seed is not None:
        raise ParameterError("a secret and a seed cannot both be given.")
    if seed is not None:
        if seed < 0:
            raise ParameterError(f"seed must not be negative. Got {seed}.")
        return np.random.default_rng(seed)
    content = secret_bytes(token_bytes(32) if secret is None else secret)
    # Everything that makes the question, and the counts: another table must not share its luck.
    question = repr((method, sorted(options.items()), table))
    return table_generator(content, question.encode())


def secret_bytes(secret: Secret) -> bytes:
    """Return the bytes of a secret, read where it is a file."""
    try:
        return secret if isinstance(secret, bytes) else Path(secret).read_bytes()
    except OSError as error:
        raise ParameterError(f"secret must be a readable file. {error}") from None
