"""An application over a small store, without a port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from applications import GENEROUS, Client, listening, serving
from discreet.server.settings import Settings
from stores import build_town


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return build_town(folder / "data", folder / "store")


@pytest.fixture(scope="module")
def client(store: Path) -> Iterator[Client]:
    with serving([store]) as client:
        yield client


@pytest.fixture
def start(store: Path) -> Iterator[Callable[..., Client]]:
    """Start applications of one's own: with other settings, other stores, another address."""
    with ExitStack() as stack:

        def begin(
            settings: Settings = GENEROUS,
            stores: list[Path] | None = None,
            peer: str = "127.0.0.1",
        ) -> Client:
            return stack.enter_context(serving(stores or [store], settings, peer))

        yield begin


@pytest.fixture(scope="session")
def address(store: Path) -> Iterator[str]:
    """The address of a server that other people's clients can ask."""
    with listening([store]) as (url, _):
        yield url
