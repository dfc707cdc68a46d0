"""`discreet serve` says the address that readers know."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.server import run


def test_the_address_has_the_root_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(*given: Any) -> None:
        given[4]("http://127.0.0.1:8000")

    monkeypatch.setattr(run, "serve", serve)
    done = CliRunner().invoke(app, ["serve", "store", "--root-path", "/stat"])
    assert done.output == "Serving on http://127.0.0.1:8000/stat\n"
