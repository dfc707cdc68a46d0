"""A format that an installed package adds is written like one that is built in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from discreet import plugins

_PACKAGE = """
from discreet.release.formats import Format, Found

def write_to(release, file):
    file.write(b"CELLS " + str(int(release.table.values.size)).encode())

def read(path):
    raise NotImplementedError

FORMAT = Format("cells", "Number of cells", "text/plain", ".txt", write_to, read,
                lambda start: start.startswith(b"CELLS "))
"""


def test_an_installed_package_adds_a_format(tmp_path: Path) -> None:
    (tmp_path / "cells_format.py").write_text(_PACKAGE)
    about = tmp_path / "cells_format-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: cells-format\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[discreet.formats]\ncells = cells_format:FORMAT\n")
    (tmp_path / "table.csv").write_text("sex,count\n1,5\n2,7\n")
    source = Path(plugins.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{tmp_path}"}
    subprocess.run(
        [sys.executable, "-m", "discreet", "convert", "table.csv", "-o", "t", "-f", "cells"],
        cwd=tmp_path, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    assert (tmp_path / "t").read_text() == "CELLS 2"
