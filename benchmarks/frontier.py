"""What guard and looks give and cost: a table with its totals attacked, ordinary questions refused.

python benchmarks/frontier.py [--persons 300000] [--seed 1] [--seconds 60]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
from censuses import store
from ordinary import ordinary, told
from report import BENCH, ROOT, table, write_section

from discreet.ledger import Database, Ledgers
from discreet.service.opened import open_store
from discreet.study.attacks.finding import Clock
from discreet.study.attacks.margins import Margins
from discreet.study.attacks.target import Target

PAGE = ROOT / "docs" / "ledger.md"
PRESETS = ("cell-keys", "rounding-3")
SETTINGS = ((30, 1), (50, 1), (100, 1), (100, 2))


def target(path: Path, guard_below: int, looks: int) -> Target:
    """Return a store with another guard, of which nobody has asked anything."""
    opened = open_store(path, database="sqlite://")
    policy, tier = opened.policy, opened.policy.default_tier
    space = replace(tier.space, guard_below=guard_below, looks=looks)
    policy = replace(policy, tiers={**policy.tiers, tier.id: replace(tier, space=space)})
    ledgers = Ledgers(opened.version, policy, opened.releaser.secret, Database.of("sqlite://"))
    return Target.of(replace(opened.releaser, policy=policy, log=None, ledgers=ledgers), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    rows = []
    for setting in SETTINGS:
        row = [f"{setting[0]}, {setting[1]}"]
        for preset in PRESETS:
            path = store(BENCH, preset, options.persons, options.seed)
            attacked = target(path, *setting)
            found = Margins().run(
                attacked, np.random.default_rng(7), Clock(options.seconds, process_time)
            )
            asked = target(path, *setting)
            share = told(asked, ordinary(asked.schema))
            row += [str(found.attack), str(found.reading)]
            row.append(share.share(share.question + share.counts))
        print(row, flush=True)
        rows.append(row)
    head = ["`guard_below`, `looks`"]
    for preset in PRESETS:
        head += [f"`{preset}`: attack", "reading", "refused"]
    said = (
        f"A synthetic census of {options.persons:,} people, one seed, {options.seconds:g} seconds "
        "for each attack: how often small cells\nare stated right by a table with its totals and "
        "by reading, and how many of 1,000 ordinary\nquestions are refused.\n\n"
    )
    write_section("frontier", said + table(head, rows), PAGE)


if __name__ == "__main__":
    main()
