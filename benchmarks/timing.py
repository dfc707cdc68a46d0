"""Whether the time of an answer tells what was counted: refused and released in pairs.

    python benchmarks/timing.py [--pairs 10000]

A pair is two questions of one shape: one that is refused for its counts, one that is released.
Which comes first is drawn. Answers that are kept are forgotten before each, so that each is worked
out. The time is that of the processor, which others on the machine change little. Two tables that
are both released show how much the figures themselves make of it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import table, write_section

from discreet.build import build
from discreet.errors import QueryRefused
from discreet.service import Service

WARDS = 40
DESCRIPTION = """
id = "town"
title = "The town"
policy = "preset:rounding-3"
source = { files = "people.parquet", record_id = "id" }
[variables.sex]
range = [1, 2]
[variables.health]
range = [1, 5]
[variables.even]
range = [0, 39]
[variables.odd]
range = [0, 39]
[variables.steep]
range = [0, 39]
[[geography]]
id = "ward"
label = "Ward"
column = "ward"
"""


def town(folder: Path) -> Path:
    """Return a store: every second ward has too few people, and few people have an odd code."""
    rng = np.random.default_rng(1)
    ward = np.repeat(np.arange(WARDS), np.where(np.arange(WARDS) % 2, 60, 800))
    rows = len(ward)
    people = {
        "id": np.arange(rows),
        "sex": rng.integers(1, 3, rows),
        "health": rng.integers(1, 6, rows),
        "even": rng.integers(0, 40, rows),
        "odd": np.where(rng.random(rows) < 0.001, rng.integers(0, 40, rows), 0),
        "steep": (40 * rng.random(rows) ** 2).astype(np.int64),
        "ward": ward,
    }
    pq.write_table(pa.table(people), folder / "people.parquet")
    (folder / "town.toml").write_text(DESCRIPTION, encoding="utf-8")
    build(folder / "town.toml", folder / "store")
    return folder / "store"


class Asker:
    """A service that is asked with nothing kept."""

    def __init__(self, store: Path) -> None:
        self.service = Service([store])
        for path, mark, opened in self.service.catalogue.fresh():
            self.service.catalogue.take(path, mark, opened)  # type: ignore[arg-type]
        self.opened = self.service.opened("town")

    async def seconds(self, by: str, where: str | None, anew: bool, refused: bool) -> float:
        """Return what an answer took; with `anew` its table is made again too."""
        asked = self.service.ask("town", by, where)
        self.service.cache.forget(self.opened.version.id)
        if anew:
            for kept in (self.opened.releaser.tables, self.opened.releaser.made_up):
                kept._held.clear()
        begin, found = time.process_time(), False
        try:
            await self.service.file(asked, "json-stat")
        except QueryRefused:
            found = True
        taken = time.process_time() - begin
        assert found == refused, (by, where)
        return taken


def areas(pair: int) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
    """Return one area of a table that is withheld, and one that is not."""
    i = 2 * (pair % (WARDS // 2))
    return ("sex,health", f"ward={i + 1}"), ("sex,health", f"ward={i}")


def tables(pair: int) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
    """Return a table that is refused as a whole, and one that is not."""
    return ("sex,odd", None), ("sex,even", None)


def both_released(pair: int) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
    """Return two tables of one shape that are not refused."""
    return ("sex,steep", None), ("sex,even", None)


Pairs = Callable[[int], tuple[tuple[str, str | None], tuple[str, str | None]]]


async def measured(
    asker: Asker, pairs: Pairs, number: int, anew: bool, refuses: bool = True
) -> list[str]:
    """Return the medians in milliseconds, and how often the first was the faster of a pair.

    The first of a pair is refused, unless `refuses` is false.
    """
    draw, seen = random.Random(1), []
    for pair in range(-50, number):
        both = list(enumerate(pairs(pair)))
        draw.shuffle(both)
        taken = {
            i: await asker.seconds(by, where, anew, refuses and i == 0) for i, (by, where) in both
        }
        if pair >= 0:  # before that everything is warmed up
            seen.append((taken[0], taken[1]))
    faster = sum(a < b for a, b in seen) / len(seen)
    medians = [f"{1e3 * median(column):.2f}" for column in zip(*seen, strict=True)]
    return [f"{number:,}", *medians, f"{faster:.0%}"]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    number = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as folder:
        asker = Asker(town(Path(folder)))
        rows = [
            ["part of a table that is kept", *await measured(asker, areas, number, False)],
            ["table that is made for it", *await measured(asker, tables, number, True)],
        ]
        same = await measured(asker, both_released, number, True, refuses=False)
    header = ["question", "pairs", "refused, ms", "released, ms", "refusal is the faster"]
    text = (
        f"{table(header, rows)}\n\nOf two tables that were made and both released, {same[0]} "
        f"times, one took {same[1]} ms and the other {same[2]} ms, and the one was the faster in "
        f"{same[3]}: some figures take more steps than others."
    )
    print(text)
    write_section(
        "timing", f"## Time of refusals\n\n{text}\n\nSee [what is promised](promises.md#time)."
    )


if __name__ == "__main__":
    asyncio.run(main())
