"""Change one thing: every hint is a coarser question that may be asked."""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import QueryRefused
from discreet.policy import CountRules, Policy, parse_policy
from discreet.policy.read import policy_values
from discreet.population import Schema, Variable, Version
from discreet.population.keys import Secret
from discreet.query import QuestionClass
from discreet.release import Releaser
from discreet.release.hints import alternatives
from discreet.tabulate import ScanEngine
from populations import ask, level, make_version

SECRET = Secret(bytes(32))
LEVELS = ("a", "b", "c", "g0", "g1")
FILTERS = (None, "g1=g11", "b=b1", "g0=g00|g01|g05|g06", "a=a1,g2=g21")


@pytest.fixture(scope="module")
def city() -> Version:
    made = make_version(np.random.default_rng(8), 4000, [4, 6, 9], [40, 8, 3])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    # Or the preset with swapping answers nothing.
    made.manifest["protected_beforehand"] = ["record-swapping"]
    return made


def questions() -> list[tuple[str, str | None]]:
    found = []
    for size in (1, 2, 3, 4):
        for levels in combinations(LEVELS, size):
            if {"g0", "g1"} <= set(levels):
                continue
            found += [(",".join(levels), where) for where in FILTERS]
    return found


def hints_of(answers: Releaser, by: str, where: str | None, totals: str, tier: str) -> Any:
    """The hints of an answer, whether it is a table or a refusal."""
    try:
        return answers.release(ask(answers.version, by, where), totals, tier).hints
    except QueryRefused as refusal:
        return refusal.hints


def test_whatever_is_left_out_the_other_filters_stay(city: Version) -> None:
    """Also in the hints that are so far down the list that few are ever shown them."""
    found = dict(alternatives(ask(city, "a,b,g0", "c=c1")))
    assert len(found) > 5
    for text, other in found.items():
        assert [f.level.id for f in other.filters] == ([] if "filter" in text else ["c"]), text


@pytest.mark.parametrize("name", ["rounding-3", "cell-keys", "swapping-and-light-keys"])
def test_every_hint_may_be_asked(city: Version, name: str) -> None:
    rules = parse_policy(policy_values(f"preset:{name}", Path()), name, name)
    answers = Releaser.alone(city, ScanEngine(city), rules, SECRET, None)
    followed = 0
    for tier in rules.tiers.values():
        for by, where in questions():
            for totals in ("none", tier.protection.margins.value):
                hints = hints_of(answers, by, where, totals, tier.id)
                assert len(hints) <= 3
                for hint in hints:
                    question = ask(city, hint.by, hint.where or None)
                    assert answers.check(question, totals, tier.id)
                    assert QuestionClass.of(ask(city, by, where)).covers(QuestionClass.of(question))
                    followed += 1
    assert followed > 100


def towns(first: int) -> Version:
    """Six wards, two in each of three towns of one county; 2 by 2 cells of 10 people each.

    In the wards of the first town the cells have another number of people.
    """
    ward, a, b = np.indices((6, 2, 2)).reshape(3, -1)
    codes = np.array([a, b], np.uint8)
    counts = np.where(ward < 2, first, 10).astype(np.uint32)
    keys = np.random.default_rng(1).integers(0, 2**32, counts.size).astype(np.uint32)
    none = np.empty((0, counts.size), np.uint16)
    for array in (codes, counts, keys, none):
        array.setflags(write=False)
    geography = Variable(
        "geography",
        "Geography",
        (
            level("ward", 6),
            level("town", 3, np.array([0, 0, 1, 1, 2, 2])),
            level("county", 1, np.zeros(6)),
        ),
    )
    variables = tuple(Variable(name, name.upper(), (level(name, 2),)) for name in "ab")
    schema = Schema("made-up", "A made-up population", "persons", (*variables, geography))
    starts = np.searchsorted(ward, np.arange(7)).astype(np.int64)
    manifest = {"modulus": 2**32, "hypercube": True, "created": "2026-01-05T10:15:00+00:00"}
    return Version(Path("v1"), manifest, schema, codes, none, keys, counts, starts)


def test_hints_do_not_depend_on_what_was_counted() -> None:
    """Two towns of other sizes: the same questions are refused with the same hints."""
    rules = _policy({"minimum_population": 60}, space={"looks": 10})
    found = []
    for first in (1, 10):
        version = towns(first)
        answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
        with pytest.raises(QueryRefused) as refusal:
            answers.release(ask(version, "ward,a"))
        found.append([(hint.text, hint.by, hint.where) for hint in refusal.value.hints])
    assert found[0] == found[1]
    assert [by for _, by, _ in found[0]] == ["town,a", "county,a", "ward"]


def test_a_used_up_question_has_hints_that_are_not() -> None:
    """240 people: wards by a by b are 10 a cell; one table more may show them, and then none."""
    version = towns(10)
    rules = _policy({"minimum_population": 1}, space={"guard_below": 50, "looks": 1})
    answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    answers.release(ask(version, "ward,a"))  # 20 a cell: guarded
    with pytest.raises(QueryRefused) as refusal:
        answers.release(ask(version, "ward,b"))  # guarded too: wards alone are 40 a cell
    assert refusal.value.code == "USED_UP"
    # Towns by b are 40 a cell: one table may show them. Wards are summed from wards by a.
    for hint in refusal.value.hints:
        assert answers.release(ask(version, hint.by, hint.where or None))
    assert [hint.by for hint in refusal.value.hints] == ["town,b", "county,b", "ward"]


def test_a_filter_fewer_or_a_larger_area_is_a_hint() -> None:
    """Other filters come first, then larger areas around the one picked, then everywhere."""
    version = towns(10)
    rules = _policy({"minimum_population": 60}, space={"looks": 10})
    answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    # About 40 people in a ward.
    with pytest.raises(QueryRefused) as refusal:
        answers.release(ask(answers.version, "b", "a=a0,ward=ward0"))
    hints = refusal.value.hints
    assert [(hint.by, hint.where) for hint in hints] == [
        ("b", "ward=ward0"),
        ("b", "a=a0,town=town0"),
        ("b", "a=a0"),
    ]
    assert [hint.text for hint in hints] == [
        "Leave out the filter on A",
        "Count town0 (Town) instead of ward0 (Ward)",
        "Leave out the filter on Ward",
    ]


def test_the_filter_of_areas_that_are_shown_is_no_hint() -> None:
    """Other areas say nothing of those asked for."""
    version = towns(10)
    rules = _policy({"minimum_population": 60})
    answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    with pytest.raises(QueryRefused) as refusal:
        answers.release(ask(answers.version, "ward,a", "town=town1"))
    assert {"ward,a"}.isdisjoint(hint.by for hint in refusal.value.hints)


def _policy(counts: dict[str, Any], **more: Any) -> Policy:
    lenient = {rule.name: 1 for rule in fields(CountRules) if rule.name.startswith("max_")}
    lenient["minimum_mean"] = 0
    tier = {"counts": lenient | counts, "risk": {"maximum": 1}, **more}
    return parse_policy({"version": "t", "tiers": {"public": tier}}, "policy", "policy")
