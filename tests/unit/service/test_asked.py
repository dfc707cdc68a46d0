"""One default for totals, wherever a question is asked."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

import discreet as dc
from discreet.cli import table
from discreet.release.pipeline import Releaser
from discreet.remote import Remote
from discreet.server import models, parts
from discreet.service import Service


@pytest.mark.parametrize(
    "asks",
    [
        dc.Population.release,
        Remote.release,
        Service.ask,
        Releaser.release,
        Releaser.check,
        table.command,
    ],
    ids=lambda asks: f"{asks.__module__}.{asks.__qualname__}",
)
def test_a_question_has_no_totals_unless_they_are_asked_for(asks: Callable[..., Any]) -> None:
    assert signature(asks).parameters["totals"].default == "none"


@pytest.mark.parametrize("model", [models.Typed, models.TypedTable, models.Posted])
def test_a_request_has_no_totals_unless_they_are_asked_for(model: type[models.Given]) -> None:
    assert model.model_fields["totals"].default == "none"


def test_a_language_model_gets_no_totals_unless_it_asks_for_them() -> None:
    mcp = pytest.importorskip("discreet.server.mcp")
    assert signature(mcp.Tools.ask).parameters["totals"].default == "none"


def test_px_and_sdmx_name_the_codes_they_want_and_no_totals() -> None:
    assert "totals" not in signature(parts.ask_part).parameters
