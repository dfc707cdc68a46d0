"""A store: its current version, and what it refuses to read."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.build import build
from discreet.errors import Damaged, ParameterError
from discreet.population import Store, Version
from discreet.population import manifest as manifests
from discreet.population.intact import checksum


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    rows = "".join(f"{i},{i % 2},{i % 300},w{i % 3}\n" for i in range(300))
    (folder / "p.csv").write_text("id,sex,age,ward\n" + rows)
    (folder / "dataset.toml").write_text(
        'id = "people"\ntitle = "People"\nsource = { files = "p.csv", record_id = "id" }\n'
        "[variables]\nsex = { range = [0, 1] }\nage = { range = [0, 299] }\n"
        '[[geography]]\nid = "ward"\ncolumn = "ward"\n'
    )
    build(folder / "dataset.toml", folder / "store")
    return folder / "store"


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    shutil.copytree(made, tmp_path / "store")
    return Store(tmp_path / "store")


def refused(store: Store) -> str:
    with pytest.raises(ParameterError) as caught:
        store.open()
    return str(caught.value).replace(f"{store.path}/", "").replace(str(store.current()), "V")


def folder_of(store: Store) -> Path:
    return store.versions / str(store.current())


def change(store: Store, **facts: Any) -> None:
    path = folder_of(store) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def test_a_version_is_mapped_and_not_writable(store: Store) -> None:
    version = store.open()
    assert version.rows == 300
    assert version.place == {"sex": (False, 0), "age": (True, 0)}
    for column in (version.codes8, version.codes16, version.keys, version.areas):
        assert column is not None
        with pytest.raises(ValueError, match="read-only"):
            column[..., 0] = 1
    assert version.areas is not None
    assert version.areas.tolist() == [0, 100, 200, 300]
    sex, age = version.schema.columns
    # Ward w0 first: ids 0, 3, 6, …
    assert version.column(age)[:100].tolist() == list(range(0, 300, 3))
    assert version.column(sex)[:4].tolist() == [0, 1, 0, 1]
    version.verify()


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as caught:
        Store(tmp_path / "none").open()
    assert str(caught.value) == (
        f"{tmp_path}/none is not a store. Make one with: discreet build DATASET.toml --out "
        f"{tmp_path}/none"
    )
    assert Store(tmp_path / "none").list() == []


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match="file is not a store"):
        Store(tmp_path / "file").open()


@pytest.mark.parametrize("format_", [0, 1, 3, "2", None])
def test_an_unknown_format_is_refused_with_what_to_do(store: Store, format_: object) -> None:
    change(store, format=format_)
    assert refused(store) == (
        f"versions/V has store format {format_!r}; this program reads format 2. Build the data "
        "set again, or use the program that made it."
    )


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff"])
def test_a_damaged_manifest_is_refused(store: Store, content: bytes) -> None:
    (folder_of(store) / "manifest.json").write_bytes(content)
    assert refused(store) == "versions/V holds no readable version. Build again."


def test_a_manifest_that_says_anything_else_is_refused(store: Store) -> None:
    """One digit of the modulus would change every figure, and no file would look damaged."""
    change(store, modulus=2**31)
    assert refused(store) == "versions/V/manifest.json does not have its checksum. Build again."


def test_a_manifest_of_other_types_is_refused(store: Store) -> None:
    found = manifests.read(folder_of(store))
    manifests.write(folder_of(store), {**found, "rows": "300"})
    assert refused(store) == "versions/V/manifest.json is damaged. Build again."


def test_a_lost_version_is_refused(store: Store) -> None:
    shutil.rmtree(folder_of(store))
    assert refused(store) == "versions/V holds no readable version. Build again."


@pytest.mark.parametrize("name", ["codes.u8", "codes.u16", "keys.u32", "areas.i64", "schema.json"])
def test_a_missing_or_cut_file_is_refused(store: Store, name: str) -> None:
    path = folder_of(store) / name
    path.write_bytes(path.read_bytes()[:-1])
    assert refused(store) == f"versions/V/{name} is missing or cut short. Build again."
    path.unlink()
    assert refused(store) == f"versions/V/{name} is missing or cut short. Build again."


def test_a_changed_byte_is_found(store: Store) -> None:
    path = folder_of(store) / "keys.u32"
    raw = bytearray(path.read_bytes())
    raw[5] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ParameterError) as caught:
        store.open().verify()
    assert str(caught.value) == f"{path} does not have its checksum. Build again."


@pytest.mark.parametrize("damage", [lambda s: "?" * len(s), lambda s: "[]".ljust(len(s))])
def test_a_damaged_schema_is_refused(store: Store, damage: Any) -> None:
    path = folder_of(store) / "schema.json"
    path.write_text(damage(path.read_text()))
    assert refused(store) == "versions/V/schema.json is damaged. Build again."


@pytest.mark.parametrize("content", [b"", b"../../etc", b"a/b", b"\xff\xfe", b"x" * 65])
def test_a_damaged_pointer_is_refused_with_what_to_do(store: Store, content: bytes) -> None:
    held = store.list()
    (store.path / "CURRENT").write_bytes(content)
    with pytest.raises(ParameterError) as caught:
        store.open()
    text = content.decode("ascii", "replace")
    assert str(caught.value) == (
        f"{store.path}/CURRENT must hold the id of a version. Got {text!r}. Write one of these "
        f"into it: {held[0]}"
    )


def test_opening_while_a_build_tidies_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version that was current when the pointer was read is gone when it is opened."""
    first = str(store.current())
    opened = []
    plain = Version.open

    def late(path: Path) -> Version:
        opened.append(path.name)
        if len(opened) == 1:
            (store.versions / first).rename(store.versions / "second")
            store.switch("second")
        return plain(path)

    monkeypatch.setattr(Version, "open", late)
    assert store.open().rows == 300
    assert opened == [first, "second"]


