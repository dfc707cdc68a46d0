"""Writes the people of [Longhurst2007, §5.1]: 1,487 output areas in 70 wards and 3 authorities.

    python scripts/town.py town

The folder gets people.parquet and dataset.toml, for `discreet study longhurst2007 --data
town/dataset.toml`. The people are invented, as many as in print.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.protect.records.swapping import (
    combined,
    in_small_cells,
    numbered,
    of_households,
)
from discreet.synth.geography import lay_out
from discreet.synth.variables import IDS
from discreet.synth.writer import draw

SEED = 2007
PERSONS, AREAS, WARDS, AUTHORITIES = 437_744, 1_487, 70, 3
WARD_SPREAD = 0.7  # of the logarithm: most have 1,500 to 16,000 people

DESCRIPTION = """\
id = "town"
title = "An estimation area of 437,744 invented people"
policy = "preset:rounding-3"
source = { files = "people.parquet", record_id = "person", household_id = "household" }
accept_differencing = ["broad", "working"]

[variables.sex]
label = "Sex"
range = [0, 1]

[variables.age]
label = "Age"
range = [0, 100]
[variables.age.levels.broad]
label = "Age in three groups"
[variables.age.levels.broad.groups]
child = { label = "0 to 15", of = "0..15" }
adult = { label = "16 to 64", of = "16..64" }
old = { label = "65 and over", of = "65..100" }
[variables.age.levels.working]
label = "Of working age"
[variables.age.levels.working.groups]
before = { label = "0 to 15", of = "0..15" }
in = { label = "16 to 74", of = "16..74" }
after = { label = "75 and over", of = "75..100" }

[variables.religion]
label = "Religion"
range = [0, 8]

[variables.activity]
label = "Economic activity, 9 for children"
range = [0, 9]

[variables.illness]
label = "Long-term illness"
range = [0, 1]

[variables.hard_to_count]
label = "Hard to count index of the area"
range = [0, 4]

[[geography]]
id = "oa"
label = "Output area"
column = "oa"
[[geography]]
id = "ward"
label = "Ward"
column = "ward"
[[geography]]
id = "authority"
label = "Authority"
column = "authority"
"""


@dataclass(frozen=True)
class Town:
    """The people of the synthetic estimation area."""

    codes: dict[str, NDArray[np.uint8]]  # from 0
    household: NDArray[np.int32]
    households: int
    home: NDArray[np.int64]  # output area of each household
    ward: NDArray[np.int64]  # of each output area
    authority: NDArray[np.int64]  # of each output area
    hard_to_count: NDArray[np.uint8]  # of each output area
    keys: NDArray[np.uint64]

    @property
    def working(self) -> NDArray[np.bool_]:
        """Those of 16 to 74, the people of table B."""
        return (self.codes["age"] >= 16) & (self.codes["age"] <= 74)

    def table_a(
        self, home: NDArray[np.int64], of: NDArray[np.bool_] | slice = slice(None)
    ) -> NDArray[np.int64]:
        """Return table A if households live in these output areas, of all people or of some."""
        area = home[self.household][of]
        columns = [(area, AREAS), *((c[of], n) for c, n in self.columns_a())]
        cells, size = combined(columns, len(area))
        return np.bincount(cells, minlength=size).reshape(AREAS, 9, 6)

    def columns_a(self) -> list[tuple[NDArray[Any], int]]:
        """Return the variables of table A beside the area."""
        return [(self.codes["religion"], 9), (self.codes["sex"], 2), (self.codes["broad"], 3)]

    def flagged(self) -> NDArray[np.bool_]:
        """Return the households with a member in a cell of 1 or 2 of table A or B."""
        area = self.home[self.household]
        small = in_small_cells([(area, AREAS), *self.columns_a()], len(area), 3)
        there = np.flatnonzero(self.working)
        columns = [(self.ward[area][there], WARDS)]
        for name, size in (("activity", 9), ("sex", 2), ("illness", 2)):
            columns.append((self.codes[name][there], size))
        small[there] |= in_small_cells(columns, len(there), 3)
        return of_households(self.household, self.households, small)


def town(seed: int = SEED) -> Town:
    """Return 1,487 output areas in 70 wards and 3 authorities, as many people as in print."""
    geography = lay_out(PERSONS, seed)
    if geography.size != AREAS:
        raise SystemExit(f"{AREAS} output areas are needed. There are {geography.size}.")
    block = draw(geography, seed, 0, geography.size)
    codes: dict[str, Any] = dict(zip(IDS, block.columns, strict=True))
    codes = {name: c if name == "age" else c - np.uint8(1) for name, c in codes.items()}
    work = codes["activity"]
    codes["broad"] = (codes["age"] >= 16).astype(np.uint8) + (codes["age"] >= 65)
    # Nine kinds of activity: those in work by six groups of occupations, and three others. Those
    # of children, the tenth, are not in table B.
    codes["activity"] = np.where(work == 0, codes["occupation"] // 2, work + 5).astype(np.uint8)
    household, ids = numbered(block.household)
    home = np.zeros(len(ids), np.int64)
    home[household] = block.oa - 1
    # Uneven wards, as those of Southampton, Eastleigh and Test Valley are.
    sizes = np.exp(WARD_SPREAD * np.random.default_rng(seed).standard_normal(WARDS))
    ends = np.rint(np.cumsum(sizes) / sizes.sum() * (AREAS - WARDS)).astype(np.int64)
    ward = np.repeat(np.arange(WARDS), np.diff(ends, prepend=0) + 1)
    keys = np.random.default_rng(seed).integers(2**64, size=len(ids), dtype=np.uint64)
    return Town(
        codes,
        household,
        len(ids),
        home,
        ward,
        ward * AUTHORITIES // WARDS,
        geography.deprived,
        keys,
    )


def write(folder: Path, seed: int = SEED) -> Path:
    """Write the town into a folder; return its description."""
    folder.mkdir(parents=True, exist_ok=True)
    here = town(seed)
    area = here.home[here.household]
    columns: dict[str, Any] = {
        "person": np.arange(len(area)),
        "household": here.household,
        **{name: here.codes[name] for name in ("sex", "age", "religion", "activity", "illness")},
        "hard_to_count": here.hard_to_count[area],
        "oa": area,
        "ward": here.ward[area],
        "authority": here.authority[area],
    }
    pq.write_table(pa.table(columns), folder / "people.parquet")
    (folder / "dataset.toml").write_text(DESCRIPTION, encoding="utf-8")
    return folder / "dataset.toml"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
