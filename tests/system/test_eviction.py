"""Two processes on one store: one evicts views while the other opens them, or reads them all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet as dc
from discreet.service.verifying import verify_store
from stores import build_town

# Whoever has room for one view keeps the one that it has built last, and evicts all others.
EVICTS = """
import sys
from pathlib import Path
from discreet.population import Store
from discreet.tabulate import ScanEngine, ViewEngine
version = Store(Path(sys.argv[1])).open()
ViewEngine(version, ScanEngine(version), version.views, budget=1).build(("sex",))
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build_town(tmp_path, tmp_path / "store", rows=2_000)


@pytest.fixture
def evicted(store: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have another process evict the views at the moment at which this one has listed them."""
    gone: list[str] = []
    listed = Path.glob

    def glob(folder: Path, pattern: str) -> Iterator[Path]:
        found = list(listed(folder, pattern))
        if pattern == "*.u64" and not gone:
            subprocess.run([sys.executable, "-c", EVICTS, store], check=True)
            gone.extend(path.name for path in found if not path.exists())
        return iter(found)

    monkeypatch.setattr(Path, "glob", glob)
    return gone


def test_a_store_opens_while_another_process_evicts_its_views(
    store: Path, evicted: list[str]
) -> None:
    people = dc.open(store)
    assert evicted, "the other process evicted what was listed"
    assert people.release("sex,health").table.shape == (2, 5)


def test_a_store_is_verified_while_another_process_evicts_its_views(
    store: Path, evicted: list[str]
) -> None:
    assert verify_store(store) == []
    assert evicted