def test_switching_is_one_rename(store: Store) -> None:
    store.switch("another")
    assert store.current() == "another"
    assert not (store.path / "CURRENT.new").exists()


def rewrite(store: Store, name: str, content: bytes) -> None:
    """Put other bytes into a file, with a manifest that has their size and checksum."""
    path = folder_of(store)
    (path / name).write_bytes(content)
    found = manifests.read(path)
    facts = {"bytes": len(content), "blake2b": checksum(path / name)}
    manifests.write(path, {**found, "files": {**found["files"], name: facts}})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("codes.u8", np.full(300, 2, np.uint8)),  # the sexes are 0 and 1
        ("codes.u16", np.full(300, 300, np.uint16)),  # ages end at 299
        ("areas.i64", np.array([0, 100, 200, 301])),  # there are 300 records…
        ("areas.i64", np.array([0, 200, 100, 300])),  # …and areas follow one another
        ("areas.i64", np.array([1, 100, 200, 300])),
    ],
)
def test_a_code_without_a_category_is_refused(
    store: Store, name: str, values: np.ndarray[Any, Any]
) -> None:
    """The kernels would count it into a cell that is not there."""
    rewrite(store, name, values.tobytes())
    version = store.open()
    with pytest.raises(Damaged, match=f"{name} holds a code that no category has"):
        version.verify()
    with pytest.raises(Damaged):
        version.guard.check()


@pytest.mark.parametrize("damage", ["cut", "written"])
def test_a_change_of_an_open_file_is_noticed(store: Store, damage: str) -> None:
    version = store.open()
    version.guard.check()
    path = version.path / "keys.u32"
    if damage == "cut":
        os.truncate(path, 4)
    else:
        with path.open("r+b") as file:
            file.write(b"\0")
    with pytest.raises(Damaged, match=r"keys\.u32 was changed after it was opened"):
        version.guard.check()


def test_a_file_that_is_removed_or_replaced_stays_as_it_was_opened(store: Store) -> None:
    version = store.open()
    keys = version.keys.tolist()
    (version.path / "new").write_bytes(b"x")
    (version.path / "new").rename(version.path / "keys.u32")
    version.guard.check()
    shutil.rmtree(version.path)
    version.guard.check()
    assert version.keys.tolist() == keys


def test_versions_are_in_the_order_of_their_builds(store: Store) -> None:
    """A clock that was set back gives a later build an earlier name."""
    first = str(store.current())
    second = store.versions / "20000101T000000000000-000000"
    shutil.copytree(folder_of(store), second)
    manifests.write(second, {**manifests.read(second), "number": 2})
    assert store.list() == [first, second.name]


def test_hidden_folders_are_no_versions(store: Store) -> None:
    (store.versions / ".scratch-1").mkdir()
    assert len(store.list()) == 1


def test_nothing_wide_is_an_empty_column_of_the_same_type(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,a\n1,0\n")
    (tmp_path / "dataset.toml").write_text(
        'id = "p"\ntitle = "P"\nsource = { files = "p.csv", record_id = "id" }\n'
        "[variables]\na = { range = [0, 1] }\n"
    )
    build(tmp_path / "dataset.toml", tmp_path / "store")
    version = Store(tmp_path / "store").open()
    assert version.codes16.shape == (0, 1)
    assert version.codes16.dtype == np.uint16
    assert not version.codes16.flags.writeable
