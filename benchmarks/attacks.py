"""What attackers learn from everything the public may ask: each attack, preset and seed.

    python benchmarks/attacks.py [--persons 300000] [--seeds 1,2,3] [--seconds 60] [--only NAME]
        [--section attacks] [--title "…"] [--folder var/bench]

Every attacker is the first to ask a fresh store. What was found is kept beside the stores, so that
a run that was stopped goes on where it was; another section is another run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from censuses import PRESETS, store, without_leavers
from report import BENCH, table, write_section

from discreet.study.attacks import ATTACKS, Attack, Target
from discreet.study.attacks.person import Unique
from discreet.study.attacks.search import Search
from discreet.study.attacks.splits import Splits
from discreet.study.attacks.unions import AreaUnions, Unions

# The variables of the attacks as they were first measured.
CENSUS: dict[type, Attack] = {
    Unions: Unions("religion"),
    AreaUnions: AreaUnions("religion"),
    Splits: Splits("health"),
    Search: Search("religion"),
    Unique: Unique(("sex", "age_band", "marital_status"), "health", people=200),
}

Found = dict[str, Any]


def measured(folder: Path, options: argparse.Namespace, seeds: Sequence[int]) -> list[Found]:
    """Return the findings by preset, seed and attack; those that are kept are not made again."""
    path = folder / f"{options.section}.json"
    found: list[Found] = json.loads(path.read_text()) if path.exists() else []
    done = {(f["preset"], f["seed"], f["name"]) for f in found}
    for seed in seeds:
        for preset in PRESETS:
            target: Target | None = None
            for number, attack in enumerate(CENSUS.get(type(a), a) for a in ATTACKS):
                if (preset, seed, attack.name) in done or options.only not in (None, attack.name):
                    continue
                if target is None:
                    place = store(folder, preset, options.persons, seed)
                    later = without_leavers(folder, preset, options.persons, seed)
                    target = Target.open(place, edition=later)
                began = perf_counter()
                rng = np.random.default_rng([seed, number])
                one = attack.run(target, rng, options.seconds).as_dict()
                one |= {"preset": preset, "seed": seed, "seconds": perf_counter() - began}
                found.append(one)
                path.write_text(json.dumps(found, indent=1))
                print(
                    preset, seed, one["name"], one["attack"], f"{one['seconds']:.0f} s", flush=True
                )
    return found


def pooled(shares: Iterable[Found | None]) -> tuple[float, float] | None:
    """Return the mean over the seeds, and half its interval of 95%."""
    known = [share for share in shares if share is not None]
    if not known:
        return None
    halves = [(share["high"] - share["low"]) / 2 for share in known]
    mean = sum(share["value"] for share in known) / len(known)
    return mean, sqrt(sum(half**2 for half in halves)) / len(known)


def told(share: tuple[float, float] | None) -> str:
    """Return a share with its interval, as a table shows it."""
    return "–" if share is None else f"{share[0]:.2f} ± {share[1]:.2f}"


def report(found: list[Found], options: argparse.Namespace) -> str:
    """Return the section of the page."""
    seeds = sorted({f["seed"] for f in found})
    parts = []
    for preset in PRESETS:
        rows = []
        for attack in ATTACKS:
            mine = [f for f in found if (f["preset"], f["name"]) == (preset, attack.name)]
            if mine:
                rows.append(_row(attack.name, mine))
        head = ["attack", "reading", "prior", "attack", "bound", "", "certain, right", "questions"]
        parts.append(f"`{preset}`:\n\n{table(head, rows)}")
    tables = "\n\n".join(parts)
    return f"""## {options.title}

Each attacker alone against a fresh store of a synthetic census of {options.persons:,} people; the
mean over the populations of {len(seeds)} seeds, with half the width of the interval of 95%.
[Attacks](attacks.md) explains each of them. *Reading* is the share right of whoever takes the
published figure for the count, *prior* that of a guess that never saw the target. Shares of small
counts (1 to 5), of people, or balanced accuracy where the question is yes or no (*). *Certain* are
statements made without doubt, and how many of them were right.

{tables}
"""


def _row(name: str, mine: list[Found]) -> list[str]:
    bounds = [f["bound"] for f in mine if f["bound"] is not None]
    bound = sum(bounds) / len(bounds) if bounds else None
    attack = pooled(f["attack"] for f in mine)
    over = bound is not None and attack is not None and attack[0] > bound
    sure = sum(f["certain"] for f in mine), sum(f["certain_right"] for f in mine)
    return [
        name + (" *" if mine[0]["measure"].startswith("balanced") else ""),
        told(pooled(f["reading"] for f in mine)),
        told(pooled(f["prior"] for f in mine)),
        told(attack),
        "–" if bound is None else f"{bound:.2f}",
        "" if bound is None else "beyond" if over else "within",
        f"{sure[0]}, {sure[1]}" if sure[0] else "–",
        f"{round(sum(f['questions'] for f in mine) / len(mine)):,}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=300_000)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only")
    parser.add_argument("--section", default="attacks")
    parser.add_argument("--title", default="What attackers learn")
    parser.add_argument("--folder", type=Path, default=BENCH)
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    options.folder.mkdir(parents=True, exist_ok=True)
    write_section(options.section, report(measured(options.folder, options, seeds), options))


if __name__ == "__main__":
    main()
