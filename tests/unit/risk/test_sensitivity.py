"""Sensitivity rules at their boundaries."""

from __future__ import annotations

from fractions import Fraction
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError


def test_threshold_at_its_boundaries() -> None:
    assert risk.threshold([0, 1, 2, 3, 4]).tolist() == [False, True, True, False, False]
    assert risk.threshold([0, 1, 9, 10], smallest_safe=10).tolist() == [False, True, True, False]
    with pytest.raises(ParameterError, match="smallest_safe must be an integer of at least 1"):
        risk.threshold([1], 0)


def test_dominance_at_its_boundary() -> None:
    # Exactly 60% is not sensitive, one unit more of 1,000 is.
    cells = [[600, 300, 100], [601, 299, 100], [0, 0, 0]]
    assert risk.dominance(cells, 1, 60).tolist() == [False, True, False]
    # The two largest of three, in any order: 900 of 1,000.
    assert risk.dominance([100, 300, 600], 2, 89)
    assert not risk.dominance([100, 300, 600], 2, 90)
    assert risk.dominance([7], 2, 99)  # fewer contributors than n
    for n, k in ((0, 60), (1, 0), (1, 100)):
        with pytest.raises(ParameterError):
            risk.dominance(cells, n, k)


def test_prior_posterior_at_its_boundary() -> None:
    # p = 10, q = 50: sensitive if 50·R < 10·x1. x1 = 100: R = 20 is safe, R = 19 is not.
    cells = [[100, 50, 20], [100, 50, 19], [100, 0, 0], [0, 0, 0]]
    assert risk.prior_posterior(cells, 10, 50).tolist() == [False, True, True, False]
    # p%: q = 100, R = 10 is the boundary.
    assert risk.p_percent([[100, 50, 10], [100, 50, 9]], 10).tolist() == [False, True]
    assert risk.p_percent([[100, 50]], 10).tolist() == [True]
    for p, q in ((0, 50), (50, 50), (10, 101)):
        with pytest.raises(ParameterError, match="p and q"):
            risk.prior_posterior(cells, p, q)
    with pytest.raises(ParameterError, match="p must be"):
        risk.p_percent(cells, 0)
    with pytest.raises(ParameterError, match="finite numbers"):
        risk.p_percent([[-1, 2]], 10)
    with pytest.raises(ParameterError, match="one axis"):
        risk.p_percent(3, 10)
    assert isnan(float(risk.closest_estimate([0, 0])))


def test_decimals_at_the_boundaries_are_exact() -> None:
    # 10% of 2.9 is 0.29: as floats 100 · 0.29 < 10 · 2.9, which made the first cell sensitive.
    assert risk.p_percent([[2.9, 0.7, 0.29], [2.9, 0.7, 0.28]], 10).tolist() == [False, True]
    # A tenth of a unit in a thousand million is missing, which a tolerance would not see.
    cells = [[1e9, 9e8, 100_000_000], [1e9, 9e8, 99_999_999.9]]
    assert risk.p_percent(cells, 10).tolist() == [False, True]
    # Of 2.1 a third part is 0.7: no decimal is a third of 100, a fraction is.
    assert not risk.dominance([0.7, 0.7, 0.7], 1, Fraction(100, 3))
    assert risk.dominance([0.7, 0.7, 0.7], 1, 33.333333333)
    # q = 50: 50 · R < 10 · 2.9 below R = 0.58.
    cells = [[2.9, 0.7, 0.3, 0.28], [2.9, 0.7, 0.3, 0.27]]
    assert risk.prior_posterior(cells, 10, 50).tolist() == [False, True]


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=5),
    st.integers(1, 99),
    st.integers(0, 3),
)
def test_the_rules_are_those_of_whole_numbers(parts: list[int], share: int, places: int) -> None:
    # The same figures with a decimal point: what whole numbers say, decimals must say.
    ranked = sorted(parts, reverse=True)
    cell = [part / 10**places for part in parts]
    assert bool(risk.p_percent(cell, share)) == (100 * sum(ranked[2:]) < share * ranked[0])
    assert bool(risk.dominance(cell, 1, share)) == (100 * ranked[0] > share * sum(ranked))
    assert bool(risk.dominance(cell, 2, share)) == (100 * sum(ranked[:2]) > share * sum(ranked))
