"""Each rule at its boundary: what is just allowed, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.errors import QueryRefused
from discreet.policy import CountRules, Margins, parse_policy, read_preset
from discreet.population.keys import Secret
from discreet.query import QuestionClass
from discreet.release import Releaser
from discreet.rules import Code, broken_rules, check_detail, check_question, withheld_areas
from discreet.tabulate import ScanEngine
from populations import ask, make_version

VERSION = make_version(np.random.default_rng(1), 10, [2, 3, 5], [6, 2])
LENIENT = CountRules(1, 0.0, 1, 2, 1.0, 1.0, 1.0, 1.0)
NONE, FULL = [0, 0, 0], [3, 3, 3]
PLANES = [[[3, 0, 0], NONE, NONE], [NONE, [0, 3, 0], NONE], [FULL] * 3, [FULL] * 3]


def asked(rules: dict[str, Any], by: str, where: str | None = None) -> str | None:
    policy = parse_policy({"tiers": {"public": {"question": rules}}}, "policy", "policy")
    try:
        check_question(ask(VERSION, by, where), policy.default_tier)
    except QueryRefused as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize(
    ("rules", "by", "where", "code"),
    [
        ({"max_dimensions": 2}, "a,b", None, None),
        ({"max_dimensions": 2}, "a,b,c", None, "MAX_DIMENSIONS"),
        ({"max_cells": 6}, "a,b", None, None),
        ({"max_cells": 5}, "a,b", None, "MAX_CELLS"),
        ({"max_categories": 3}, "b,g0", None, None),  # areas are not counted as categories
        ({"max_categories": 2}, "b", None, "MAX_CATEGORIES"),
        ({"max_categories": 2}, "b", "b=b0|b1", None),
        ({"levels_refused": ["g0"]}, "g1", None, None),
        ({"levels_refused": ["g0"]}, "g0", None, "LEVEL"),
        ({"levels_refused": ["g0"]}, "a", "g0=g01", "LEVEL"),
        ({"max_dimensions": 2}, "a,b", "c=c1", "MAX_DIMENSIONS"),  # filters are variables too
        ({"max_dimensions": 2}, "a,b", "b=b1|b2", None),
        ({"filters_refused": ["b"]}, "b", None, None),
        ({"filters_refused": ["b"]}, "a", "b_half=b_half0", "FILTER"),
        ({"filters_refused": ["geography"]}, "a", "g1=g10", "FILTER"),
    ],
)
def test_rules_on_questions(
    rules: dict[str, Any], by: str, where: str | None, code: str | None
) -> None:
    assert asked(rules, by, where) == code


@pytest.mark.parametrize(
    ("by", "population", "code"),
    [
        # a and b have 2 x 3 cells, of 1.5 people each at least: 9 people are enough for them.
        ("a,b", 9, None),
        ("a,b", 8, "TOO_LARGE"),
        # Six areas and a, by the rule of their level: 12 cells of 2 people.
        ("a,g0", 24, None),
        ("a,g0", 23, "TOO_LARGE"),
    ],
)
def test_a_population_too_small_for_a_table(by: str, population: int, code: str | None) -> None:
    public = {"counts": {"minimum_mean": 1.5, "levels": {"g0": {"minimum_mean": 2.0}}}}
    policy = parse_policy({"tiers": {"public": public}}, "policy", "policy")
    found = None
    try:
        check_detail(QuestionClass.of(ask(VERSION, by, None)), policy.default_tier, population)
    except QueryRefused as refusal:
        found = refusal.code
    assert found == code


@pytest.mark.parametrize(
    ("space", "totals", "people", "code"),
    [
        # Two categories by a filter on one of three: the complete table has 6 cells.
        ({"max_table": 6}, "none", 0, None),
        ({"max_table": 5}, "none", 0, "TOO_LARGE"),
        # Two variables and 100 million people are read in 2 seconds.
        ({"max_seconds": 2.0}, "none", 100_000_000, None),
        ({"max_seconds": 2.0}, "none", 100_000_001, "TOO_LARGE"),
        ({}, "protected", 0, None),
        ({}, "summed", 0, "TOTALS"),
    ],
)
def test_rules_on_complete_tables_and_totals(
    space: dict[str, Any], totals: str, people: int, code: str | None
) -> None:
    tier = parse_policy({"tiers": {"public": {"space": space}}}, "policy", "policy").default_tier
    found = None
    try:
        check_question(ask(VERSION, "a", "b=b1"), tier, Margins(totals), people)
    except QueryRefused as refusal:
        found = refusal.code
    assert found == code


def broken(values: Any, **rules: Any) -> Code | None:
    changed = {**vars(LENIENT), **rules}
    return broken_rules(np.array(values), CountRules(**changed), areas=False)[0]


@pytest.mark.parametrize(
    ("values", "rules", "code"),
    [
        ([0, 0], {}, Code.EMPTY),
        ([4, 6], {"minimum_population": 10}, None),
        ([4, 5], {"minimum_population": 10}, Code.MIN_POPULATION),
        ([4, 6], {"minimum_mean": 5}, None),
        ([4, 5], {"minimum_mean": 5}, Code.MEAN_CELL),
        # Small cells among all cells: 1 of 4.
        ([2, 0, 9, 9], {"max_small": 0.25}, None),
        ([2, 0, 9, 9], {"max_small": 0.24}, Code.SMALL_CELLS),
        ([3, 0, 9, 9], {"max_small": 0.0}, None),
        # Ones among the populated: 1 of 3; zeros do not count.
        ([1, 0, 9, 9], {"max_ones_of_populated": 1 / 3}, None),
        ([1, 0, 9, 9], {"max_ones_of_populated": 0.33}, Code.SPARSE),
        ([2, 0, 9, 9], {"max_ones_of_populated": 0.0}, None),
        ([1, 2, 9, 9], {"max_small_of_populated": 0.5}, None),
        ([1, 2, 9, 9], {"max_small_of_populated": 0.49}, Code.SPARSE),
        # Of the lines, 1 of 2 either way; of the people 5 of 15.
        ([[5, 0], [5, 5]], {"max_single_lines": 0.5}, None),
        ([[5, 0], [5, 5]], {"max_single_lines": 0.49}, Code.SINGLE_LINES),
        # Small groups: 2 of 3 rows, with 2 of 182 people; both columns hold two groups.
        ([[90, 90], [1, 0], [0, 1]], {"max_single_lines": 2 / 3}, None),
        ([[90, 90], [1, 0], [0, 1]], {"max_single_lines": 0.66}, Code.SINGLE_LINES),
        # A large group: 1 of 3 rows, with 90 of 94 people.
        ([[90, 0], [1, 1], [1, 1]], {"max_single_lines": 90 / 94}, None),
        ([[90, 0], [1, 1], [1, 1]], {"max_single_lines": 0.95}, Code.SINGLE_LINES),
        # The only variable is the line: all five have its first category.
        ([5, 0, 0], {"max_single_lines": 0.99}, Code.SINGLE_LINES),
        ([5, 1, 0], {"max_single_lines": 0.0}, None),
        ([5, 0, 0], {"max_single_lines": 1.0}, None),
        # Nobody is in an empty row: 1 of 1 column each way, and no single row.
        ([[5, 5], [0, 0]], {"max_single_lines": 0.99}, Code.SINGLE_LINES),
        ([[5, 5, 5], [5, 5, 5], [0, 0, 0]], {"max_single_lines": 0.0}, None),
        # A variable with one category tells nothing.
        ([[5], [5]], {"max_single_lines": 0.0}, None),
        ([[5, 5]], {"max_single_lines": 0.0}, None),
        ([5], {"max_single_lines": 0.0}, None),
        # 4 x 3 x 3: two of four planes hold one cell. Along the second and third variable 2 of
        # 2 + 6 lines are single; along the first none; people 6 of 60.
        (PLANES, {"max_single_lines": 0.5}, None),
        (PLANES, {"max_single_lines": 0.49}, Code.SINGLE_LINES),
    ],
)
def test_rules_on_counts(values: Any, rules: dict[str, Any], code: Code | None) -> None:
    assert broken(values, **rules) is code


def test_areas_are_judged_one_by_one() -> None:
    values = np.array([[9, 9], [0, 0], [1, 1]])
    rules = CountRules(**{**vars(LENIENT), "minimum_population": 5})
    assert broken_rules(values, rules, areas=True) == [None, Code.EMPTY, Code.MIN_POPULATION]


def test_within_an_area_the_area_is_fixed() -> None:
    # Area 0 is full. In area 1 every row and column is single. In area 2 half of them are, with 5
    # of 15 people. Lines across areas do not count.
    values = np.array([[[5, 5], [5, 5]], [[5, 0], [0, 5]], [[5, 0], [5, 5]]])
    rules = CountRules(**{**vars(LENIENT), "max_single_lines": 0.5})
    assert broken_rules(values, rules, areas=True) == [None, Code.SINGLE_LINES, None]
    # With one variable beside it each area is one line.
    rows = np.array([[5, 0, 0], [5, 1, 0]])
    assert broken_rules(rows, rules, areas=True) == [Code.SINGLE_LINES, None]
    # Both columns are populated in one area alone, which matters only where it is not an area.
    rows = np.array([[9, 9], [0, 0]])
    assert broken_rules(rows, rules, areas=True) == [None, Code.EMPTY]
    assert broken_rules(rows, rules, areas=False) == [Code.SINGLE_LINES]


def determined() -> np.ndarray:  # type: ignore[type-arg]
    """10 x 10 x 10: a and b determine c; 300 people in each of the 100 populated cells."""
    table = np.zeros((10, 10, 10), np.int64)
    a, b = np.indices((10, 10))
    table[a, b, a * b % 10] = 300
    return table


@pytest.mark.parametrize("preset", ["rounding-3", "cell-keys", "swapping-and-light-keys"])
def test_a_public_preset_refuses_a_variable_that_the_others_determine(preset: str) -> None:
    tier = read_preset(preset).default_tier
    assert broken_rules(determined(), tier.counts, areas=False) == [Code.SINGLE_LINES]
    # The same in each of three areas.
    areas = np.stack([determined()] * 3)
    assert broken_rules(areas, tier.counts, areas=True) == [Code.SINGLE_LINES] * 3
    # Spread over a second category of c nobody's is known.
    spread = determined() + np.roll(determined(), 1, axis=2)
    assert broken_rules(spread, tier.counts, areas=False) == [None]


@pytest.mark.parametrize("preset", ["rounding-3", "cell-keys"])
def test_its_release_is_refused_and_that_of_its_margins_is_not(preset: str) -> None:
    version = make_version(np.random.default_rng(1), 100_000, [10, 10, 10])
    a, b = version.codes8[:2]
    version = replace(version, codes8=np.stack([a, b, a * b % 10]))
    version.manifest["created"] = "2026-01-05T10:15:00+00:00"
    answers = Releaser.alone(version, ScanEngine(version), read_preset(preset), Secret(bytes(32)))
    with pytest.raises(QueryRefused) as refusal:
        answers.release(ask(version, "a,b,c"))
    assert refusal.value.code == Code.NOT_AVAILABLE
    assert refusal.value.record.verdict == Code.SINGLE_LINES
    assert answers.release(ask(version, "a,b")).table.values.shape == (10, 10)


def test_every_code_has_a_sentence_without_a_number() -> None:
    for code in Code:
        assert code.sentence
        assert not any(character.isdigit() for character in code.sentence)


@pytest.mark.parametrize(
    ("failing", "parents", "people", "out"),
    [
        # One alone under its parent takes the smallest of the others along.
        ([1, 0, 0], [0, 0, 0], [1, 9, 5], [1, 0, 1]),
        ([1, 1, 0], [0, 0, 0], [1, 9, 5], [1, 1, 0]),
        # An only child is its parent: there is nothing to subtract.
        ([1, 0, 0], [0, 1, 1], [1, 9, 5], [1, 0, 0]),
        ([0, 0, 0], [0, 0, 1], [1, 9, 5], [0, 0, 0]),
        # Each parent for itself.
        ([1, 0, 0, 1], [0, 0, 1, 1], [1, 9, 5, 2], [1, 1, 1, 1]),
    ],
)
def test_never_one_area_alone(
    failing: list[int], parents: list[int], people: list[int], out: list[int]
) -> None:
    found = withheld_areas(np.array(failing, bool), np.array(parents), np.array(people))
    assert found.tolist() == [bool(x) for x in out]
