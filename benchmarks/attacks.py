"""What attackers learn from everything the public may ask: each preset, before and after.

    python benchmarks/attacks.py [--persons 300000] [--seeds 1,2,3] [--seconds 120] [--workers 2]
        [--folder var/bench] [--preset protected-base] [--written]

*After* is the program as it is. *Before* is the same stores with the space of questions open, as in
version 0.1 (before.py). Every attacker is the first to ask, and ends by what it has tried. The
ceiling is in seconds of CPU, so that the figures are the same on a busy machine. What was found is
kept beside the stores, so that a run that was stopped goes on where it was. Of one preset, if it is
named, what the pages say of it is renewed, and what they say of the others stays.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from math import sqrt
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from before import open_before
from censuses import PRESETS, census, originals, store, without_leavers
from report import BENCH, PAGE, table, write_section

from discreet.study.attacks import ATTACKS, Attack, Target
from discreet.study.attacks.editions import Leaver
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

NOBODY = "synthetic-only"
"""The preset that protects nobody: one seed shows that the attacks succeed where they can."""
EVERY = (*PRESETS, NOBODY)
ONLY_AFTER = ("protected-base", NOBODY)
"""All their figures are counts of one population: there are no questions to close."""

Found = dict[str, Any]


def measured(folder: Path, options: argparse.Namespace, seeds: Sequence[int]) -> list[Found]:
    """Return the findings by preset, seed, state and attack; those that are kept are not made.

    What is now comes first, and what takes long to be built last.
    """
    for seed in seeds:
        census(folder, options.persons, seed)  # shared by all presets, so made before
    tasks = [(AFTER, seed, preset) for seed, preset in product(seeds, EVERY)]
    tasks += [(BEFORE, seed, preset) for seed, preset in product(seeds, EVERY)]
    tasks = [t for t in tasks if not (t[0] == BEFORE and t[2] in ONLY_AFTER)]
    tasks = [t for t in tasks if t[2] != NOBODY or t[1] == seeds[0]]
    tasks = [t for t in tasks if options.preset in (None, t[2])]
    tasks = sorted(tasks, key=lambda t: t[2] in ONLY_AFTER and t[1] != seeds[0])
    work = partial(_attacked, folder, options.persons, options.seconds)
    with ProcessPoolExecutor(options.workers) as pool:
        return [found for part in pool.map(work, tasks) for found in part]


def kept(folder: Path, persons: int) -> list[Found]:
    """Return what was found so far, whichever seeds it is of."""
    paths = sorted(folder.glob(f"attacks-*-{persons}-*.json"))
    return [found for path in paths for found in json.loads(path.read_text())]


def _attacked(
    folder: Path, persons: int, seconds: float, task: tuple[str, int, str]
) -> list[Found]:
    """Return what every attack finds in one store, before or after."""
    state, seed, preset = task
    path = folder / f"attacks-{preset}-{persons}-{seed}-{state}.json"
    found: list[Found] = json.loads(path.read_text()) if path.exists() else []
    done = {one["name"] for one in found}
    target: Target | None = None
    for number, attack in enumerate(CENSUS.get(type(a), a) for a in ATTACKS):
        if attack.name in done:
            continue
        target = target or _target(folder, preset, persons, seed, state)
        began, rng = process_time(), np.random.default_rng([seed, number])
        one = tried(attack, target, rng, seconds, now=process_time).as_dict()
        one |= {"preset": preset, "seed": seed, "state": state}
        found.append(one | {"seconds": process_time() - began})
        path.write_text(json.dumps(found, indent=1))
        took = f"{process_time() - began:.1f} s"
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
    tables = "\n\n".join(_preset(p, _of(found, p)) for p in EVERY if _of(found, p))
    return f"""## What attackers learn

Each attacker alone against a fresh store of a synthetic census of {options.persons:,} people; the
mean over the populations of the seeds, with half the width of the interval of 95%.
[Attacks](attacks.md) explains each of them. *Reading* is the share right of whoever takes the
published figure for the count, *informed* that of whoever knows the method too and makes the best
of that one figure, *prior* that of a guess that never saw the target. Shares of small counts (1 to
5), of people, or balanced accuracy where the question is yes or no (*). *Certain* are statements
made without doubt, and how many of them were right. *Before* is the same store with the space of
questions open, as in version 0.1: every set of people that a filter can pick had noise of its own.
Where records were protected before any table, right is what the original records say.
{ended(found, options)}

