"""docs/extending.md: its package is built and installed as written, and its commands run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL))
SESSIONS = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command in a folder with the files of the page, its package installed in `target`."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = [str(tmp_path / "target"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}

    def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", "target"]
    done = command(sys.executable, "-m", "pip", "install", *options, ".")
    assert done.returncode == 0, done.stderr
    return command


def discreet(run: Run, line: str) -> subprocess.CompletedProcess[str]:
    return run(Path(sys.executable).with_name("discreet"), *shlex.split(line))


@pytest.mark.slow
def test_the_commands_of_the_page_print_what_it_shows(run: Run) -> None:
    assert len(SESSIONS) == 3
    for command, shown in SESSIONS:
        done = discreet(run, command.removeprefix("discreet "))
        assert done.returncode == 0, done.stderr
        assert done.stdout == shown, command


PEOPLE = "id,sex\n" + "".join(f"{i},{1 + i % 2}\n" for i in range(400))
DATASET = """
id = "people"
title = "Four hundred invented people"
policy = "policy.toml"
source = { files = "people.csv", record_id = "id" }
[variables]
sex = { range = [1, 2] }
"""


@pytest.mark.slow
def test_a_store_is_protected_by_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "dataset.toml").write_text(DATASET)
    assert discreet(run, "build dataset.toml --out store").returncode == 0
    done = discreet(run, "table store --by sex --format csv --out out.csv")
    assert done.returncode == 0, done.stderr
    released = [int(n) for n in re.findall(r",(\d+)$", (tmp_path / "out.csv").read_text(), re.M)]
    # 200 of each sex, each figure off by 1 at most.
    assert len(released) == 2
    assert all(abs(count - 200) <= 1 for count in released)


@pytest.mark.slow
def test_a_method_that_breaks_its_word_is_caught_and_kept_from_the_public(
    run: Run, tmp_path: Path
) -> None:
    module = tmp_path / "target" / "discreet_barnard.py"
    module.write_text(module.read_text().replace("uniforms < self.p", "uniforms < 2 * self.p"))
    done = discreet(run, "check --methods barnardisation")
    assert done.returncode == 1
    (shown,) = re.findall(r"^```text\n(FAILED.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert done.stdout + done.stderr == shown
    done = discreet(run, "policy check policy.toml")
    assert done.returncode == 2
    assert "must be fit for the public" in done.stderr
    # What does not say that it is public is not, however well it does.
    module.write_text(FILES["discreet_barnard.py"].replace("public = True", "public = False"))
    done = discreet(run, "policy check policy.toml")
    assert done.returncode == 2
    assert "does not say that it is for the public" in done.stderr


@pytest.mark.slow
def test_a_package_that_cannot_be_loaded_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "target" / "discreet_barnard.py").write_text("import nowhere_to_be_found\n")
    done = discreet(run, "protect table.csv --method random-rounding --out released.csv")
    assert done.returncode == 2
    assert "the installed package 'discreet-barnard'" in done.stderr
    assert "nowhere_to_be_found" in done.stderr
    assert not (tmp_path / "released.csv").exists()
