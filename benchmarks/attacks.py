"""What attackers learn from everything the public may ask: each preset, before and after.

    python benchmarks/attacks.py [--persons 300000] [--seeds 1,2,3] [--seconds 60] [--workers 2]
        [--folder var/bench]

*After* is the program as it is. *Before* is the same stores with the space of questions open, as in
version 0.1 (before.py). Every attacker is the first to ask. What was found is kept beside the
stores, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from math import sqrt
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from before import open_before
from censuses import PRESETS, census, originals, store, without_leavers
from report import BENCH, PAGE, table, write_section

from discreet.study.attacks import ATTACKS, Attack, Target
from discreet.study.attacks.finding import tried
from discreet.study.attacks.person import Unique
from discreet.study.attacks.search import Search
from discreet.study.attacks.splits import Splits
from discreet.study.attacks.unions import AreaUnions, Unions

# The variables of the attacks as they were first measured.
CENSUS: dict[type, Attack] = {
    Unions: Unions("religion", areas=400),
    AreaUnions: AreaUnions("religion"),
    Splits: Splits("health"),
    Search: Search("religion"),
    Unique: Unique(("sex", "age_band", "marital_status"), "health", people=150),
}
BEFORE, AFTER = "before", "after"

Found = dict[str, Any]


def measured(folder: Path, options: argparse.Namespace, seeds: Sequence[int]) -> list[Found]:
    """Return the findings by preset, seed, state and attack; those that are kept are not made."""
    for seed in seeds:
        census(folder, options.persons, seed)  # shared by all presets, so made before
    tasks = list(product(seeds, PRESETS))
    work = partial(_attacked, folder, options.persons, options.seconds)
    with ProcessPoolExecutor(options.workers) as pool:
        return [found for part in pool.map(work, tasks) for found in part]


def _attacked(folder: Path, persons: int, seconds: float, task: tuple[int, str]) -> list[Found]:
    """Return what every attack finds in one store, before and after."""
    seed, preset = task
    path = folder / f"attacks-{preset}-{persons}-{seed}.json"
    found: list[Found] = json.loads(path.read_text()) if path.exists() else []
    done = {(one["state"], one["name"]) for one in found}
    # A protected base has no questions to close: all of them are counts of one population.
    for state in (AFTER,) if preset == "protected-base" else (AFTER, BEFORE):
        target: Target | None = None
        for number, attack in enumerate(CENSUS.get(type(a), a) for a in ATTACKS):
            if (state, attack.name) in done:
                continue
            target = target or _target(folder, preset, persons, seed, state)
            began, rng = perf_counter(), np.random.default_rng([seed, number])
            one = tried(attack, target, rng, seconds).as_dict()
            one |= {"preset": preset, "seed": seed, "state": state}
            found.append(one | {"seconds": perf_counter() - began})
            path.write_text(json.dumps(found, indent=1))
            took = f"{perf_counter() - began:.0f} s"
            print(preset, seed, state, one["name"], one["attack"], took, flush=True)
    return found


def _target(folder: Path, preset: str, persons: int, seed: int, state: str) -> Target:
    first = store(folder, preset, persons, seed)
    later = without_leavers(folder, preset, persons, seed)
    kept, then = originals(first, preset), originals(later, preset)
    found = Target.open(first, originals=kept)
    found.edition = Target.open(later, originals=then)
    if state == BEFORE:
        found = open_before(first, found.truth, open_before(later, found.edition.truth))
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
    parts = [_preset(preset, [f for f in found if f["preset"] == preset]) for preset in PRESETS]
    tables = "\n\n".join(parts)
    return f"""## What attackers learn

Each attacker alone against a fresh store of a synthetic census of {options.persons:,} people, for
{options.seconds:g} seconds at most; the mean over the populations of up to {len(seeds)} seeds, with
half the width of the interval of 95%. [Attacks](attacks.md) explains each of them. *Reading* is the
share right of whoever takes the published figure for the count, *prior* that of a guess that never
saw the target. Shares of small counts (1 to 5), of people, or balanced accuracy where the question
is yes or no (*). *Certain* are statements made without doubt, and how many of them were right.
*Before* is the same store with the space of questions open, as in version 0.1: every set of people
that a filter can pick had noise of its own. Where records were protected before any table, right is
what the original records say.

