"""What the documents show of the API runs against a server, and so does the notebook."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import nbformat
import pytest
from nbclient import NotebookClient

from discreet.build import build
from discreet.release.formats import FORMATS
from discreet.rules import Code
from discreet.server.settings import read_settings
from discreet.synth import write
from servers import Running, running

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
API = (DOCS / "api.md").read_text(encoding="utf-8")
PROTOCOLS = (DOCS / "protocols.md").read_text(encoding="utf-8")
SETTINGS = (DOCS / "settings.md").read_text(encoding="utf-8")
HOST = "http://127.0.0.1:8000"


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("docs")
    write(60_000, folder / "census", 1, None, lambda more: None)
    build(folder / "census" / "dataset.toml", folder / "store")
    with running([folder / "store"], folder) as server:
        yield server


@pytest.mark.parametrize(
    "code", blocks(API + PROTOCOLS, "python"), ids=lambda code: code.split("\n")[-2][:40]
)
def test_python_examples_run(server: Running, code: str) -> None:
    # Each in a process of its own, as a reader would run it.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code.replace(HOST, server.url)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    told = re.search(r"print\(.*\)  # (\w+)$", code, re.MULTILINE)
    if told:
        assert done.stdout.strip() == told[1]


@pytest.mark.parametrize("language", ["r", "bash"])
def test_addresses_of_other_examples_answer(server: Running, language: str) -> None:
    addresses = [a for code in blocks(API, language) for a in re.findall(rf'"{HOST}([^"]+)"', code)]
    assert addresses
    for address in addresses:
        answer = server.get(address)
        assert answer.status_code == 200
        assert answer.text.splitlines()[0].startswith(("age_band,", "sex,"))


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_examples_run(server: Running) -> None:
    for code in blocks(API, "r"):
        done = subprocess.run(
            ["Rscript", "-e", code.replace(HOST, server.url)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_the_notebook_runs_and_draws(server: Running, tmp_path: Path) -> None:
    notebook = nbformat.read(DOCS / "notebooks" / "table.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "kept without its outputs"
    environment = {**os.environ, "DISCREET_URL": server.url, "MPLCONFIGDIR": str(tmp_path)}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute(cwd=str(tmp_path), env=environment)
    drawn = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(drawn) == 1


def test_every_route_status_and_format_is_in_the_page(server: Running) -> None:
    contract = server.get("/api/openapi.json").json()
    for path, operations in contract["paths"].items():
        if path.startswith("/api/") or path.endswith("z"):
            assert path.replace("{dataset}", "{id}") in API
        for operation in operations.values():
            for status in operation["responses"]:
                assert status == "200" or status in API, status
    for name in FORMATS:
        assert f"`{name}`" in API


def test_the_settings_of_the_page_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text(blocks(SETTINGS, "toml")[0])
    assert read_settings(tmp_path / "server.toml").limits.seconds == 20


def test_no_answer_sends_a_reader_elsewhere(server: Running) -> None:
    """No redirect, no script, font or picture from another place."""
    for path in ("/api/v1/datasets", "/api/v1/datasets/census", "/api/v1/config"):
        answer = httpx.get(server.url + path, trust_env=False)
        assert not re.search(r"https?://", answer.text)
    policy = httpx.get(server.url + "/", trust_env=False).headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert Code.NOT_AVAILABLE in API
