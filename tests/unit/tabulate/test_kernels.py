"""Compiled kernels are kept on disk and recognised by the next process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import discreet

_WARM = """
from discreet.tabulate import kernels
from discreet.tabulate.scan import warm_up
warm_up()
print(sum(len(k.stats.cache_misses) for k in (kernels.scan, kernels.list_cells, kernels.add_up)))
"""


def test_a_second_process_compiles_nothing() -> None:
    # A kernel that closes over another one is hashed with an id of the process, and never found.
    missed = [
        subprocess.run(
            [sys.executable, "-c", _WARM], capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert missed[1] == "0"


def test_every_kernel_has_a_place_where_numba_finds_none() -> None:
    source = Path(discreet.__file__).parent
    plain = [
        path.name
        for path in source.rglob("*.py")
        if re.search(r"^(from|import) numba\b.*\bnjit\b", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert not plain
