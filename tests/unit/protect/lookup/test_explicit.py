"""Explicit look-ups: a change for every count and cell key, as the package of the ONS has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import ParameterError
from discreet.protect import CellKeyPerturbation, Chance, lookup

KEYS = 256
POLICY = """
version = "t"
minimum_population = 1
[tiers.public.counts]
minimum_population = 1
minimum_mean = 0
max_small = 1
max_ones_of_populated = 1
max_small_of_populated = 1
max_single_lines = 1
[tiers.public.protection]
method = "cell-key-perturbation"
options = { file = "ptable.csv" }
plain_keys = true
margins = "none"
[tiers.public.risk]
maximum = 1
[tiers.public.space]
guard_below = 1
"""
DESCRIPTION = {
    "id": "micro", "title": "Micro", "policy": "policy.toml",
    "source": {"key": {"column": "record_key", "modulus": 256}},
    "variables": {"a": {"range": [1, 5]}, "b": {"range": [1, 4]}},
}  # fmt: skip


def ten_five(count: int) -> int:
    """The 10-5 rule: below 10 nothing is left, above to the nearest multiple of 5."""
    return -count if count < 10 else (0, -1, -2, 2, 1)[count % 5]


def written(path: Path, changes: np.ndarray) -> Path:
    """Write the changes of the counts from 1 on in the layout of cell-key-perturbation."""
    counts, keys = np.indices(changes.shape)
    frame = pd.DataFrame(
        {"pcv": counts.ravel() + 1, "ckey": keys.ravel(), "pvalue": changes.ravel()}
    )
    frame.to_csv(path, index=False)
    return path


def by_the_package(records: pd.DataFrame, changes: np.ndarray) -> np.ndarray:
    """What create_perturbed_table(…, threshold=0) of cell-key-perturbation 3.1.0 does.

    The cell key is the sum of the record keys modulo 256; counts above 750 use the rows
    (count − 1) % 250 + 501 of the look-up; cells of nobody stay zero.
    """
    found = np.zeros((5, 4), np.int64)
    for (a, b), cell in records.groupby(["a", "b"]):
        count, key = len(cell), int(cell["record_key"].sum()) % KEYS
        row = count if count <= 750 else (count - 1) % 250 + 501
        found[a - 1, b - 1] = count + changes[row - 1, key]
    return found


def micro(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    skewed = (rng.random(rows) ** 3 * 5).astype(int) + 1
    return pd.DataFrame(
        {"a": skewed, "b": rng.integers(1, 5, rows), "record_key": rng.integers(0, KEYS, rows)}
    )


@pytest.mark.parametrize(("rows", "rule"), [(300, "drawn"), (9_000, "drawn"), (9_000, "ten-five")])
def test_the_same_records_give_the_figures_of_the_package(
    tmp_path: Path, rows: int, rule: str
) -> None:
    rng = np.random.default_rng(7)
    changes = np.array([[ten_five(count)] * KEYS for count in range(1, 751)])
    if rule == "drawn":
        changes = np.maximum(rng.integers(-4, 5, (750, KEYS)), -np.arange(1, 751)[:, None])
    written(tmp_path / "ptable.csv", changes)
    (tmp_path / "policy.toml").write_text(POLICY)
    records = micro(rows, rows)
    assert records.groupby(["a", "b"]).size().max() > (750 if rows > 1_000 else 0)
    policy = {**DESCRIPTION, "policy": str(tmp_path / "policy.toml")}
    population = dc.build(records, policy, tmp_path / "store", views=0)
    expected = by_the_package(records, changes)
    np.testing.assert_array_equal(population.release("a,b").table.values, expected)
    done = CliRunner().invoke(
        app, ["table", str(tmp_path / "store"), "--by", "a,b", "--out", str(tmp_path / "t.csv")]
    )
    assert done.exit_code == 0, done.output
    assert pd.read_csv(tmp_path / "t.csv")["value"].tolist() == expected.ravel().tolist()


def test_each_key_picks_its_own_change(tmp_path: Path) -> None:
    # One and two, four keys: each change is that of its key, the first and the last included.
    changes = np.array([[0, -1, 1, 2], [-2, 2, 0, 1]])
    table = lookup.read_csv(written(tmp_path / "ptable.csv", changes))
    assert table.keys == 4
    method = CellKeyPerturbation(table)
    keys = np.arange(8).reshape(2, 4)
    chance = Chance.keyed(b"", b"", keys, modulus=8, number=method.keys)
    found = method.apply(np.array([[1] * 4, [2] * 4]), chance)
    assert found.tolist() == [[1, 0, 2, 3], [0, 4, 2, 3]]
    # Every key is as likely as any other: so says the description of the method.
    assert table.matrix[1].tolist() == [0.25, 0.25, 0.25, 0.25, 0]


def test_the_keys_of_records_must_fit_the_look_up(tmp_path: Path) -> None:
    written(tmp_path / "ptable.csv", np.zeros((750, KEYS), int))
    (tmp_path / "policy.toml").write_text(POLICY)
    values = {**DESCRIPTION, "policy": str(tmp_path / "policy.toml")}
    values["source"] = {"key": {"column": "record_key", "modulus": 1000}}
    with pytest.raises(ParameterError, match="multiple of 256"):
        dc.build(micro(100, 1), values, tmp_path / "store")
    with pytest.raises(ParameterError, match="multiple of 256"):
        dc.protect.whole_uniforms([1], 1000, 256)
    with pytest.raises(ParameterError, match="below the modulus"):
        dc.protect.whole_uniforms([256], 256, 256)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,0,0\n1,1,0\n2,0,0\n", "once for every pcv"),
        ("1,0,0\n1,0,0\n", "once for every pcv"),
        ("1,0,-2\n", "negative"),
        ("-1,0,0\n", "0 or more"),
        ("", "0 or more"),
        ("1,x,0\n", "cannot be read"),
    ],
)
def test_an_explicit_look_up_is_whole(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "p.csv").write_text(f"pcv,ckey,pvalue\n{rows}")
    with pytest.raises(ParameterError, match=message):
        lookup.read_csv(tmp_path / "p.csv")
