"""Protected bases of whole households."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from bases import columns, dc_build, keep_secret, originals
from discreet.errors import ParameterError
from discreet.population import Store
from discreet.release.public_file import describe

HOUSEHOLDS = """
policy = "preset:protected-base"
source = { files = "p.parquet", record_id = "id", household_id = "home" }
[variables]
size = { range = [1, 5] }
place = { categories = { 1 = "reference person", 2 = "other member" } }
health = { range = [0, 3] }
[[geography]]
id = "oa"
column = "oa"
[[geography]]
id = "la"
column = "la"
[[protect]]
method = "base"
within = "la"
"""


def in_households(homes: int = 2_000, seed: int = 3) -> pa.Table:
    """Households of one to five in 12 areas of 2; the first member is the reference person."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 6, homes)
    home = np.repeat(np.arange(homes), size)
    first = np.diff(home, prepend=-1) > 0
    oa = rng.integers(0, 12, homes)[home]
    health = np.minimum(rng.poisson(size[home] / 3), 3)
    return pa.table(
        {"id": np.arange(len(home)), "home": home, "oa": oa, "la": oa // 6, "size": size[home],
         "place": np.where(first, 1, 2), "health": health}
    )  # fmt: skip


def write_households(folder: Path, table: pa.Table, more: str) -> None:
    pq.write_table(table, folder / "p.parquet")
    text = f'id = "people"\ntitle = "People"\n{HOUSEHOLDS}{more}'
    (folder / "dataset.toml").write_text(text, encoding="utf-8")
    keep_secret(folder / "store")


@pytest.mark.parametrize("donors", ["households", "persons"])
def test_households_of_the_base_are_whole(tmp_path: Path, donors: str) -> None:
    # People in households of k are k times their reference persons, in every area: tables of
    # households are tables of reference persons. With persons as donors this is lost.
    # So few people's figures are far off by some secrets, which is another test's matter.
    write_households(tmp_path, in_households(), f'donors = "{donors}"\nmax_error = 50\n')
    dc_build(tmp_path)
    version = Store(tmp_path / "store").open()
    assert version.steps_beforehand[0]["donors"] == donors
    held = columns(version)
    people, heads = np.zeros((2, 12, 5), np.int64)
    np.add.at(people, (held["oa"], held["size"]), 1)
    np.add.at(heads, (held["oa"], held["size"]), held["place"] == 0)
    assert (people == heads * np.arange(1, 6)).all() == (donors == "households")


def test_variables_of_households_have_ranges_of_their_own(tmp_path: Path) -> None:
    # A household of five more is five people more of its size, and of its tenure.
    table = in_households()
    home = np.asarray(table["home"])
    tenure = np.random.default_rng(4).integers(1, 5, home[-1] + 1)[home]
    write_households(
        tmp_path, table.append_column("tenure", pa.array(tenure)), 'donors = "households"\n'
    )
    path = tmp_path / "dataset.toml"
    text = path.read_text().replace("health =", "tenure = { range = [1, 4] }\nhealth =")
    path.write_text(f"{text}max_error = 50\nmax_exact = 0.4\n")
    dc_build(tmp_path)
    (facts,) = Store(tmp_path / "store").open().steps_beforehand
    assert facts["household_variables"] == ["size", "tenure"]
    for asked, kind, orders in (
        ("la,health", "ranges", [1]),
        ("la,size", "ranges_household", [1]),
        ("la,size,health", "ranges_household", [2]),
        ("la,size,tenure", "ranges_household", [1, 2]),  # told apart as little as by one of them
    ):
        shown = dc.open(tmp_path / "store").release(asked).table
        assert shown.low is not None
        assert shown.high is not None
        own = np.array([facts[kind]["la"][order - 1] for order in orders])
        kinds = np.searchsorted(facts["classes"], shown.values)
        low, high = own[:, :, 0].min(axis=0)[kinds], own[:, :, 1].max(axis=0)[kinds]
        assert (shown.low == np.maximum(shown.values + np.minimum(low, -1), 0)).all()
        assert (shown.high == shown.values + np.maximum(high, 1)).all()
    true = np.zeros((12, 5), np.int64)
    held = columns(originals(tmp_path))
    np.add.at(true, (held["oa"], held["size"]), 1)
    shown = dc.open(tmp_path / "store").release("oa,size").table
    assert shown.low is not None
    assert shown.high is not None
    inner = tuple(slice(0, size) for size in true.shape)
    inside = (true >= shown.low[inner]) & (true <= shown.high[inner])
    assert inside.mean() > 0.8  # of nine in ten, on 60 figures
    # Who has the file of records is told the same.
    told = describe(Store(tmp_path / "store").open())["ranges"]
    assert told["variables_of_households"] == ["size", "tenure"]
    assert told["levels_with_variables_of_households"] == facts["ranges_household"]


@pytest.mark.parametrize(
    ("change", "more", "expected"),
    [
        ({}, 'donors = "families"', "donors"),
        ({"oa": [0] * 3 + [1] * 3}, 'donors = "households"', "1 households have members in sev"),
        ({"home": None}, 'donors = "households"', "needs a 'household_id'"),
    ],
)
def test_households_that_cannot_be_copied(
    tmp_path: Path, change: dict[str, Any], more: str, expected: str
) -> None:
    same = {name: [0] * 6 for name in ("oa", "la", "health")}
    homes = {"home": [0, 0, 1, 1, 2, 2], "size": [2] * 6, "place": [1, 2] * 3}
    table = pa.table({"id": list(range(6)), **same, **homes})
    for name, values in change.items():
        if values is not None:
            table = table.set_column(table.column_names.index(name), name, pa.array(values))
    write_households(tmp_path, table, f"{more}\n")
    if change.get("home", 0) is None:
        path = tmp_path / "dataset.toml"
        path.write_text(path.read_text().replace(', household_id = "home"', ""))
    with pytest.raises(ParameterError, match=expected):
        dc_build(tmp_path)
