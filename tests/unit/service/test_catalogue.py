"""Stores that change under a server: what is damaged is said, and never served."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from applications import Client, serving
from discreet.build import build
from discreet.errors import Damaged, LedgerUnavailable, ParameterError, RecordsUnreachable
from discreet.ledger import Database
from discreet.population import Store
from discreet.population import manifest as manifests
from discreet.population import store as population_store
from discreet.query import Query, Question
from discreet.service import catalogue
from discreet.service.opened import open_store
from discreet.tabulate import PushDown
from stores import build_town, write_town

TABLE = "/api/v1/datasets/town/table"
KNOWN = f"{TABLE}?by=sex,health&format=csv"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of two versions: of the census that is served, and of a later one."""
    folder = tmp_path_factory.mktemp("town")
    build_town(folder / "data", folder / "store", rows=3_000)
    build(write_town(folder / "data", rows=3_000, seed=2), folder / "store")
    return folder / "store"


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    """Return a copy at its first version."""
    shutil.copytree(built, tmp_path / "store")
    switch(tmp_path / "store", 0)
    return tmp_path / "store"


@pytest.fixture
def client(store: Path) -> Iterator[Client]:
    with serving([store]) as client:
        yield client


def switch(store: Path, which: int) -> Path:
    held = Store(store)
    held.switch(held.list()[which])
    return held.versions / held.list()[which]


def ready(client: Client) -> dict[str, str]:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    found: dict[str, str] = answer.json()
    return found


def damage_manifest(path: Path) -> None:
    found = manifests.read(path)
    manifests.write(path, {**found, "rows": 10**9})


def lose_files(path: Path) -> None:
    found = manifests.read(path)
    manifests.write(path, {**found, "files": {"codes.u8": {}}})


