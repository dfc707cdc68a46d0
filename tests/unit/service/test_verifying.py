"""A store read from end to end: a changed byte in any file, in any version, is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.build import build
from discreet.cli import app
from discreet.errors import Damaged, DiscreetError
from discreet.population import Store
from discreet.service.verifying import verify_store
from stores import build_town, write_town


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    build_town(folder / "data", folder / "store", rows=1_000)
    build(write_town(folder / "data", rows=1_000, seed=2), folder / "store", views=2**14)
    return folder / "store"


def test_every_file_is_read(store: Path, tmp_path: Path) -> None:
    """Each file of a store of two versions, damaged by one bit."""
    assert verify_store(store) == []
    files = [path for path in sorted(store.rglob("*")) if path.is_file() and path.stat().st_size]
    files = [path for path in files if path.name != "state.db"]  # a database sees to itself
    assert len(files) > 15
    for path in files:
        raw = bytearray(path.read_bytes())
        raw[len(raw) // 2] ^= 1
        kept = path.read_bytes()
        path.write_bytes(raw)
        with pytest.raises(DiscreetError):
            verify_store(store)
        path.write_bytes(kept)
    assert verify_store(store) == []


def test_what_does_not_belong_there_is_found(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "store")
    (Store(tmp_path / "store").open().path / "more").touch()
    with pytest.raises(Damaged, match="more is no file of this version"):
        verify_store(tmp_path / "store")


def test_versions_of_another_format_are_named(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "store")
    held = Store(tmp_path / "store")
    first = next(name for name in held.list() if name != held.current())
    (held.versions / first / "manifest.json").write_text('{"format": 1}')
    assert verify_store(held.path) == [first]
    ran = CliRunner().invoke(app, ["info", str(held.path), "--verify"])
    assert f"Not read: version {first} has another format." in ran.stdout.replace("\n", " ")
