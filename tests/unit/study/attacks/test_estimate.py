from __future__ import annotations

import numpy as np
import pytest

from discreet.protect import RandomRounding
from discreet.study.attacks.estimate import (
    IMPOSSIBLE,
    Noise,
    System,
    integers,
    least_squares,
    non_negative,
)
from discreet.table.transition import Transition

ROUNDING = Noise(RandomRounding(base=3).transition())
# Two cells, their sum, and each of them once more.
ROWS = np.array([[1, 0], [0, 1], [1, 1], [1, 0], [0, 1.0]])


def system(figures: list[float]) -> System:
    return System(ROWS, np.array(figures, float), np.ones(len(ROWS)))


def test_chances_are_those_of_the_method() -> None:
    # Rounding to base 3: 4 becomes 3 with 2/3 and 6 with 1/3, never 0 or 9.
    logs = ROUNDING.log(np.full(4, 4), np.array([3, 6, 0, 9]))
    assert np.exp(logs[:2]) == pytest.approx([2 / 3, 1 / 3])
    assert logs[2:] == pytest.approx([IMPOSSIBLE, IMPOSSIBLE])


def test_the_most_likely_count_behind_one_figure() -> None:
    # Rounding to base 3: of 1 to 5, which may become 3, a 3 always does, a 2 in 2 of 3 cases and a
    # 1 in 1 of 3. Where ones are ten times as frequent as threes, a 3 stands for a one.
    figures = np.array([[3.0, 0.0], [6.0, np.nan]])
    assert ROUNDING.likely(figures)[:, 0].tolist() == [3, 6]
    ones = np.log(np.array([[0.1, 0.5, 0.05, 0.05, 0.1, 0.1, 0.1], [1.0, 0, 0, 0, 0, 0, 0]]) + 1e-9)
    # In the second place nobody is frequent.
    assert ROUNDING.likely(figures, ones)[0].tolist() == [1, 0]


def test_a_negative_count_is_impossible() -> None:
    assert ROUNDING.log(np.array([-1]), np.array([0])) == pytest.approx([IMPOSSIBLE])


def test_least_squares_is_the_mean_and_negative_counts_are_none() -> None:
    # Without the sum, each cell is the mean of its two figures: (2 + 4)/2 and (−2 − 4)/2.
    figures = np.array([2, -2, 4, -4.0])
    rows = ROWS[[0, 1, 3, 4]]
    without = System(rows, figures, np.ones(4))
    assert least_squares(without).tolist() == [3, 0]
    assert non_negative(without).tolist() == [3, 0]


def test_a_sum_of_many_figures_weighs_less() -> None:
    # A figure of 0, and a sum of nine figures of 10: (0 · 1 + 10/9) / (1 + 1/9) = 1.
    one = System(np.ones((2, 1)), np.array([0, 10.0]), np.array([1, 9.0]))
    assert least_squares(one).tolist() == [1]


def test_what_is_withheld_is_left_out() -> None:
    assert least_squares(system([5, np.nan, 7, 5, 2]).known).tolist() == [5, 2]


def test_the_likelihood_knows_what_cannot_be() -> None:
    # Both cells are published as 3 and as 3, so each is 1 to 5; the sum is published as 3, so it
    # is at most 5: of the pairs left, (2, 2) has the largest product of chances,
    # (2/3)⁴ · 2/3 = 0.13; (1, 1) has (1/3)⁴ · 2/3, (3, 1) has (1/3)² · 2/3 = 0.07,
    # (2, 3) has (2/3)² · 1/3 = 0.15, which is the largest.
    figures = system([3, 3, 3, 3, 3])
    assert sorted(integers(figures, ROUNDING, np.array([3, 3])).tolist()) == [2, 3]


def test_a_prior_decides_where_the_likelihood_does_not() -> None:
    # Published as 0: 0 has the chance 1, 1 has 2/3 and 2 has 1/3. If 2 is a hundred times as
    # common as 0 and 1, it is the best guess.
    one = System(np.ones((1, 1)), np.zeros(1), np.ones(1))
    prior = np.log(np.array([[0.01, 0.01, 1.0, 0.01]]))
    assert integers(one, ROUNDING, np.array([0])).tolist() == [0]
    # Moves are of one person: from 1 the search can go both ways.
    assert integers(one, ROUNDING, np.array([1]), prior).tolist() == [2]


def test_the_prior_is_found_from_figures() -> None:
    # Without noise it is how often each figure occurs, 1/2, 1/4, 1/4, none; of 2% a part each.
    prior = Noise(Transition.identity()).prior(np.array([0, 0, 1, 2, np.nan]), most=3)
    assert np.exp(prior) == pytest.approx([0.495, 0.25, 0.25, 0.005])


def test_rounding_is_undone_in_the_prior() -> None:
    # Everybody lives in cells of 4: published as 3 in two cases of three, as 6 in one. So would
    # be cells of 3 and of 6, but of neither 0 to 2 nor 7 and more.
    prior = np.exp(ROUNDING.prior(np.array([3.0] * 200 + [6.0] * 100), most=12))
    assert prior[[0, 7, 8, 9, 10, 11, 12]].max() < 0.01
    assert prior[3:7].sum() > 0.7


def test_a_step_of_one_person() -> None:
    # Without noise the next figure is one more, and nothing else.
    still = Noise(Transition.identity())
    steps = still.step(np.array([4.0, 4.0]), np.array([5.0, 4.0]))
    assert steps == pytest.approx([0.0, IMPOSSIBLE])
    assert still.step(np.array([4.0]), np.array([4.0]), more=0) == pytest.approx([0.0])


def test_the_expected_count_behind_a_figure() -> None:
    # Published as 0 under rounding, expected 1 before: counts 0, 1, 2 with chances 1, 2/3, 1/3
    # and Poisson weights 1, 1, 1/2: (0 + 2/3 + 2/6) / (1 + 2/3 + 1/6) = 6/11.
    assert ROUNDING.expected(np.array([0.0]), np.array([1.0])) == pytest.approx([6 / 11])
