"""A build with a protected base that is killed, or stopped by Ctrl-C."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import discreet as dc
from bases import STEP, dc_build, people, write
from discreet.population import Store

KILLED = """
import os, signal, sys
from pathlib import Path
from discreet.build import build

def tell(stage, done, total):
    if stage.startswith(sys.argv[2]) and done == 1:
        os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
build(folder / "dataset.toml", folder / "store", originals=folder / "originals", progress=tell)
"""


RELEASES = {"store/state.db", "store/records"}


def left(folder: Path) -> dict[str, bytes]:
    """Every file of the store and of the originals, but for what is kept of releases."""
    found = (p for name in ("store", "originals") for p in (folder / name).rglob("*"))
    files = {str(p.relative_to(folder)): p.read_bytes() for p in found if p.is_file()}
    return {name: held for name, held in files.items() if name not in RELEASES}


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["fitting", "polishing"])
def test_a_kill_in_the_middle_of_the_search_leaves_the_old_version(
    built: Path, tmp_path: Path, stage: str
) -> None:
    for name in ("store", "originals"):
        shutil.copytree(built / name, tmp_path / name)
    pq.write_table(people(4_700, seed=2), tmp_path / "p.parquet")
    shutil.copy(built / "dataset.toml", tmp_path)
    old = Store(tmp_path / "store").current()
    shown = dc.open(tmp_path / "store").release("oa,religion").table
    before = left(tmp_path)
    run = [sys.executable, "-c", KILLED, str(tmp_path), stage]
    assert subprocess.run(run).returncode == -signal.SIGKILL
    assert Store(tmp_path / "store").current() == old
    still = left(tmp_path)
    assert before.items() <= still.items()
    more = still.keys() - before.keys() - {"originals/.lock"}
    assert all("/.scratch-" in name for name in more)
    assert (dc.open(tmp_path / "store").release("oa,religion").table.values == shown.values).all()
    # What the killed build left goes with the next one.
    dc_build(tmp_path)
    assert Store(tmp_path / "store").current() != old
    after = left(tmp_path)
    assert not [name for name in after if "scratch" in name]
    outside = [{name for name in files if "/versions/" not in name} for files in (before, after)]
    assert outside[0] == outside[1]


def stopping(stage: str, told: list[str]) -> Any:
    """Ctrl-C as soon as a stage has come to its second step."""

    def tell(at: str, done: int, total: int | None) -> None:
        told.append(at)
        if at.startswith(stage) and done == 1:
            raise KeyboardInterrupt

    return tell


@pytest.mark.parametrize("taken", [True, False])
def test_what_ctrl_c_leaves_is_offered(taken: bool, tmp_path: Path) -> None:
    write(tmp_path, people())
    told: list[str] = []
    asked: list[str] = []

    def offer(what: str) -> bool:
        asked.append(what)
        return taken

    options: dict[str, Any] = {"progress": stopping("polishing", told), "offer": offer}
    if not taken:
        with pytest.raises(KeyboardInterrupt):
            dc_build(tmp_path, **options)
        assert Store(tmp_path / "store").current() is None
    else:
        dc_build(tmp_path, **options)
        (facts,) = Store(tmp_path / "store").open().steps_beforehand
        assert facts["stopped"]
    assert "ended by Ctrl-C before its time" in asked[0]
    assert any(stage.startswith("polishing: off by ") for stage in told)


def test_another_base_of_the_same_records_is_told_as_such(built: Path, tmp_path: Path) -> None:
    # Its noise is that of the last edition, and nobody's record differs.
    shutil.copytree(built, tmp_path / "two")
    folder = tmp_path / "two"

    def at_once(stage: str, done: int, total: int | None) -> None:
        if stage.startswith("polishing"):
            raise KeyboardInterrupt

    ended = dc_build(folder, progress=at_once, offer=lambda what: True)
    (note,) = [note for note in ended.notes if note.startswith("Edition")]
    assert note.startswith("Edition 2: another base of the same records")
    assert "noise is not drawn anew" in note
    # Searched to its end it is the first edition again, and with other records another.
    again = dc_build(folder)
    assert not [note for note in again.notes if note.startswith("Edition")]
    pq.write_table(people(4_700, seed=2), folder / "p.parquet")
    other = dc_build(folder)
    (note,) = [note for note in other.notes if note.startswith("Edition")]
    assert note.startswith("Edition 3: ")
    assert note.endswith("records differ, and all figures are drawn anew.")


@pytest.mark.parametrize(("stage", "step"), [("fitting", ""), ("polishing", "max_error = 0.01\n")])
def test_what_cannot_be_used_is_not_offered(stage: str, step: str, tmp_path: Path) -> None:
    # Ctrl-C before every area has its people, and on a base that does not pass the checks.
    write(tmp_path, people(), STEP + step)
    asked: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        dc_build(tmp_path, progress=stopping(stage, []), offer=lambda what: not asked.append(what))
    assert not asked
    assert Store(tmp_path / "store").current() is None
