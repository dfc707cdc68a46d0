"""A browser, for whatever tests look at pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path(os.environ.get("DISCREET_CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that ends with the file of tests.

    While it is open, a loop of asyncio runs in this thread: there can be no second one, and no test
    of another file could call asyncio.run.
    """
    from playwright.sync_api import sync_playwright

    assert CHROMIUM.exists(), f"There is no browser at {CHROMIUM}: run `make tools`."
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield started
        started.close()
