"""Small populations with a protected base, and how they are built and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.population import Store, Version

DESCRIPTION = """
policy = "preset:protected-base"
source = { files = "p.parquet", record_id = "id" }
[variables]
sex = { range = [1, 2] }
religion = { range = [0, 5] }
health = { range = [0, 3] }
[variables.age]
range = [0, 39]
[variables.age.levels.age_band.groups]
a = "0..9"
b = "10..19"
c = "20..39"
[[geography]]
id = "oa"
column = "oa"
[[geography]]
id = "la"
column = "la"
"""
STEP = '[[protect]]\nmethod = "base"\nwithin = "la"\n'

PRAM = '[[protect]]\nmethod = "pram"\nvariable = "religion"\nstay = 0.9\n'

ROOM = "max_exact = 0.4\n"
"""For these people of few variables: of two who are the same, one is taken and stands for both."""


def people(number: int = 5_000, seed: int = 1) -> pa.Table:
    """People in 12 areas of 2; religion 5 is at home in one area, and nobody of sex 1 has it."""
    rng = np.random.default_rng(seed)
    oa = rng.integers(0, 12, number)
    sex = rng.integers(1, 3, number)
    religion = np.minimum(rng.poisson(1, number), 4)
    religion = np.where((oa == 7) & (sex == 2) & (rng.random(number) < 0.4), 5, religion)
    age = rng.integers(0, 40, number)
    health = np.minimum(rng.poisson(age / 20), 3)
    return pa.table(
        {"id": np.arange(number), "oa": oa, "la": oa // 6, "sex": sex, "religion": religion,
         "health": health, "age": age}
    )  # fmt: skip


def write(folder: Path, table: pa.Table, step: str = STEP + ROOM) -> None:
    pq.write_table(table, folder / "p.parquet")
    text = f'id = "people"\ntitle = "People"\n{DESCRIPTION}{step}'
    (folder / "dataset.toml").write_text(text, encoding="utf-8")
    keep_secret(folder / "store")


def keep_secret(store: Path) -> None:
    """Give a store the secret of these tests: by another a build of few people may be refused."""
    store.mkdir()
    (store / "secret").write_text(f"{bytes(range(32)).hex()}\n")
    (store / "secret").chmod(0o600)


def dc_build(folder: Path, **options: Any) -> Any:
    from discreet.build import build

    options = {"originals": folder / "originals", **options}
    return build(folder / "dataset.toml", folder / "store", **options)


def columns(version: Version) -> dict[str, NDArray[np.int64]]:
    """Every column of a version, areas included."""
    found = {v.id: version.column(v).astype(np.int64) for v in version.schema.columns}
    geography = version.schema.geography
    assert geography is not None
    assert version.areas is not None
    smallest = np.repeat(np.arange(len(geography.finest)), np.diff(version.areas))
    return found | {level.id: level.of[smallest].astype(np.int64) for level in geography.levels}


def originals(folder: Path) -> Version:
    store = Store(folder / "store")
    return Version.open(folder / "originals" / "versions" / str(store.current()))


def counts(held: dict[str, NDArray[np.int64]], *names: str) -> NDArray[np.int64]:
    sizes = {"sex": 2, "religion": 6, "health": 4, "age": 40, "oa": 12, "la": 2}
    found = np.zeros([sizes[name] for name in names], np.int64)
    np.add.at(found, tuple(held[name] for name in names), 1)
    return found
