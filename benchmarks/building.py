"""A store of the synthetic census: what drawing, building and opening it takes, by stage.

    python benchmarks/building.py [--persons 60000000] [--folder var/bench]

What is there already is not made again, and is told from what was written down then.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from report import BENCH, table, write_section

THREADS = len(os.sched_getaffinity(0))
STAGES = {
    "reading": "read, checked and coded",
    "sorting": "sorted by area",
    "checksums": "checksums",
    "views": "views",
}
"""The stages of a build that grow with the people, in words."""

ENCODED, VIEWED = 1.5e6, 1e6
"""Targets: people that are encoded and sorted in a CPU second, and with the views."""


def prepare(persons: int, folder: Path) -> Path:
    """Draw and build the census, each in a process of its own; return the store."""
    place = folder / str(persons)
    census, store, stages = place / "census", place / "store", place / "stages.json"
    if not (place / "facts.json").exists():
        commands = {
            "synth": ["-m", "discreet", "synth", "--persons", str(persons), "--out", str(census)],
            "build": [__file__, "--build", str(census / "dataset.toml"), str(store), str(stages)],
        }
        facts: dict[str, Any] = {}
        for name, command in commands.items():
            print(name, "…", flush=True)
            facts[name] = _watched([sys.executable, *command])
        facts["stages"] = json.loads(stages.read_text())
        (place / "facts.json").write_text(json.dumps(facts))
    return store


def _built(dataset: Path, store: Path, stages_file: Path) -> None:
    """Build a store, and write down the CPU seconds of each stage."""
    from discreet.build import build

    stages: dict[str, float] = {}
    now, since = "starting", 0.0

    def tell(stage: str, done: int = 0, total: int | None = None) -> None:
        nonlocal now, since
        used = time.process_time()
        stages[now] = stages.get(now, 0.0) + used - since
        now, since = stage.partition(":")[0], used

    build(dataset, store, tell)
    tell("done")
    stages_file.write_text(json.dumps(stages))


def _watched(command: list[str]) -> dict[str, float]:
    """Run a command; return its seconds and the peak of its anonymous memory."""
    before = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        process, peak, cpu = psutil.Process(child.pid), 0, 0.0
        while child.poll() is None:
            try:
                everyone = [process, *process.children(recursive=True)]
                peak = max(peak, sum(_anonymous(p.pid) for p in everyone))
                times = [p.cpu_times() for p in everyone]
                cpu = max(cpu, sum(t.user + t.system for t in times))
            except psutil.NoSuchProcess:
                pass
            time.sleep(0.05)
        assert child.returncode == 0, command
    return {"wall": time.perf_counter() - before, "cpu": cpu, "anonymous": peak}


def _anonymous(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def machine() -> str:
    """Return what ran this, without its name."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")), platform.machine(),
    )  # fmt: skip
    memory = psutil.virtual_memory().total / 2**30
    return f"{THREADS} processors ({model}), {memory:.0f} GiB, Python {platform.python_version()}"


def opening(store: Path) -> dict[str, float]:
    """Return CPU seconds from a new process to its first answer, medians of five.

    Python's own bytecode is there, as it is after the first start of any installed program.
    """
    script = (
        "from time import process_time as now; a = now(); import numpy; b = now()\n"
        "import discreet as dc; dc.open; import sqlalchemy.dialects.sqlite; c = now()\n"
        f"p = dc.open({str(store)!r}); d = now()\n"
        "p.tabulate(dc.Query.parse('sex,age,health,tenure')); print(b - a, c - b, d - c, now() - d)"
    )
    written = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    runs = []
    for _ in range(6):
        told = subprocess.run(
            [sys.executable, "-c", script], env=written, capture_output=True, check=True, text=True
        )
        runs.append(list(map(float, told.stdout.split())))
    names = ("NumPy loaded", "Discreet and SQLAlchemy loaded", "the store opened",
             "the first question")  # fmt: skip
    return {name: median(found) for name, *found in zip(names, *runs[1:], strict=True)}


def section(people: int, facts: dict[str, Any], opened: dict[str, float]) -> str:
    """Return what drawing and building the census took, and what opening it takes."""
    stages: dict[str, float] = facts["stages"]
    all_of_it, known = sum(stages.values()), {name: stages.get(name, 0.0) for name in STAGES}
    rows = [[words, f"{known[name]:.1f}"] for name, words in STAGES.items()]
    rows.append(
        ["all else, the start of the program too", f"{all_of_it - sum(known.values()):.1f}"]
    )
    encoded = people / (sum(known.values()) - known["views"])
    viewed = people / all_of_it
    lines = [
        f"## The build, {people / 1e6:g} million people\n",
        f"{datetime.now(UTC):%Y-%m-%d}, {machine()}. From one Parquet file; kernels were compiled "
        "before.\n",
        table(["stage", "CPU s"], rows),
        "",
        f"- Encoded and sorted, with checksums: {encoded / 1e6:.2f} million people per CPU second. "
        f"Target: {ENCODED / 1e6:g}; {_met(encoded >= ENCODED)}.",
        f"- All of it, with views: {viewed / 1e6:.2f} million. Target: {VIEWED / 1e6:g}; "
        f"{_met(viewed >= VIEWED)}.",
    ]
    for name in ("synth", "build"):
        one = facts[name]
        lines.append(
            f"- `discreet {name}`: {one['wall']:.0f} s, {one['cpu']:.0f} CPU s "
            f"({people / one['cpu'] / 1e6:.2f} million people per CPU second), at most "
            f"{one['anonymous'] / 2**20:,.0f} MiB of anonymous memory. Target: 4 GiB."
        )
    parts = ", ".join(f"{name} {value:.3f} s" for name, value in opened.items())
    lines.append(
        f"- A new process that opens the store and answers a question: {sum(opened.values()):.2f} "
        f"CPU s ({parts}). It grows with the names of areas, not with the people: files are "
        "compared with their checksums before a record is first read."
    )
    return "\n".join(lines)


def _met(target: bool) -> str:
    return "met" if target else "missed"


def told(persons: int, folder: Path) -> Path:
    """Return the store, after its section was written."""
    store = prepare(persons, folder)
    facts = json.loads((store.parent / "facts.json").read_text())
    text = section(persons, facts, opening(store))
    print(text)
    write_section(f"build-{persons}", text)
    return store


def main() -> None:
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=60_000_000)
    parser.add_argument("--folder", type=Path, default=BENCH)
    parser.add_argument("--build", type=Path, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.build:
        _built(*given.build)
        return
    told(given.persons, given.folder)


if __name__ == "__main__":
    main()
