"""Censuses small enough to build in a moment, the program as people run it, and its pages."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from browsing import (
    LONG,
    PUBLISHED,
    STATES,
    Opener,
    publish,
)
from discreet.build import build
from discreet.synth import write
from stores import two_looks

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


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic census of 60,000 people: small, and still with sparse tables."""
    folder = tmp_path_factory.mktemp("census")
    write(60_000, folder / "census", 1, None, lambda more: None)
    described = folder / "census" / "dataset.toml"
    text = re.sub(r"^policy = .*\n", "", described.read_text("utf-8"), flags=re.MULTILINE)
    described.write_text(f'policy = "{two_looks(folder / "census")}"\n{text}', "utf-8")
    build(described, folder / "store")
    return folder / "store"


@pytest.fixture(scope="session")
def base(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of its own."""
    settings = tmp_path_factory.mktemp("settings") / "settings.toml"
    settings.write_text("rate = 100000\nburst = 10000\n", encoding="utf-8")
    command = [
        sys.executable, "-m", "discreet", "serve", str(store), "--port", "0",
        "--settings", str(settings),
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            address = re.search(r"http://\S+", line)
            assert address is not None, line
            for _ in range(300):
                try:
                    with urlopen(f"{address[0]}/readyz") as ready:
                        if ready.status == 200:
                            break
                except OSError:
                    time.sleep(0.2)
            tables = [path for path in STATES.values() if "/table?" in path]
            for path in (
                [f"/datasets/census/table?{asked}" for asked in PUBLISHED] + tables + [LONG]
            ):
                if path != STATES["table-not-released"]:
                    publish(address[0], path)
            yield address[0]
        finally:
            server.terminate()
            server.wait(30)


@pytest.fixture
def visit(browser: Browser, base: str) -> Iterator[Opener]:
    """Open pages; whatever a page asks for must come from its own server."""
    contexts: list[BrowserContext] = []
    foreign: list[str] = []
    troubles: list[str] = []

    def begin(path: str, width: int = 1440, height: int = 1000, **options: object) -> Page:
        context = browser.new_context(
            base_url=base,
            viewport={"width": width, "height": height},
            **{"locale": "en-GB", **options},  # type: ignore[arg-type]
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on(
            "request",
            lambda request: None if request.url.startswith(base) else foreign.append(request.url),
        )
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "console",
            lambda said: troubles.append(said.text) if "Content Security" in said.text else None,
        )
        page.goto(path)
        return page

    yield begin
    for context in contexts:
        context.close()
    assert foreign == []
    assert troubles == []
