"""Whether a verdict on invented people depends on how unlike each other they are.

    python benchmarks/spreads.py [--persons 300000] [--seed 1] [--seconds 120]
        [--presets cell-keys,rounding-3] [--folder var/bench]

The spreads of invented people (study/attacks/invented.py) were chosen, not measured. All attacks
are run with half of them, with themselves and with half as much again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import process_time
from zlib import crc32

import numpy as np
from attacks import Found
from censuses import store
from report import BENCH, PAGE, table, write_section

from discreet.service.opened import open_store
from discreet.study.attacks import ATTACKS
from discreet.study.attacks.finding import tried
from discreet.study.attacks.invented import USUAL, invented_target

PRESETS = "cell-keys,rounding-3"
FACTORS = (0.5, 1.0, 1.5)


def measured(path: Path, factor: float, options: argparse.Namespace) -> list[Found]:
    """Return what each attack finds among people of a spread, as `discreet attack --synthetic`."""
    kept = options.folder / f"spreads-{path.name}-{factor}.json"
    found: list[Found] = json.loads(kept.read_text()) if kept.exists() else []
    opened = open_store(path, database="sqlite://")
    target = invented_target(opened.version, opened.policy, options.seed, USUAL.times(factor))
    for attack in ATTACKS[len(found) :]:
        rng = np.random.default_rng([options.seed, crc32(attack.id.encode())])
        found.append(tried(attack, target, rng, options.seconds, now=process_time).as_dict())
        kept.write_text(json.dumps(found, indent=1))
        print(path.name, factor, attack.name, found[-1]["attack"], flush=True)
    return found


def cell(one: Found) -> str:
    """Return a share with its bound; bold is beyond it."""
    if one["attack"] is None:
        return "not tried"
    shown = f"{one['attack']['value']:.2f}"
    shown = f"**{shown}**" if one["verdict"] == "beyond" else shown
    return shown if one["bound"] is None else f"{shown} ({one['bound']:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--presets", default=PRESETS)
    parser.add_argument("--folder", type=Path, default=BENCH)
    options = parser.parse_args()
    columns, head = [], ["attack"]
    for preset in options.presets.split(","):
        path = store(options.folder, preset, options.persons, options.seed)
        for factor in FACTORS:
            columns.append([cell(one) for one in measured(path, factor, options)])
            head.append(f"`{preset}` × {factor:g}")
    rows = [[attack.name, *cells] for attack, *cells in zip(ATTACKS, *columns, strict=True)]
    unlike = [
        row[0]
        for row in rows
        if any(len({"**" in c for c in row[i : i + 3]}) > 1 for i in range(1, len(row), 3))
    ]
    told = f"differs: {', '.join(unlike)}" if unlike else "is the same for all"
    text = f"""{options.persons:,} invented people, seed {options.seed}, with half of the usual
spreads, the usual ones, and half as much again. The bound is in brackets; bold is beyond it. Within
or beyond {told}.

{table(head, rows)}"""
    write_section("attacks-spreads", text, PAGE.with_name("attacks.md"))


if __name__ == "__main__":
    main()
