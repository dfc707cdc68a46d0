"""The worked example on sensitivity rules of [Domingo2002]; see source.md."""

from __future__ import annotations

import numpy as np

from discreet import risk

CELLS = np.array([[59, 40, 1], [61, 20, 19]])


def test_dominance_calls_the_wrong_cell_sensitive() -> None:
    assert risk.dominance(CELLS, n=1, k=60).tolist() == [False, True]


def test_the_second_largest_contributor_comes_closer_in_the_cell_that_dominance_passes() -> None:
    # 100 − 40 = 60 is off by 1 of 59; 100 − 20 = 80 is off by 19 of 61.
    np.testing.assert_allclose(risk.closest_estimate(CELLS), [1 / 59, 19 / 61])


def test_p_percent_calls_the_right_one() -> None:
    # At p = 10 the estimate must be off by at least 5.9 and 6.1: 1 is too close, 19 is not.
    assert risk.p_percent(CELLS, p=10).tolist() == [True, False]
    assert risk.prior_posterior(CELLS, p=10, q=100).tolist() == [True, False]