{tables}
"""


def ended(found: list[Found], options: argparse.Namespace) -> str:
    """Return what the runs took, and which of them the clock ended."""
    took = [f["seconds"] for f in found]
    short = sorted({f["name"] for f in found if f["short"]})
    cut = f"cut short: {', '.join(short)}" if short else "none was cut short"
    return (
        f"{len(found)} runs took {sum(took) / 60:.0f} minutes of CPU, the longest {max(took):.0f} "
        f"seconds;\nthe ceiling was {options.seconds:g} seconds of CPU each, and {cut}."
    )


def _of(found: list[Found], preset: str, name: str | None = None, state: str = "") -> list[Found]:
    """Return the findings of a preset, of one attack and in one state if they are named."""
    return [
        f
        for f in found
        if f["preset"] == preset and name in (None, f["name"]) and state in ("", f["state"])
    ]


def _preset(preset: str, found: list[Found]) -> str:
    """Return the table of a preset, and which attacks go beyond their bound."""
    rows, beyond = [], []
    for attack in ATTACKS:
        now, then = (_of(found, preset, attack.name, state) for state in (AFTER, BEFORE))
        if now:
            rows.append(_row(attack.name, now, then))
            if rows[-1][7] == "beyond":
                beyond.append(attack.name)
    head = [
        "attack", "before", "reading", "informed", "prior", "attack", "bound", "",
        "certain, right", "questions",
    ]  # fmt: skip
    said = f"Beyond their bound: {', '.join(beyond)}." if beyond else "All are within their bounds."
    return f"`{preset}` (seeds {_seeds(found)}). {said}\n\n{table(head, rows)}"


def _seeds(found: list[Found]) -> str:
    return ", ".join(str(seed) for seed in sorted({f["seed"] for f in found}))


# What an attacker does whose success is beyond its bound: times of 100, and times without it.
SAID = {
    "unique-person": "states the health of {times} of 100 people whom they know to be unique in "
    "their area ({without} by a guess)",
    "somebody": "tells a cell of one person from an empty one {times} times of 100 (50 by a coin)",
    "leaver": "states {times} of 100 attributes of people who left between two editions rightly "
    "({without} by a guess)",
    "equality": "tells {times} times of 100 whether all of a small group have an attribute (50 by "
    "a coin)",
    "differences": "states {times} of 100 small counts of a single year of age rightly ({without} "
    "by national shares)",
}


def words(found: list[Found]) -> str:
    """Return in words what goes beyond its bound, a line for each preset."""
    lines = []
    for preset in (p for p in PRESETS if _of(found, p, state=AFTER)):
        said = []
        for attack in ATTACKS:
            now = _of(found, preset, attack.name, AFTER)
            share = pooled(f["attack"] for f in now)
            if share is None or _verdict(share, _bound(now), now) != "beyond":
                continue
            bases = (pooled(f[kind] for f in now) for kind in ("informed", "reading", "prior"))
            without = next((base[0] for base in bases if base is not None), 0.5)
            does = SAID.get(attack.id, "is right {times} times of 100 ({without} without it)")
            text = does.format(times=round(100 * share[0]), without=round(100 * without))
            sure = sum(f["certain"] for f in now), sum(f["certain_right"] for f in now)
            text += f", {sure[0]} times with certainty, {sure[1]} of them rightly" * bool(sure[0])
            said.append(f"*{attack.name}* {text}")
        lines.append(f"- `{preset}`: {'; '.join(said) or 'no attack is beyond its bound'}.")
    return "\n".join(lines)


def brief(found: list[Found], options: argparse.Namespace) -> str:
    """Return the short table: for each preset what was learnt before, and is now."""
    presets = [p for p in EVERY if _of(found, p)]
    rows = [[a.name, *(_brief(a.name, _of(found, p)) for p in presets)] for a in ATTACKS]
    seeds = "; ".join(f"`{p}`: {_seeds(_of(found, p))}" for p in presets)
    return f"""Share right (or balanced accuracy) of each attack, before → now; the mean of
synthetic censuses of {options.persons:,} people (seeds of {seeds}).
The bound is in brackets; bold is beyond it. {ended(found, options)}

{table(["attack", *(f"`{p}`" for p in presets)], rows)}

What is beyond its bound, in words:

