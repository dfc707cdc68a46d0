"""Every statement true: what goes with a table is held against its true counts.

A walk over every method that a policy can name. Whatever is said of a release (notes, quality,
ranges, the record, the policy in sentences) must hold of the figures that came out.
"""

from __future__ import annotations

import re
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import utility
from discreet.errors import ParameterError, QueryRefused
from discreet.policy import (
    PRESETS,
    CountRules,
    Gate,
    Margins,
    Policy,
    Tier,
    explain,
    parse_policy,
)
from discreet.policy.read import policy_values
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.protect.base import Multiplier
from discreet.protect.registry import METHODS
from discreet.query import Question, QuestionClass
from discreet.release import Release, Releaser
from discreet.release.text import meta
from discreet.risk.public import WIDEST_SCORE
from discreet.tabulate import ScanEngine
from populations import ask, make_version

SECRET = Secret(bytes(32))
LENIENT = {rule.name: 1 for rule in fields(CountRules) if rule.name.startswith("max_")} | {
    "minimum_population": 1,
    "minimum_mean": 0,
}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "random-rounding": [{}, {"base": 10}],
    "conventional-rounding": [{}, {"base": 10}],
    "small-cell-adjustment": [{}, {"base": 20}],
    "semi-controlled-rounding": [{}, {"base": 5, "axis": 1}, {"form": "paper"}],
    "controlled-rounding": [{}, {"base": 5}],
    "small-count-rounding": [{"base": 10}],
    "count-adjustment": [{"smallest_safe": 5}],
    "stochastic-perturbation": [{}, {"exact": True}, {"invariant": True}],
    "cell-key-perturbation": [{}, {"bound": 5, "variance": 3, "forbid": [1, 2]}],
    "sampling": [{"fraction": 0.25}],
    "same-margins": [{}, {"order": 2, "steps": 5}],
}
QUESTIONS = [("a", None), ("b,a", None), ("a,b,c", None), ("g1,a", None), ("a,c", "g1=g11")]


@pytest.fixture(scope="module")
def large() -> Version:
    """Enough people for the rules on counts of every preset."""
    made = make_version(np.random.default_rng(3), 4000, [3, 4, 5], [12, 3])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    return made


@pytest.fixture(scope="module")
def version() -> Version:
    """Small counts in most tables, so that every method has something to change."""
    made = make_version(np.random.default_rng(3), 450, [3, 4, 5], [12, 3])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    return made


def policy(
    method: str, options: dict[str, Any], public: bool, margins: str, published: bool,
    gate: str = "public",
) -> Policy:  # fmt: skip
    """A policy of one tier; what a method must be told to have is told."""
    protection = {
        "method": method, "options": options, "margins": margins, "published": published,
    }  # fmt: skip
    risk = {"maximum": 1, "gate": gate}
    if method == "same-margins":
        risk["multiplier"] = 1
    tier = {"public": public, "counts": LENIENT, "protection": protection, "risk": risk,
            "space": {"looks": 1_000, "office_looks": 1_000}}  # fmt: skip
    return parse_policy({"version": "t", "tiers": {"one": tier}}, "policy", "policy")


CASES = [
    (method, options, public, margins, published, gate)
    for method, choices in OPTIONS.items()
    for options, public, margins, published, gate in product(
        choices, (True, False), ("none", "protected", "summed"), (True, False), Gate
    )
]


def allowed(case: tuple[Any, ...]) -> Policy | None:
    try:
        return policy(*case)
    except ParameterError:
        return None


