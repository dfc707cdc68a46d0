"""A build that dies at any moment leaves the old version current, and the next one tidies up."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.build import build
from discreet.population import Store

DRIVER = Path(__file__).with_name("crash_driver.py")
OLD, NEW = 50, 80
TIDY = ["CURRENT", "secret", "signing.id", "signing.key", "signing.pub", "state.db", "versions"]

# Where a build could leave two things that do not belong together.
DELICATE = [
    "reading",
    "os.rename secret.new",
    "os.rename version",
    "os.rename CURRENT.new",
    "os.rename secret.next",
]

People = Callable[..., Path]


def struck(
    folder: Path, people: People, number: int, steps: str, new_secret: bool, first: bool = False
) -> list[dict[str, Any]]:
    """What builds of NEW people were and left when struck, over a store of OLD (or none)."""
    pristine = folder / "pristine"
    if not first:
        build(people(folder, OLD), pristine)
    dataset = people(folder, NEW, seed=2)
    arguments = [
        dataset,
        pristine,
        folder / "scratch",
        number,
        "new" if new_secret else "old",
        steps,
    ]
    (folder / "scratch").mkdir()
    ran = subprocess.run(
        [sys.executable, DRIVER, *map(str, arguments)], capture_output=True, text=True, timeout=1800
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def check(found: dict[str, Any], old_keys: list[int]) -> None:
    after, rebuilt = found["after"], found["rebuilt"]
    # Opened and verified by the driver: whichever is current is whole.
    assert after["rows"] in (OLD, NEW)
    if after["rows"] == OLD:
        assert after["keys"] == old_keys
    assert found["again"] == 0
    assert rebuilt["rows"] == NEW
    assert rebuilt["hidden"] == []
    assert rebuilt["files"] == TIDY
    assert len(rebuilt["versions"]) == 2
    # Ids 0 to 49 are in both: records keep the keys of the version that was current.
    assert set(after["keys"]) <= set(rebuilt["keys"])


def test_killed_where_it_hurts(tmp_path: Path, people: People) -> None:
    found = struck(tmp_path, people, signal.SIGKILL, ",".join(DELICATE), new_secret=True)
    old_keys = sorted(Store(tmp_path / "pristine").open().keys.tolist())
    assert [line["status"] for line in found] == [-signal.SIGKILL] * len(DELICATE)
    for line in found:
        check(line, old_keys)
    rows = {line["step"]: line["after"]["rows"] for line in found}
    assert rows["os.rename CURRENT.new"] == OLD
    assert rows["os.rename secret.next"] == NEW


@pytest.mark.slow
@pytest.mark.parametrize("new_secret", [False, True])
def test_killed_at_every_step(tmp_path: Path, people: People, new_secret: bool) -> None:
    found = struck(tmp_path, people, signal.SIGKILL, "all", new_secret)
    old_keys = sorted(Store(tmp_path / "pristine").open().keys.tolist())
    assert found[-1]["status"] == 0, "no step was left"
    assert len(found) > 50
    for line in found:
        check(line, old_keys)


@pytest.mark.slow
def test_interrupted_at_every_step(tmp_path: Path, people: People) -> None:
    """Wherever it strikes, even while tidying up, the next build makes it good."""
    found = struck(tmp_path, people, signal.SIGINT, "all", new_secret=True)
    old_keys = sorted(Store(tmp_path / "pristine").open().keys.tolist())
    for line in found:
        check(line, old_keys)


@pytest.mark.slow
def test_a_first_build_killed_at_every_step(tmp_path: Path, people: People) -> None:
    found = struck(tmp_path, people, signal.SIGKILL, "all", new_secret=False, first=True)
    assert found[-1]["status"] == 0
    for line in found:
        assert line["again"] == 0
        assert line["rebuilt"]["rows"] == NEW
        assert line["rebuilt"]["hidden"] == []
        assert line["rebuilt"]["files"] == TIDY
        if line["after"]["current"] is not None:
            assert line["after"]["keys"] == line["rebuilt"]["keys"]


def test_interrupted_it_tidies_up_itself(tmp_path: Path, people: People) -> None:
    steps = DELICATE[-3:]
    found = struck(tmp_path, people, signal.SIGINT, ",".join(steps), new_secret=True)
    old_keys = sorted(Store(tmp_path / "pristine").open().keys.tolist())
    for line in found:
        check(line, old_keys)
        assert line["status"] == 130
        assert line["after"]["hidden"] == []
        assert line["after"]["files"] == TIDY
        assert len(line["after"]["versions"]) == (1 if line["after"]["rows"] == OLD else 2)


def test_a_first_build_interrupted_leaves_nothing(tmp_path: Path, people: People) -> None:
    steps = ["sorting", "os.rename version", "os.rename CURRENT.new"]
    found = struck(tmp_path, people, signal.SIGINT, ",".join(steps), new_secret=False, first=True)
    assert [line["status"] for line in found] == [130] * len(steps)
    for line in found:
        assert line["after"] == {"current": None, "exists": False}


@pytest.mark.slow
def test_killed_at_random_under_a_reader(
    tmp_path: Path, people: People, program: list[str]
) -> None:
    store = tmp_path / "store"
    build(people(tmp_path, 1000), store)
    reader = dc.open(store)
    query = dc.Query.parse("sex,ward")
    before = reader.tabulate(query)
    dataset = people(tmp_path, 400_000, seed=2)
    moments = random.Random(5)
    command = [*program, "build", str(dataset), "--out", str(store)]
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.monotonic() - started
    for _ in range(12):
        held = Store(store).current()
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.2, 1.1) * whole)
        running.kill()
        running.wait()
        version = Store(store).open()
        version.verify()
        assert version.rows == 400_000
        assert version.id == held or running.returncode == 0 or version.id > str(held)
        # Its own version is long gone from the disk.
        after = reader.tabulate(query)
        assert (after.counts == before.counts).all()
        assert (after.keys == before.keys).all()
    subprocess.run(command, check=True, capture_output=True)
    assert not reader.version.path.exists()
    assert list(store.rglob(".scratch-*")) == []


def test_the_second_of_two_builds_is_refused(
    tmp_path: Path, people: People, discreet: Callable[..., Any]
) -> None:
    dataset, store = people(tmp_path, OLD), tmp_path / "store"
    refused = []

    def meanwhile(stage: str, done: int, total: int | None) -> None:
        if stage == "sorting" and not refused:
            refused.append(discreet("build", dataset, "--out", store))

    build(dataset, store, meanwhile)
    (second,) = refused
    assert second.returncode == 2
    assert second.stderr == f"discreet: another build into {store} is running.\n"
    assert second.stdout == ""
    assert Store(store).open().rows == OLD
    assert discreet("build", dataset, "--out", store).returncode == 0


def test_ctrl_c_on_the_command_line(tmp_path: Path, people: People, program: list[str]) -> None:
    store = tmp_path / "store"
    running = subprocess.Popen(
        [*program, "build", str(people(tmp_path, 2_000_000)), "--out", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    assert running.stderr.readline() == "Reading …\n"
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in said
    assert not store.exists()
