"""Databases to keep a ledger in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from postgres import running_postgres


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a database on a PostgreSQL server."""
    with running_postgres() as url:
        yield url


@pytest.fixture
def postgres(server: str) -> str:
    """The URL of a new database on a PostgreSQL server."""
    name = f"test_{os.urandom(6).hex()}"
    engine = sa.create_engine(server.replace("postgresql:", "postgresql+psycopg:", 1))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["file", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new database that several processes can use."""
    if request.param == "file":
        return f"sqlite:///{tmp_path}/state.db"
    made: str = request.getfixturevalue("postgres")
    return made
