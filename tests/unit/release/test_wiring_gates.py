"""The gate on the risk, what is told, and questions that are refused beforehand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import QueryRefused
from discreet.population import Version
from discreet.query import QuestionClass
from discreet.release import measures
from discreet.release.beforehand import Beforehand, prepared
from populations import ask
from wirings import (
    FREE,
    KEYS,
    LENIENT,
    ROUNDED,
    WHOLE,
    is_released,
    policy,
    public,
    releaser,
    tier,
)


def test_the_gate_by_transition_decides_by_the_true_table(version: Version) -> None:
    """For a licensed tier: refused above the exact measure, though its bound is below it."""
    question = ask(version, "a,b,c")
    licensed = {"gate": "transition", "maximum": 1, "multiplier": 0.9}
    open_rules = policy(licensed=tier(KEYS, public=False, risk=licensed))
    record = releaser(version, open_rules).release(question).record
    assert record is not None
    assert record.gate == "transition"
    assert record.risk_after is not None
    assert record.risk_public is not None
    assert record.risk_after != record.risk_public
    between = (record.risk_after + record.risk_public) / 2
    refused = record.risk_after > record.risk_public
    rules = policy(licensed=tier(KEYS, public=False, risk=licensed | {"maximum": between}))
    if refused:
        with pytest.raises(QueryRefused):
            releaser(version, rules).release(question)
    else:
        assert releaser(version, rules).release(question)
    below = licensed | {"maximum": record.risk_after * (1 - 1e-9)}
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, policy(licensed=tier(KEYS, public=False, risk=below))).release(question)
    assert refusal.value.record.verdict == "RISK"


def test_a_risk_that_cannot_be_measured_is_a_refusal(
    version: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason: here the measure gives no number for a table that it should know."""
    licensed = {"gate": "transition", "maximum": 1, "multiplier": 0.9}
    rules = policy(licensed=tier(KEYS, public=False, risk=licensed))
    monkeypatch.setattr(measures, "risk_after", lambda *_: None)
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, rules).release(ask(version, "a,b,c"))
    assert refusal.value.record.verdict == "NOT_MEASURED"


def test_the_reason_of_a_refusal_is_for_the_custodian_alone(version: Version) -> None:
    for rules, verdict in (
        (public(counts=LENIENT | {"minimum_population": 5_000}), "MIN_POPULATION"),  # of 4,000
        (public(risk={"maximum": 0.0}), "RISK"),
    ):
        with pytest.raises(QueryRefused) as refusal:
            releaser(version, rules).release(ask(version, "a,b,c"))
        assert refusal.value.code == "NOT_AVAILABLE"
        assert refusal.value.record.verdict == verdict


def test_a_refused_table_leaves_no_figures(version: Version) -> None:
    answers = releaser(version, public(risk={"maximum": 0.0}))
    with pytest.raises(QueryRefused):
        answers.release(ask(version, "a,b,c"))
    of = QuestionClass.of(ask(version, "a,b,c"))
    kept = answers._table(answers.policy.default_tier, of, None)
    assert kept.refused
    assert kept.figures.size == 0
    assert kept.withheld is None


# What is told


def test_the_largest_change_is_told_only_where_the_method_is(version: Version) -> None:
    """Of figures, of sums of figures, and where the chances of a method are not known."""
    part = ask(version, "a", "g0=g00|g03")  # sums of two figures each
    for method in (ROUNDED, WHOLE):
        for published in (False, True):
            rules = policy(licensed=tier(method | {"published": published}, public=False))
            answers = releaser(version, rules)
            for question in (ask(version, "a,b"), part):
                told = answers.release(question).public_quality
                assert (told.largest_change is not None) == published, (method, question)
                assert ("up to" in " ".join(told.sentences)) == published
            found = answers.release(part)
            assert found.public_quality.sentences[0].endswith("altered, and added up.")
            assert (found.table.off_at_most is not None) == published
            assert (found.table.low is not None) == published
    unknown = {"method": "controlled-rounding", "options": {"base": 3}, "margins": "none"}
    # Of three variables a figure may move by up to 2·3 − 1, not 2: there may be no nearer rounding.
    for published, change in ((False, None), (True, 5)):
        rules = policy(licensed=tier(unknown | {"published": published}, public=False))
        found = releaser(version, rules).release(ask(version, "a,b,c"))
        assert rules.default_tier.protection.effect(3).transition is None
        assert found.public_quality.largest_change == change


def test_no_range_is_told_of_altered_records(version: Version) -> None:
    altered = replace(
        version, manifest=version.manifest | {"protected_beforehand": ["record-swapping"]}
    )
    rules = public(ROUNDED | {"published": True, "place": "both"})
    release = releaser(altered, rules).release(ask(altered, "a,b"))
    assert release.table.low is None
    assert release.public_quality.largest_change is None
    assert release.public_quality.score is None


# Questions


def test_the_time_to_count_is_estimated_from_the_population(version: Version) -> None:
    """4,000 people and one variable at 100 million a second: 0.04 ms."""
    for seconds, allowed in ((0.000041, True), (0.000039, False)):
        answers = releaser(version, public(space=FREE | {"max_seconds": seconds}))
        assert is_released(answers, ask(version, "a")) == allowed


def test_tables_that_a_method_cannot_protect_or_measure_are_refused(version: Version) -> None:
    """Margins cannot be kept of one variable; of three, the chances of rounding are not known."""
    same = {"method": "same-margins", "margins": "none"}
    rounded = {"method": "controlled-rounding", "options": {"base": 3}, "margins": "none"}
    exact = {"gate": "transition", "maximum": 1}
    for method, risk, by, code in (
        (same, {"maximum": 1, "multiplier": 1}, "a", "NO_METHOD"),
        (rounded, exact, "a,b,c", "NOT_MEASURED"),
    ):
        rules = policy(licensed=tier(method, public=False, risk=risk))
        with pytest.raises(QueryRefused) as refusal:
            releaser(version, rules).check(ask(version, by))
        assert refusal.value.code == code


def test_unguarded_detail_is_of_a_protected_base_alone(version: Version) -> None:
    """Swapped records are not one: without a guard all tables together tell who is who."""
    steps = [{"method": "record-swapping", "rates": {"g0": 0.1}}]
    swapped = replace(
        version, manifest=version.manifest | {"protected_beforehand": ["record-swapping"]}
    )
    swapped.__dict__["steps_beforehand"] = steps
    for guard, allowed in ((50, True), (0, False)):
        rules = public(
            {"method": "none", "place": "input", "margins": "none"}, space={"guard_below": guard}
        )
        assert prepared(swapped, rules, rules.default_tier) == allowed


def test_no_figure_of_a_protected_base_is_certain() -> None:
    """Figures up to 5 were never off in what was measured, larger ones by −3 to 4."""
    found = Beforehand(("protected-base",), (5,), ((0, 0), (-3, 4))).around(np.array([0, 2, 9]))
    assert found is not None
    assert [ends.tolist() for ends in found] == [[0, 1, 6], [1, 3, 13]]


def test_a_swap_and_a_method_take_off_both() -> None:
    """A cell keeps its concentration through both: at a rate of 0.5 half of the entropy term."""
    rules = public(ROUNDED, risk={"maximum": 1, "weights": [0.0, 1.0, 0.0]}).default_tier
    true, released = np.array([[40, 2], [0, 58]]), np.array([[39, 3], [0, 57]])
    alone, both = (measures.risk_after(true, released, rules, rate) for rate in (0.0, 0.5))
    assert alone is not None
    assert both == pytest.approx(alone / 2)
