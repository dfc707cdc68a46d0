"""Each rule at its boundary: what is just allowed, and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import QueryRefused
from discreet.policy import CountRules, parse_policy
from discreet.query import Query, Question
from discreet.rules import Code, broken_rules, check_question
from populations import make_version

VERSION = make_version(np.random.default_rng(1), 10, [2, 3, 5], [6, 2])
LENIENT = CountRules(1, 0.0, 1, 2, 1.0, 1.0, 1.0, 1.0)


def asked(rules: dict[str, Any], by: str, where: str | None = None) -> str | None:
    policy = parse_policy({"tiers": {"public": {"question": rules}}}, "policy", "policy")
    try:
        check_question(Question.of(Query.parse(by, where), VERSION.schema), policy.default_tier)
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
        ({"max_filter_categories": 1}, "a", "b=b1", None),
        ({"max_filter_categories": 1}, "a", "b=b1|b2", "FILTER"),
        ({"max_filter_categories": 1}, "a,b", "b=b1|b2", None),  # cells of their own either way
        ({"filters_refused": ["b"]}, "b", None, None),
        ({"filters_refused": ["b"]}, "a", "b_half=b_half0", "FILTER"),
        ({"filters_refused": ["geography"]}, "a", "g1=g10", "FILTER"),
    ],
)
def test_rules_on_questions(
    rules: dict[str, Any], by: str, where: str | None, code: str | None
) -> None:
    assert asked(rules, by, where) == code


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
        # Rows with one populated cell: 1 of 2; columns: 1 of 2.
        ([[5, 0], [5, 5]], {"max_single_slices": 0.5}, None),
        ([[5, 0], [5, 5]], {"max_single_slices": 0.49}, Code.SINGLE_SLICES),
        # A table of one dimension has no slices to judge.
        ([5, 0, 0], {"max_single_slices": 0.0}, None),
        # An empty row is no slice: nobody is in it.
        ([[5, 5], [0, 0]], {"max_single_slices": 1.0}, None),
    ],
)
def test_rules_on_counts(values: Any, rules: dict[str, Any], code: Code | None) -> None:
    assert broken(values, **rules) is code


def test_areas_are_judged_one_by_one() -> None:
    values = np.array([[9, 9], [0, 0], [1, 1]])
    rules = CountRules(**{**vars(LENIENT), "minimum_population": 5})
    assert broken_rules(values, rules, areas=True) == [None, Code.EMPTY, Code.MIN_POPULATION]


def test_every_code_has_a_sentence_without_a_number() -> None:
    for code in Code:
        assert code.sentence
        assert not any(character.isdigit() for character in code.sentence)
