"""The ledger: what is claimed, recorded, and another look."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import Damaged, QueryRefused
from discreet.ledger import Database, Ledgers
from discreet.population import Version
from discreet.query import QuestionClass
from discreet.release import Releaser
from discreet.tabulate import ScanEngine
from populations import ask
from wirings import (
    KEYS,
    OTHER,
    ROUNDED,
    SECRET,
    is_released,
    policy,
    public,
    releaser,
    tier,
)


def test_damage_is_seen_before_an_answer_that_is_kept(version: Version) -> None:
    made = replace(version, guard=type(version.guard)())
    answers = releaser(made, public())
    answers.release(ask(made, "a"))
    made.guard.condemn(made.path)
    with pytest.raises(Damaged):
        answers.release(ask(made, "a"))


def test_without_claims_guarded_detail_is_not_shown(version: Version) -> None:
    """720 cells of 4,000 people: guarded below 50, and nothing of it is released yet."""
    rules = public(space={"guard_below": 50})
    answers = releaser(version, rules)
    fine = ask(version, "a,b,c,g0")
    with pytest.raises(QueryRefused) as refusal:
        answers.quiet.release(fine)
    assert refusal.value.code == "USED_UP"
    assert answers.release(fine)
    assert answers.quiet.release(fine)


def test_a_table_left_unjudged_is_judged_before_it_is_summed(version: Version) -> None:
    """A process that was killed has claimed the finer table: its looks are used."""
    rules = public(space={"guard_below": 50, "sums_up_to": 100})
    answers = releaser(version, rules)
    fine, coarse = (QuestionClass.of(ask(version, by)) for by in ("a,b,c,g0", "a,b,g0"))
    answers.ledgers.of(rules.default_tier).claim(fine)
    found = answers.release(ask(version, "a,b,g0"))
    assert answers.ledgers.of(rules.default_tier).route(coarse).source == fine  # type: ignore[union-attr]
    whole = answers.release(ask(version, "a,b,c,g0")).table.values
    for again in (found, answers.release(ask(version, "a,b,g0"))):  # and so it stays
        assert again.table.values.tolist() == whole.sum(axis=2).tolist()


def test_a_table_is_recorded_once(version: Version, tmp_path: Path) -> None:
    answers = replace(releaser(version, public()), log=tmp_path / "records")
    for _ in range(3):
        answers.release(ask(version, "a,b"))
    assert len((tmp_path / "records").read_text().splitlines()) == 1


def test_figures_as_counted_have_no_range(version: Version) -> None:
    protection = ROUNDED | {"published": True}
    rules = policy(public=tier(protection), top={"benchmark_totals": ["g1"]})
    answers = releaser(version, rules)
    assert answers.release(ask(version, "g1")).table.low is None
    assert answers.release(ask(version, "a")).table.low is not None


@pytest.mark.parametrize(
    "changed",
    [
        KEYS | {"options": {"bound": 3, "variance": 1}},
        ROUNDED,
        KEYS | {"plain_keys": True},
        KEYS | {"zeros": 0.1},
    ],
)
def test_other_figures_are_another_look(version: Version, changed: dict[str, Any]) -> None:
    """One look at guarded detail: figures drawn otherwise would be a second."""
    database = Database.of("sqlite://")
    guarded = {"space": {"guard_below": 50, "looks": 1, "office_looks": 1}}
    found = []
    for protection in (KEYS, changed):
        rules = public(protection, **guarded)
        ledgers = Ledgers(version, rules, SECRET, database)
        answers = Releaser(version, ScanEngine(version, threads=1), rules, SECRET, ledgers)
        found.append(is_released(answers, ask(version, "a,b,c,g0")))
    assert found == [True, False]


@pytest.mark.parametrize("which", ["secret", "edition"])
def test_another_secret_or_edition_is_another_look(version: Version, which: str) -> None:
    database, rules = Database.of("sqlite://"), public(space={"guard_below": 50, "looks": 1})
    later = replace(version, manifest=version.manifest | {"edition": 2})
    second = (version, OTHER) if which == "secret" else (later, SECRET)
    found = []
    for of, secret in ((version, SECRET), second):
        ledgers = Ledgers(of, rules, secret, database)
        answers = Releaser(of, ScanEngine(of, threads=1), rules, secret, ledgers)
        found.append(is_released(answers, ask(of, "a,b,c,g0")))
    assert found == [True, False]


def test_all_that_figures_depend_on_names_an_edition(version: Version) -> None:
    """Methods with the same options too: their figures are other figures."""
    later = replace(version, manifest=version.manifest | {"edition": 2})
    base = {"options": {"base": 3}, "margins": "none"}
    rounded = base | {"method": "random-rounding"}
    cases = [
        (version, SECRET, rounded),
        (version, OTHER, rounded),
        (later, SECRET, rounded),
        (version, SECRET, base | {"method": "small-cell-adjustment"}),
        (version, SECRET, rounded | {"options": {"base": 5}}),
        (version, SECRET, rounded | {"plain_keys": True}),
        (version, SECRET, rounded | {"zeros": 0.1}),
    ]
    editions = set()
    for of, secret, protection in cases:
        rules = policy(licensed=tier(protection, public=False))
        ledgers = Ledgers(of, rules, secret, Database.of("sqlite://"))
        editions.add(ledgers.edition(rules.default_tier))
    assert len(editions) == len(cases)


def test_official_detail_uses_its_look(version: Version) -> None:
    """720 cells of 4,000 people, published as counted: nothing else may show this detail."""
    rules = policy(
        public=tier(KEYS, space={"guard_below": 50, "looks": 1}),
        top={"benchmark_totals": ["a,b,c,g0"]},
    )
    ledger = releaser(version, rules).ledgers.of(rules.default_tier)
    assert [(e.route.asked.name, e.origin.value) for e in ledger.entries()] == [
        ("a,b,c,g0", "official")
    ]
    assert {look.left for look in ledger.looks()} == {0}


def test_each_tier_has_a_ledger_of_its_own(version: Version) -> None:
    guarded = {"space": {"guard_below": 50, "looks": 1}}
    rules = policy(public=tier(KEYS, **guarded), licensed=tier(KEYS, public=False, **guarded))
    answers = releaser(version, rules)
    fine = ask(version, "a,b,c,g0")
    answers.release(fine, tier="public")
    names = {t.id: answers.ledgers.of(t).entries() for t in rules.tiers.values()}
    assert len(names["public"]) == 1
    assert names["licensed"] == []
    assert answers.release(fine, tier="licensed")  # its own look


def test_a_table_that_uses_no_look_is_one_transaction(
    version: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its totals two: a and b, and everybody, are tables of their own."""
    seen = []
    for name in ("reading", "writing"):
        asked = getattr(Database, name)
        monkeypatch.setattr(
            Database, name, lambda *given, a=asked, n=name: seen.append(n) or a(*given)
        )
    answers = releaser(version, policy(public=tier(ROUNDED | {"margins": "protected"})))
    answers.release(ask(version, "a,b"))
    assert seen == ["writing"]
    answers.release(ask(version, "a,b"), "protected")
    assert seen == ["writing"] * 2
    ledger = answers.ledgers.of(answers.policy.default_tier)
    names = [entry.route.asked.name for entry in ledger.entries()]
    assert names == ["a,b", "b", "a", "everybody"]


def test_a_table_is_answered_as_another_server_has_decided(version: Version) -> None:
    """That one guards the detail still: its answer is a sum, and so it is here from the first."""
    strict, free = (public(space={"guard_below": below, "sums_up_to": 100}) for below in (50, 1))
    before = releaser(version, strict)
    for by in ("a,b,c,g0", "a,b,g0"):
        before.release(ask(version, by))
    ledgers = Ledgers(version, free, SECRET, before.ledgers.database)
    after = replace(releaser(version, free), ledgers=ledgers)
    found = after.release(ask(version, "a,b,g0"))
    assert found.provenance.table == "a,b,c,g0"
    assert (
        found.table.values.tolist() == before.release(ask(version, "a,b,g0")).table.values.tolist()
    )
