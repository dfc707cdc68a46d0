"""A census small enough to build in a moment, and the program as people run it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PROGRAM = [sys.executable, "-c", "from discreet.cli import main; main()"]

DESCRIPTION = """
id = "people"
title = "People"
source = { files = "p.parquet", record_id = "id" }
[variables]
sex = { range = [0, 1] }
age = { range = [0, 300] }
[[geography]]
id = "ward"
column = "ward"
"""


def write_people(folder: Path, rows: int, seed: int = 1) -> Path:
    """Write people in no order of their areas, with ids 0, 1, …, and their description."""
    rng = np.random.default_rng(seed)
    table = pa.table(
        {
            "id": np.arange(rows),
            "sex": rng.integers(0, 2, rows, dtype=np.uint8),
            "age": rng.integers(0, 300, rows, dtype=np.uint16),
            "ward": rng.integers(0, 50, rows, dtype=np.uint16),
        }
    )
    pq.write_table(table, folder / "p.parquet")
    (folder / "dataset.toml").write_text(DESCRIPTION)
    return folder / "dataset.toml"


@pytest.fixture
def people() -> Callable[..., Path]:
    return write_people


@pytest.fixture
def program() -> list[str]:
    """The command line of the installed program."""
    return PROGRAM


@pytest.fixture
def discreet() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the program and return what it said."""

    def run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options
        )

    return run
