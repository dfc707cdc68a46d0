"""What is answered of 1,000 ordinary questions, asked one after the other of a fresh store.

    python benchmarks/ordinary.py [--persons 300000] [--seeds 1,2,3] [--folder var/bench]
    python benchmarks/ordinary.py --texts > questions.txt

Questions are drawn by a fixed seed, as people ask a census: one to four variables, the popular
ones more often; areas of every level along the table, as a filter, or several chosen by hand; now
and then a filter that picks one category or a few. `--texts` writes them one a line, as a plan is
made from them.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from censuses import PRESETS, store
from report import BENCH, table, write_section

from discreet.errors import QueryRefused
from discreet.population import Level, Schema
from discreet.query import Query
from discreet.query import Question as Asked
from discreet.study.attacks.target import Target, where

NUMBER, SEED = 1_000, 2021

# How often a variable is asked for, against the others; the level where it has several.
POPULAR = {
    "sex": 6, "age_band": 6, "age_broad": 3, "age": 1, "ethnic_group": 4, "country_of_birth": 3,
    "religion": 3, "activity": 4, "occupation": 3, "education": 3, "tenure": 3, "health": 3,
    "travel_to_work": 3, "household_size": 2, "marital_status": 2, "illness": 2, "citizenship": 2,
}  # fmt: skip
WIDTHS = {1: 35, 2: 40, 3: 19, 4: 6}
# Where: along the table, one area by a filter, or several by hand.
PLACES = {
    "": 25, "nuts2": 3, "region": 7, "la": 18, "ward": 12, "oa": 8,
    "one la": 8, "one ward": 7, "one oa": 3, "some ward": 5, "some oa": 4,
}  # fmt: skip
PICKS = {"none": 72, "one": 18, "some": 10}
# Whoever asks for small areas asks for little beside them: the most other variables.
BESIDE = {"oa": 2, "ward": 3}

# The page shows the number of cells before anything is asked, and no table is larger than this.
MOST_CELLS = 100_000

Question = tuple[str, str | None]


def ordinary(schema: Schema, number: int = NUMBER, seed: int = SEED) -> list[Question]:
    """Return different ordinary questions, in the order in which they are asked."""
    rng = random.Random(seed)
    found: dict[Question, None] = {}
    while len(found) < number:
        by, filters = _question(schema, rng)
        if Asked.of(Query.of(by, filters), schema).cells <= MOST_CELLS:
            found[by, filters] = None
    return list(found)


def texts(schema: Schema, number: int = NUMBER, seed: int = SEED) -> list[str]:
    """Return the questions as a plan reads them: `by`, or `by&where=…`."""
    return [by + (f"&where={w}" if w else "") for by, w in ordinary(schema, number, seed)]


def _weighted(rng: random.Random, weights: dict[str, int] | dict[int, int]) -> str | int:
    return rng.choices(list(weights), list(weights.values()))[0]


def _question(schema: Schema, rng: random.Random) -> Question:
    place = str(_weighted(rng, PLACES))
    wide = min(int(_weighted(rng, WIDTHS)), BESIDE.get(place.rpartition(" ")[2], 4))
    names: list[str] = []
    while len(names) < wide:
        name = str(_weighted(rng, POPULAR))
        if not _shared(schema, name, names):
            names.append(name)
    conditions: dict[str, Sequence[str]] = {}
    if place.startswith(("one ", "some ")):
        how, level = place.split()
        conditions[level] = _areas(schema, level, how == "one", rng)
    picks = _weighted(rng, PICKS)
    if picks != "none":
        other = str(_weighted(rng, POPULAR))
        if not _shared(schema, other, names):
            conditions[other] = _codes(schema.find(other)[1], picks == "one", rng)
    along = [] if not place or " " in place else [place]
    return ",".join(along + names), where(conditions)


def _shared(schema: Schema, name: str, names: list[str]) -> bool:
    """Whether a variable is among the names already, at whatever level."""
    return schema.find(name)[0] in [schema.find(other)[0] for other in names]


def _codes(level: Level, one: bool, rng: random.Random) -> list[str]:
    """Return one category, or a few that follow each other, as age bands do."""
    size = 1 if one or len(level) == 2 else rng.randint(2, min(6, len(level) - 1))
    first = rng.randrange(len(level) - size + 1)
    return list(level.codes[first : first + size])


def _areas(schema: Schema, name: str, one: bool, rng: random.Random) -> list[str]:
    """Return one area, or several that lie in one larger area."""
    geography, level = schema.find(name)
    if one:
        return [rng.choice(level.codes)]
    above = geography.above(level)[0]
    parents = above.of[level.member]
    inside = np.flatnonzero(parents == rng.choice(parents.tolist())).tolist()
    most = 20 if level is geography.finest else 6
    return [
        level.codes[i] for i in sorted(rng.sample(inside, min(rng.randint(2, most), len(inside))))
    ]


@dataclass(frozen=True)
class Told:
    """How many questions are answered from a table of their own, by sums, or refused and why."""

    direct: int
    sums: int
    question: int
    counts: int
    codes: Counter[str]

    @property
    def number(self) -> int:
        return self.direct + self.sums + self.question + self.counts

    def share(self, part: int) -> str:
        return f"{part / self.number:.1%}"


# Refusals that looked at counts: the one code of them, and those of version 0.1.
COUNTS = {
    "NOT_AVAILABLE", "EMPTY", "MIN_POPULATION", "MEAN_CELL", "SMALL_CELLS", "SPARSE",
    "SINGLE_LINES", "RISK",
}  # fmt: skip


def told(target: Target, questions: list[Question]) -> Told:
    """Return what becomes of the questions, asked in this order."""
    direct = sums = 0
    codes: Counter[str] = Counter()
    for by, filters in questions:
        try:
            answer = target.ask(by, filters)
        except QueryRefused as refusal:
            codes[refusal.code] += 1
            continue
        # Where answers can be sums, each figure says of how many it is one.
        summed = getattr(answer.table, "parts", None) is not None
        sums, direct = sums + summed, direct + (not summed)
    counts = sum(number for code, number in codes.items() if code in COUNTS)
    return Told(direct, sums, sum(codes.values()) - counts, counts, codes)


def report(found: dict[tuple[str, int], Told], persons: int) -> str:
    """Return the section of the page."""
    rows = [
        [preset, str(seed), *map(one.share, (one.direct, one.sums, one.question, one.counts)),
         one.share(one.question + one.counts),
         ", ".join(f"{code} {number}" for code, number in one.codes.most_common())]
        for (preset, seed), one in found.items()
    ]  # fmt: skip
    head = [
        "preset",
        "seed",
        "directly",
        "by sums",
        "refused by the question",
        "refused for counts",
    ]
    return f"""## What is answered of ordinary questions

{NUMBER:,} ordinary questions on synthetic censuses of {persons:,} people, asked one after the other
by the public: one to four variables, the popular ones more often; three in five with areas along
the table or by a filter, one in ten with areas chosen by hand; three in ten with a filter on
another variable. `benchmarks/ordinary.py --texts` writes them.

{table([*head, "refused", "codes"], rows)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=300_000)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--folder", type=Path, default=BENCH)
    parser.add_argument("--texts", action="store_true")
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    if options.texts:
        target = Target.open(store(options.folder, PRESETS[0], options.persons, seeds[0]))
        print("\n".join(texts(target.schema)))
        return
    found = {}
    for preset in PRESETS:
        for seed in seeds:
            target = Target.open(store(options.folder, preset, options.persons, seed))
            found[preset, seed] = told(target, ordinary(target.schema))
            print(preset, seed, found[preset, seed], flush=True)
    write_section("ordinary", report(found, options.persons))


if __name__ == "__main__":
    main()