{words(found)}"""


def _brief(name: str, found: list[Found]) -> str:
    now, then = (
        [f for f in found if (f["name"], f["state"]) == (name, state)] for state in (AFTER, BEFORE)
    )
    attack, before = (pooled(f["attack"] for f in part) for part in (now, then))
    if attack is None:
        return "not tried" if now else "not run yet"
    bound = _bound(now)
    shown = f"{attack[0]:.2f}"
    shown = f"**{shown}**" if _verdict(attack, bound, now) == "beyond" else shown
    shown += "" if bound is None else f" ({bound:.2f})"
    return shown if before is None else f"{before[0]:.2f} → {shown}"


def _row(name: str, mine: list[Found], before: list[Found]) -> list[str]:
    bound, attack = _bound(mine), pooled(f["attack"] for f in mine)
    sure = sum(f["certain"] for f in mine), sum(f["certain_right"] for f in mine)
    return [
        name + (" *" if mine[0]["measure"].startswith("balanced") else ""),
        told(pooled(f["attack"] for f in before)),
        told(pooled(f["reading"] for f in mine)),
        told(pooled(f["informed"] for f in mine)),
        told(pooled(f["prior"] for f in mine)),
        told(attack),
        "–" if bound is None else f"{bound:.2f}",
        _verdict(attack, bound, mine),
        f"{sure[0]:,}, {sure[1]:,}" if sure[0] else "–",
        f"{round(sum(f['questions'] for f in mine) / len(mine)):,}",
    ]


def _bound(found: Sequence[Found]) -> float | None:
    """Return the mean of the bounds over the seeds."""
    bounds = [f["bound"] for f in found if f["bound"] is not None]
    return sum(bounds) / len(bounds) if bounds else None


def _verdict(
    attack: tuple[float, float] | None, bound: float | None, found: Sequence[Found]
) -> str:
    if attack is None:
        return "not tried"
    if any(f["certain"] for f in found) and found[0]["name"] == Unique.name:
        return "beyond"  # nothing certain may be said of a person
    return "" if bound is None else "beyond" if attack[0] > bound else "within"


def base_words(found: list[Found]) -> str:
    """Return in words what is beyond its bound in a base, and what a leaver's attackers reach."""
    unique, leaver = (
        _of(found, "protected-base", name, AFTER) for name in (Unique.name, Leaver.name)
    )
    sure, right = (sum(f[kind] for f in unique) for kind in ("certain", "certain_right"))
    times, without = (
        round(100 * (pooled(f[kind] for f in leaver) or (0.0, 0.0))[0])
        for kind in ("attack", "prior")
    )
    return f"""- Who looks for a unique person's attribute makes {sure} statements for certain, of
  which {sure - right} are wrong; by the rule that nothing may be certain, it is beyond. It takes
  every figure for the true count, because no noise is added to figures of a base. The notes of a
  table say that people are copies, and entitle nobody to that.
- Of a leaver's attributes {times} of 100 are named, {without} by naming the largest categories."""


def renew(preset: str, found: list[Found]) -> None:
    """Write what was found of one preset in the place of what the pages said of it."""
    text = PAGE.read_text(encoding="utf-8")
    old = re.search(rf"^`{preset}` \(seeds .*?\n\n.*?(?=\n\n|\n<!--)", text, re.M | re.S)
    if old is None:
        raise SystemExit(f"{PAGE.name} says nothing of {preset}: run all presets first.")
    text = text.replace(old[0], _preset(preset, found))
    PAGE.write_text(text, encoding="utf-8")
    page = PAGE.with_name("attacks.md")
    text = page.read_text(encoding="utf-8")
    column = [p for p in EVERY if f" | `{p}`" in text].index(preset) + 2
    cells = {attack.name: _brief(attack.name, found) for attack in ATTACKS}
    lines = []
    for line in text.split("\n"):
        parts = line.split(" | ")
        if len(parts) > column and parts[0].removeprefix("| ") in cells:
            end = " |" if column == len(parts) else ""
            parts[column - 1] = cells[parts[0].removeprefix("| ")] + end
            line = " | ".join(parts)
        elif line.startswith(f"- `{preset}`:"):
            line = words(found)
        lines.append(re.sub(rf"`{preset}`: [\d, ]*\d", f"`{preset}`: {_seeds(found)}", line))
    page.write_text("\n".join(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=300_000)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--written", action="store_true", help="write what is kept, run nothing")
    parser.add_argument("--folder", type=Path, default=BENCH)
    parser.add_argument("--preset", choices=EVERY, help="this one alone")
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.written:
        measured(options.folder, options, seeds)
    found = kept(options.folder, options.persons)
    if options.preset:
        found = _of(found, options.preset)
        renew(options.preset, found)
    else:
        write_section("attacks", report(found, options))
        write_section("attacks-short", brief(found, options), PAGE.with_name("attacks.md"))
    if not _of(found, "protected-base"):
        return
    base = _preset("protected-base", _of(found, "protected-base"))
    said = "[Attacks](attacks.md) explains them and [Benchmarks](benchmarks.md) the columns."
    write_section(
        "base-attacks", f"{said}\n\n{base}\n\n{base_words(found)}", PAGE.with_name("base.md")
    )


if __name__ == "__main__":
    main()
