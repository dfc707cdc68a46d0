from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from discreet.study.attacks.finding import Finding, Share
from discreet.study.attacks.report import Report, run
from discreet.study.attacks.target import Target

GOOD = Finding("good", Share.of(40, 100), Share.of(38, 100), Share.of(30, 100), 0.43)
BAD = replace(GOOD, name="bad", attack=Share.of(90, 100), certain=7, certain_right=6)


def report(*findings: Finding, left_out: tuple[str, ...] = ()) -> Report:
    return Report("Census", "policy/1", 1_000, 1, 10.0, findings, left_out)


def test_all_within_their_limits_pass() -> None:
    found = report(GOOD)
    assert found.passed
    assert found.verdict == "1 of 1 attacks stay within their limits."


def test_an_attack_beyond_its_limit_is_named() -> None:
    found = report(GOOD, BAD)
    assert not found.passed
    assert found.verdict == "1 of 2 attacks stay within their limits. Beyond them: bad."
    line = next(line for line in found.text.splitlines() if line.startswith("bad"))
    assert line.split()[-4:] == ["6", "of", "7", "BEYOND"]
    assert '<tr class="beyond"><th scope="row">bad' in found.html
    assert [f["within"] for f in found.as_dict()["findings"]] == [True, False]


def test_too_few_tries_say_nothing() -> None:
    # 20 tries are enough, 19 are not.
    few = replace(GOOD, name="few", attack=Share.of(0, 19))
    assert not report(few).passed
    assert "Too few tries: few." in report(few).verdict
    assert report(replace(few, attack=Share.of(0, 20))).passed


def test_what_was_not_run_does_not_pass() -> None:
    assert not report(GOOD, left_out=("late",)).passed
    assert "Not run: late." in report(GOOD, left_out=("late",)).verdict


def test_an_attack_that_does_not_apply_passes() -> None:
    assert report(Finding("none", Share.of(0, 0), note="there is one edition only")).passed


def test_a_label_cannot_break_the_page() -> None:
    assert "<script>" not in report(replace(GOOD, name="<script>")).html


@dataclass(frozen=True)
class Draws:
    """An attack that finds a random share, or is interrupted."""

    name: str = "draws"
    about: str = ""
    stop: bool = False

    def run(self, target: Target, rng: np.random.Generator, seconds: float) -> Finding:
        if self.stop:
            raise KeyboardInterrupt
        return Finding(self.name, Share.of(int(rng.integers(100)), 100))


@pytest.fixture
def target() -> Target:
    nothing: Any = None
    return Target(nothing, nothing, 10, nothing, nothing)


def test_a_report_can_be_had_again_from_its_seed(target: Target) -> None:
    attacks = [Draws(), Draws()]
    first, again, other = (run(target, attacks, s, 10, "t", "p") for s in (1, 1, 2))
    assert first == again
    assert first.findings != other.findings
    # Each attack has draws of its own.
    assert first.findings[0] != first.findings[1]


def test_ctrl_c_keeps_what_was_found(target: Target) -> None:
    attacks = [Draws("one"), Draws("two", stop=True), Draws("three")]
    found = run(target, attacks, 1, 10, "t", "p")
    assert [f.name for f in found.findings] == ["one"]
    assert found.left_out == ("two", "three")
