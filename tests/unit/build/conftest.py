"""A folder to build in, and what a refusal must leave behind: nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bases import dc_build, people, write
from discreet.build import build
from discreet.build.builder import Built
from discreet.errors import ParameterError
from discreet.population import Store, Version

HEAD = 'id = "people"\ntitle = "People"\n'


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes; the lock is not part of a store."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"(folder)"
        for path in sorted(folder.rglob("*"))
        if path.name != ".lock"
    }


class Folder:
    """Files of a data set and the store made of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Store(path / "store")

    def write(self, name: str, content: str | bytes | pa.Table) -> Folder:
        if isinstance(content, pa.Table):
            pq.write_table(content, self.path / name)
        elif isinstance(content, bytes):
            (self.path / name).write_bytes(content)
        else:
            (self.path / name).write_text(content, encoding="utf-8", newline="")
        return self

    def describe(self, rest: str, head: str = HEAD) -> Folder:
        return self.write("dataset.toml", head + rest)

    def build(self, **options: Any) -> Built:
        return build(self.path / "dataset.toml", self.store.path, **options)

    def version(self, **options: Any) -> Version:
        self.build(**options)
        return self.store.open()

    def decoded(self, name: str = "a", **options: Any) -> list[str]:
        """The codes of a variable, record by record, after a build."""
        version = self.version(**options)
        variable, _ = version.schema.find(name)
        return [variable.finest.codes[i] for i in version.column(variable).tolist()]

    def refused(self, **options: Any) -> str:
        """The sentence of a refusal, without the folder; the store must be as it was."""
        before = contents(self.store.path) if self.store.path.exists() else None
        with pytest.raises(ParameterError) as caught:
            self.build(**options)
        after = contents(self.store.path) if self.store.path.exists() else None
        assert after == before
        return str(caught.value).replace(f"{self.path}/", "")


@pytest.fixture(autouse=True)
def _no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: what survives a power cut is not seen here."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def csv(folder: Folder) -> Callable[..., Folder]:
    """Write a CSV file with the columns `id` and `a`, and describe it."""

    def make(content: str | bytes, source: str = "", variable: str = '"from data"') -> Folder:
        folder.write("p.csv", content)
        return folder.describe(
            f'source = {{ files = "p.csv", record_id = "id"{source} }}\n'
            f"[variables]\na = {{ categories = {variable} }}\n"
        )

    return make


@pytest.fixture
def parquet(folder: Folder) -> Callable[..., Folder]:
    """Write a Parquet file and describe its columns `id` and `a`."""

    def make(
        content: pa.Table | bytes, source: str = "", variable: str = 'categories = "from data"'
    ) -> Folder:
        folder.write("p.parquet", content)
        return folder.describe(
            f'source = {{ files = "p.parquet", record_id = "id"{source} }}\n'
            f"[variables]\na = {{ {variable} }}\n"
        )

    return make


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the description, store and originals of a protected base."""
    folder = tmp_path_factory.mktemp("base")
    write(folder, people())
    dc_build(folder)
    return folder
