"""Areas that are withheld, with their complements and the totals over them."""

from __future__ import annotations

import pytest

from discreet.errors import QueryRefused
from discreet.ledger import Status
from discreet.policy import Policy
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.query import QuestionClass
from discreet.risk import public_gate
from populations import ask
from wirings import (
    LENIENT,
    ROUNDED,
    country,
    public,
    releaser,
)

COUNTRY = [[200, 200, 20, 180], [200, 190, 150], [160, 170, 210]]


# 20 people are too few for 100; in their region the area with the fewest left has 180.


def withheld(version: Version, rules: Policy) -> list[str]:
    release = releaser(version, rules).release(ask(version, "g0,a"))
    return [area.code for area in release.withheld]


def test_a_withheld_area_has_a_complement_in_its_own_region() -> None:
    """The region less the others would give it away; areas of other regions do not help."""
    rules = public(ROUNDED, counts=LENIENT | {"minimum_population": 100})
    assert withheld(country(COUNTRY), rules) == ["g02", "g03"]
    # The ledger knows that its sums would lack a part.
    answers = releaser(country(COUNTRY), rules)
    answers.release(ask(answers.version, "g0,a"))
    route = answers.ledgers.of(rules.default_tier).route(
        QuestionClass.of(ask(answers.version, "g0,a"))
    )
    assert route is not None
    assert route.status is Status.PARTIAL


def test_rules_of_a_level_are_used_for_its_areas() -> None:
    stricter = LENIENT | {"levels": {"g0": {"minimum_population": 100}}}
    rules = public(ROUNDED, counts=stricter)
    assert withheld(country(COUNTRY), rules) == ["g02", "g03"]
    assert withheld(country(COUNTRY), public(ROUNDED)) == []


def test_a_summed_total_over_a_withheld_area_is_withheld() -> None:
    """Else the total less the areas that are shown is the sum of those that are not."""
    rules = public(ROUNDED | {"margins": "summed"}, counts=LENIENT | {"minimum_population": 100})
    table = releaser(country(COUNTRY), rules).release(ask(country(COUNTRY), "g0,a"), "summed").table
    assert table.withheld[-1].all()
    assert not table.values[-1].any()
    assert not table.withheld[0].any()


def test_a_total_whose_own_table_lacks_an_area_is_the_sum_beside_it() -> None:
    """The area has about 100 people: its own figure may be 99 where its parts sum to 102."""
    rules = public(ROUNDED | {"margins": "protected"}, counts=LENIENT | {"minimum_population": 100})
    for secret in (Secret(bytes([i]) * 32) for i in range(60)):
        version = country([[200, 200, 100, 100], [200, 190, 150]])
        answers = releaser(version, rules, secret)
        alone = answers.release(ask(version, "g0")).withheld
        if alone and not answers.release(ask(version, "g0,a")).withheld:
            table = answers.release(ask(version, "g0,a"), "protected").table
            assert not table.withheld.any()
            assert table.values[2, -1] == table.values[2, :-1].sum()
            return
    pytest.fail("none of 60 secrets made a case to test")


def test_nothing_is_behind_a_withheld_figure() -> None:
    rules = public(ROUNDED | {"published": True}, counts=LENIENT | {"minimum_population": 100})
    table = releaser(country(COUNTRY), rules).release(ask(country(COUNTRY), "g0,a")).table
    assert table.withheld[2:4].all()
    assert table.low is not None
    assert table.high is not None
    for array in (table.values, table.low, table.high):
        assert not array[table.withheld].any()
        assert array[~table.withheld].all()


def test_the_bound_is_of_the_areas_that_are_released() -> None:
    """What is withheld is no part of what a reader sees, nor of what it is judged by."""
    rules = public(ROUNDED, counts=LENIENT | {"minimum_population": 100})
    release = releaser(country(COUNTRY), rules).release(ask(country(COUNTRY), "g0,a"))
    shown = release.table.values[~release.table.withheld].reshape(-1, 2)
    assert len(shown) == 8
    assert release.record is not None
    assert release.record.risk_public == pytest.approx(float(public_gate(shown, 1 / 3)))
    assert release.public_quality.cells == shown.size


def test_a_table_without_an_area_left_is_refused() -> None:
    version = country([[20, 30], [25, 20]])
    rules = public(ROUNDED, counts=LENIENT | {"minimum_population": 100})
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, rules).release(ask(version, "g0,a"))
    assert refusal.value.code == "NOT_AVAILABLE"
    assert refusal.value.record.verdict == "MIN_POPULATION"
    assert len(refusal.value.record.withheld) == 4
