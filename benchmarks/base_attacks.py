"""The red team against a protected base: what attackers learn of the original records.

    python benchmarks/base_attacks.py [--persons 100000] [--seeds 1,2] [--seconds 20]

The attackers ask a store that holds a base. They are scored by the original records, which a second
store holds, and not by the base. Writes a section of docs/base.md.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from attacks import CENSUS, _row
from censuses import store, without_leavers
from report import BENCH, ROOT, table, write_section

from discreet.policy import read_preset
from discreet.study.attacks import ATTACKS, Target

ASSUMED = "cell-keys"
"""Attackers read a figure as a count with the noise of this preset: the base's own has no name."""


def scored_by(target: Target, truth: Target) -> Target:
    """Return a target whose attackers are scored by the counts of another store."""
    assumed = read_preset(ASSUMED).tier(None).protection
    edition = target.edition
    if edition is not None and truth.edition is not None:
        edition = scored_by(edition, truth.edition)
    return replace(
        target,
        tier=replace(target.tier, protection=assumed),
        truth=truth.truth,
        again=lambda: scored_by(target.fresh(), truth),
        edition=edition,
    )


def opened(folder: Path, preset: str, persons: int, seed: int) -> Target:
    """Return a store and its next edition, without some leavers."""
    later = without_leavers(folder, preset, persons, seed)
    return Target.open(store(folder, preset, persons, seed), edition=later)


def found(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what every attack found, on the population of every seed."""
    findings = []
    for seed in map(int, options.seeds.split(",")):
        base, truth = (
            opened(options.folder, preset, options.persons, seed)
            for preset in ("protected-base", "cell-keys")
        )
        target = scored_by(base, truth)
        for number, attack in enumerate(CENSUS.get(type(a), a) for a in ATTACKS):
            rng = np.random.default_rng([seed, number])
            one = attack.run(target, rng, options.seconds).as_dict()
            findings.append(one)
            print(seed, one["name"], one["attack"], one["reading"], one["prior"], flush=True)
    return findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--folder", type=Path, default=BENCH)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    findings = found(options)
    rows = []
    for attack in ATTACKS:
        mine = [f for f in findings if f["name"] == attack.name and f["attack"] is not None]
        if mine:
            rows.append(_row(attack.name, mine))
    head = ["attack", "reading", "prior", "attack", "bound", "", "certain, right", "questions"]
    text = f"""## What attackers learn

The [attacks](attacks.md) on a base of {options.persons:,} people (seeds: {options.seeds}), scored
by the original records, with half the width of the interval of 95%. Attackers take a figure for a
count with noise of variance 3, as of cell keys. Shares of small counts (1 to 5), of people, or
balanced accuracy (*). The bounds are those of all methods.

{table(head, rows)}
"""
    write_section("base-attacks", text, ROOT / "docs" / "base.md")


if __name__ == "__main__":
    main()
