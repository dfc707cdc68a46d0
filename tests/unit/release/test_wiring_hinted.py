"""Hints and totals: checked by the rules, and written down."""

from __future__ import annotations

import pytest

from discreet.errors import QueryRefused
from discreet.population import Version
from populations import ask
from wirings import (
    KEYS,
    LENIENT,
    is_released,
    policy,
    public,
    releaser,
    tier,
)


def test_hints_are_checked_by_the_rules_of_their_tier(version: Version) -> None:
    """Halves are a way out that one tier is refused; the other tier is the first of the policy."""
    coarse = {"counts": LENIENT | {"minimum_population": 5_000}}
    halves = {"question": {"levels_refused": ["a_half", "b_half", "c_half"]}}
    rules = policy(
        public=tier(KEYS, **coarse), licensed=tier(KEYS, public=False, **coarse, **halves)
    )
    found = {}
    for name in ("public", "licensed"):
        with pytest.raises(QueryRefused) as refusal:
            releaser(version, rules).release(ask(version, "a,b,c"), tier=name)
        found[name] = [hint.question.by for hint in refusal.value.hints]
    assert any("half" in by for by in found["public"])
    assert found["licensed"]
    assert not any("half" in by for by in found["licensed"])
    assert not releaser(version, public()).release(ask(version, "a,b,c")).hints  # nothing missing


def test_hints_are_asked_of_the_rules_and_keep_the_filters(version: Version) -> None:
    """Of its own tier: fewer variables would pass here, but for a level that is refused."""
    question = ask(version, "a,b,c", "g1=g11")
    refusing = {"counts": LENIENT | {"minimum_population": 5_000}}
    strict = {"question": {"levels_refused": ["b", "b_half"]}}
    rules = policy(public=tier(KEYS, **refusing), licensed=tier(KEYS, public=False, **refusing))
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, rules).release(question)
    hints = refusal.value.hints
    assert hints
    for hint in hints:
        dropped = "filter" in hint.text
        assert (hint.question.where == "g1=g11") != dropped, hint.text
    rules = policy(
        public=tier(KEYS, **refusing),
        licensed=tier(KEYS, public=False, **refusing, question={"max_cells": 12}),
    )
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, rules).release(ask(version, "a,b", "g0=g01"), tier="licensed")
    assert all(hint.question.cells <= 12 for hint in refusal.value.hints)
    forbidden = policy(public=tier(KEYS, **refusing, **strict))
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, forbidden).release(ask(version, "a,c", "g0=g01"))
    assert not any("b" in hint.question.by.split(",") for hint in refusal.value.hints)


def test_totals_that_are_published_are_written_down(version: Version) -> None:
    rules = public(KEYS | {"margins": "protected"})
    answers = releaser(version, rules)
    answers.release(ask(version, "a,b"), "protected")
    ledger = answers.ledgers.of(rules.default_tier)
    assert {entry.route.asked.name for entry in ledger.entries()} == {"a,b", "a", "b", "everybody"}


def test_what_was_refused_is_not_hinted_at(version: Version) -> None:
    """A table that was made and refused is no way out.

    4,000 people in 60 cells have 67 in each. With `a` halved, of three categories two are joined
    and one is left as it was; with `b` halved, of four, every cell has 133.
    """
    rules = public(counts=LENIENT | {"small": 100, "max_small": 0.1})
    answers = releaser(version, rules)
    with pytest.raises(QueryRefused) as first:
        answers.release(ask(version, "a,b,c"))
    refused = [h for h in first.value.hints if not is_released(answers, h.question)]
    assert {h.question.by for h in refused} == {"a_half,b,c", "a,b,c_half"}
    with pytest.raises(QueryRefused) as again:
        answers.release(ask(version, "a,b,c"))
    asked = {hint.question.canonical for hint in again.value.hints}
    assert asked.isdisjoint(h.question.canonical for h in refused)
    assert "a,b_half,c" in {hint.question.by for hint in again.value.hints}
