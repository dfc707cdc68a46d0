"""A whole build with a protected base: what each stage takes, and how far figures are off.

`base.py 10000000 21 build` runs it.
"""

from __future__ import annotations

import json
import resource
import shutil
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, process_time
from typing import Any

from censuses import census, described_as
from report import BENCH, table

from discreet.build import build, steps
from discreet.errors import ParameterError
from discreet.population import Store
from discreet.protect import ProtectedBase
from discreet.protect.records.protected_base.search import Search

SHORT = Search(alone=1, together=(1,), fitting=1, polishing=1)
BETWEEN = 0.05
"""Seconds between two looks at the memory."""
PARTS = ("VmRSS", "RssAnon")
"""Resident memory, that of mapped files included; and that of the process alone."""


@dataclass(frozen=True)
class ShortBase(ProtectedBase):
    """A base after a short search."""

    search: Search = SHORT


@dataclass
class Watch:
    """The most memory and the CPU of each stage of a build."""

    stage: str = "starting"
    stages: dict[str, dict[str, float]] = field(default_factory=dict)

    def tell(self, stage: str, done: int, total: int | None) -> None:
        """Take note of the stage; what follows a colon says how far it is."""
        self.look()
        self.stage = stage.partition(":")[0]

    def look(self) -> None:
        """Take note of the memory now, in GiB."""
        now = self.stages.setdefault(self.stage, {"began": process_time()})
        for name, most in resident().items():
            now[name] = max(now.get(name, 0.0), most)
        now["ended"] = process_time()

    def until(self, over: Event) -> None:
        """Look again and again."""
        while not over.wait(BETWEEN):
            self.look()


def resident() -> dict[str, float]:
    """Return the memory of this process now, in GiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return {name: int(found[name].split()[0]) / 2**20 for name in PARTS}


def built(persons: int, seed: int, short: bool) -> str:
    """Build a store with a base, in a process of its own; return what it took."""
    folder = BENCH / f"base-{persons}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    described = described_as(census(folder, persons, seed), "protected-base")
    began = perf_counter()
    child = get_context("spawn").Process(target=_build, args=(described, folder, short))
    child.start()
    child.join()
    wall, used = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.exitcode:
        raise SystemExit(child.exitcode)
    told = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    shutil.rmtree(folder)
    how = f"a search of {_sweeps(SHORT)} sweeps in place of {_sweeps(Search())}" if short else ""
    alone = max(stage["RssAnon"] for stage in told["stages"].values())
    return (
        f"### A build of {persons:,} people, seed {seed}{', with ' * short}{how}\n\n"
        f"`discreet build` from the file of records to the store, ingest and checks included: "
        f"{used.ru_utime + used.ru_stime:,.0f} s of CPU, {wall:,.0f} s on a machine that others "
        f"used as well. Peak memory {used.ru_maxrss / 2**20:.2f} GiB resident, of which files that "
        f"are mapped are a part; {alone:.2f} GiB without them. {verdict(told)}\n\n"
        f"{stage_table(told['stages'])}" + (f"\n\n{levels(told['facts'])}" if told["facts"] else "")
    )


def verdict(told: dict[str, Any]) -> str:
    """Say whether the base was accepted."""
    return f"The base was refused: {told['refused']}" if told["refused"] else "It was accepted."


def stage_table(stages: dict[str, dict[str, float]]) -> str:
    """Return what each stage took."""
    rows = [
        [
            name,
            f"{stage['ended'] - stage['began']:,.0f}",
            f"{stage['VmRSS']:.2f}",
            f"{stage['RssAnon']:.2f}",
        ]
        for name, stage in stages.items()
        if stage["ended"] - stage["began"] >= 1
    ]
    return table(["stage of at least a second", "CPU, s", "resident, GiB", "without files"], rows)


def levels(facts: dict[str, Any]) -> str:
    """Return how far figures are off at each level, as the build itself measured it."""
    rows = []
    for name, orders in reversed(facts["errors"].items()):
        home = facts["at_home"].get(name)
        two = orders[1]
        rows.append(
            [
                name,
                *(f"{e['mean_absolute']:.2f} / {e['rmse']:.2f}" for e in orders[:4]),
                f"{two['bias_above_5']:+.2f}",
                f"{two['small_exact']:.2f} of {two['small']:,}",
                f"{facts['held'][name]:.1%}",
                f"{facts['held_beyond'][name]:.1%}",
                f"{home['share']:.1%} ({home['by_chance']:.1%})" if home else "–",
            ]
        )
    head = [
        "level", "1 variable", "2 variables", "3 variables", "4 variables",
        "bias above 5: 2 variables", "small exact: 2 variables", "range holds",
        "with ages of single years", "at home (by chance)",
    ]  # fmt: skip
    return table(head, rows)


def _sweeps(search: Search) -> int:
    return search.alone + sum(search.together) + search.fitting + search.polishing


def _build(described: Path, folder: Path, short: bool) -> None:
    if short:
        steps.ProtectedBase = ShortBase  # type: ignore[misc]
    watch, over = Watch(), Event()
    looking = Thread(target=watch.until, args=(over,))
    looking.start()
    refused, facts = "", None
    try:
        build(described, folder / "store", watch.tell)
        facts = Store(folder / "store").open().steps_beforehand[-1]
    except ParameterError as error:
        refused = str(error)
    finally:
        over.set()
        looking.join()
    told = {"stages": watch.stages, "refused": refused, "facts": facts}
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
