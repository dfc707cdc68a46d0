"""The certificate of attacks on the pages: states, words, and no figure of real people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.page.certificate import GROUPS, shown
from discreet.page.texts import LANGUAGES, texts
from discreet.policy import BOUNDS, People
from discreet.service.certificate import Subject, issue
from discreet.service.opened import Opened, open_store
from towns import town_of


def share(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.1, "high": value + 0.1}


def finding(name: str, value: float = 0.32, **more: Any) -> dict[str, Any]:
    return {
        "id": name, "verdict": "within", "attack": share(value), "reading": share(0.3),
        "prior": None, "bound": 0.4, "measure": "share right", "questions": 100, "certain": 0,
        "certain_right": 0, **more,
    }  # fmt: skip


def report(*changed: dict[str, Any], public: bool = True) -> dict[str, Any]:
    every = {name: finding(name) for name in BOUNDS} | {one["id"]: one for one in changed}
    bad = any(one["verdict"] not in ("within", "told") for one in every.values())
    return {
        "title": "t", "public": public, "seeds": [1], "people": 300_000, "passed": not bad,
        "untried": [], "findings": list(every.values()),
    }  # fmt: skip


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_store(town_of(tmp_path), database="sqlite://")


def issued(opened: Opened, found: dict[str, Any], **subject: Any) -> None:
    people = People.SYNTHETIC if found["public"] else People.OWN
    issue(opened.store, opened.subject, found, people)


def test_every_attack_has_its_place_and_its_words() -> None:
    assert sorted(name for ids in GROUPS.values() for name in ids) == sorted(BOUNDS)
    for lang in LANGUAGES:
        assert all(texts(lang).has(f"certificate.attacks.{name}.about") for name in BOUNDS)


def test_without_a_certificate_it_is_said(opened: Opened) -> None:
    found = shown(opened, texts("en"))
    assert (found.state, found.headline) == ("none", "Not tested yet")


def test_what_was_learnt_is_said_in_words(opened: Opened) -> None:
    issued(opened, report(finding("unions", 0.37), finding("refusals", 0.5, reading=None)))
    found = shown(opened, texts("en"))
    assert (found.state, found.look) == ("passed", "ok")
    assert found.headline == "15 of 15 attacks stay within the limit"
    assert found.sentences == (
        "No attack could say anything about anybody for certain.",
        "The attack that gains most is “Reading the refusals”: 50 of 100 times, 50 more than "
        "without it.",
    )
    assert found.questions == 1_500
    rows = {row.name: row for _, group in found.groups for row in group}
    # 0.37 where reading is right in 0.30.
    assert rows["Asking for many overlapping groups"].said == (
        "37 of 100 times, 7 more than without it"
    )


def test_of_a_question_of_yes_or_no_a_coin_is_right_half_of_the_time(opened: Opened) -> None:
    coin = finding("refusals", 0.5, reading=None, measure="balanced accuracy")
    issued(opened, report(coin))
    rows = {row.name: row for _, group in shown(opened, texts("en")).groups for row in group}
    assert rows["Reading the refusals"].said == "50 of 100 times, no more than without it"


def test_an_attack_beyond_the_limit_is_said(opened: Opened) -> None:
    issued(opened, report(finding("unions", 0.9, verdict="beyond", certain=3, certain_right=2)))
    found = shown(opened, texts("en"))
    assert (found.state, found.look) == ("beyond", "no")
    assert found.headline == "One attack we know goes beyond the limit"
    assert "3 statements were made as certain; 2 of them were right." in found.sentences


def test_a_policy_that_has_changed_is_said(opened: Opened) -> None:
    issue(opened.store, Subject("town", "older/1", 0, 1, ()), report(), People.SYNTHETIC)
    found = shown(opened, texts("en"))
    assert found.state == "expired"
    assert "for policy older/1. The policy, the plan or the data have changed" in found.sentences[0]
    assert found.certificate is None


def test_of_real_people_no_figure_is_shown(opened: Opened) -> None:
    issued(opened, report(finding("unions", 0.37), public=False))
    found = shown(opened, texts("de"))
    assert (found.state, found.groups, found.questions) == ("own", (), 0)
    # That an attack on them succeeds is for the custodian.
    issued(opened, report(finding("unions", 0.9, verdict="beyond"), public=False))
    assert shown(opened, texts("en")).state == "none"
