"""Random rounding: neighbours, unbiased, multiples stay, repeatable; and conventional rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import (
    ConventionalRounding,
    RandomRounding,
    SmallCellAdjustment,
)


@settings(deadline=None)  # the first call loads the compiled kernel
@given(st.integers(2, 20), st.integers(0, 10**9), st.floats(0, 1, exclude_max=True))
def test_every_count_goes_to_a_neighbouring_multiple(base: int, count: int, uniform: float) -> None:
    (value,) = RandomRounding(base).apply(np.array([count]), np.array([uniform]))
    assert value % base == 0
    assert abs(value - count) < base
    if count % base == 0:
        assert value == count


@given(st.integers(2, 20), st.integers(0, 10**6))
def test_the_expected_value_is_the_count(base: int, count: int) -> None:
    values, chances = RandomRounding(base).transition().row(count)
    assert (values * chances).sum() == pytest.approx(count)
    assert chances.sum() == pytest.approx(1)


def test_base_3_by_hand() -> None:
    # 4 = 3 + 1: down with ⅔, up with ⅓; the uniform number below ⅔ means down.
    method = RandomRounding(3)
    values, chances = method.transition().row(4)
    assert values.tolist() == [3, 6]
    np.testing.assert_allclose(chances, [2 / 3, 1 / 3])
    got = method.apply(np.array([4, 4, 5, 6], np.uint32), np.array([0.66, 0.67, 0.34, 0.99]))
    assert got.tolist() == [3, 6, 6, 6]
    assert got.dtype == np.uint32


def test_shares_of_many_draws() -> None:
    rng = np.random.default_rng(1)
    released = RandomRounding(5).apply(np.full(20_000, 12), rng.random(20_000))
    # 12 = 10 + 2: up with 2/5, within four standard errors.
    assert abs((released == 15).mean() - 0.4) < 4 * np.sqrt(0.4 * 0.6 / 20_000)


def test_it_is_a_cellwise_method_with_one_transition() -> None:
    method = RandomRounding()
    assert method.cellwise
    assert method.public
    assert method.transition() is method.transition()
    assert method == RandomRounding(3)


@pytest.mark.parametrize("base", [1, 0, -3, 2.5, True, "3"])
def test_a_base_that_is_none_is_refused(base: object) -> None:
    with pytest.raises(ParameterError, match="base must be an integer from 2 to 100"):
        RandomRounding(base)  # type: ignore[arg-type]


def test_conventional_rounding_by_hand() -> None:
    counts, any_number = np.arange(11), np.linspace(0, 0.99, 11)
    assert ConventionalRounding(3).apply(counts, any_number).tolist() == [
        0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9,
    ]  # fmt: skip
    # Half-way goes up: 2 of base 4 becomes 4.
    assert ConventionalRounding(4).apply(counts, any_number).tolist() == [
        0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12,
    ]  # fmt: skip
    values, chances = ConventionalRounding(5).transition().row(1_000_003)
    assert (values.tolist(), chances.tolist()) == ([1_000_005], [1.0])


@settings(deadline=None)
@given(st.integers(2, 20), st.integers(0, 10**9))
def test_the_nearest_multiple_is_at_most_half_the_base_away(base: int, count: int) -> None:
    (value,) = ConventionalRounding(base).apply(np.array([count]), np.array([0.5]))
    assert value % base == 0
    assert 2 * abs(value - count) <= base


def test_what_conventional_rounding_leaves_of_the_risk() -> None:
    # F = (1, 2, 3): 1 becomes 0, 2 and 3 become 3, holding 1 and (2 + 3)/2: p = (1, 2.5, 2.5)/6,
    # and the mean diagonal is ⅓.
    transition = ConventionalRounding(3).transition()
    after = risk.after_transition([1, 2, 3], [0, 3, 3], transition)
    p = np.array([1, 2.5, 2.5]) / 6
    assert after.entropy == pytest.approx((1 + (p * np.log(p)).sum() / np.log(3)) / 3)
    assert risk.possible_range(transition, 0) == (0, 1)
    assert risk.possible_range(transition, 3) == (2, 4)


def test_a_base_that_is_no_base_is_refused() -> None:
    with pytest.raises(ParameterError, match="base must be an integer from 2 to 100"):
        ConventionalRounding(1)


def test_small_counts_go_to_zero_or_the_base_by_their_uniform() -> None:
    """1 becomes 3 from 2/3 on, 2 from 1/3 on; larger counts stay, and so does their risk."""
    method = SmallCellAdjustment(3)
    counts, uniforms = np.array([1, 2, 1, 2, 4]), np.array([0.5, 0.5, 0.7, 0.2, 0.5])
    assert method.apply(counts, uniforms).tolist() == [0, 3, 3, 0, 4]
    assert (method.multiplier.small, method.multiplier.large) == (1 / 3, 1.0)


def test_a_uniform_at_a_bound_is_in_the_interval_above_it() -> None:
    """Rounding to 2 takes 1 down below 0.5 and up from 0.5 on."""
    at = np.array([np.nextafter(0.5, 0), 0.5])
    assert RandomRounding(2).apply(np.array([1, 1]), at).tolist() == [0, 2]
