"""The gallery: every notebook runs from its first cell to its last, and draws what it says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
# How many pictures each shows; "table" asks a server, and is run by test_server_docs.py.
PICTURES = {
    "first-table": 1,
    "risk-and-utility": 1,
    "choose-a-method": 1,
    "suppress-a-business-table": 1,
}


def test_the_gallery_is_complete() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*PICTURES, "table"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_runs_and_draws(name: str, tmp_path: Path) -> None:
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "kept without its outputs"
    client = NotebookClient(notebook, timeout=240, kernel_name="python3")
    client.execute(cwd=str(tmp_path), env={**os.environ, "MPLCONFIGDIR": str(tmp_path)})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum(map(_is_picture, outputs)) == PICTURES[name]
    assert not [output for output in outputs if output.get("name") == "stderr"]


def _is_picture(output: Any) -> bool:
    data = output.get("data", {})
    return "image/png" in data or "image/svg+xml" in data or "<svg" in data.get("text/html", "")
