"""Originals of a store that is protected beforehand: kept apart, whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from discreet.build import build
from discreet.errors import ParameterError
from discreet.population import Store, Version

if TYPE_CHECKING:
    from conftest import Folder

DESCRIPTION = """
source = { files = "p.parquet", record_id = "id", household_id = "home" }
[variables]
sex = { range = [1, 2] }
[[geography]]
id = "oa"
column = "oa"
[[geography]]
id = "la"
column = "la"
"""
SWAP = '[[protect]]\nmethod = "record-swapping"\nrate = 0.5\nwithin = "la"\nmatch = ["members"]\n'


def people() -> pa.Table:
    """Eighty households of one in four areas of two larger ones; one sex to each small area."""
    home = np.arange(80)
    return pa.table(
        {"id": home, "home": home, "oa": home % 4, "la": home % 4 // 2, "sex": 1 + home % 2}
    )


@pytest.fixture
def described(folder: Folder) -> Folder:
    return folder.write("p.parquet", people()).describe(DESCRIPTION + SWAP)


def names(path: Path) -> set[str]:
    return {p.name for p in (path / "versions").iterdir()} if path.exists() else set()


def women(version: Version) -> list[int]:
    """The people of sex 2 in each smallest area."""
    assert version.areas is not None
    second = version.codes8[0] == 1
    return [int(second[a:b].sum()) for a, b in zip(version.areas, version.areas[1:], strict=False)]


def test_originals_are_the_records_as_they_came(described: Folder) -> None:
    kept = described.path / "kept"
    old = os.umask(0)
    try:
        version = described.version(originals=kept)
    finally:
        os.umask(old)
    original = Version.open(kept / "versions" / version.id)
    original.verify()
    # Twenty households an area, and area number i has sex 1 + i mod 2 only.
    assert women(original) == [0, 20, 0, 20]
    assert 0 < women(version)[0] < 20
    assert sorted(original.keys.tolist()) == sorted(version.keys.tolist())
    assert original.schema.to_json() == version.schema.to_json()
    for path in (kept, *kept.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)
    # Nothing to release from, and nothing in the store that says where it is.
    assert not {"policy.json", "protection.json"} & {p.name for p in original.path.iterdir()}
    with pytest.raises(ParameterError, match="is not a store"):
        Store(kept).open()
    for path in described.store.path.rglob("*"):
        assert not path.is_file() or b"kept" not in path.read_bytes()


def test_a_build_without_the_option_keeps_none(described: Folder) -> None:
    version = described.version()
    assert names(described.store.path) == {version.id}
    assert {p.name for p in described.path.iterdir()} == {"p.parquet", "dataset.toml", "store"}


def test_originals_go_with_their_version(described: Folder) -> None:
    kept = described.path / "kept"
    made = [described.build(originals=kept).version for _ in range(3)]
    assert names(kept) == set(made[1:]) == names(described.store.path)
    # A build that keeps none leaves the folder alone; the next that does tidies up.
    made.append(described.build().version)
    assert names(kept) == set(made[1:3])
    made.append(described.build(originals=kept, new_secret=True).version)
    assert names(kept) == {made[4]}
    assert described.build(originals=kept, keep=1).version
    assert names(kept) == names(described.store.path)


def test_two_stores_may_share_a_folder(described: Folder) -> None:
    kept = described.path / "kept"
    other = described.path / "other"
    build(described.path / "dataset.toml", other, originals=kept)
    described.build(originals=kept, keep=1)
    described.build(originals=kept, keep=1)
    assert names(kept) == names(other) | names(described.store.path)


def test_a_failed_build_leaves_the_originals_as_they_were(
    described: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = described.path / "kept"

    def fail(store: Store, name: str) -> None:
        raise OSError(28, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "switch", fail)
        described.refused(originals=kept)
    assert not kept.exists()
    described.build(originals=kept)
    before = names(kept)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "switch", fail)
        described.refused(originals=kept)
    assert names(kept) == before


KILLED = """
import os, sys
from pathlib import Path
from discreet.build import build
from discreet.population import Store
Store.switch = lambda store, name: os._exit(9)
build(Path(sys.argv[1]), Path(sys.argv[2]), originals=Path(sys.argv[3]))
"""


def test_a_kill_before_the_switch_leaves_the_old_version_and_the_next_build_tidies(
    described: Folder,
) -> None:
    kept = described.path / "kept"
    first = described.build(originals=kept).version
    paths = (described.path / "dataset.toml", described.store.path, kept)
    done = subprocess.run([sys.executable, "-c", KILLED, *map(str, paths)], check=False)
    assert done.returncode == 9
    assert described.store.current() == first
    assert len(names(kept)) > 1  # what the kill left
    second = described.build(originals=kept).version
    assert names(kept) == names(described.store.path) == {first, second}


def test_the_folder_must_be_apart_and_the_data_protected(described: Folder) -> None:
    store = described.store.path
    described.build()
    for folder in (store, store / "originals", described.path, described.path / "x" / ".."):
        assert "must be apart from the store" in described.refused(originals=folder)
    (described.path / "link").symlink_to(store / "versions")
    assert "must be apart from the store" in described.refused(originals=described.path / "link")
    other = described.path / "other"
    build(described.path / "dataset.toml", other)
    assert "other is a store" in described.refused(originals=other)
    full = described.path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("x")
    assert "not empty (it holds mine.txt)" in described.refused(originals=full)
    described.describe(DESCRIPTION)
    assert "has no [[protect]]" in described.refused(originals=described.path / "kept")


def test_originals_of_a_perturbed_hypercube_are_its_records(described: Folder) -> None:
    kept = described.path / "kept"
    cube = '[[protect]]\nmethod = "input-perturbation"\ntable_method = "random-rounding"\n'
    version = described.describe(DESCRIPTION + cube).version(originals=kept)
    assert version.manifest["hypercube"]
    assert version.manifest["protected_beforehand"] == ["input-perturbation"]
    original = Version.open(kept / "versions" / version.id)
    assert not original.manifest["hypercube"]
    assert original.manifest["protected_beforehand"] == []
    assert original.rows == 80
    assert women(original) == [0, 20, 0, 20]
