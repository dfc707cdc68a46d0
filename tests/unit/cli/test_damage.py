"""Damaged and odd files: one sentence and the documented exit status, whatever the damage."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.cli.program import run
from discreet.release.signature import Signer
from releases import dimension, release
from stores import build_town, write_town

DAMAGE = {
    "empty": b"",
    "no text": bytes(range(256)),
    "a list": b"[]",
    "an object": b"{}",
    "deep objects": b'{"a":' * 100_000,
    "numbers": b'{"format": 1, "files": 5, "rows": "x"}',
    "a name twice": b'{"format": 1, "format": 1}',
}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("town")
    return build_town(place, place / "store", rows=2_000)


def said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object
) -> str:
    """Return the one line that a command ends with, which must not have succeeded."""
    monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        run()
    told = capsys.readouterr().err
    assert ended.value.code in (2, 5), told
    line, *further = [x for x in told.splitlines() if not x.endswith(" …")]  # stages of a build
    assert line.startswith("discreet: ")
    assert all(x.startswith("  - ") for x in further)  # all mistakes at once
    assert len(line) < 500
    return line


# A policy that says nothing is a policy: only its checksum tells.
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (name, damage)
        for name in ("manifest.json", "schema.json", "policy.json")
        for damage in DAMAGE
        if (name, damage) != ("policy.json", "an object")
    ],
)
def test_a_damaged_version(
    name: str,
    damage: str,
    town: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(town, tmp_path / "store")
    held = next(tmp_path.glob(f"store/versions/*/{name}"))
    size = held.stat().st_size
    # Of the same size, so that it is not the size that is noticed.
    held.write_bytes(DAMAGE[damage] + b" " * (size - len(DAMAGE[damage])))
    for words in (["info"], ["table", "--by", "sex"], ["tabulate", "--by", "sex"]):
        command, *more = words
        assert said(capsys, monkeypatch, command, tmp_path / "store", *more)


@pytest.mark.parametrize("name", ["CURRENT", "secret", "signing.key"])
@pytest.mark.parametrize("damage", ["empty", "no text", "deep objects", "a folder"])
def test_a_damaged_store(
    name: str,
    damage: str,
    town: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(town, tmp_path / "store")
    held = tmp_path / "store" / name
    held.unlink(missing_ok=True)
    if damage == "a folder":
        held.mkdir(mode=0o700)
    else:
        held.write_bytes(DAMAGE[damage])
        held.chmod(0o600)
    words = ("table", tmp_path / "store", "--by", "sex", "--out", tmp_path / "t.csv")
    assert said(capsys, monkeypatch, *words)
    assert not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("a = " + "[" * 50_000, "build"),
        ("a." * 3_000 + "b = 1", "build"),
        ("a = " + "{b=" * 50_000, "build"),
        ("\x00", "build"),
        ("\ufeff\x00= 1", "policy"),
        ("a = " + "[" * 50_000, "policy"),
    ],
)
def test_odd_toml(
    text: str,
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "d.toml").write_text(text)
    words = [command, tmp_path / "d.toml", "--out", tmp_path / "s"]
    if command == "policy":
        words = [command, "explain", tmp_path / "d.toml"]
    assert said(capsys, monkeypatch, *words)


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "NUL in codes", "foreign"])
def test_a_damaged_source(
    damage: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset = write_town(tmp_path, rows=200)
    source = tmp_path / "people.parquet"
    raw = source.read_bytes()
    table = pq.read_table(source)
    if damage == "NUL in codes":
        column = pa.array(["1\0"] * len(table))
        table = table.set_column(table.column_names.index("sex"), "sex", column)
        pq.write_table(table, source)
    else:
        source.write_bytes({
            "cut": raw[: len(raw) // 2], "garbage": raw[:100] + b"\xff" * 500 + raw[600:],
            "empty": b"", "foreign": b"PK\x03\x04" + raw,
        }[damage])  # fmt: skip
    assert said(capsys, monkeypatch, "build", dataset, "--out", tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("command", ["verify", "convert", "protect", "round", "suppress", "audit"])
@pytest.mark.parametrize("damage", [*DAMAGE, "a folder", "none", "a device"])
def test_an_odd_table(
    command: str,
    damage: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "t.csv"
    if damage == "a folder":
        path.mkdir()
    elif damage == "a device":
        path = Path("/dev/zero")
    elif damage != "none":
        path.write_bytes(DAMAGE[damage])
    more: list[object] = ["--out", tmp_path / "o.csv"]
    if command == "convert":
        more += ["--format", "csv"]
    if command == "protect":
        more += ["--method", "random-rounding"]
    if command == "verify":
        (tmp_path / "keys").mkdir()
        Signer.of_store(tmp_path / "keys")
        more = ["--key", tmp_path / "keys" / "signing.pub"]
    monkeypatch.setattr(sys, "argv", ["discreet", command, str(path), *map(str, more)])
    with pytest.raises(SystemExit) as ended:
        run()
    told = capsys.readouterr()
    # A file that may have been ours once is altered (1), any other is no table of ours (2).
    assert ended.value.code == 2 or (command == "verify" and ended.value.code == 1)
    assert "Traceback" not in told.err + told.out
    assert not (tmp_path / "o.csv").exists()


def test_a_code_with_a_nul_is_said_or_written(tmp_path: Path) -> None:
    """A control character in a label becomes U+FFFD, and what cannot hold a code says so."""
    made = release((dimension("a", 2, labels=("x\0y", "z")), dimension("b", 2)))
    for format in ("csv", "xlsx", "html", "px", "json-stat", "sdmx-ml", "parquet", "csv-layout"):
        made.write(tmp_path / format, format)
        assert b"x\0y" not in (tmp_path / format).read_bytes()
