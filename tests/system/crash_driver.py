"""Builds in forked processes that are killed or interrupted at a chosen step; one JSON line each.

Usage: crash_driver.py DATASET.toml PRISTINE SCRATCH SIGNAL NEW_SECRET STEPS

A step is anything that touches the store's folder (open, mkdir, rename, remove, chmod), as Python's
audit hooks report it, or a stage told as progress. STEPS is "all" or names with commas. PRISTINE is
a store to begin with, or does not exist. The process forks with its modules and kernels loaded and
while no thread is running.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np

from discreet.build import build
from discreet.population import Store
from discreet.population.kernels import ordered_places, scatter
from discreet.population.keys import Secret, digests
from discreet.tabulate import ScanEngine

WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod"}


def warm_up(pristine: Path) -> None:
    """Load the kernels once, so that forks need not."""
    places = ordered_places(np.array([1, 0], np.uint32), np.array([0, 1]))
    for kind in (np.uint8, np.uint16, np.uint32):
        scatter(np.zeros(2, kind), places)
    data = np.frombuffer(b"12", np.uint8)
    digests(Secret.fresh(), data, np.frombuffer(np.array([0, 1, 2]).tobytes(), np.int64))
    if pristine.exists():
        ScanEngine(Store(pristine).open()).close()


def strike_at(step: int | str, number: int, folder: Path) -> object:
    """Send this process a signal at the step; return a function to be told of progress."""
    seen, struck = 0, False

    def strike(name: str) -> None:
        nonlocal seen, struck
        seen += 1
        if not struck and step in (seen, name):
            struck = True
            os.write(2, f"{name}\n".encode())
            os.kill(os.getpid(), number)

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event in WATCHED and str(folder) in str(arguments[0]):
            strike(f"{event} {Path(str(arguments[0])).name}")

    sys.addaudithook(audit)
    stages: set[str] = set()

    def tell(stage: str, done: int, total: int | None) -> None:
        if stage not in stages:
            stages.add(stage)
            strike(stage)

    return tell


def fork(dataset: Path, folder: Path, step: int | str, number: int, new_secret: bool) -> int:
    """Build in a fork; return its status as the shell would."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            tell = strike_at(step, number, folder)
            build(dataset, folder, tell, new_secret)  # type: ignore[arg-type]
            code = 0
        except KeyboardInterrupt:
            code = 130
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def state(store: Store) -> dict[str, object]:
    """What a reader sees."""
    if store.current() is None:
        return {"current": None, "exists": store.path.exists()}
    version = store.open()
    version.verify()
    return {
        "current": version.id,
        "rows": version.rows,
        "keys": sorted(version.keys.tolist()),
        "hidden": sorted(p.name for p in store.path.rglob(".scratch-*")),
        "files": sorted(p.name for p in store.path.iterdir() if p.name != ".lock"),
        "versions": store.list(),
    }


def main() -> None:
    dataset, pristine, scratch = map(Path, sys.argv[1:4])
    number, new_secret = int(sys.argv[4]), sys.argv[5] == "new"
    wanted = range(1, 1000) if sys.argv[6] == "all" else sys.argv[6].split(",")
    warm_up(pristine)
    for step in wanted:
        folder = scratch / "store"
        shutil.rmtree(folder, ignore_errors=True)
        if pristine.exists():
            shutil.copytree(pristine, folder)
        status = fork(dataset, folder, step, number, new_secret)
        after = state(Store(folder))
        # At a fork's own step 0 nothing strikes: an undisturbed build.
        again = fork(dataset, folder, 0, number, False)
        line = {"step": step, "status": status, "after": after, "again": again}
        print(json.dumps({**line, "rebuilt": state(Store(folder))}), flush=True)
        if status == 0:
            break


if __name__ == "__main__":
    main()
