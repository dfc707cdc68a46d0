"""A build as a whole: versions, secret, keys, and a folder left as it was found."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import discreet
from discreet.build import build
from discreet.errors import ParameterError
from discreet.population import Store, signing

if TYPE_CHECKING:
    from conftest import Folder

Make = Callable[..., "Folder"]
PEOPLE = "id,a\n1,x\n2,y\n3,y\n"


def contents(path: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(p.relative_to(path)): (p.stat().st_mode, p.read_bytes() if p.is_file() else b"")
        for p in path.rglob("*")
        if p.name != ".lock"
    }


def test_a_build_says_what_it_made(csv: Make) -> None:
    folder = csv(PEOPLE)
    stages: list[tuple[str, int, int | None]] = []
    built = folder.build(progress=lambda *told: stages.append(told))
    assert built.rows == 3
    assert built.version == folder.store.current()
    assert built.notes == (
        "Categories read from the data: a. List them in dataset.toml to have unknown codes "
        "refused.",
    )
    seen = list(dict.fromkeys(stage for stage, _, _ in stages))
    # Three people need no compiler.
    assert seen == ["reading", "sorting", "checksums", "views", "switching"]
    assert all(total is None or 0 <= done <= total for _, done, total in stages)


def test_the_manifest(csv: Make) -> None:
    version = csv(PEOPLE).version()
    held = json.loads((version.path / "manifest.json").read_text())
    assert (held["format"], held["number"]) == (2, 1)
    assert (held["dataset"], held["rows"], held["hypercube"]) == ("people", 3, False)
    assert (held["modulus"], held["keys"], held["households"]) == (2**32, "blake2b", False)
    assert held["minimum_population"] == 10
    assert set(held["files"]) == {
        "codes.u8", "codes.u16", "keys.u32", "schema.json", "policy.json",
    }  # fmt: skip
    version.verify()


def test_keys_are_blake2b_of_secret_and_id(csv: Make) -> None:
    folder = csv("id,a\n1,x\nÅse,y\n")
    version = folder.version()
    secret = bytes.fromhex(folder.store.secret.read_text())
    expected = [
        int.from_bytes(
            hashlib.blake2b(
                text.encode(), digest_size=8, key=secret, person=b"discreet record\0"
            ).digest(),
            "little",
        )
        % 2**32
        for text in ("1", "Åse")
    ]
    assert version.keys.tolist() == expected


def test_keys_stay_over_builds_and_move_with_their_records(csv: Make) -> None:
    folder = csv(PEOPLE)
    first = folder.version().keys.tolist()
    again = csv("a,id\ny,3\nx,1\nz,4\ny,2\n").version().keys.tolist()
    assert again[1] == first[0]
    assert again[3] == first[1]
    assert again[0] == first[2]
    assert again[2] not in first


def test_parquet_and_csv_give_the_same_keys(csv: Make, parquet: Make) -> None:
    import pyarrow as pa

    first = csv(PEOPLE).version().keys.tolist()
    again = parquet(pa.table({"id": [1, 2, 3], "a": ["x", "y", "y"]})).version().keys.tolist()
    assert first == again


def test_two_stores_have_two_secrets(csv: Make) -> None:
    folder = csv(PEOPLE)
    first = folder.version().keys.tolist()
    build(folder.path / "dataset.toml", folder.path / "other")
    assert Store(folder.path / "other").open().keys.tolist() != first


def test_modes(csv: Make) -> None:
    folder = csv(PEOPLE)
    old = os.umask(0)
    try:
        version = folder.version()
    finally:
        os.umask(old)
    assert folder.store.path.stat().st_mode & 0o777 == 0o700
    assert folder.store.secret.stat().st_mode & 0o777 == 0o600
    assert version.path.stat().st_mode & 0o777 == 0o700
    assert version.views.stat().st_mode & 0o777 == 0o700
    files = [p for p in version.path.rglob("*") if p.is_file()]
    assert {p.stat().st_mode & 0o777 for p in files} == {0o600}
    # The secret is in its file only.
    secret = folder.store.secret.read_text().strip()
    for path in folder.store.path.rglob("*"):
        if path.is_file() and path != folder.store.secret:
            held = path.read_bytes()
            assert secret.encode() not in held
            assert bytes.fromhex(secret) not in held


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_old_versions_are_removed(csv: Make, keep: int) -> None:
    folder = csv(PEOPLE)
    made = [folder.build(keep=keep).version for _ in range(4)]
    assert folder.store.list() == made[-keep:]
    assert folder.store.current() == made[-1]
    left = {p.name for p in folder.store.path.iterdir()}
    assert left == {
        "CURRENT",
        "secret",
        "signing.id",
        "signing.key",
        "signing.pub",
        "state.db",
        "versions",
        ".lock",
    }
    assert {p.name for p in folder.store.versions.iterdir()} == set(made[-keep:])


def test_a_clock_that_was_set_back_costs_no_version(
    csv: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are times. By their order the build of the year 2000 would be the oldest."""

    class Earlier(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime(2000, 1, 1, tzinfo=tz)

    folder = csv(PEOPLE)
    first, second = folder.build().version, folder.build().version
    monkeypatch.setattr("discreet.build.builder.datetime", Earlier)
    third = folder.build().version
    assert third < first < second
    assert folder.store.list() == [second, third]
    assert folder.store.current() == third
    fourth = folder.build().version  # which tidies up first: nothing is newer than the current one
    assert folder.store.list() == [third, fourth]


def test_keep_must_be_at_least_one(csv: Make) -> None:
    assert csv(PEOPLE).refused(keep=0) == "keep must be an integer of at least 1. Got 0."


def test_a_failed_rebuild_leaves_the_store_as_it_was(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.build()
    before = contents(folder.store.path)
    csv("id,a\n1,x\n1,y\n")
    assert folder.refused() == (
        "column 'id' must hold each record id once. Again: p.csv, row 1 '1', p.csv, row 2 '1'."
    )
    assert contents(folder.store.path) == before


def test_duplicates_are_shown_first_few_and_counted(csv: Make) -> None:
    rows = "".join(f"{i % 7},x\n" for i in range(28))
    assert csv("id,a\n" + rows).refused() == (
        "column 'id' must hold each record id once. Again: p.csv, row 1 '0', p.csv, row 2 '1', "
        "p.csv, row 3 '2', p.csv, row 4 '3', p.csv, row 5 '4' and 23 more."
    )


def test_duplicates_over_files_name_both(folder: Folder) -> None:
    folder.write("at.csv", "id,a\n1,x\n2,x\n").write("be.csv", "id,a\n3,x\n2,x\n")
    folder.describe(
        'source = { files = "*.csv", record_id = "id" }\n'
        '[variables]\na = { categories = { x = "X" } }\n'
    )
    assert folder.refused() == (
        "column 'id' must hold each record id once. Again: at.csv, row 2 '2', be.csv, row 2 '2'."
    )


def test_digests_that_meet_are_no_duplicates(csv: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Different ids may share a digest; they are not one record."""
    import numpy as np

    from discreet.build import ingest

    monkeypatch.setattr(
        ingest, "digests", lambda secret, data, offsets: np.full(len(offsets) - 1, 7, np.uint64)
    )
    assert csv(PEOPLE).version().keys.tolist() == [7, 7, 7]


def test_a_missing_household_is_told(csv: Make) -> None:
    folder = csv("id,a,h\n1,x,h1\n2,y,\n", ', household_id = "h"')
    assert folder.refused() == (
        "the data do not fit their description: p.csv, column 'h': missing values: row 2"
    )


def test_another_data_set_is_refused(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.build()
    text = (folder.path / "dataset.toml").read_text()
    folder.write("dataset.toml", text.replace('"people"', '"homes"'))
    assert folder.refused() == (
        "store holds the data set 'people', not 'homes'. Give a new folder."
    )


def test_a_second_build_at_once_is_refused(csv: Make) -> None:
    folder = csv(PEOPLE)
    told = []

    def meanwhile(stage: str, done: int, total: int | None) -> None:
        if stage == "switching":
            with pytest.raises(ParameterError) as caught:
                folder.build()
            told.append(str(caught.value))

    folder.build(progress=meanwhile)
    assert told == [f"another build into {folder.store.path} is running."]
    assert folder.store.open().rows == 3


# What was in the folder before.


def test_an_empty_folder_stays_empty(csv: Make) -> None:
    folder = csv("id,a\n1,x\n1,x\n")
    folder.store.path.mkdir()
    assert "must hold each record id once" in folder.refused()
    assert list(folder.store.path.iterdir()) == []


def test_folders_on_the_way_go_again(csv: Make, tmp_path: Path) -> None:
    csv("id,a\n1,x\n1,x\n")
    with pytest.raises(ParameterError, match="each record id once"):
        build(tmp_path / "dataset.toml", tmp_path / "far" / "away" / "store")
    assert not (tmp_path / "far").exists()


def test_a_folder_of_other_things_is_not_touched(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.store.path.mkdir()
    (folder.store.path / "thesis.txt").write_text("years of work")
    assert folder.refused() == (
        "store is not a store and not empty (it holds thesis.txt). Give a new folder."
    )


def test_a_file_is_no_folder(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.store.path.write_text("")
    with pytest.raises(ParameterError, match=r"store must be a folder\. It is a file\.$"):
        folder.build()


def test_versions_and_secret_outlive_a_lost_current_and_a_bad_build(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.build()
    (folder.store.path / "CURRENT").unlink()
    csv("id,a\n1,x\n1,x\n")
    assert "each record id once" in folder.refused()
    assert folder.store.secret.exists()
    assert len(folder.store.list()) == 1


def test_what_the_system_refuses_is_a_sentence(csv: Make) -> None:
    folder = csv(PEOPLE)
    with pytest.raises(ParameterError) as caught:
        build(folder.path / "dataset.toml", Path("/proc/discreet/store"))
    assert str(caught.value) == (
        "/proc/discreet cannot be used: No such file or directory. Nothing was changed."
    )


# What killed builds leave.


def test_leftovers_of_a_killed_build_go_with_the_next(csv: Make) -> None:
    folder = csv(PEOPLE)
    first = folder.build().version
    scratch = folder.store.versions / ".scratch-12345678"
    scratch.mkdir()
    (scratch / "digest").write_bytes(b"x" * 100)
    # Finished, never switched to.
    orphan = folder.store.versions / "99991231T000000000000-abcdef"
    shutil.copytree(folder.store.versions / first, orphan)
    second = folder.build().version
    assert sorted(p.name for p in folder.store.versions.iterdir()) == [first, second]


def test_a_build_killed_in_a_new_folder_leaves_nothing_after_the_next(csv: Make) -> None:
    folder = csv("id,a\n1,x\n1,x\n")
    (folder.store.versions / ".scratch-12345678").mkdir(parents=True)
    (folder.store.path / ".lock").touch()
    with pytest.raises(ParameterError, match="each record id once"):
        folder.build()
    assert not folder.store.path.exists()


def test_a_store_of_another_format_is_built_anew(csv: Make) -> None:
    folder = csv(PEOPLE)
    path = folder.version().path / "manifest.json"
    path.write_text(json.dumps({"format": 99}))
    with pytest.raises(ParameterError, match="has store format 99; this program reads format 2"):
        folder.store.open()
    assert folder.version().rows == 3


# The secret.


def test_a_new_secret_gives_new_keys_and_stays(csv: Make) -> None:
    folder = csv(PEOPLE)
    first = folder.version().keys.tolist()
    second = folder.version(new_secret=True).keys.tolist()
    assert first != second
    assert folder.version().keys.tolist() == second
    assert not folder.store.next_secret.exists()


def test_a_failed_build_with_a_new_secret_keeps_the_old_one(
    csv: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = csv(PEOPLE)
    first = folder.version().keys.tolist()
    secret = folder.store.secret.read_bytes()

    def fail(store: Store, name: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "switch", fail)
        with pytest.raises(ParameterError) as caught:
            folder.build(new_secret=True)
    assert str(caught.value) == (
        f"the disk of {folder.store.path} is full (No space left on device). Nothing was changed."
    )
    assert folder.store.secret.read_bytes() == secret
    assert sorted(p.name for p in folder.store.path.iterdir() if p.name != ".lock") == [
        "CURRENT",
        "secret",
        "signing.id",
        "signing.key",
        "signing.pub",
        "state.db",
        "versions",
    ]
    assert folder.store.list() == [folder.store.current()]
    assert folder.version().keys.tolist() == first


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_first_build_that_fails_at_the_switch_leaves_nothing(
    csv: Make, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    folder = csv(PEOPLE)

    def fail(store: Store, name: str) -> None:
        raise error

    monkeypatch.setattr(Store, "switch", fail)
    with pytest.raises((ParameterError, KeyboardInterrupt)):
        folder.build()
    assert not folder.store.path.exists()


def test_a_kill_between_version_and_secret_is_made_good(csv: Make) -> None:
    """The new version is current, its secret still waits: the next build puts it in its place."""
    folder = csv(PEOPLE)
    folder.build()
    old = folder.store.secret.read_bytes()
    second = folder.version(new_secret=True).keys.tolist()
    folder.store.secret.rename(folder.store.next_secret)
    folder.store.secret.write_bytes(old)
    folder.store.secret.chmod(0o600)
    assert folder.version().keys.tolist() == second


REMEDY = (
    "New keys would be new noise on the same data, which can be averaged with the old. Put the "
    "secret back, or give every record a new key with --new-secret."
)


def test_a_lost_secret_is_refused(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.build()
    folder.store.secret.unlink()
    assert folder.refused() == f"store/secret is missing. {REMEDY}"
    assert folder.version(new_secret=True).rows == 3


def test_another_secret_is_refused(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.build()
    folder.store.secret.write_text("00" * 32)
    assert folder.refused() == (
        f"store/secret is not the secret that the current version was built with. {REMEDY}"
    )


def test_a_secret_that_others_may_read_is_refused(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.build()
    folder.store.secret.chmod(0o644)
    assert folder.refused() == (
        "store/secret must be readable by its owner only (mode 600). It has mode 644: others may "
        "have read the secret; if not, run chmod 600 store/secret."
    )


@pytest.mark.parametrize("content", ["", "abc", "zz" * 32, "00" * 31, "é"])
def test_a_damaged_secret_is_refused(csv: Make, content: str) -> None:
    folder = csv(PEOPLE)
    folder.build()
    folder.store.secret.write_text(content)
    assert folder.refused() == "store/secret must hold 64 hexadecimal digits."


def test_a_lost_secret_is_not_made_anew_where_only_the_pointer_is_lost_too(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.build()
    folder.store.secret.unlink()
    (folder.store.path / "CURRENT").unlink()
    assert folder.refused() == f"store/secret is missing. {REMEDY}"


# The signing key.


def test_the_first_build_makes_the_signing_key_and_later_ones_keep_it(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.build()
    key = (folder.store.path / "signing.key").read_bytes()
    folder.build()
    assert (folder.store.path / "signing.key").read_bytes() == key
    folder.build(new_signing_key=True)
    assert (folder.store.path / "signing.key").read_bytes() != key
    signing.check(folder.store.path)


@pytest.mark.parametrize("name", ["signing.key", "signing.pub"])
def test_a_lost_signing_key_is_refused(csv: Make, name: str) -> None:
    folder = csv(PEOPLE)
    folder.build()
    (folder.store.path / name).unlink()
    assert folder.refused().startswith(f"store/{name} is missing.")
    assert folder.version(new_signing_key=True).rows == 3
    assert folder.version().rows == 3


# Readers.


def test_a_reader_keeps_its_answers_though_its_version_is_gone(csv: Make) -> None:
    folder = csv(PEOPLE)
    folder.build()
    reader = discreet.open(folder.store.path)
    query = discreet.Query.parse("a")
    before = reader.tabulate(query)
    csv("id,a\n1,x\n")
    folder.build(keep=1)
    assert not reader.version.path.exists()
    after = reader.tabulate(query)
    assert after.counts.tolist() == before.counts.tolist() == [1, 2]
    assert after.keys.tolist() == before.keys.tolist()
    assert discreet.open(folder.store.path).tabulate(query).counts.tolist() == [1]