def flip(path: Path) -> None:
    """Change one bit, and leave size and time as they were."""
    before = path.stat()
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no manifest": (lambda path: (path / "manifest.json").unlink(), "damaged"),
    "a manifest of nonsense": (
        lambda path: (path / "manifest.json").write_text('{"format": 2, "files": 3}'),
        "damaged",
    ),
    "more rows than there are": (damage_manifest, "damaged"),
    "a manifest without facts": (lose_files, "damaged"),
    "a column cut short": (lambda path: os.truncate(path / "keys.u32", 100), "damaged"),
    "a bit of a column": (lambda path: flip(path / "codes.u8"), "damaged"),
    "a bit of the policy": (lambda path: flip(path / "policy.json"), "damaged"),
    "a folder in place of a file": (
        lambda path: ((path / "keys.u32").unlink(), (path / "keys.u32").mkdir()),
        "damaged",
    ),
    "another format": (
        lambda path: (path / "manifest.json").write_text('{"format": 1}'),
        "unusable",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_new_version_is_said_and_a_later_good_one_is_taken(
    client: Client, store: Path, tmp_path: Path, damage: str
) -> None:
    do, word = DAMAGES[damage]
    old = client.get(KNOWN)
    new = Store(store).list()[1]
    do(Store(store).versions / new)
    Store(store).switch(new)
    client.run(client.service.refresh())
    assert ready(client) == {"status": "degraded", "why": word}
    assert client.get(KNOWN).content == old.content
    assert client.get(f"{TABLE}?by=age_band").status_code == 200, "the old one serves on"
    lines = [json.loads(line) for line in client.log.splitlines()]
    assert sum(line["event"] == "store" for line in lines) == 1
    metrics = generate_latest(client.app.state.metrics.registry).decode()
    assert "discreet_degraded 1.0" in metrics
    third = build(write_town(tmp_path / "data", rows=3_000, seed=3), store).version
    client.run(client.service.refresh())
    assert ready(client)["status"] == "ready"
    assert client.service.opened("town").version.id == third


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError(), KeyError(1)])
def test_whatever_fails_while_opening_is_tried_again(
    client: Client, store: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(path: Path) -> Any:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(catalogue, "open_served", fail)
        switch(store, 1)
        client.run(client.service.refresh())
        word = "unreadable" if isinstance(error, OSError) else "failed"
        assert ready(client) == {"status": "degraded", "why": word}
    for _ in range(100):  # by the service's own look at the stores
        if ready(client)["status"] == "ready":
            break
        time.sleep(0.05)
    assert client.service.opened("town").version.id == Store(store).current()


def test_tries_become_rarer(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(catalogue, "monotonic", lambda: now)
    held = catalogue.Catalogue([store])
    (store / "secret").unlink()
    tried = []
    for now in range(200):
        if held.stale():
            tried.append(now)
            held.fresh()
    # 1, 2, 4, … seconds apart, and 60 at most.
    assert tried == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    assert held.trouble == "sealed"


def test_the_age_of_the_last_look_is_shown(client: Client) -> None:
    client.service.catalogue.looked -= 1_000
    assert client.service._watches
    client.loop.call_soon_threadsafe(client.service._watches[0].cancel)
    client.service.catalogue.looked = time.monotonic() - 1_000
    metrics = generate_latest(client.app.state.metrics.registry).decode()
    age = next(line for line in metrics.splitlines() if line.startswith("discreet_look_age"))
    assert float(age.split()[1]) >= 999


@pytest.mark.parametrize("name", ["codes.u8", "keys.u32", "areas.i64"])
def test_a_file_cut_short_under_a_running_server_is_an_error_answer(
    client: Client, store: Path, name: str
) -> None:
    old = client.get(KNOWN)
    path = Store(store).open().path / name
    whole = path.read_bytes()
    os.truncate(path, 0)
    for by in ("age_band", "ward,age_band,sex"):  # of a view, and of the records
        answer = client.get(f"{TABLE}?by={by}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "UNAVAILABLE")
        assert answer.headers["retry-after"] == "60"
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200
    assert client.get(KNOWN).content == old.content, "what was released stays so"
    path.write_bytes(whole)
    for _ in range(100):
        if client.get("/readyz").status_code == 200:
            break
        time.sleep(0.05)
    assert client.get(f"{TABLE}?by=age_band").status_code == 200


def test_damage_is_noticed_in_the_background_and_nothing_more_is_published(
    client: Client, store: Path
) -> None:
    """A bit that rots on the disk changes no time and no size."""
    assert client.get(KNOWN).status_code == 200
    assert client.service.catalogue.verify(lambda: None) == []
    flip(Store(store).open().path / "codes.u8")
    client.run(client.app.state.keeper.verify())
    lines = [json.loads(line) for line in client.log.splitlines()]
    (told,) = [line for line in lines if line["event"] == "damage"]
    assert "codes.u8 does not have its checksum" in told["message"]
    for url in (KNOWN, f"{TABLE}?by=age_band"):
        assert client.get(url).status_code == 503
    assert client.get("/readyz").status_code == 503


def test_a_damaged_view_is_built_again(client: Client, store: Path) -> None:
    view = next((Store(store).open().path / "views").glob("*.u64"))
    right = view.read_bytes()
    flip(view)
    client.run(client.app.state.keeper.verify())
    assert '"event":"damage"' in client.log
    assert not view.exists()
    assert client.get("/readyz").status_code == 200
    opened, names = client.service.opened("town"), view.name.removesuffix(".u64").split(".")
    opened.engine._views.clear()
    opened.engine.tabulate(Question.of(Query.of(",".join(names)), opened.schema))
    assert view.read_bytes() == right


@pytest.fixture
def mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have even the columns of small versions mapped, as those of large ones are."""
    monkeypatch.setattr(population_store, "_SMALL", 0)


@pytest.mark.usefixtures("mapping")
def test_old_versions_are_let_go_at_once(client: Client, store: Path) -> None:
    assert client.get(f"{TABLE}?by=sex").status_code == 200

    def mapped() -> set[str]:
        links = (os.path.realpath(link) for link in Path("/proc/self/fd").iterdir())
        ours = (Path(link) for link in links if str(store / "versions") in link)
        return {path.parent.name for path in ours}

    assert mapped() == {Store(store).list()[0]}
    switch(store, 1)
    client.run(client.service.refresh())
    assert client.get(f"{TABLE}?by=health").status_code == 200
    assert mapped() == {Store(store).list()[1]}


def test_a_read_only_store_serves_and_records_elsewhere(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    opened = open_store(store)
    from discreet.query import Query, Question

    opened.releaser.release(Question.of(Query.parse("sex"), opened.schema))
    assert not (store / "records").exists()
    (records,) = (tmp_path / "state" / "discreet").glob("store-*/records")
    assert json.loads(records.read_text())["question"] == "by=sex"
    assert records.parent.stat().st_mode & 0o777 == 0o700


def test_a_state_that_is_moved_away_is_said(client: Client, store: Path, tmp_path: Path) -> None:
    """Released tables are answered on, new ones are not made; put back, all is well."""
    database = client.service.opened("town").releaser.ledgers.database
    assert database.path is not None
    client.service.catalogue.look_at_state()
    assert client.get("/readyz").json()["status"] == "ready"
    database.path.rename(tmp_path / "moved")
    client.service.catalogue.look_at_state()
    assert client.get("/readyz").json() == {"status": "degraded", "why": "database"}
    assert client.get("/api/v1/datasets/town/table?by=rare").status_code == 503
    (tmp_path / "moved").rename(database.path)
    client.service.catalogue.look_at_state()
    assert client.get("/readyz").json()["status"] == "ready"


def test_a_lost_state_database_is_said(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is released is answered on; it is ready again when the database is."""

    def gone(self: Database) -> Any:
        raise LedgerUnavailable("gone")

    assert client.get("/readyz").json()["status"] == "ready"
    with monkeypatch.context() as lost:
        lost.setattr(Database, "reading", gone)
        client.service.catalogue.look_at_state()
        answer = client.get("/readyz")
        assert answer.status_code == 200
        assert answer.json() == {"status": "degraded", "why": "database"}
    client.service.catalogue.look_at_state()
    assert client.get("/readyz").json()["status"] == "ready"


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """A store whose records are elsewhere, and which has no views."""
    build(write_town(tmp_path / "data", rows=3_000), tmp_path / "away", views=0, engine="duckdb")
    return tmp_path / "away"


def coded_folder(store: Path) -> Path:
    elsewhere = Store(store).open().elsewhere
    assert elsewhere is not None
    return Path(elsewhere.coded)


def test_records_that_are_not_there_are_said(away: Path) -> None:
    """A disk that is not mounted is no damage: the server says so, and is well when it is back."""
    coded = coded_folder(away)
    with serving([away]) as client:
        assert client.get("/readyz").json()["status"] == "ready"
        coded.rename(coded.with_name("gone"))
        told = client.service.catalogue.look_at_engines()
        assert told is not None or "RecordsUnreachable" in client.log
        assert client.service.catalogue.look_at_engines() is None  # it is said once
        answer = client.get("/readyz")
        assert answer.status_code == 200
        assert answer.json() == {"status": "degraded", "why": "records"}
        answer = client.get(f"{TABLE}?by=sex,health")
        assert answer.status_code == 503
        assert str(coded) not in answer.text
        assert client.service.catalogue.verify(lambda: None) == []
        coded.with_name("gone").rename(coded)
        assert client.service.catalogue.look_at_engines() is None
        assert client.get("/readyz").json()["status"] == "ready"
        assert client.get(f"{TABLE}?by=sex,health").status_code == 200


def test_the_public_does_not_read_where_records_are(away: Path) -> None:
    with serving([away]) as client:
        client.get(f"{TABLE}?by=sex")
        for address in (
            "/", "/datasets/town", "/datasets/town/method", "/datasets/town/table?by=sex",
            "/api/v1/datasets", "/api/v1/datasets/town", "/api/v1/config", "/api/v1/catalogue",
            f"{TABLE}?by=sex", f"{TABLE}/meta?by=sex", "/px/v2/tables/town/metadata",
        ):  # fmt: skip
            answer = client.get(address)
            assert answer.status_code == 200, address
            assert "coded" not in answer.text, address
            assert "duckdb" not in answer.text.lower(), address


def test_an_engine_that_is_not_installed_is_said_too(
    away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: PushDown) -> None:
        raise ParameterError("the engine 'spark' needs the Spark Connect client")

    with serving([away]) as client:
        monkeypatch.setattr(PushDown, "reach", missing)
        client.service.catalogue.look_at_engines()
        assert ready(client) == {"status": "degraded", "why": "records"}


def test_a_server_starts_without_records_elsewhere(away: Path) -> None:
    coded = coded_folder(away)
    coded.rename(coded.with_name("gone"))
    with serving([away]) as client:
        told = client.service.catalogue.look_at_engines() or client.log
        assert client.get("/readyz").json() == {"status": "degraded", "why": "records"}
        assert "Build again" not in str(told)
        client.app.state.log.trouble("engine", RecordsUnreachable(f"{coded} is not there."))
        assert f"{coded} is not there." in client.log


def test_damage_of_records_elsewhere_is_found_in_the_background(away: Path) -> None:
    with serving([away]) as client:
        assert client.get(f"{TABLE}?by=sex").status_code == 200
        path = next(coded_folder(away).iterdir())
        before, raw = path.stat(), bytearray(path.read_bytes())
        raw[len(raw) // 2] ^= 1
        path.write_bytes(raw)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        (found,) = client.service.catalogue.verify(lambda: None)
        assert "not as it was written" in str(found[1])
        assert client.get(f"{TABLE}?by=health").status_code == 503
        assert client.get("/readyz").status_code == 503


def test_records_elsewhere_that_are_written_to_are_noticed(away: Path) -> None:
    with serving([away]) as client:
        path = next(coded_folder(away).iterdir())
        path.write_bytes(path.read_bytes()[:-1] + b"x")
        client.service.catalogue.look_at_engines()
        assert client.get("/readyz").status_code == 503


def test_a_server_does_not_start_on_damaged_records_elsewhere(away: Path) -> None:
    path = next(coded_folder(away).iterdir())
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(Damaged, match="not as it was written"):
        catalogue.open_served(away)
