"""Digests equal those of the standard library; keys, moduli and the file of the secret."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.population import keys
from discreet.population.keys import (
    Secret,
    check_modulus,
    digest,
    digests,
    record_keys,
    repeated,
)

SECRET = Secret(bytes(range(32)))


@pytest.fixture(params=[-1, 2**40], ids=["compiled", "plain"], autouse=True, scope="module")
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hashes few ids by the kernel, and many by the standard library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "SMALL", request.param)
        yield


def many(messages: list[bytes], secret: Secret = SECRET) -> list[int]:
    sizes = [0, *(len(message) for message in messages)]
    data = np.frombuffer(b"".join(messages) or b"\0", np.uint8)
    found: list[int] = digests(secret, data, np.cumsum(sizes, dtype=np.int64)).tolist()
    return found


def by_hashlib(message: bytes, secret: Secret = SECRET) -> int:
    hashed = hashlib.blake2b(message, digest_size=8, key=secret.value, person=b"discreet record\0")
    return int.from_bytes(hashed.digest(), "little")


@pytest.mark.parametrize("rows", [0, 1, 5, 100_000])
def test_digests_that_come_again_are_found(rows: int) -> None:
    rng = np.random.default_rng(rows)
    some = rng.integers(1, 2**64, rows, np.uint64, endpoint=False)
    once = np.concatenate([some, np.array([0, 5, 2**64 - 1], np.uint64)])
    assert len(np.unique(once)) == len(once)
    assert repeated(once.copy()).tolist() == []
    again = np.array([2**64 - 1, 0, 5, 0], np.uint64)
    assert repeated(rng.permutation(np.concatenate([once, again]))).tolist() == [0, 5, 2**64 - 1]


def test_every_length_to_400_equals_hashlib() -> None:
    # Blocks are 128 bytes: the lengths pass three block boundaries.
    rng = np.random.default_rng(7)
    messages = [rng.bytes(length) for length in range(401)]
    assert many(messages) == [by_hashlib(message) for message in messages]


@given(st.lists(st.binary(max_size=300), max_size=8), st.binary(min_size=32, max_size=32))
def test_any_messages_equal_hashlib(messages: list[bytes], value: bytes) -> None:
    secret = Secret(value)
    expected = [by_hashlib(message, secret) for message in messages]
    assert many(messages, secret) == expected
    assert [digest(secret, message) for message in messages] == expected


def test_one_message_does_not_touch_the_next() -> None:
    assert many([b"a" * 200, b"", b"b"]) == [by_hashlib(m) for m in (b"a" * 200, b"", b"b")]


@pytest.mark.parametrize("modulus", [2, 3, 256, 10**8, 2**32 - 1, 2**32])
def test_keys_are_the_digest_modulo(modulus: int) -> None:
    hashed = np.array([0, 1, modulus - 1, modulus, 2**32, 2**63, 2**64 - 1], np.uint64)
    keys = record_keys(hashed, modulus)
    assert keys.dtype == np.uint32
    assert keys.tolist() == [value % modulus for value in hashed.tolist()]


def test_keys_are_spread_evenly() -> None:
    """Chi-square over 256 classes of 65,536 keys: mean 255, standard deviation √510 ≈ 22.6."""
    keys = record_keys(np.array(many([str(i).encode() for i in range(2**16)]), np.uint64), 256)
    observed = np.bincount(keys, minlength=256)
    chi_square = float(((observed - 256.0) ** 2 / 256.0).sum())
    assert abs(chi_square - 255) < 5 * 22.6


@pytest.mark.parametrize("modulus", [1, 2, 256, 10**8, 2**32])
def test_moduli(modulus: int) -> None:
    assert check_modulus(modulus) == modulus


@pytest.mark.parametrize("modulus", [0, -1, 2**32 + 1, True, 256.0, "256", None])
def test_bad_moduli(modulus: object) -> None:
    with pytest.raises(ParameterError) as caught:
        check_modulus(modulus)
    assert str(caught.value) == (
        f"the modulus of record keys must be an integer from 1 to 4294967296. Got {modulus!r}."
    )


def test_a_secret_is_never_printed() -> None:
    assert repr(SECRET) == "Secret()"
    assert SECRET.value.hex() not in f"{SECRET} {SECRET!r}"


def test_a_fingerprint_tells_secrets_apart_and_nothing_else() -> None:
    other = Secret.fresh()
    assert other.fingerprint() == other.fingerprint() != SECRET.fingerprint()
    assert other.value.hex() not in other.fingerprint()
    # Not the digest of any record: a personalisation of its own.
    assert f"{digest(SECRET, b''):016x}" not in SECRET.fingerprint()


def test_fresh_secrets_differ() -> None:
    assert Secret.fresh() != Secret.fresh()


def test_a_secret_is_32_bytes() -> None:
    with pytest.raises(ParameterError, match="must be 32 bytes"):
        Secret(b"short")


def test_a_secret_is_written_and_read(tmp_path: Path) -> None:
    SECRET.write(tmp_path / "secret")
    SECRET.write(tmp_path / "secret")
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert Secret.read(tmp_path / "secret") == SECRET
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o644])
def test_a_secret_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    SECRET.write(tmp_path / "secret")
    (tmp_path / "secret").chmod(mode)
    with pytest.raises(ParameterError, match=rf"mode 600\). It has mode {mode:o}"):
        Secret.read(tmp_path / "secret")


def test_a_fingerprint_is_drawn_for_that_alone() -> None:
    """Whoever knows it knows no record key and no noise: keyed BLAKE2b with its own person."""
    wanted = hashlib.blake2b(digest_size=16, key=SECRET.value, person=b"discreet secret\0")
    assert SECRET.fingerprint() == wanted.hexdigest()


def test_each_edition_draws_with_a_secret_of_its_own() -> None:
    other = Secret(bytes(32))
    editions = [secret.of_edition(number) for secret in (SECRET, other) for number in (1, 2, 3)]
    assert len({secret.value for secret in editions}) == 6
    assert SECRET.of_edition(1) == SECRET  # what was released before editions were counted
    assert SECRET.of_edition(2) == SECRET.of_edition(2)


def test_a_folder_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir(mode=0o700)
    with pytest.raises(ParameterError, match=r"must be a file of 64 hexadecimal digits\.$"):
        Secret.read(tmp_path / "secret")
