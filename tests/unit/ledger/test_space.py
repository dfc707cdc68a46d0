"""Which classes are guarded."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import QueryRefused
from discreet.ledger import Space, public_population
from discreet.policy import SpaceRules
from discreet.population import Level, Schema, Variable
from discreet.query import QuestionClass
from ledgers import COARSEST, SCHEMA, of, space


@pytest.mark.parametrize(
    ("population", "name", "guarded"),
    [
        (1_600, "sex,age", False),  # 1,600 people in 16 cells are 100 in each
        (1_599, "sex,age", True),
        (1_599, "sex,band", False),
        (99, "everybody", True),
        (100, "everybody", False),
    ],
)
def test_a_class_is_guarded_below_a_number_of_people_in_a_cell(
    population: int, name: str, guarded: bool
) -> None:
    made = Space(SCHEMA, population, SpaceRules(guard_below=100))
    assert made.guarded(of(name)) == guarded


def test_nothing_is_guarded_without_a_guard() -> None:
    made = Space(SCHEMA, 1, SpaceRules(guard_below=0))
    finest = of("sex,age,oa")
    assert not made.guarded(finest)
    assert made.guarded_below(finest) == made.edge(finest) == ()


def test_the_guarded_classes_below_one() -> None:
    # Of sex × age × la those with more than 10 cells: itself 2·8·2, and three of 16.
    names = {c.name for c in space().guarded_below(of("sex,age,la"))}
    assert names == {"sex,age,la", "sex,age", "age,la", "sex,band,la"}


def test_the_coarsest_guarded_classes_below_one() -> None:
    made = space()
    assert {c.name for c in made.edge(of("sex,age,oa"))} == COARSEST
    assert made.edge(of("sex,band")) == ()  # 8 cells


@pytest.mark.parametrize("population", [10, 100, 700, 1_000, 1_599, 1_600, 5_000])
def test_both_agree_with_the_definition(population: int) -> None:
    made = Space(SCHEMA, population, SpaceRules(guard_below=100))
    for c in of("sex,age,oa").below():
        guarded = {d for d in c.below() if made.guarded(d)}
        assert set(made.guarded_below(c)) == guarded
        coarsest = {d for d in guarded if not any(d.covers(e) for e in guarded - {d})}
        assert set(made.edge(c)) == coarsest


def test_a_class_that_covers_too_many_is_refused_at_once() -> None:
    # 40 variables of two categories: 2 to the 40th classes.
    variables = tuple(
        Variable(f"v{i}", f"V{i}", (Level(f"v{i}", "V", ("0", "1"), ("a", "b"), np.arange(2)),))
        for i in range(40)
    )
    many = Schema("many", "Many", "people", variables)
    made = Space(many, 1_000, SpaceRules())
    with pytest.raises(QueryRefused, match="too large to be made"):
        made.edge(QuestionClass(many, (1,) * 40))


@pytest.mark.parametrize(
    ("rows", "rounded"),
    [(0, 0), (7, 7), (99, 99), (104, 100), (12_345, 12_000), (59_720_000, 60_000_000)],
)
def test_the_population_is_rounded_to_two_digits(rows: int, rounded: int) -> None:
    assert public_population(SpaceRules(), rows) == rounded


def test_the_population_is_as_published_if_the_policy_says_so() -> None:
    assert public_population(SpaceRules(population=1_234), 99) == 1_234
