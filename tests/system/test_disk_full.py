"""A disk that fills up: one sentence, and the store as it was."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.build import build
from discreet.population import Store

DRIVER = Path(__file__).with_name("full_driver.py")
ROWS = 100_000
# A row of the tests' people takes 1 + 2 bytes of codes, 4 of area and 8 of digest while it is read,
# and 1 + 2 + 4 bytes in the version: 1.5 MB and 0.7 MB for all.


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def can_mount() -> bool:
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    tried = ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=64k", "none", "/mnt"]
    return subprocess.run(tried, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    "kilobytes",
    [
        pytest.param(300, marks=pytest.mark.slow),
        1600,
        pytest.param(2000, marks=pytest.mark.slow),
    ],
)
def test_a_small_file_system(tmp_path: Path, people: Callable[..., Path], kilobytes: int) -> None:
    """Full while reading, at the first column written, and at a later one."""
    if not can_mount():
        pytest.skip("needs the right to mount a file system")
    for name, rows in (("small", 100), ("large", ROWS)):
        (tmp_path / name).mkdir()
        people(tmp_path / name, rows)
    disk = tmp_path / "disk"
    disk.mkdir()
    paths = (
        DRIVER,
        tmp_path / "small/dataset.toml",
        tmp_path / "large/dataset.toml",
        disk / "store",
    )
    ran = subprocess.run(
        [
            "unshare",
            "-m",
            "sh",
            "-ec",
            f'mount -t tmpfs -o size={kilobytes}k none "$1"; shift; exec "$@"',
            "sh",
            disk,
            sys.executable,
            *paths,
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    fresh, over = map(json.loads, ran.stdout.splitlines())
    said = f"the disk of {disk}/store is full (No space left on device). Nothing was changed."
    assert fresh == {"said": said, "same": True, "exists": False}
    assert over == {"said": said, "same": True, "exists": True}


@pytest.mark.parametrize(
    "limit",
    [
        0,
        pytest.param(1000, marks=pytest.mark.slow),
        150_000,
        pytest.param(500_000, marks=pytest.mark.slow),
    ],
)
def test_a_limit_on_the_size_of_files(
    tmp_path: Path, people: Callable[..., Path], discreet: Callable[..., Any], limit: int
) -> None:
    store = tmp_path / "store"
    build(people(tmp_path, 100), store)
    before = contents(store)
    dataset = people(tmp_path, ROWS)
    ran = discreet(
        "build",
        dataset,
        "--out",
        store,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1] == (
        f"discreet: the disk of {store} is full (File too large). Nothing was changed."
    )
    assert "Traceback" not in ran.stderr
    assert "ignored" not in ran.stderr
    assert contents(store) == before
    assert not list(store.rglob(".scratch-*"))
    assert Store(store).open().rows == 100
