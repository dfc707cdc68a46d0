"""A store read from end to end: a changed byte in any file, in any version, is found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.build import build
from discreet.cli import app
from discreet.errors import Damaged, DiscreetError
from discreet.policy.attack import People
from discreet.population import Store
from discreet.query import Query, Question
from discreet.service.certificate import issue
from discreet.service.opened import open_store
from discreet.service.verifying import verify_store
from federations import build_country, make_federation
from stores import build_town, write_town


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    build_town(folder / "data", folder / "store", rows=1_000)
    build(write_town(folder / "data", rows=1_000, seed=2), folder / "store", views=2**14)
    return folder / "store"


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with all that may be in one: two versions, releases, a site, a certificate."""
    folder = tmp_path_factory.mktemp("north")
    store = make_federation(folder).stores["aland"][0]
    build_country(folder / "aland", "aland", seed=9)
    opened = open_store(store)
    for asked in ("sex", "health"):
        opened.releaser.release(Question.of(Query.parse(asked), opened.schema))
    opened.releaser.ledgers.database.close()
    report = {"public": True, "passed": True, "findings": [], "title": "", "seeds": [1],
              "people": 4_000, "untried": []}  # fmt: skip
    issue(store, opened.subject, report, People.SYNTHETIC)
    (store / "hub.json").write_text('{"ca":null,"seconds":60}')
    return store


def _one_bit(raw: bytes) -> bytes:
    changed = bytearray(raw)
    changed[len(raw) // 2] ^= 1
    return bytes(changed)


def _garbage(raw: bytes) -> bytes:
    return bytes(255 - byte for byte in raw)


def found(store: Path) -> bool:
    try:
        verify_store(store)
    except DiscreetError:
        return True
    return False


def _page(raw: bytes) -> bytes:
    """A page of a database written over, as a disk may do it."""
    return raw[:4096] + b"\xff" * 4096 + raw[8192:]


def test_every_file_is_read(everything: Path) -> None:
    """Each file in the folder of a store, emptied, written over, and damaged by one bit."""
    assert verify_store(everything) == []
    files = [path for path in sorted(everything.rglob("*")) if path.is_file()]
    named = {path.relative_to(everything).parts[0] for path in files}
    assert named == {
        "CURRENT", "secret", "signing.key", "signing.pub", "signing.id", "certificates",
        "federation.json", "hub.json", "site.db", "versions", "state.db", "ledger.id", "records",
        ".lock",
    }, "a file that is new here must be read too"  # fmt: skip
    for path in files:
        raw, harms = path.read_bytes(), [lambda raw: b"", _garbage, _one_bit]
        if path.name == ".lock":
            continue  # it says nothing: its name alone is used
        if path.suffix == ".db":
            harms[2] = _page  # of what a database holds, its pages have no checksum
        if path.name == "hub.json":
            harms.pop()
        if not raw:
            harms = [lambda raw: b"more"]
        for harm in harms:
            path.write_bytes(harm(raw))
            told = f"{path}, {harm.__name__}"
            assert found(everything), told
        path.write_bytes(raw)
    assert verify_store(everything) == []


@pytest.mark.parametrize("name", ["records", "ledger.id", "site.db", "state.db"])
def test_a_file_that_is_gone_is_missed(everything: Path, tmp_path: Path, name: str) -> None:
    store = Path(shutil.copytree(everything, tmp_path / "store"))
    (store / name).unlink()
    if name == "ledger.id":
        verify_store(store)  # as of an older store, which takes the ledger it has
        return
    with pytest.raises(DiscreetError):
        verify_store(store)


def test_records_of_an_older_program_have_no_checksum(everything: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(everything, tmp_path / "store"))
    lines = [json.loads(line) for line in (store / "records").read_text().splitlines()]
    for line in lines:
        del line["checksum"]
    (store / "records").write_text("".join(json.dumps(line) + "\n" for line in lines))
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
