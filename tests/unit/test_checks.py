"""Checks of parameters: their ranges, and one wording for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.checks import checked_counts, number, whole
from discreet.errors import ParameterError


def test_whole_numbers_at_the_ends_of_their_range() -> None:
    assert whole("base", 2, 2) == whole("base", np.int64(2), 2, 2) == 2
    assert number("rate", 0, 0, 1) == 0
    assert number("rate", 1.0, 0, 1) == 1


@pytest.mark.parametrize("value", [1, 6, True, 2.0, "3", None])
def test_what_is_not_in_the_range_is_refused_with_it(value: Any) -> None:
    with pytest.raises(ParameterError) as told:
        whole("base", value, 2, 5)
    assert str(told.value) == f"base must be an integer from 2 to 5. Got {value!r}."


def test_a_range_without_an_upper_end() -> None:
    with pytest.raises(ParameterError, match=r"^base must be an integer of at least 2. Got 1.$"):
        whole("base", 1, 2)


@pytest.mark.parametrize("value", [-0.1, 1.1, True, float("nan"), "0.5", None])
def test_numbers_outside_their_range_are_refused(value: Any) -> None:
    with pytest.raises(ParameterError) as told:
        number("rate", value, 0, 1)
    assert str(told.value) == f"rate must be a number from 0 to 1. Got {value!r}."


def test_counts_that_are_not_exact_are_refused() -> None:
    assert checked_counts([2.0**53])[0] == 2**53
    for wrong in (1e30, 2.0**54, np.uint64(2**63)):
        with pytest.raises(ParameterError, match=r"got one above 9,007,199,254,740,992"):
            checked_counts(np.array([wrong]))
