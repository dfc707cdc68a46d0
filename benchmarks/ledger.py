"""What a claim costs in a ledger of 10,000 tables.

    python benchmarks/ledger.py [--url postgresql://…]

The classes are drawn from a schema like that of a census, by a fixed seed. There is no store: a
ledger knows no records. The tables are written without asking, and then 400 other classes are
claimed one by one, of which some are released, some summed and some refused.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from report import table, write_section

from discreet.errors import QueryRefused
from discreet.ledger import Database, Ledger, Origin, Space, Status
from discreet.policy import SpaceRules
from discreet.population import Level, Schema, Variable
from discreet.population.names import GEOGRAPHY
from discreet.query import QuestionClass

TABLES, CLAIMS, PEOPLE, SEED = 10_000, 400, 300_000, 19
# By variable the number of categories of its levels, the finest first.
SIZES = {
    "sex": [2], "age": [100, 20, 5], "marital": [5, 2], "health": [5, 3], "religion": [9],
    "origin": [18, 5], "activity": [10, 4], "industry": [21, 8], "occupation": [25, 9],
    "tenure": [6, 3], GEOGRAPHY: [2_500, 500, 60, 10],
}  # fmt: skip


def census() -> Schema:
    """Return a schema with the variables above."""
    variables = []
    for name, sizes in SIZES.items():
        levels = []
        for i, size in enumerate(sizes):
            codes = tuple(map(str, range(size)))
            of = (np.arange(sizes[0]) * size // sizes[0]).astype(np.uint32)
            levels.append(Level(f"{name}_{i}", name, codes, codes, of))
        variables.append(Variable(name, name, tuple(levels)))
    return Schema("census", "Census", "people", tuple(variables))


def classes(space: Space, number: int, most: int) -> list[QuestionClass]:
    """Return classes of one to four variables, each once and none too large."""
    draw, found = random.Random(SEED), dict[QuestionClass, None]()
    chains = [len(variable.chain) for variable in space.schema.variables]
    while len(found) < number:
        used = draw.sample(range(len(chains)), draw.randint(1, most))
        ranks = tuple(draw.randint(1, n) if i in used else 0 for i, n in enumerate(chains))
        asked = QuestionClass(space.schema, ranks)
        if asked.cells <= space.rules.max_table:
            found[asked] = None
    return list(found)


def measured(url: str, looks: int) -> list[str]:
    """Return a line of the table: what claims cost in a database."""
    rules = SpaceRules(looks=looks, office_looks=looks)
    space = Space(census(), PEOPLE, rules)
    drawn = classes(space, TABLES + CLAIMS, 5)
    random.Random(SEED).shuffle(drawn)
    database = Database.of(url)
    kept = Ledger(database, f"census-{looks}", "2021", "public", space, True)
    with database.writing(f"census-{looks}") as transaction:
        made = [(of.name, of.name, Status.RELEASED, Origin.ASKED) for of in drawn[:TABLES]]
        transaction.add(kept._place, made)
    began = process_time()
    kept.looks()
    loaded = process_time() - began
    cpu, wall, kinds = [], [], Counter[str]()
    for asked in drawn[TABLES:]:
        used, began = process_time(), perf_counter()
        kinds[claimed(kept, asked)] += 1
        cpu.append(process_time() - used)
        wall.append(perf_counter() - began)
    began = process_time()
    for made in drawn[:1_000]:
        kept.claim(made)
    again = (process_time() - began) / 1_000
    database.close()
    cost = [*np.quantile(cpu, [0.5, 0.99]) * 1e3, max(cpu) * 1e3, np.median(wall) * 1e3]
    kind = "PostgreSQL" if url.startswith("postgres") else "SQLite"
    counted = [f"{kinds[name]:,}" for name in ("released", "summed", "refused")]
    return [f"{kind}, {looks} looks", *counted, *(f"{ms:.1f}" for ms in cost),
            f"{again * 1e6:.1f}", f"{loaded:.2f}"]  # fmt: skip


def claimed(kept: Ledger, asked: QuestionClass) -> str:
    """Claim a class and return what became of it."""
    try:
        return "summed" if kept.claim(asked).summed else "released"
    except QueryRefused:
        return "refused"


def main() -> None:
    reading = argparse.ArgumentParser()
    reading.add_argument("--url", help="a PostgreSQL database that holds nothing yet")
    url = reading.parse_args().url
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for looks in (2, TABLES):
            for place in [f"sqlite:///{Path(folder)}/{looks}.db", *([url] if url else [])]:
                rows.append(measured(place, looks))
                print(*rows[-1], sep="\t")
    heads = ["database", "released", "summed", "refused", "CPU ms", "99%", "most", "wall ms",
             "again, µs", "read, s"]  # fmt: skip
    write_section(
        "ledger",
        f"## What a claim costs\n\n`benchmarks/ledger.py`: {CLAIMS:,} new classes are claimed in a "
        f"[ledger](ledger.md) of {TABLES:,} tables, by one process. CPU time of the program is "
        "the median, the 99th percentile and the largest; wall time, of which the most is waiting "
        "for the disk, is the median. A class that is decided already is found in memory "
        '("again"). "Read" is the CPU time in which a new process reads the whole ledger, '
        f"once, and counts all looks. With {TABLES:,} looks no class is used up.\n\n"
        + table(heads, rows),
    )


if __name__ == "__main__":
    main()
