"""The town's schema, and its pages without a port."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from applications import Client, serving
from discreet.page.foresight import Foresight
from discreet.policy import Tier
from discreet.population import Schema
from stores import build_town, two_looks


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
