"""Every operation on the way fails once: nothing is lost, and nothing false was published."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.build import build
from discreet.errors import DiscreetError
from discreet.population import Store
from discreet.release.formats import to_bytes
from discreet.service.catalogue import Catalogue
from discreet.service.verifying import verify_store
from faults import Faults, failing

# What may come of a failing disk or memory; any other error is a mistake of ours.
EXPECTED = (DiscreetError, OSError, MemoryError)
DESCRIPTION = """
id = "people"
title = "People"
policy = "preset:rounding-3"
source = { files = "p.csv", record_id = "id" }
[variables]
sex = { range = [0, 1] }
age = { range = [0, 299] }
[[geography]]
id = "ward"
column = "ward"
"""
# Every operation, or with a stride a sample of them for the fast tests.
STRIDES = [pytest.param(1, marks=pytest.mark.slow), 23]


def write_people(folder: Path, turn: int) -> Path:
    folder.mkdir(exist_ok=True)
    rows = "".join(f"{i},{(i * turn) % 2},{i % 300},w{i % 3}\n" for i in range(900))
    (folder / "p.csv").write_text("id,sex,age,ward\n" + rows)
    (folder / "dataset.toml").write_text(DESCRIPTION)
    return folder / "dataset.toml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store, and the data of the build that follows."""
    folder = tmp_path_factory.mktemp("faults")
    build(write_people(folder / "data", 1), folder / "store", views=2**16)
    dc.open(folder / "store").release("sex,ward")  # the kernels are there from now on
    write_people(folder / "data", 2)
    return folder


def published(store: Path) -> tuple[bytes, ...]:
    """Return what a reader gets, in a view's and in the scan's way."""
    population = dc.open(store)
    releases = (population.release("sex,ward"), population.release("ward"))
    return tuple(to_bytes(release, "csv") for release in releases)


def one_by_one(
    pristine: Path, folder: Path, work: Callable[[Path], Any], stride: int
) -> Iterator[tuple[Faults, Path, Any]]:
    """Yield what came of the work on a fresh copy, each time with another operation failing."""
    at = 0
    while True:
        at += 1 if stride == 1 or at == 0 else stride
        store = folder / "store"
        shutil.rmtree(store, ignore_errors=True)
        if pristine.exists():
            shutil.copytree(pristine, store)
        with failing(store, at) as faults:
            try:
                found = work(store)
            except EXPECTED as error:
                found = error
        yield faults, store, found
        if not faults.struck:
            assert not isinstance(found, BaseException)
            return


def records(store: Path) -> list[dict[str, Any]]:
    path = store / "records"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("stride", STRIDES)
def test_opening_and_releasing(made: Path, tmp_path: Path, stride: int) -> None:
    right = published(made / "store")
    told, kinds = Counter[str](), Counter[str]()
    for faults, store, found in one_by_one(made / "store", tmp_path, published, stride):
        kinds[faults.struck] += 1
        if isinstance(found, BaseException):
            told[type(found).__name__] += 1
            assert "injected into" not in str(found) or isinstance(found, (OSError, DiscreetError))
        else:
            assert found == right, faults.struck
        kept = records(store)  # every line is whole, and nothing is out that is not in it
        if not isinstance(found, BaseException):
            assert len(kept) >= len(right)
        verify_store(store)
        assert published(store) == right, "all is as it was"
    print(f"faults injected while opening and releasing: {sum(kinds.values()) - 1} {dict(kinds)}")
    assert told, "some faults are errors"
    assert {"open", "read", "stat", "array"} <= set(kinds) or stride > 1


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("first", [False, True])
def test_building(made: Path, tmp_path: Path, stride: int, first: bool) -> None:
    """Over a store that is there, and where none is."""
    dataset = made / "data" / "dataset.toml"
    pristine = tmp_path / "none" if first else made / "store"
    secret = None if first else (made / "store" / "secret").read_bytes()
    old = None if first else published(made / "store")
    old_version = None if first else Store(made / "store").current()
    kinds = Counter[str]()

    def work(store: Path) -> Any:
        return build(dataset, store, views=2**16)

    for faults, store, found in one_by_one(pristine, tmp_path, work, stride):
        kinds[faults.struck] += 1
        current = Store(store).current() if store.exists() else None
        failed = isinstance(found, BaseException)
        if failed and first and current is None:
            assert not (store / "secret").exists(), "nothing is left of it"
        elif failed and current == old_version:
            verify_store(store)
            assert published(store) == old
        else:
            verify_store(store)
            assert current is not None
        if secret is not None:
            assert (store / "secret").read_bytes() == secret
        again = build(dataset, store, views=2**16)
        assert Store(store).current() == again.version
        assert not list(store.rglob(".scratch-*"))
        verify_store(store)
        assert len(Store(store).list()) <= 2
    print(f"faults injected while building: {sum(kinds.values()) - 1} {dict(kinds)}")
    assert {"open", "write", "fsync", "os.rename"} <= set(kinds) or stride > 1


@pytest.mark.parametrize("stride", STRIDES)
def test_a_server_that_takes_a_new_version(made: Path, tmp_path: Path, stride: int) -> None:
    shutil.copytree(made / "store", tmp_path / "two")
    build(made / "data" / "dataset.toml", tmp_path / "two")
    first, second = Store(tmp_path / "two").list()
    Store(tmp_path / "two").switch(first)
    kinds = Counter[str]()

    def serve(store: Path) -> Catalogue:
        held = Catalogue([store])
        refresh(held)
        return held

    def refresh(held: Catalogue) -> None:
        for path, mark, opened in held.fresh():
            if not isinstance(opened, DiscreetError):
                held.take(path, mark, opened)

    at = 0
    while at == 0 or kinds[""] == 0:
        at += 1 if at == 0 else stride
        store = tmp_path / "store"
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(tmp_path / "two", store)
        held = serve(store)
        Store(store).switch(second)
        with failing(store, at) as faults:
            if held.stale():
                refresh(held)
        kinds[faults.struck] += 1
        served = held.datasets["people"].version.id
        assert served in (first, second)
        assert served == second or held.trouble or held.stale()
        if served == first:
            held._troubles.clear()  # as if its time had come
            refresh(held)
        assert held.datasets["people"].version.id == second
        assert not held.trouble
    print(f"faults injected while taking a version: {sum(kinds.values()) - 1} {dict(kinds)}")
