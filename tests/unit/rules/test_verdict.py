"""The three findings at their limits, and which of them is the worst."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from discreet.cli.risk import command, measure
from discreet.rules import verdict
from discreet.rules.verdict import Verdict


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # Ones among the populated: 1 of 4 is the limit, 1 of 3 is above it; zeros do not count.
        ([1, 9, 9, 9, 0], Verdict.LOW),
        ([1, 9, 9, 0, 0], Verdict.HIGH),
        # Ones and twos: 2 of 4 is the limit, 2 of 3 is above it.
        ([2, 2, 9, 9], Verdict.LOW),
        ([2, 2, 9, 0], Verdict.HIGH),
        ([3, 3, 3, 3], Verdict.LOW),
        ([1, 1, 2, 2], Verdict.HIGH),
    ],
)
def test_identity_disclosure(counts: list[int], expected: Verdict) -> None:
    assert verdict.identity(np.array(counts)).verdict is expected


def test_a_smallest_figure_stands_for_ones_and_twos() -> None:
    rules = verdict.smallest(3)
    assert verdict.identity(np.array([3, 3, 6, 6]), rules).verdict is Verdict.LOW
    found = verdict.identity(np.array([3, 3, 6, 0]), rules)
    assert found.verdict is Verdict.HIGH
    assert found.reason == "of the populated cells 66.7% are 1 to 3 (limit 50%)"


@pytest.mark.parametrize(
    ("counts", "expected", "worst"),
    [
        # One of two rows and one of two columns is the limit; two of three columns are above it.
        ([[5, 0], [5, 5]], Verdict.LOW, ("a",)),
        ([[5, 0, 0], [5, 5, 5]], Verdict.HIGH, ("a",)),
        ([[5, 5], [5, 5]], Verdict.LOW, ("a",)),
        # Of the people in single rows 6 of 12 is the limit, 7 of 13 is above it.
        ([[6, 0], [3, 3]], Verdict.LOW, ("a",)),
        ([[7, 0], [3, 3]], Verdict.HIGH, ("b",)),
        ([[5], [5]], Verdict.LOW, ("a",)),
        ([[5]], Verdict.LOW, ()),
    ],
)
def test_attribute_disclosure(counts: Any, expected: Verdict, worst: tuple[str, ...]) -> None:
    found = verdict.attribute(np.array(counts), ["a", "b"])
    assert (found.verdict, found.worst) == (expected, worst)


def test_people_in_lines_count_as_lines_do() -> None:
    # One row of three is single, with 90 of 94 people; no column is.
    found = verdict.attribute(np.array([[90, 0], [1, 1], [1, 1]]), ["a", "b"])
    assert (found.verdict, found.worst) == (Verdict.HIGH, ("b",))
    assert found.reason == (
        "of the lines along b 33.3% have one populated cell, with 95.7% of the people (limit 50%)"
    )


def test_the_worst_is_furthest_above_its_limit() -> None:
    low, high = verdict.whole(0.15), verdict.whole(0.16)
    assert (low.verdict, high.verdict) == (Verdict.LOW, Verdict.HIGH)
    # Of the populated cells 100% are 1, 75 points above; the whole is 1 point above.
    ones = verdict.identity(np.array([1, 1]))
    assert verdict.worst([high, ones, low]) is ones
    assert verdict.worst([low, high]) is high
    assert verdict.worst([verdict.whole(0.05), low]) is low


def test_the_limit_of_the_command_is_that_of_a_policy() -> None:
    assert inspect.signature(command).parameters["limit"].default == verdict.RISK_LIMIT
    assert inspect.signature(measure).parameters["limit"].default == verdict.RISK_LIMIT
