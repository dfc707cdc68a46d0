"""Registries that installed packages extend: what is added, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from discreet import plugins
from discreet.errors import ParameterError


def installed(monkeypatch: pytest.MonkeyPatch, *entries: tuple[str, str]) -> None:
    found = [EntryPoint(name, value, "discreet.test") for name, value in entries]
    monkeypatch.setattr(plugins, "entry_points", lambda group: found)


def test_what_is_built_in_comes_first_and_what_is_installed_after_it_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(monkeypatch, ("zeta", "math:pi"), ("beta", "math:e"))
    found = plugins.extended("discreet.test", {"own": 1.0})
    assert list(found) == ["own", "beta", "zeta"]


def test_nothing_built_in_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ("own", "math:pi"))
    with pytest.raises(ParameterError, match=r"'own' of discreet.test must be there once.*math:pi"):
        plugins.extended("discreet.test", {"own": 1.0})


def test_what_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ("broken", "math:no_such_thing"))
    with pytest.raises(ParameterError, match=r"'broken' of discreet.test could not be loaded"):
        plugins.extended("discreet.test", {})


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
