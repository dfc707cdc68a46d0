"""Every statement true: what goes with a table is held against its true counts.

A walk over every method that a policy can name. Whatever is said of a release (notes, quality,
ranges, the record, the policy in sentences) must hold of the figures that came out.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import utility
from discreet.errors import ParameterError, QueryRefused
from discreet.policy import PRESETS, Gate, Margins, Policy, Tier, explain, parse_policy
from discreet.policy.read import policy_values
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.protect.named import METHODS
from discreet.query import Query
from discreet.release import Release, Releaser
from discreet.release.protection import with_totals
from discreet.risk.public import WIDEST_SCORE
from discreet.tabulate import ScanEngine
from populations import make_version

SECRET = Secret(bytes(32))
LENIENT = {
    "minimum_population": 1, "minimum_mean": 0, "max_small": 1, "max_ones_of_populated": 1,
    "max_small_of_populated": 1, "max_single_slices": 1,
}  # fmt: skip
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "random-rounding": [{}, {"base": 10}],
    "small-cell-adjustment": [{}, {"base": 20}],
    "semi-controlled-rounding": [{}, {"base": 5, "axis": 1}, {"form": "paper"}],
    "controlled-rounding": [{}, {"base": 5}],
    "small-count-rounding": [{"base": 10}],
    "count-adjustment": [{"smallest_safe": 5}],
    "stochastic-perturbation": [{}, {"exact": True}],
    "cell-key-perturbation": [{}, {"bound": 5, "variance": 3, "forbid": [1, 2]}],
    "sampling": [{"fraction": 0.25}],
    "same-margins": [{}, {"order": 2, "steps": 5}],
}
QUESTIONS = [("a", None), ("b,a", None), ("a,b,c", None), ("g1,a", None), ("a,c", "g1=g11")]


@pytest.fixture(scope="module")
def version() -> Version:
    made = make_version(np.random.default_rng(3), 1500, [3, 4, 5], [12, 3])
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
    tier = {"public": public, "counts": LENIENT, "protection": protection, "risk": risk}
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


def true_counts(version: Version, by: str, where: str | None) -> NDArray[np.int64]:
    from discreet.query import Question

    question = Question.of(Query.parse(by, where), version.schema)
    return np.asarray(ScanEngine(version).tabulate(question).dense().counts, np.int64)


def test_the_walk_goes_to_every_method() -> None:
    assert set(OPTIONS) == set(METHODS)
    released = {case[0] for case in CASES if allowed(case) is not None}
    assert released == set(METHODS)
    public = {case[0] for case in CASES if case[2] and allowed(case) is not None}
    assert public == {
        "random-rounding", "small-cell-adjustment", "stochastic-perturbation",
        "cell-key-perturbation",
    }  # fmt: skip


@pytest.mark.parametrize("method", OPTIONS)
def test_what_is_said_is_true(version: Version, method: str) -> None:
    seen = 0
    for case in (case for case in CASES if case[0] == method):
        rules = allowed(case)
        if rules is None:
            continue
        tier = rules.tier("one")
        answers = Releaser(version, ScanEngine(version), rules, SECRET, None)
        for by, where in QUESTIONS:
            totals = tier.protection.margins
            for asked in {Margins.NONE, totals}:
                try:
                    release = answers.release(Query.parse(by, where), asked.value)
                except QueryRefused as refusal:
                    _refusal_was_announced(refusal, rules, by)
                    continue
                seen += 1
                _hold(release, true_counts(version, by, where), rules, asked)
    assert seen >= 8


def _refusal_was_announced(refusal: QueryRefused, rules: Policy, by: str) -> None:
    """Nothing but the number of variables may stand in the way, and the policy says so."""
    number = by.count(",") + 1
    line = next(line for line in explain(rules).splitlines() if f"({refusal.code})" in line)
    assert refusal.code in ("NO_METHOD", "NOT_MEASURED")
    assert re.search(rf"Tables of [\d or ]*\b{number}\b[\d or ]* variable", line)


def _hold(
    release: Release, true: NDArray[np.int64], rules: Policy, totals: Margins
) -> None:
    inner = release.table.values[release.table.inner]
    assert inner.shape == true.shape
    assert not release.table.withheld.any()
    _quality_holds(release, inner, true)
    _ranges_hold(release, true, totals)
    _notes_hold(release, inner, totals)
    _record_holds(release, inner, true, rules.tier("one"), explain(rules))


def _quality_holds(
    release: Release, inner: NDArray[np.int64], true: NDArray[np.int64]
) -> None:
    quality, said = release.public_quality, " ".join(release.public_quality.sentences)
    if not quality.altered or "not altered" in said:
        assert np.array_equal(inner, true)
    moved = int(np.abs(inner - true).max())
    bound = re.search(r"off by up to (\d+)", said)
    assert (bound is None) == (quality.largest_change is None)
    if bound is not None:
        assert moved <= int(bound[1]) == quality.largest_change
    if quality.score is not None:
        exact = utility.score(true, inner)
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
    counts = true if totals is Margins.NONE else with_totals(true)
    assert (low <= counts).all()
    assert (counts <= high).all()


def _notes_hold(release: Release, inner: NDArray[np.int64], totals: Margins) -> None:
    said = " ".join(release.notes)
    values = release.table.values
    assert "Figures are perturbed" in said
    assert ("Totals are sums" in said) == (totals is Margins.SUMMED)
    if totals is Margins.SUMMED:
        assert np.array_equal(values, with_totals(inner))
    assert "do not add up" not in said
    sample = re.search(r"a share of ([\d.]+) of the records", said)
    if sample is not None:
        # The mean of many binomial figures: within five standard deviations of the share.
        people = true_total(release)
        share, got = float(sample[1]), int(inner.sum()) / people
        assert abs(got - share) <= 5 * np.sqrt(share * (1 - share) / people)


def true_total(release: Release) -> int:
    return 1500 if not release.filters else 600


def _record_holds(
    release: Release, inner: NDArray[np.int64], true: NDArray[np.int64], tier: Tier, said: str
) -> None:
    record = release.record
    assert record is not None
    assert record.method == tier.protection.method
    assert f"protected by {record.method}" in " ".join(said.split())
    assert record.gate == tier.risk.gate
    exact = "measured exactly" in said
    assert exact == (record.gate == "transition")
    assert record.multiplier is not None
    chances = tier.protection.effect(true.ndim).chances
    assert (record.risk_after is not None) == (chances is not None)
    assert not (exact and record.risk_after is None)
    assert record.risk_before is not None
    if record.risk_after is not None:
        assert record.risk_after <= record.risk_before + 1e-12
        if np.array_equal(inner, true):
            assert record.risk_after == record.risk_before
