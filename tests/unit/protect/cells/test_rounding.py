"""Random rounding: neighbours, unbiased, multiples stay, repeatable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.protect.base import CellwiseMethod
from discreet.protect.cells.rounding import RandomRounding


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
    assert isinstance(method, CellwiseMethod)
    assert method.transition() is method.transition()
    assert method == RandomRounding(3)


@pytest.mark.parametrize("base", [1, 0, -3, 2.5, True, "3"])
def test_a_base_that_is_none_is_refused(base: object) -> None:
    with pytest.raises(ParameterError, match="base must be an integer from 2 to 100"):
        RandomRounding(base)  # type: ignore[arg-type]
