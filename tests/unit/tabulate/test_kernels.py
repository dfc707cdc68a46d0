"""Compiled kernels are kept on disk and recognised by the next process."""

from __future__ import annotations

import subprocess
import sys

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
