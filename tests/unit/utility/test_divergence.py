"""Kullback–Leibler divergence: values by hand, and its bounds."""

from __future__ import annotations

from math import inf, isnan, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from discreet import risk, utility
from discreet.errors import ParameterError

ONE_TO_ZERO = ([1, 4], [0, 4])

ZERO_TO_ONE = ([0, 4], [1, 4])

Integers = NDArray[np.int64]

pairs = hnp.array_shapes(min_dims=1, max_dims=3, max_side=5).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.int64, shape, elements=st.integers(0, 30)),
        hnp.arrays(np.int64, shape, elements=st.integers(0, 30)),
    )
)


def test_kullback_leibler_by_hand() -> None:
    # p = (½, ½), q = (¼, ¾): ½·log 2 + ½·log ⅔.
    found = utility.kullback_leibler([2, 2], [1, 3])
    assert found == pytest.approx(0.5 * log(2) + 0.5 * log(2 / 3))
    assert utility.kullback_leibler([1, 2, 0], [3, 6, 0]) == pytest.approx(0)
    assert utility.kullback_leibler(*ONE_TO_ZERO) == inf
    assert utility.kullback_leibler(*ZERO_TO_ONE) == pytest.approx(log(5 / 4))  # p = 1, q = ⅘
    assert isnan(utility.kullback_leibler([1, 2], [0, 0]))
    with pytest.raises(ParameterError, match="at least one person"):
        utility.kullback_leibler([0, 0], [1, 0])


@given(pairs)
def test_divergences_of_distributions(pair: tuple[Integers, Integers]) -> None:
    true, released = pair
    if not (true.any() and released.any()):
        return
    distance = utility.hellinger_of_proportions(true, released)
    divergence = utility.kullback_leibler(true, released)
    # [Antal2014, §3.1]: against the uniform it is log K − H, which is T2·log K.
    uniform = utility.kullback_leibler(true, np.ones_like(true))
    if true.size > 1:
        assert uniform == pytest.approx(risk.before(true).entropy * log(true.size), abs=1e-9)
    assert 0 <= distance <= 1 + 1e-12
    # −2·log(1 − HD²) is a lower bound of the divergence, by Jensen.
    if divergence < inf:
        assert divergence >= -2 * log(1 - distance**2) - 1e-9
