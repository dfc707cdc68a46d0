"""Over-imputation: donors of the class, nothing impossible, spreads kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.protect import Edit, OverImputation


def keys(number: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(2**64, size=number, dtype=np.uint64)


def test_the_share_that_is_blanked_and_the_donors() -> None:
    classes = np.repeat(np.arange(10), 100)
    found = OverImputation(0.25).apply([classes], keys(1000))
    assert found.blanked.sum() == 250
    imputed = found.donor != np.arange(1000)
    assert np.array_equal(imputed, found.blanked)
    assert (classes[found.donor] == classes).all()
    assert not found.blanked[found.donor[imputed]].any()  # a donor is a record as it was
    assert found.by_class.tolist() == [250]


def test_values_are_drawn_not_set_to_the_mode() -> None:
    """Of each class 30% have the value 1: so have 30% of what is imputed, and the mode is 0."""
    number = 40_000
    codes = (np.arange(number) % 10 < 3).astype(np.int64)
    found = OverImputation(0.5).apply([np.zeros(number, int)], keys(number))
    share = found.take(codes)[found.blanked].mean()
    # Donors are used again, as gaps of a ring: the variance is about 3/n·p·(1 − p).
    assert share == pytest.approx(0.3, abs=5 * np.sqrt(3 * 0.3 * 0.7 / 20_000))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2000), st.floats(0.05, 0.9))
def test_structural_zeros_are_never_created(seed: int, rate: float) -> None:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 5, 200)
    marital = np.where(age == 0, 0, rng.integers(0, 3, 200))  # no child is married
    region = rng.integers(0, 3, 200)
    found = OverImputation(rate).apply(
        [region, np.zeros(200, int)], keys(200, seed), [Edit.observed(age, marital)]
    )
    new = found.take(marital)
    before = set(zip(age.tolist(), marital.tolist(), strict=True))
    assert set(zip(age.tolist(), new.tolist(), strict=True)) <= before
    assert np.array_equal(new[~found.blanked], marital[~found.blanked])
    left = found.blanked & (found.donor == np.arange(200))
    assert np.array_equal(found.unmatched, left)
    assert found.by_class.sum() + left.sum() == found.blanked.sum()


def test_looser_classes_are_tried_in_turn_and_who_has_none_is_told() -> None:
    strict = np.arange(100)  # everybody alone
    loose = np.repeat([0, 1], 50)
    found = OverImputation(0.1).apply([strict, loose], keys(100))
    assert found.by_class.tolist() == [0, 10]
    alone = OverImputation(0.1).apply([strict], keys(100))
    assert alone.unmatched.sum() == 10
    assert np.array_equal(alone.donor, np.arange(100))


def test_the_same_keys_the_same_donors_in_any_order() -> None:
    classes, words = np.arange(500) % 7, keys(500)
    first = OverImputation(0.2).apply([classes], words)
    order = np.random.default_rng(4).permutation(500)
    other = OverImputation(0.2).apply([classes[order]], words[order])
    assert np.array_equal(order[other.donor], first.donor[order])


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="rate must be above 0 and below 1"):
        OverImputation(1)
    with pytest.raises(ParameterError, match="classes must have at least one"):
        OverImputation(0.1).apply([], keys(3))
    with pytest.raises(ParameterError, match="type uint64"):
        OverImputation(0.1).apply([np.zeros(3, int)], np.zeros(3))
    with pytest.raises(ParameterError, match="must have 3 records"):
        OverImputation(0.1).apply([np.zeros(3, int)], keys(3), [Edit.observed([0], [1])])
    with pytest.raises(ParameterError, match="two numbers for each record"):
        Edit.observed([0, 1], [1])
