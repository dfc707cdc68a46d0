"""The program as a user who can write neither to its folder nor to a home."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet.compiling import SMALL
from stores import build_town

# A superuser writes anywhere. Without this right it is bound by modes, as any owner is.
_BOUND = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []

MANY = SMALL + 1
"""Records from which kernels are compiled."""

READ = "ward,sex,age,health,rare"
"""A question for which records are read: one that a view answers needs no kernel."""

TRUE = "True counts: not for publication.\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program that nobody can write to, beside an empty home of the same kind."""
    folder = tmp_path_factory.mktemp("installed")
    package = Path(discreet.__file__).parent
    shutil.copytree(package, folder / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "home").mkdir()
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    return folder


def run(installed: Path, temporary: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NUMBA_", "XDG_", "PYTHON"))
    }
    environment |= {
        "HOME": str(installed / "home"),
        "PYTHONPATH": str(installed),
        "TMPDIR": str(temporary),
    }
    return subprocess.run(
        [*_BOUND, sys.executable, "-m", "discreet", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=temporary,
    )


def kernels(temporary: Path) -> Path:
    return temporary / f"discreet-kernels-{os.geteuid()}"


def test_the_copy_cannot_be_written_to(installed: Path) -> None:
    done = subprocess.run([*_BOUND, "touch", str(installed / "home" / "file")], capture_output=True)
    assert done.returncode == 1


def test_version_and_help_are_told_without_a_word(installed: Path, tmp_path: Path) -> None:
    for asked in (["--version"], ["--help"], ["table", "--help"]):
        done = run(installed, tmp_path, *asked)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
    assert not list(tmp_path.iterdir())


def test_small_data_need_no_kernels_and_no_place_for_them(installed: Path, tmp_path: Path) -> None:
    store = build_town(tmp_path / "data", tmp_path / "store", rows=2_000)
    done = run(installed, tmp_path, "table", store, "--by", "sex")
    assert (done.returncode, done.stderr) == (0, "")
    assert not kernels(tmp_path).exists()


@pytest.mark.slow
def test_a_table_is_answered_and_the_kernels_are_kept(installed: Path, tmp_path: Path) -> None:
    store = build_town(tmp_path / "data", tmp_path / "store", rows=MANY)
    said = (
        f"discreet: compiled kernels are kept in {kernels(tmp_path)}, because neither the folder "
        f"of the program nor the home folder can be written to.\n{TRUE}"
    )
    answers = []
    for _ in range(2):
        done = run(installed, tmp_path, "tabulate", store, "--by", READ)
        assert (done.returncode, done.stderr) == (0, said)
        answers.append(done.stdout)
        kept = {path: path.stat().st_mtime_ns for path in kernels(tmp_path).rglob("*.nbc")}
        assert kept
    assert answers[0] == answers[1]
    assert kernels(tmp_path).stat().st_mode & 0o777 == 0o700
    assert {path: path.stat().st_mtime_ns for path in kernels(tmp_path).rglob("*.nbc")} == kept


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o777, 0o500])
def test_kernels_are_not_taken_from_a_folder_of_others(
    installed: Path, tmp_path: Path, mode: int
) -> None:
    # Who can write into the folder could have a kernel of theirs run. One that is not writable
    # at all is no place either.
    store = build_town(tmp_path / "data", tmp_path / "store", rows=MANY)
    kernels(tmp_path).mkdir()
    kernels(tmp_path).chmod(mode)
    done = run(installed, tmp_path, "tabulate", store, "--by", READ)
    assert done.returncode == 0
    assert done.stderr == (
        "discreet: compiled kernels are kept nowhere, because neither the folder of the program "
        f"nor the home folder can be written to.\n{TRUE}"
    )
    assert not list(kernels(tmp_path).iterdir())
