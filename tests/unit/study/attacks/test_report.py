from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.study.attacks.finding import Finding, Share
from discreet.study.attacks.report import PRIVATE, Report

GOOD = Finding(
    "good", Share.of(40, 100), Share.of(38, 100), Share.of(30, 100), most=0.43, id="unions"
)
BAD = replace(GOOD, name="bad", attack=Share.of(90, 100), certain=7, certain_right=6)
NONE = Finding(
    "none",
    Share.of(0, 0),
    note="attributes of people who left",
    reason="there is one edition only",
    id="leaver",
    most=0.5,
)


def report(*findings: Finding, **more: Any) -> Report:
    return Report("Census", "policy/1", 1_000, (1,), 10.0, findings, **more)


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
    assert '<tr class="no"><th scope="row">bad' in found.html
    assert [f["verdict"] for f in found.as_dict()["findings"]] == ["within", "beyond"]


def test_too_few_tries_say_nothing() -> None:
    # 20 tries are enough, 19 are not.
    few = replace(GOOD, name="few", attack=Share.of(0, 19))
    assert not report(few).passed
    assert (
        "Too few tries to judge by, give more seeds in [attack]: few (19 of 20)."
        in report(few).verdict
    )
    # What three tries found is no verdict, however much it was.
    lucky = report(replace(BAD, attack=Share.of(3, 3), certain=0))
    assert not lucky.passed
    assert not lucky.failed
    assert any(line.endswith("  TOO FEW TRIES") for line in lucky.text.splitlines())
    assert report(replace(few, attack=Share.of(0, 20))).passed


def test_what_was_not_run_does_not_pass() -> None:
    assert not report(GOOD, left_out=("late",)).passed
    assert "Not run: late." in report(GOOD, left_out=("late",)).verdict


def test_an_attack_that_was_not_tried_does_not_pass() -> None:
    found = report(GOOD, NONE)
    assert not found.passed
    assert found.verdict == (
        "1 of 1 attacks stay within their limits. Not tried: none (there is one edition only)."
    )
    assert "not tried: there is one edition only" in found.text
    assert "– Not tried" in found.html


def test_a_policy_may_do_without_an_attack_by_name() -> None:
    assert report(GOOD, NONE, untried=("leaver",)).passed
    assert not report(GOOD, NONE, untried=("unions",)).passed
    # Only where there was nothing to try: what was tried counts.
    assert not report(replace(BAD, id="leaver"), untried=("leaver",)).passed


def test_an_attack_whose_time_ran_out_does_not_pass() -> None:
    found = report(replace(GOOD, short=True))
    assert not found.passed
    assert "Cut short, give more seconds: good." in found.verdict
    assert any(line.endswith("  CUT SHORT") for line in found.text.splitlines())
    nothing = report(replace(NONE, short=True))
    assert "not tried: its time ran out" in nothing.text
    assert "its time ran out" in nothing.html


def test_what_was_measured_on_real_people_says_so() -> None:
    assert PRIVATE in report(GOOD).text
    assert PRIVATE in report(GOOD).html
    assert PRIVATE not in report(GOOD, public=True).text
    assert PRIVATE not in report(GOOD, public=True).html


def test_a_label_cannot_break_the_page() -> None:
    assert "<script>" not in report(replace(GOOD, name="<script>")).html
