"""Backups: the restored store answers as the one that was kept, and half of one is never there."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import tarfile
import threading
from contextlib import closing
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import ParameterError
from discreet.population import backup as module
from discreet.population import envelope
from discreet.population.backup import backup, restore
from discreet.population.envelope import Passphrase, Sealing
from discreet.release.verify import verify
from stores import build_town, write_town

WORDS = Passphrase("correct horse battery")


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "_WORK", 2**4)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build_town(tmp_path, tmp_path / "store", rows=2_000)


def figures(store: Path) -> dict[str, list[int]]:
    opened = dc.open(store)
    return {by: opened.release(by).table.values.ravel().tolist() for by in ("sex", "age,sex")}


def test_a_restored_store_releases_the_same_and_signs_with_the_same_key(
    store: Path, tmp_path: Path
) -> None:
    before = figures(store)
    dc.open(store).release("sex").write(tmp_path / "old.json", "json-stat")
    log = (store / "records").read_bytes()
    kept = backup(store, tmp_path / "b", WORDS)
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    found = restore(tmp_path / "b", tmp_path / "again", WORDS)
    assert found == kept
    assert (tmp_path / "again" / "records").read_bytes() == log
    assert figures(tmp_path / "again") == before
    dc.open(tmp_path / "again").release("sex").write(tmp_path / "new.json", "json-stat")
    assert (tmp_path / "new.json").read_bytes() == (tmp_path / "old.json").read_bytes()
    key = dc.release.signature.read_public_key(tmp_path / "again" / "signing.pub")
    assert verify(tmp_path / "old.json", key).genuine
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "again").rglob("*")}
    assert modes["secret"] == modes["signing.key"] == modes["keys.u32"] == 0o600
    assert (tmp_path / "again").stat().st_mode & 0o777 == 0o700
    assert [p.name for p in tmp_path.iterdir() if ".part" in p.name] == []


def test_nothing_of_the_store_can_be_read_in_the_file(store: Path, tmp_path: Path) -> None:
    figures(store)
    backup(store, tmp_path / "b", WORDS)
    raw = (tmp_path / "b").read_bytes()
    secret = (store / "secret").read_bytes().strip()
    for told in (secret, bytes.fromhex(secret.decode()), b"PRIVATE KEY", b"manifest", b"sex"):
        assert told not in raw


def test_a_later_build_uses_the_restored_secret(store: Path, tmp_path: Path) -> None:
    before = figures(store)
    backup(store, tmp_path / "b", WORDS)
    restore(tmp_path / "b", tmp_path / "again", WORDS)
    dc.build.build(tmp_path / "dataset.toml", tmp_path / "again")
    assert figures(tmp_path / "again") == before


def test_a_store_that_is_built_into_meanwhile_is_kept_whole(store: Path, tmp_path: Path) -> None:
    """Builds with new secrets, one version kept: its files vanish while they are copied."""
    (tmp_path / "d").mkdir()
    dataset = write_town(tmp_path / "d", rows=2_000)  # enough people for what figures() asks
    stop = threading.Event()

    def build() -> None:
        while not stop.is_set():
            dc.build.build(dataset, store, new_secret=True, keep=1)

    builder = threading.Thread(target=build)
    builder.start()
    kept: list[str] = []
    try:
        while len(set(kept)) < 3 or len(kept) < 8:  # of the first version and of two later ones
            kept.append(backup(store, tmp_path / f"b{len(kept)}", WORDS).version)
            assert builder.is_alive()
    finally:
        stop.set()
        builder.join()
    for i in {version: i for i, version in enumerate(kept)}.values():  # one of each version
        restore(tmp_path / f"b{i}", tmp_path / f"again{i}", WORDS)  # checks secret and checksums
        assert figures(tmp_path / f"again{i}")


def test_the_next_secret_is_kept_where_it_is_that_of_the_version(
    store: Path, tmp_path: Path
) -> None:
    right = (store / "secret").read_text()
    (store / "secret.next").write_text(right)
    (store / "secret.next").chmod(0o600)
    (store / "secret").write_text("0" * 64)
    backup(store, tmp_path / "b", WORDS)
    restore(tmp_path / "b", tmp_path / "again", WORDS)
    assert (tmp_path / "again" / "secret").read_text() == right
    (store / "secret.next").unlink()
    with pytest.raises(ParameterError, match="the secret of its version"):
        backup(store, tmp_path / "c", WORDS)
    assert not (tmp_path / "c").exists()


def test_a_damaged_file_is_not_kept(store: Path, tmp_path: Path) -> None:
    held = next(store.glob("versions/*/keys.u32"))
    raw = bytearray(held.read_bytes())
    raw[7] ^= 1
    held.write_bytes(raw)
    with pytest.raises(ParameterError, match="checksum"):
        backup(store, tmp_path / "b", WORDS)
    assert not (tmp_path / "b").exists()
    assert [p for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_database_is_kept_as_it_was_committed(store: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(store / "state.sqlite")) as state:
        state.execute("pragma journal_mode=wal")
        state.execute("create table t (x)")
        state.execute("insert into t values (1)")
        state.commit()
        state.execute("insert into t values (2)")
        backup(store, tmp_path / "b", WORDS)
    restore(tmp_path / "b", tmp_path / "again", WORDS)
    with closing(sqlite3.connect(tmp_path / "again" / "state.sqlite")) as state:
        assert state.execute("select x from t").fetchall() == [(1,)]


def test_a_restored_store_takes_no_place_of_another(store: Path, tmp_path: Path) -> None:
    backup(store, tmp_path / "b", WORDS)
    with pytest.raises(ParameterError, match="must be a new folder"):
        restore(tmp_path / "b", store, WORDS)
    (tmp_path / "empty").mkdir()
    restore(tmp_path / "b", tmp_path / "empty", WORDS)
    assert figures(tmp_path / "empty")
    with pytest.raises(ParameterError, match="folder that exists"):
        restore(tmp_path / "b", tmp_path / "no" / "store", WORDS)
    with pytest.raises(ParameterError, match="cannot be used"):
        restore(tmp_path / "none", tmp_path / "x", WORDS)


def test_a_cut_or_changed_backup_leaves_nothing(store: Path, tmp_path: Path) -> None:
    backup(store, tmp_path / "b", WORDS)
    raw = (tmp_path / "b").read_bytes()
    changed = bytearray(raw)
    changed[len(raw) // 2] ^= 1
    for bad in (raw[:-1], raw[: len(raw) // 2], bytes(changed), b"", raw + b"x"):
        (tmp_path / "b").write_bytes(bad)
        with pytest.raises(ParameterError):
            restore(tmp_path / "b", tmp_path / "again", WORDS)
        assert not (tmp_path / "again").exists()
        assert [p.name for p in tmp_path.iterdir() if ".part" in p.name] == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [("../evil", tarfile.REGTYPE), ("/evil", tarfile.REGTYPE), ("a/../../evil", tarfile.REGTYPE),
     ("secret", tarfile.SYMTYPE), ("x", tarfile.CHRTYPE), (".lock", tarfile.REGTYPE)],
)  # fmt: skip
def test_a_file_that_no_store_has_is_not_written(name: str, kind: bytes, tmp_path: Path) -> None:
    """Whoever knows the public key can write a backup: it may hold anything."""
    with (tmp_path / "b").open("wb") as file:
        sealing = Sealing(file, WORDS)
        with tarfile.open(fileobj=sealing, mode="w|") as tar:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info, io.BytesIO())
        sealing.finish()
    with pytest.raises(ParameterError, match="files of a store"):
        restore(tmp_path / "b", tmp_path / "again", WORDS)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b"]


def test_a_secret_of_another_version_is_noticed(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = next(store.glob("versions/*/manifest.json"))
    held = json.loads(manifest.read_text())
    monkeypatch.setattr(module, "_secret_of", lambda *_: module.Secret.fresh())
    assert held["secret"]
    backup(store, tmp_path / "b", WORDS)
    with pytest.raises(ParameterError, match="another secret"):
        restore(tmp_path / "b", tmp_path / "again", WORDS)
    assert not os.path.lexists(tmp_path / "again")
