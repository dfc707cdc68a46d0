"""What an intruder who knows the method can prove about an adjusted table."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.desk.adjust.audit import Digits, count_exposure, digits, exposure
from discreet.errors import ParameterError
from discreet.solve.system import TableSystem


def test_both_directions_stay_possible_where_others_may_have_moved() -> None:
    # (110, 790 | 900): the first is sensitive by 10, the second may have moved by 5%: the total
    # was between 857.1 and 947.4, the second between 752.4 and 831.6; so the first may have been
    # 100 (moved up) or 120 (moved down).
    system = TableSystem.of((2,))
    found = exposure(system, [110.0, 790, 900], [True, False, False], [10, 0, 0], [10, 0, 0], 0.05)
    assert not found.sided.any()
    assert found.low[0] <= 100
    assert found.high[0] >= 120


def test_a_direction_is_given_away_where_others_cannot_have_moved() -> None:
    system = TableSystem.of((2,))
    found = exposure(
        system, [110.0, 500, 600], [True, False, False], [20, 0, 0], [10, 0, 0], 0.01
    )  # fmt: skip
    # Total 594.1 to 606.1, second 495.0 to 505.1: the first was at most 111.0, and at least 100
    # since it moved by 10 at most: it can have gone up by 10, never down by 20 (from 130).
    assert found.low[0] == pytest.approx(100)
    assert found.high[0] == pytest.approx(600 / 0.99 - 500 / 1.01)
    assert found.sided.tolist() == [True, False, False]


def test_cells_that_are_not_published_bound_nothing() -> None:
    system = TableSystem.of((2,))
    found = exposure(
        system, [110.0, 500, 600], [True, False, False], [20, 0, 0], [10, 0, 0], 0.01,
        published=[True, False, True],
    )  # fmt: skip
    assert not found.sided[0]


def test_a_fixed_total_and_the_distance_gone_are_known() -> None:
    # (110, 790 | 900) with the total fixed: the second may have moved by 0.2%, to 788.4 or 791.6;
    # so the first was from 108.4 to 111.6, whatever it may have moved by.
    system = TableSystem.of((2,))
    needs = [10.0, 0, 0]
    found = exposure(
        system, [110.0, 790, 900], [True, False, False], needs, needs, 0.002,
        fixed=[False, False, True],
    )  # fmt: skip
    assert found.low[0] == pytest.approx(900 - 790 / 0.998)
    assert found.high[0] == pytest.approx(900 - 790 / 1.002)
    # Gone up to twice as far as it had to, and nothing else known: from 90 to 130.
    found = exposure(system, [110.0, 790, 900], [True, False, False], needs, needs, beyond=2.0)
    assert (found.low[0], found.high[0]) == pytest.approx((90, 130))


def test_counts_of_a_fixed_total_are_known_better() -> None:
    # (0, 3 | 3), the total fixed: the second is at least 1 and the first at most 2. If no count
    # went by more than 1 they are at most 1 and at least 2: by 2 + 1 or 3 + 0.
    system = TableSystem.of((2,))
    found = count_exposure(system, [0, 3, 3], fixed=[False, False, True])
    assert found.low.tolist() == [0, 1, 3]
    assert found.high.tolist() == [2, 3, 3]
    found = count_exposure(system, [0, 3, 3], fixed=[False, False, True], largest=1)
    assert found.low.tolist() == [0, 2, 3]
    assert found.high.tolist() == [1, 3, 3]
    assert found.exact.tolist() == [False, False, True]


def test_adjusted_counts_tell_little() -> None:
    # A released 3 was 1 or more, a 0 at most 2, a 7 at least 3; the total follows from them.
    system = TableSystem.of((3,))
    found = count_exposure(system, [0, 3, 7, 10])
    assert found.low.tolist() == [0, 1, 3, 4]
    assert found.high[0] == 2
    assert np.isinf(found.high[1:]).all()
    assert not found.exact.any()


def test_digits_that_no_other_figure_has_give_moved_ones_away() -> None:
    # All true figures are hundreds; of two that were moved, 250 is none.
    found = digits([100, 200, 300, 0], [100, 250, 400, 0])
    assert found == Digits(step=100, habit=1, moved=2, off=1)
    assert found.share == 0.5
    assert str(found) == (
        "DIGITS: all true figures are multiples of 100, but 1 of 2 moved figures are not (50%): "
        "their digits give them away."
    )
    assert digits([100, 200, 300], [100, 300, 400]) is None
    assert digits([101, 202, 303], [111, 202, 293]) is None  # whole as they were
    assert digits([0, 0], [0, 0]) is None
    # Halves among whole figures; and hundredths among tenths, where 0.3 is no rounding error.
    found = digits([1, 2, 13], [1, 2.5, 12.5])
    assert found == Digits(1, 1, 2, 2)
    assert "all true figures are whole" in str(found)
    assert digits([0.1, 0.2, 0.3], [0.1, 0.25, 0.3]) == Digits(0.1, 1, 1, 1)


def test_a_habit_is_one_of_nine_figures_in_ten() -> None:
    # Nine tens and a 7; then eight tens and two others, whose habit is to be whole.
    tens = [10.0 * i for i in range(1, 10)]
    assert digits([*tens, 7], [11, *tens[1:], 7]) == Digits(10, 0.9, 1, 1)
    assert digits([*tens[1:], 7, 8], [21, *tens[2:], 7, 8]) is None
    # As many cells as figures stand for: 18 of 19 are tens.
    assert digits([20, 7], [21, 7], [18, 1]) == Digits(10, 18 / 19, 18, 18)


def test_mistakes_are_explained() -> None:
    system = TableSystem.of((2,))
    with pytest.raises(ParameterError, match="released must have the shape"):
        exposure(system, [1.0], [True], [1], [1])
    with pytest.raises(ParameterError, match="capacity must be"):
        exposure(system, [1.0, 1, 2], [True] * 3, [1] * 3, [1] * 3, 0)
    with pytest.raises(ParameterError, match="beyond must be"):
        exposure(system, [1.0, 1, 2], [True] * 3, [1] * 3, [1] * 3, beyond=0.5)
