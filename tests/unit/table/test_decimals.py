"""Figures as decimals: how many they have, and sums without rounding errors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.table.decimals import (
    added,
    decimals_of,
    exact,
    in_steps,
    in_units,
    of_steps,
    refuse_sum_beyond,
    share_of,
)


def test_a_figure_is_the_decimal_it_is_written_as() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e22) == 10**22
    assert exact(Fraction(1, 3)) == Fraction(1, 3)


@pytest.mark.parametrize(
    ("figures", "decimals"),
    [
        ([0, 7], 0),
        ([1.5, 2.25], 2),
        ([0.1 + 0.2], None),  # 0.30000000000000004: a rounding error, no decimal
        ([1e14 + 0.5], 1),
        ([1e15 + 0.5], None),  # 17 digits
        ([], 0),
    ],
)
def test_decimals_are_counted(figures: list[float], decimals: int | None) -> None:
    assert decimals_of(figures) == decimals


def test_sums_in_units_are_the_decimals_they_should_be() -> None:
    assert 0.1 + 0.2 != 0.3
    whole, unit = in_units([0.1, 0.2])
    assert whole.tolist() == [1, 2]
    assert whole.sum() / unit == 0.3
    third, unit = in_units([1 / 3, 0.5])  # no decimals: as they are
    assert (third.tolist(), unit) == ([1 / 3, 0.5], 1)
    assert in_units(np.full(10, 1e15))[1] == 1


def test_steps_and_shares_are_decimals() -> None:
    assert of_steps([3, 7], 0.1).tolist() == [0.3, 0.7]
    # 0.29/0.01 is 28.999999999999996 as floats.
    assert in_steps([0.29, 0.295, np.inf], 0.01).tolist() == [29, 29, np.inf]
    assert in_steps([0.29, 0.295], 0.01, up=True).tolist() == [29, 30]
    assert share_of([1.1, 2.3], Fraction(1, 10)).tolist() == [0.11, 0.23]
    assert added([0.3, np.inf], -0.1).tolist() == [0.2, np.inf]
    assert added(1 / 3, 0.1) == 1 / 3 + 0.1


def test_sums_end_where_floats_no_longer_have_every_whole_number() -> None:
    refuse_sum_beyond("the counts", [2.0**53 - 1, 1.0])
    for figures in ([2**53, 1], [2.0**53] * 2000):  # 2000 of them wrap round in int64
        with pytest.raises(ParameterError, match=r"^the counts must sum to at most 9,007,199,254"):
            refuse_sum_beyond("the counts", figures)