def with_totals(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    for axis in range(counts.ndim):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    return counts


def true_counts(version: Version, by: str, where: str | None) -> NDArray[np.int64]:
    question = ask(version, by, where)
    return np.asarray(ScanEngine(version).tabulate(question).dense().counts, np.int64)


def test_the_walk_goes_to_every_method() -> None:
    assert set(OPTIONS) == set(METHODS)
    released = {case[0] for case in CASES if allowed(case) is not None}
    assert released == set(METHODS)
    public = {case[0] for case in CASES if case[2] and allowed(case) is not None}
    assert public == {
        "random-rounding", "conventional-rounding", "small-cell-adjustment",
        "stochastic-perturbation", "cell-key-perturbation",
    }  # fmt: skip


@pytest.mark.parametrize("method", OPTIONS)
def test_what_is_said_is_true(version: Version, method: str) -> None:
    seen = 0
    for case in (case for case in CASES if case[0] == method):
        rules = allowed(case)
        if rules is None:
            continue
        tier = rules.tier("one")
        answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
        for by, where in QUESTIONS:
            totals = tier.protection.margins
            for asked in {Margins.NONE, totals}:
                try:
                    release = answers.release(ask(version, by, where), asked.value)
                except QueryRefused as refusal:
                    _refusal_was_announced(refusal, rules, ask(version, by, where))
                    continue
                seen += 1
                _hold(release, true_counts(version, by, where), rules, asked)
                _record_holds(release, version, rules.tier("one"), explain(rules))
    assert seen >= 8


def _refusal_was_announced(refusal: QueryRefused, rules: Policy, question: Question) -> None:
    """Nothing but the number of variables may stand in the way, and the policy says so."""
    number = len(QuestionClass.of(question).levels)
    line = next(line for line in explain(rules).splitlines() if f"({refusal.code})" in line)
    assert refusal.code in ("NO_METHOD", "NOT_MEASURED")
    assert re.search(rf"Tables of [\d, or]*\b{number}\b[\d, or]* variable", line)


def _hold(release: Release, true: NDArray[np.int64], rules: Policy, totals: Margins) -> None:
    inner = release.table.values[release.table.inner]
    assert inner.shape == true.shape
    assert not release.table.withheld.any()
    _quality_holds(release, inner, true)
    _ranges_hold(release, true, totals)
    _notes_hold(release, inner, true, totals)
    _policy_holds(explain(rules), release, true, totals)


def _policy_holds(said: str, release: Release, true: NDArray[np.int64], totals: Margins) -> None:
    inner = release.table.values[release.table.inner]
    most = re.search(r"changes no figure by more than (\d+)", said)
    assert most is None or np.abs(inner - true).max() <= int(most[1])
    assert release.protection is not None
    if totals is Margins.SUMMED:
        _sums_hold(said, release, with_totals(true))
    if "larger ones are" in said:
        larger = true > int(re.findall(r"figures from 1 to (\d+)", said)[-1])
        assert np.array_equal(inner[larger], true[larger])
    method = release.protection.build
    assert method is not None
    assert not method.caution or method.caution[1:] in said
    assert not re.search(r"\b1 (to 1|people|variables)\b|or 4 or", said)


def _quality_holds(release: Release, inner: NDArray[np.int64], true: NDArray[np.int64]) -> None:
    quality, said = release.public_quality, " ".join(release.public_quality.sentences)
    if not quality.altered or "not altered" in said:
        assert np.array_equal(inner, true)
    moved = int(np.abs(inner - true).max())
    bound = re.search(r"off by up to (\d+)", said)
    assert (bound is None) == (not quality.largest_change)
    low, high, cells = release.table.low, release.table.high, release.table.inner
    if "Each figure may be off" in said and low is not None and high is not None:
        assert (low[cells] < high[cells]).all()
    if bound is not None:
        assert moved <= int(bound[1]) == quality.largest_change
    for estimate, filed in (
        (quality.score, quality.as_dict()["score"]),
        (quality.unchanged, quality.as_dict()["unchanged"]),
    ):
        if estimate is not None:
            assert filed["low"] <= estimate.low <= estimate.high <= filed["high"]
            assert filed["low"] <= filed["value"] <= filed["high"]
            assert (filed["value"] == 1) == (estimate.value == 1)
    if quality.score is not None:
        exact = utility.score(true, inner)
        assert "is 1.00" not in said or exact == 1
        assert quality.score.width > 0 or quality.score.value == exact
        # A score whose interval is wider than this is not told.
        assert abs(quality.score.value - exact) <= WIDEST_SCORE
    if quality.unchanged is not None and quality.unchanged.width == 0:
        assert quality.unchanged.value == (inner == true).mean()


def _ranges_hold(release: Release, true: NDArray[np.int64], totals: Margins) -> None:
    low, high = release.table.low, release.table.high
    assert release.protection is not None
    if low is None or high is None:
        return
    assert release.protection.published
    if "Figures are perturbed" in " ".join(release.notes):
        assert (low < high).any()
    counts = true if totals is Margins.NONE else with_totals(true)
    assert (low <= counts).all()
    assert (counts <= high).all()


def _notes_hold(
    release: Release, inner: NDArray[np.int64], true: NDArray[np.int64], totals: Margins
) -> None:
    said, filed = " ".join(release.notes), " ".join(meta(release)["notes"])
    values = release.table.values
    assert ("published total" in filed) <= (totals is not Margins.NONE)
    if "Figures of this table are as they were counted" in said:
        assert np.array_equal(values, true if totals is Margins.NONE else with_totals(true))
        assert "perturbed and need not add up" not in filed
        return
    assert "Figures are perturbed" in said
    assert ("Totals are sums" in said) == (totals is Margins.SUMMED)
    if totals is Margins.SUMMED:
        assert np.array_equal(values, with_totals(inner))
        _sums_hold(said, release, with_totals(true))
    assert "do not add up" not in said
    sample = re.search(r"a share of ([\d.]+) of the records", said)
    if sample is not None:
        # The mean of many binomial figures: within five standard deviations of the share.
        share, people = float(sample[1]), int(true.sum())
        got = int(inner.sum()) / people
        assert abs(got - share) <= 5 * np.sqrt(share * (1 - share) / people)


def _sums_hold(said: str, release: Release, true: NDArray[np.int64]) -> None:
    off = np.abs(release.table.values - true)
    off[release.table.inner] = 0
    if "the method leaves them as they were counted" in said:
        assert not off.any()
    less = re.search(r"and the method changes them by less than (\d+)", said)
    assert less is None or off.max() < int(less[1])
    assert release.protection is not None
    if release.protection.method == "controlled-rounding":
        assert "further off" not in said
        assert "noise adds up" not in said
    elif release.protection.method == "same-margins" and not off.any():
        # In two dimensions either order keeps both margins, and with them the total.
        assert "further off than they." not in said
        assert "noise adds up too." not in said


def test_figures_that_the_method_leaves_alone_are_said_to_be_exact(version: Version) -> None:
    # 450 people in 3 categories: no count is near 20, and nothing is changed.
    true = true_counts(version, "a", None)
    assert true.min() > 20
    for method in ("small-cell-adjustment", "small-count-rounding"):
        rules = policy(method, {"base": 20}, False, "summed", True)
        release = Releaser.alone(version, ScanEngine(version), rules, SECRET, None).release(
            ask(version, "a"), "summed"
        )
        assert release.public_quality.sentences == ("Figures are not altered.",)
        assert release.public_quality.largest_change == 0
        assert release.notes[0].startswith("Figures of this table are as they were counted.")


def _record_holds(release: Release, version: Version, tier: Tier, said: str) -> None:
    """The record is of the complete table that the figures are taken from."""
    record = release.record
    assert record is not None
    true = true_counts(version, release.provenance.table, None)
    assert record.method == tier.protection.method
    assert f"protected by {record.method}" in " ".join(said.split())
    assert record.gate == tier.risk.gate
    exact = "measured exactly" in said
    assert exact == (record.gate == "transition")
    _multiplier_is_explained(record.multiplier, tier.multiplier(true.ndim), said)
    chances = tier.protection.effect(true.ndim).chances
    assert (record.risk_after is not None) == (chances is not None)
    assert not (exact and record.risk_after is None)
    assert record.risk_before is not None
    if record.risk_after is not None:
        assert record.risk_after <= record.risk_before + 1e-12
        if record.utility["average_absolute"] == 0:
            assert record.risk_after == record.risk_before


def _multiplier_is_explained(used: float | None, stated: Multiplier | None, said: str) -> None:
    """The multiplier of the gate is the one of the policy in sentences."""
    assert used is not None
    assert stated is not None
    assert min(stated.small, stated.large) <= used <= max(stated.small, stated.large)
    told = next(line for line in said.splitlines() if "multiplier of its entropy term" in line)
    for value in (stated.small, stated.large):
        assert re.search(rf"\b{value:.2g}\b", told)


def preset(name: str, **more: Any) -> Policy:
    return parse_policy(policy_values(f"preset:{name}", Path()) | more, name, name)


@pytest.fixture(scope="module")
def city() -> Version:
    """Small areas and many categories: questions of all kinds, most of them too fine."""
    made = make_version(np.random.default_rng(8), 4000, [4, 6, 9], [40, 8, 3])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    # Or the preset with swapping answers nothing.
    made.manifest["protected_beforehand"] = ["record-swapping"]
    return made


# Those that are left out need a store that was protected beforehand: the next test.
@pytest.mark.parametrize(
    "name", [n for n in PRESETS if n not in ("swapping-and-light-keys", "protected-base")]
)
@pytest.mark.parametrize("order", ["g1,a", "a,g1", "a, g1"])
def test_official_figures_are_as_counted_and_said_to_be(
    large: Version, name: str, order: str
) -> None:
    rules = preset(name, benchmark_totals=[order])
    answers = Releaser.alone(large, ScanEngine(large), rules, SECRET, None)
    true = true_counts(large, "g1,a", None)
    for tier in rules.tiers.values():
        for totals in {"none", tier.protection.margins.value}:
            release = answers.release(ask(large, "g1,a"), totals, tier.id)
            wanted = true if totals == "none" else with_totals(true)
            assert np.array_equal(release.table.values, wanted)
            assert release.table.low is None
            assert release.notes == ()
            quality = release.public_quality
            assert quality.sentences == ("Figures are not altered.",)
            assert quality.largest_change in (0, None)
            record = release.record
            assert record is not None
            assert (record.method, record.gate, record.multiplier) == ("none", "none", 1)
            assert record.risk_after == record.risk_before
            assert record.utility["score"] == 1
    said = " ".join(explain(rules).split())
    assert f"Tables by {order} alone, and parts of them, are official figures" in said


def test_official_figures_of_altered_records_are_not_said_to_be_true(city: Version) -> None:
    rules = preset("swapping-and-light-keys", benchmark_totals=["g2"])
    release = Releaser.alone(city, ScanEngine(city), rules, SECRET, None).release(ask(city, "g2"))
    assert np.array_equal(release.table.values, true_counts(city, "g2", None))
    quality = release.public_quality
    assert quality.altered
    assert (quality.score, quality.unchanged, quality.largest_change) == (None, None, None)
    assert quality.sentences[0] == (
        "Figures are counts of the altered records, and were not altered further."
    )
    assert release.notes[0].startswith("Records were altered before any table was made")
    assert "need not add up" not in " ".join(meta(release)["notes"])


def test_a_total_of_official_figures_does_not_give_a_withheld_area_away(version: Version) -> None:
    strict = LENIENT | {"minimum_population": 37}
    tier = {"counts": strict, "risk": {"maximum": 1}}
    rules = parse_policy(
        {"version": "t", "benchmark_totals": ["g0"], "tiers": {"public": tier}}, "p", "p"
    )
    answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    table = answers.release(ask(version, "g0"), "protected").table
    assert table.withheld[:-1].any()
    assert table.withheld[-1]


def test_figures_of_altered_records_have_no_range_and_no_quality(city: Version) -> None:
    protection = {"method": "random-rounding", "published": True, "place": "both"}
    tier = {"counts": LENIENT, "protection": protection, "risk": {"maximum": 1}}
    rules = parse_policy({"version": "t", "tiers": {"public": tier}}, "p", "p")
    release = Releaser.alone(city, ScanEngine(city), rules, SECRET, None).release(ask(city, "a,b"))
    assert release.table.low is None
    assert release.public_quality.score is None
    assert release.public_quality.largest_change is None
    assert "How close they are cannot be said." in release.public_quality.sentences


def test_a_withheld_figure_has_no_range(version: Version) -> None:
    protection = {"method": "random-rounding", "published": True}
    tier = {
        "counts": LENIENT | {"minimum_population": 37}, "protection": protection,
        "risk": {"maximum": 1},
    }  # fmt: skip
    rules = parse_policy({"version": "t", "tiers": {"public": tier}}, "p", "p")
    answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    told = answers.release(ask(version, "g0"))
    answer = told.as_dict()
    gone = [value is None for value in answer["values"]]
    assert any(gone)
    assert gone == [low is None for low in answer["low"]]
    assert gone == [high is None for high in answer["high"]]


def test_a_table_in_which_nothing_changed_keeps_its_risk(version: Version) -> None:
    # Small cells only are adjusted, and the table has none: every count is 20 or more.
    rules = policy("small-cell-adjustment", {"base": 3}, True, "none", True)
    true = true_counts(version, "a,b", None)
    assert true.min() > 6
    answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    record = answers.release(ask(version, "a,b")).record
    assert record is not None
    assert record.multiplier == 1
    assert record.risk_after == record.risk_before
    assert record.risk_public == pytest.approx(record.risk_before)


def test_the_policy_may_state_the_multiplier(version: Version) -> None:
    tier = {"counts": LENIENT, "risk": {"maximum": 1, "multiplier": 0.5}}
    rules = parse_policy({"version": "t", "tiers": {"public": tier}}, "p", "p")
    record = (
        Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
        .release(ask(version, "a,b"))
        .record
    )
    assert record is not None
    assert record.multiplier == 0.5
    said = " ".join(explain(rules).split())
    assert "multiplier of its entropy term is 0.5, stated by the policy" in said
    assert "the method's own: 0.33" in said
