"""Columns are compared with their checksums before a record is read, and only then."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import Damaged
from discreet.population import Version
from discreet.query import Query, Question
from discreet.service.opened import Opened, open_store
from stores import build_town


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build_town(tmp_path, tmp_path / "store", rows=2_000)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes the versions that are read from end to end."""
    seen: list[str] = []
    verify = Version.verify

    def noted(self: Version) -> None:
        seen.append(self.id)
        verify(self)

    monkeypatch.setattr(Version, "verify", noted)
    return seen


def count(opened: Opened, by: str = "sex") -> int:
    table = opened.engine.tabulate(Question.of(Query.parse(by), opened.schema))
    return int(np.asarray(table.dense().counts).sum())


def without_views(store: Path) -> Path:
    shutil.rmtree(next(store.glob("versions/*/views")))
    return store


def damage(store: Path) -> None:
    """Change one byte of the codes, and neither the size nor the time."""
    path = next(store.glob("versions/*/codes.u8"))
    before, content = path.stat(), bytearray(path.read_bytes())
    content[7] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_view_answers_before_the_columns_are_read(store: Path, read: list[str]) -> None:
    opened = open_store(store)
    assert count(opened) == 2_000
    assert read == []


def test_the_columns_are_read_once_before_the_first_record(store: Path, read: list[str]) -> None:
    opened = open_store(without_views(store))
    assert read == []
    assert count(opened) == count(opened, "health") == 2_000
    assert len(read) == 1


def test_no_record_of_a_damaged_column_is_counted(store: Path) -> None:
    damage(store)
    opened = open_store(without_views(store))
    for _ in range(2):
        with pytest.raises(Damaged, match=r"codes\.u8"):
            count(opened)


def test_once_damage_is_found_the_views_are_silent_too(store: Path) -> None:
    damage(store)
    opened = open_store(store)
    assert count(opened) == 2_000  # the view was counted before, and has a checksum of its own
    with pytest.raises(Damaged):
        opened.version.verified()
    with pytest.raises(Damaged, match=r"codes\.u8 was changed"):
        count(opened)
