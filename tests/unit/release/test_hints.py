"""Change one thing and get the table: every hint leads to one, the best first."""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import QueryRefused
from discreet.policy import PRESETS, CountRules, Policy, parse_policy
from discreet.policy.read import policy_values
from discreet.population import Schema, Variable, Version
from discreet.population.keys import Secret
from discreet.release import Hint, Releaser
from discreet.release.hints import newly_shown
from discreet.tabulate import ScanEngine
from populations import ask, level, make_version

SECRET = Secret(bytes(32))
LEVELS = ("a", "b", "c", "g0", "g1")
FILTERS = (None, "g1=g11", "b=b1", "g0=g00|g01|g05|g06", "a=a1,g2=g21")


@pytest.fixture(scope="module")
def city() -> Version:
    made = make_version(np.random.default_rng(8), 4000, [4, 6, 9], [40, 8, 3])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    made.manifest["protected_beforehand"] = True  # or the preset with swapping answers nothing
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
    """The hints of an answer, and whether it was refused on counts."""
    try:
        return answers.release(ask(answers.version, by, where), totals, tier).hints, False
    except QueryRefused as refusal:
        return refusal.hints, True


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "synthetic-only"])
def test_every_hint_leads_to_a_table(city: Version, name: str) -> None:
    rules = parse_policy(policy_values(f"preset:{name}", Path()), name, name)
    answers = Releaser.alone(city, ScanEngine(city), rules, SECRET, None)
    followed = 0
    for tier in rules.tiers.values():
        for by, where in questions():
            for totals in ("none", tier.protection.margins.value):
                hints, refused = hints_of(answers, by, where, totals, tier.id)
                assert len(hints) <= 3
                assert [h.freed for h in hints] == sorted((h.freed for h in hints), reverse=True)
                for hint in hints:
                    assert refused or hint.freed > 0
                    _leads_on(answers, hint, totals, tier.id)
                    followed += 1
    assert followed > 100


def _leads_on(answers: Releaser, hint: Hint, totals: str, tier: str) -> None:
    release = answers.release(ask(answers.version, hint.by, hint.where or None), totals, tier)
    assert hint.areas in (None, release.areas)
    if hint.areas is not None:
        assert hint.available == release.areas - len(release.withheld)
        assert f"({hint.available} of {hint.areas} areas available)" in hint.text


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


def test_the_best_hint_comes_first() -> None:
    """Most areas first; of those that free as many, the finest."""
    version = towns(10)
    rules = _policy({"minimum_population": 60})
    answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    # Wards have about 40 people, towns 80, the county 240. Without `a` a ward has 40 all the same.
    with pytest.raises(QueryRefused) as refusal:
        answers.release(ask(answers.version, "ward,a"))
    hints = refusal.value.hints
    assert [hint.by for hint in hints] == ["town,a", "county,a", "a"]
    # All six wards lie in the areas of the first two; the last shows no areas at all.
    assert [hint.freed for hint in hints] == [6, 6, 0]
    assert [(hint.available, hint.areas) for hint in hints] == [(3, 3), (1, 1), (None, None)]


def test_a_hint_is_not_given_where_it_frees_nothing() -> None:
    """A table with areas withheld has hints only to tables that show more of them."""
    version = towns(30)
    rules = _policy({"minimum_population": 60})
    answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    release = answers.release(ask(answers.version, "ward,a"))
    assert len(release.withheld) == 4
    # To leave out `a` or the wards frees none of the four.
    assert [(hint.by, hint.freed) for hint in release.hints] == [("town,a", 4), ("county,a", 4)]


def test_a_filter_fewer_or_a_larger_area_is_a_hint() -> None:
    """Other filters come first, then larger areas around the one picked, then everywhere."""
    version = towns(10)
    rules = _policy({"minimum_population": 30})
    answers = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    # About 20 people of a0 in a ward. All of the ward are 40, a0 in the town 40, in all 120.
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


def test_areas_are_counted_as_they_were_asked_for(city: Version) -> None:
    """A larger area that is shown shows all the areas asked for that lie in it."""
    schema = city.schema
    fine = ask(city, "g0")
    coarse = ask(city, "g1")
    shown = np.zeros(40, bool)
    shown[:3] = True
    then = np.ones(8, bool)
    then[0] = False
    g0, g1 = schema.find("g0")[1], schema.find("g1")[1]
    inside = g1.of[g0.member] == 0
    # Freed are those outside the one large area that is missing, less those that were shown;
    # those shown before and missing then are lost.
    wanted = int((~inside & ~shown).sum()) - int((shown & inside).sum())
    assert newly_shown(fine, shown, coarse, then) == wanted
    assert newly_shown(fine, shown, ask(city, "a"), None) == 0


def _policy(counts: dict[str, Any]) -> Policy:
    lenient = {rule.name: 1 for rule in fields(CountRules) if rule.name.startswith("max_")}
    lenient["minimum_mean"] = 0
    tier = {"counts": lenient | counts, "risk": {"maximum": 1}}
    return parse_policy({"version": "t", "tiers": {"public": tier}}, "policy", "policy")
