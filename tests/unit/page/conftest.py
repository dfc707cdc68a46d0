"""The town's schema, and its pages without a port."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from applications import Client, serving
from discreet.ledger import Database
from discreet.page.foresight import Foresight
from discreet.policy import Tier
from discreet.population import Schema
from persons import licensed_town, quick_hashes
from sites import Site
from stores import build_town, forget_releases, two_looks


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return build_town(folder / "data", folder / "store", policy=two_looks(folder / "data"))


@pytest.fixture(scope="session")
def client(store: Path) -> Iterator[Client]:
    with serving([store]) as client:
        yield client


@pytest.fixture(scope="session")
def schema(client: Client) -> Schema:
    return client.service.opened("town").schema


@pytest.fixture(scope="session")
def tier(client: Client) -> Tier:
    return client.service.opened("town").tier


@pytest.fixture
def foresight(client: Client) -> Foresight:
    return Foresight(client.service, client.service.opened("town"))


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return licensed_town(tmp_path_factory.mktemp("town"))


@pytest.fixture
def site(town: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    quick_hashes(monkeypatch)
    forget_releases(town)
    monkeypatch.setenv("DISCREET_DATABASE_URL", f"sqlite:///{town / str(uuid4())}.db")
    with Database.of_store(town).reading():
        pass
    with serving([town]) as client:
        yield Site(client)
