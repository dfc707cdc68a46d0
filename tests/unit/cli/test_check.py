"""`discreet check --methods`: what is tested, what is told, and the exit status."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ParameterError
from discreet.protect import RandomRounding, registry


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["check", *words], catch_exceptions=False)
    return result.exit_code, result.output


class Upwards(RandomRounding):
    """A rounding that only ever goes up."""

    def draw(self, counts: Any, uniforms: Any, /) -> Any:
        return super().draw(counts, 0 * uniforms + 0.999)


def test_named_methods_pass() -> None:
    status, said = run("--methods", "random-rounding", "cell-key-perturbation")
    assert status == 0
    assert said == (
        "ok      random-rounding: 7 of 7 checks passed\n"
        "ok      cell-key-perturbation: 7 of 7 checks passed\n"
        "All is well.\n"
    )


def test_a_failure_is_told_and_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "methods", lambda: {"upwards": Upwards})
    status, said = run("--methods")
    assert status == 1
    assert said.startswith("FAILED  upwards: 6 of 7 checks passed\n")
    assert "Frequencies over an even grid of uniforms are those of the transition. But:" in said
    assert "All is well" not in said


def test_a_method_that_cannot_be_made_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "methods", lambda: {"five": lambda: 5})
    status, said = run("--methods")
    assert status == 1
    assert "FAILED  five: 0 of 1 checks passed" in said
    assert "is no Method. Got int." in said


def test_names_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="did you mean 'random-rounding'"):
        run("--methods", "rounding")
    with pytest.raises(ParameterError, match="need --methods"):
        run("random-rounding")
