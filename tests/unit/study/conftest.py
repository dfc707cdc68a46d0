from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc
from attacked import build_census


@pytest.fixture(scope="session")
def census_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small synthetic census."""
    return build_census(tmp_path_factory.mktemp("attacked"))


@pytest.fixture(scope="session")
def census(census_store: Path) -> dc.Population:
    return dc.open(census_store)


@pytest.fixture(scope="session")
def next_census(tmp_path_factory: pytest.TempPathFactory) -> dc.Population:
    """The same census after one person of each of 40 output areas has left."""
    return dc.open(build_census(tmp_path_factory.mktemp("next"), leavers=40))
