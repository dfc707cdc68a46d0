"""Sealed files: opened by the right passphrase or key, and by nothing else; no byte may change."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import pytest

from discreet.errors import ParameterError
from discreet.population import envelope
from discreet.population.envelope import (
    MAGIC,
    PIECE,
    Opening,
    Owner,
    Passphrase,
    Recipient,
    Sealing,
)

WORDS = Passphrase("correct horse battery")


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "_WORK", 2**4)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A pair of keys as openssl makes them, which is how the documents say to make them."""
    private = tmp_path_factory.mktemp("keys") / "backup.key"
    public = private.with_suffix(".pub")
    subprocess.run(["openssl", "genpkey", "-algorithm", "x25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    return private, public


def shut(data: bytes, by: Passphrase | Recipient = WORDS) -> bytes:
    file = io.BytesIO()
    sealing = Sealing(file, by)
    sealing.write(data)
    sealing.finish()
    return file.getvalue()


def opened(raw: bytes, by: Passphrase | Owner = WORDS) -> bytes:
    return io.BufferedReader(Opening(io.BytesIO(raw), by)).read()


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
def test_what_was_sealed_is_opened(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    raw = shut(data[:size])
    assert opened(raw) == data[:size]
    # Every piece has a tag of 16 bytes, and there is at least one piece.
    pieces = max(1, -(-size // PIECE))
    assert len(raw) == raw.index(b"\n", len(MAGIC)) + 1 + size + 16 * pieces


def test_a_key_opens_what_was_sealed_for_it(keys: tuple[Path, Path]) -> None:
    raw = shut(b"figures", Recipient.read(keys[1]))
    assert b"figures" not in raw
    assert opened(raw, Owner.read(keys[0])) == b"figures"
    with pytest.raises(ParameterError, match="give --key"):
        opened(raw)
    with pytest.raises(ParameterError, match="by a passphrase"):
        opened(shut(b"figures"), Owner.read(keys[0]))


def test_another_key_or_passphrase_does_not(keys: tuple[Path, Path], tmp_path: Path) -> None:
    raw = shut(b"figures")
    with pytest.raises(ParameterError, match="another than the file"):
        opened(raw, Passphrase("correct horse batterie"))
    other = tmp_path / "other.key"
    subprocess.run(["openssl", "genpkey", "-algorithm", "x25519", "-out", other], check=True)
    with pytest.raises(ParameterError, match="another key"):
        opened(shut(b"figures", Recipient.read(keys[1])), Owner.read(other))


def test_two_files_of_one_passphrase_have_nothing_in_common() -> None:
    first, second = shut(bytes(100)), shut(bytes(100))
    assert first[-116:] != second[-116:]
    said = [json.loads(raw[len(MAGIC) :].split(b"\n")[0]) for raw in (first, second)]
    assert said[0]["salt"] != said[1]["salt"]
    assert said[0]["key"] != said[1]["key"]


def test_no_bit_may_change() -> None:
    raw = shut(b"some figures")
    for at in range(len(raw)):
        changed = bytearray(raw)
        changed[at] ^= 1
        with pytest.raises(ParameterError):
            opened(bytes(changed))


def test_no_piece_may_be_left_out_moved_or_added() -> None:
    raw = shut(bytes(3 * PIECE))
    at = raw.index(b"\n", len(MAGIC)) + 1
    head, size = raw[:at], PIECE + 16
    one, two, three = raw[at : at + size], raw[at + size : at + 2 * size], raw[at + 2 * size :]
    assert opened(head + one + two + three) == bytes(3 * PIECE)
    for body in (
        one + two,  # cut short between two pieces
        one + three,
        two + one + three,
        one + two + three + three,
        one + two + three + b"x",
        one + two + three[:-1],
        one + two[:100],
        b"",
    ):
        with pytest.raises(ParameterError, match="damaged"):
            opened(head + body)


def test_what_is_no_backup_and_no_key(keys: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="discreet backup wrote"):
        opened(b"PK\x03\x04")
    with pytest.raises(ParameterError, match="JSON object"):
        opened(MAGIC + b"x" * 100_000)
    for said in ({}, {"by": "passphrase", "key": "00"}, {"by": "x", "key": "0" * 96}):
        with pytest.raises(ParameterError):
            opened(MAGIC + json.dumps(said).encode() + b"\n")
    with pytest.raises(ParameterError, match="X25519 public key"):
        Recipient.read(keys[0])
    with pytest.raises(ParameterError, match="X25519 private key"):
        Owner.read(keys[1])
    with pytest.raises(ParameterError, match="readable file"):
        Owner.read(tmp_path / "none")


def test_a_passphrase_is_long_and_its_file_for_its_owner(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="at least 12"):
        Passphrase("x" * 11)
    assert Passphrase("x" * 12)
    file = tmp_path / "words"
    file.write_text("correct horse battery\nanother line\n")
    file.chmod(0o600)
    assert Passphrase.read(file) == WORDS
    file.chmod(0o640)
    with pytest.raises(ParameterError, match="mode 600"):
        Passphrase.read(file)