{tables}
"""


def _preset(preset: str, found: list[Found]) -> str:
    """Return the table of a preset, and which attacks go beyond their bound."""
    rows, beyond = [], []
    for attack in ATTACKS:
        now, then = (
            [f for f in found if (f["name"], f["state"]) == (attack.name, state)]
            for state in (AFTER, BEFORE)
        )
        if now:
            rows.append(_row(attack.name, now, then))
            if rows[-1][6] == "beyond":
                beyond.append(attack.name)
    head = [
        "attack", "before", "reading", "prior", "attack", "bound", "", "certain, right",
        "questions",
    ]  # fmt: skip
    said = f"Beyond their bound: {', '.join(beyond)}." if beyond else "All are within their bounds."
    seeds = ", ".join(str(seed) for seed in sorted({f["seed"] for f in found}))
    return f"`{preset}` (seeds {seeds}). {said}\n\n{table(head, rows)}"


def brief(found: list[Found], options: argparse.Namespace) -> str:
    """Return the short table: for each preset what was learnt before, and is now."""
    presets = [p for p in PRESETS if any(f["preset"] == p for f in found)]
    rows = []
    for attack in ATTACKS:
        cells = [_brief(attack.name, [f for f in found if f["preset"] == p]) for p in presets]
        rows.append([attack.name, *cells])
    seeds = len({f["seed"] for f in found})
    over = sorted({row[0] for row in rows if any("**" in cell for cell in row[1:])})
    said = f"Beyond their bound somewhere: {', '.join(over)}." if over else "None is beyond."
    return f"""Share right (or balanced accuracy) of each attack, before → now; the mean of {seeds}
synthetic censuses of {options.persons:,} people,
each attack for {options.seconds:g} seconds at most. Bold is beyond the bound, which is in brackets.
{said}

{table(["attack", *(f"`{p}`" for p in presets)], rows)}"""


def _brief(name: str, found: list[Found]) -> str:
    now, then = (
        [f for f in found if (f["name"], f["state"]) == (name, state)] for state in (AFTER, BEFORE)
    )
    attack, before = (pooled(f["attack"] for f in part) for part in (now, then))
    if attack is None:
        return "not tried"
    bounds = [f["bound"] for f in now if f["bound"] is not None]
    bound = sum(bounds) / len(bounds) if bounds else None
    shown = f"{attack[0]:.2f}"
    shown = f"**{shown}**" if _verdict(attack, bound, now) == "beyond" else shown
    shown += "" if bound is None else f" ({bound:.2f})"
    return shown if before is None else f"{before[0]:.2f} → {shown}"


def _row(name: str, mine: list[Found], before: list[Found]) -> list[str]:
    bounds = [f["bound"] for f in mine if f["bound"] is not None]
    bound = sum(bounds) / len(bounds) if bounds else None
    attack = pooled(f["attack"] for f in mine)
    sure = sum(f["certain"] for f in mine), sum(f["certain_right"] for f in mine)
    return [
        name + (" *" if mine[0]["measure"].startswith("balanced") else ""),
        told(pooled(f["attack"] for f in before)),
        told(pooled(f["reading"] for f in mine)),
        told(pooled(f["prior"] for f in mine)),
        told(attack),
        "–" if bound is None else f"{bound:.2f}",
        _verdict(attack, bound, mine),
        f"{sure[0]:,}, {sure[1]:,}" if sure[0] else "–",
        f"{round(sum(f['questions'] for f in mine) / len(mine)):,}",
    ]


def _verdict(
    attack: tuple[float, float] | None, bound: float | None, found: Sequence[Found]
) -> str:
    if attack is None:
        return "not tried"
    if any(f["certain"] for f in found) and found[0]["name"] == Unique.name:
        return "beyond"  # nothing certain may be said of a person
    return "" if bound is None else "beyond" if attack[0] > bound else "within"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=300_000)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=BENCH)
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    options.folder.mkdir(parents=True, exist_ok=True)
    found = measured(options.folder, options, seeds)
    write_section("attacks", report(found, options))
    write_section("attacks-short", brief(found, options), PAGE.with_name("attacks.md"))


if __name__ == "__main__":
    main()
