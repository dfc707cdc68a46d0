"""Whether the time of an answer tells what was counted: refused and released in pairs.

    python benchmarks/timing.py [--pairs 10000]

A pair is two questions of one shape: one that is refused for its counts, one that is released.
Which comes first is drawn. Answers that are kept are forgotten before each, so that each is worked
out. The time is that of the processor, which others on the machine do not change.
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


Pairs = Callable[[int], tuple[tuple[str, str | None], tuple[str, str | None]]]


async def measured(asker: Asker, pairs: Pairs, number: int, anew: bool) -> list[str]:
    """Return the medians in milliseconds, and how often the refusal was the faster of a pair."""
    draw, seen = random.Random(1), []
    for pair in range(-50, number):
        refused, released = pairs(pair)
        both = [(refused, True), (released, False)]
        draw.shuffle(both)
        taken = {gone: await asker.seconds(by, where, anew, gone) for (by, where), gone in both}
        if pair >= 0:  # before that everything is warmed up
            seen.append((taken[True], taken[False]))
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
    header = ["question", "pairs", "refused, ms", "released, ms", "refusal is the faster"]
    text = table(header, rows)
    print(text)
    write_section(
        "timing", f"## Time of refusals\n\n{text}\n\nSee [what is promised](promises.md#time)."
    )


if __name__ == "__main__":
    asyncio.run(main())
