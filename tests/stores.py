"""A town of made-up people, built into a store on disk, for tests of what serves stores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.build import build
from discreet.policy.read import preset_text

DESCRIPTION = """
id = "{id}"
title = "The town"
policy = "{policy}"
source = {{ files = "people.parquet", record_id = "id" }}
[variables.sex]
label = "Sex"
categories = {{ 1 = "Male", 2 = "Female" }}
[variables.age]
label = "Age"
range = [0, 79]
[variables.age.levels.age_band]
label = "Age band"
[variables.age.levels.age_band.groups]
young = {{ label = "0 to 19", of = "0..19" }}
adult = {{ label = "20 to 59", of = "20..59" }}
old = {{ label = "60 to 79", of = "60..79" }}
[variables.health]
label = "Health"
range = [1, 5]
[variables.rare]
label = "A rare trait"
range = [0, 199]
[[geography]]
id = "ward"
label = "Ward"
column = "ward"
[[geography]]
id = "district"
label = "District"
column = "district"
"""


def write_town(
    folder: Path, rows: int = 20_000, seed: int = 1, id: str = "town", policy: str = ""
) -> Path:
    """Write people and their description; another seed is another census of the same town."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    ward = rng.integers(0, 40, rows)
    table = pa.table(
        {
            "id": np.arange(rows),
            "sex": rng.integers(1, 3, rows),
            "age": rng.integers(0, 80, rows),
            "health": rng.integers(1, 6, rows),
            "rare": (rng.random(rows) ** 4 * 200).astype(np.int64),
            "ward": ward,
            "district": ward // 10,
        }
    )
    pq.write_table(table, folder / "people.parquet")
    text = DESCRIPTION.format(id=id, policy=policy or "preset:rounding-3")
    (folder / "dataset.toml").write_text(text, encoding="utf-8")
    return folder / "dataset.toml"


def two_looks(folder: Path) -> str:
    """Write the preset rounding-3 with two looks at detail below 100; return the file's name."""
    folder.mkdir(parents=True, exist_ok=True)
    text = preset_text("rounding-3").replace("looks = 1 ", "looks = 2 ")
    text = text.replace("guard_below = 50 ", "guard_below = 100 ")
    (folder / "two-looks.toml").write_text(text, encoding="utf-8")
    return "two-looks.toml"


def build_town(folder: Path, out: Path, **options: object) -> Path:
    """Return a store of the town, its secret always the same: so are its figures."""
    secret = out / "secret"
    if not out.exists():
        out.mkdir(mode=0o700, parents=True)
        secret.write_text("5eed" * 16 + "\n", encoding="ascii")
        secret.chmod(0o600)
    build(write_town(folder, **options), out)  # type: ignore[arg-type]
    return out


def forget_releases(store: Path) -> None:
    """Let a store be as one from which nothing was ever released, for another state database."""
    for name in ("ledger.id", "records"):
        (store / name).unlink(missing_ok=True)
