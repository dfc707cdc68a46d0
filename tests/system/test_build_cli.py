"""`discreet build` as people run it: one sentence and exit code 2, never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., "CompletedProcess[str]"]

GOOD = """
id = "people"
title = "People"
source = { files = "p.csv", record_id = "id" }
[variables]
sex = { categories = { m = "Male", f = "Female" } }
"""
PEOPLE = b"id,sex\n1,m\n2,f\n"


@pytest.mark.parametrize(
    ("description", "data", "told"),
    [
        (
            GOOD,
            b"id,sex\n1,m\n2,x\n3,y\n",
            "the data do not fit their description: D/p.csv, column 'sex': not a category of "
            "'sex' (m, f): row 2 'x', row 3 'y'",
        ),
        (
            GOOD,
            b"id,sex\n1,m\n2\n",
            "Reading …\ndiscreet: unreadable lines: D/p.csv, line 3: too few fields",
        ),
        (
            GOOD.replace("p.csv", "https://example.org/p.csv"),
            PEOPLE,
            "D/dataset.toml: sources must be files on this machine. Got "
            "'https://example.org/p.csv'.",
        ),
        (
            GOOD.replace('"p.csv"', '"p.csv", format = "parquet"'),
            PEOPLE,
            "D/p.csv cannot be read: Invalid Input Error: No magic bytes found at end of file "
            "'D/p.csv'",
        ),
        ("id = ", PEOPLE, "D/dataset.toml is not TOML: Invalid value (at end of document)"),
    ],
    ids=["unknown code", "ragged", "remote", "no parquet", "no toml"],
)
def test_bad_input_is_one_sentence(
    tmp_path: Path, discreet: Run, description: str, data: bytes, told: str
) -> None:
    (tmp_path / "dataset.toml").write_text(description)
    (tmp_path / "p.csv").write_bytes(data)
    ran = discreet("build", tmp_path / "dataset.toml", "--out", tmp_path / "store")
    assert ran.returncode == 2
    assert ran.stdout == ""
    said = ran.stderr.replace(str(tmp_path), "D").removeprefix("Reading …\n")
    assert said == f"discreet: {told.split('discreet: ')[-1]}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dataset.toml", "p.csv"]


def test_a_good_build_says_so(tmp_path: Path, discreet: Run) -> None:
    (tmp_path / "dataset.toml").write_text(GOOD)
    (tmp_path / "p.csv").write_bytes(PEOPLE)
    ran = discreet("build", tmp_path / "dataset.toml", "--out", tmp_path / "store")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"Built 2 rows into {tmp_path}/store (version ")
    assert ran.stderr == "Reading …\nSorting …\nChecksums …\nViews …\nSwitching …\n"


def test_no_description_at_all(tmp_path: Path, discreet: Run) -> None:
    ran = discreet("build", tmp_path / "none.toml", "--out", tmp_path / "store")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"discreet: there is no file {tmp_path}/none.toml\n"
