"""Expectations, held against the enumeration of every release."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import risk
from discreet.protect.cells.rounding import RandomRounding
from discreet.table.transition import Transition
from risk_tables import LIVELY, every_release

ROUNDING = RandomRounding(3).transition()

EXHAUSTIVE = [
    ((0, 1, 2, 4, 5, 9), ROUNDING),
    ((0, 0, 1, 2, 7, 3, 1), RandomRounding(5).transition()),
    ((0, 0, 1, 2, 5), LIVELY),
    ((1, 1, 1, 1), ROUNDING),
    ((1, 0, 0), ROUNDING),
    ((0, 3), LIVELY),
    ((100, 1), ROUNDING),
]

FOUR = (0.1, 0.7, 0.1, 0.1)

SPLIT = [
    ((0, 1, 2, 4, 5, 9), ROUNDING),
    ((0, 0, 1, 2, 7, 3, 1), RandomRounding(5).transition()),
    ((0, 0, 1, 2, 5), LIVELY),
    ((5, 7, 8), ROUNDING),
    ((0, 0, 8, 8, 9), RandomRounding(5).transition()),
    ((100, 1), ROUNDING),
    ((7,), ROUNDING),
    ((4, 40), Transition.identity()),
]


@pytest.mark.parametrize(("counts", "method"), EXHAUSTIVE)
def test_the_expectation_is_that_of_every_release(
    counts: tuple[int, ...], method: Transition
) -> None:
    true = np.array(counts)
    expected = risk.expected_after_transition(true, method)
    zeros = value = unchanged = 0.0
    for chance, released in every_release(true, method):
        after = risk.after_transition(true, released, method)
        zeros += chance * after.zeros
        value += chance * after.uncapped
        unchanged += chance * np.nan_to_num(risk.unchanged_small_records(true, released))
    assert expected.zeros == pytest.approx(zeros, abs=1e-10)
    assert risk.expected_zeros_after(true, method) == pytest.approx(zeros, abs=1e-10)
    assert expected.value == pytest.approx(value, abs=1e-10)
    if np.isin(true, (1, 2)).any():
        assert risk.expected_unchanged_small(true, method) == pytest.approx(unchanged, abs=1e-10)


def test_the_measure_of_the_expected_table_is_something_else() -> None:
    # Rounding is unbiased, so that the expected table is F itself, with the first term ¼. The
    # mean over releases: 1 stays off zero with ⅓, 2 with ⅔; |E| is 1, 2 or 3 with probability
    # 2/9, 5/9, 2/9: ¼·2/9 + 1/16·5/9 + 1/64·2/9.
    true = np.array([0, 1, 2, 4])
    mean = risk.expected_zeros_after(true, ROUNDING)
    assert mean == pytest.approx(2 / 36 + 5 / 144 + 2 / 576)
    assert risk.after_transition(true, np.array([0, 3, 3, 3]), ROUNDING).zeros == 0.25


@pytest.mark.parametrize(("counts", "method"), SPLIT)
def test_the_expectation_of_the_split_form_is_that_of_every_release(
    counts: tuple[int, ...], method: Transition
) -> None:
    # Cells of 5, 7 and 8 land on either side of 6 and 7: the number of cells of a part is random.
    true = np.array(counts)
    expected = risk.expected_after_transition(true, method, FOUR, (0.75, 0.9))
    assert isinstance(expected, risk.SplitRisk)
    small = large = value = 0.0
    for chance, released in every_release(true, method):
        after = risk.after_transition_split(true, released, method, (0.75, 0.9))
        small += chance * after.entropy_small
        large += chance * after.entropy_large
        value += chance * after.uncapped
    assert expected.entropy_small == pytest.approx(small, abs=1e-10)
    assert expected.entropy_large == pytest.approx(large, abs=1e-10)
    assert expected.value == pytest.approx(value, abs=1e-10)


def test_the_expectation_of_a_large_table_is_the_mean_of_draws() -> None:
    rng = np.random.default_rng(8)
    true = rng.poisson(rng.gamma(0.5, 12, 3000))
    expected = risk.expected_after_transition(true, ROUNDING, FOUR)
    mean = risk.simulated(
        true,
        ROUNDING,
        lambda f, g: risk.after_transition(f, g, ROUNDING, FOUR).uncapped,
        rng,
        draws=200,
    )
    assert abs(mean.mean - expected.value) < 4 * mean.standard_error
