"""Hellinger distance: values by hand, 1 → 0 and 0 → 1."""

from __future__ import annotations

from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from discreet import utility
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


def test_hellinger_by_hand() -> None:
    assert utility.hellinger([1, 4, 9], [4, 4, 4]) == pytest.approx(sqrt(0.5 * (1 + 0 + 1)))
    assert utility.hellinger(*ONE_TO_ZERO) == utility.hellinger(*ZERO_TO_ONE) == sqrt(0.5)
    assert utility.score([16, 0], [9, 0]) == pytest.approx(1 - sqrt(0.5) / 4)
    assert utility.score([1, 0], [0, 100]) == 0  # cut: the released total is larger
    with pytest.raises(ParameterError, match="at least one person"):
        utility.score([0, 0], [1, 0])


@given(pairs)
def test_hellinger_is_a_distance(pair: tuple[Integers, Integers]) -> None:
    true, released = pair
    distance = utility.hellinger(true, released)
    assert distance == utility.hellinger(released, true)
    assert distance <= sqrt((true.sum() + released.sum()) / 2) + 1e-9
    assert utility.hellinger(true, true) == 0
    assert (distance == 0) == bool((true == released).all())


def test_hellinger_of_proportions_by_hand() -> None:
    # p = (½, ½), q = (¼, ¾): √(1 − √⅛ − √⅜).
    expected = sqrt(1 - sqrt(1 / 8) - sqrt(3 / 8))
    assert utility.hellinger_of_proportions([2, 2], [1, 3]) == pytest.approx(expected)
    assert utility.hellinger_of_proportions([1, 2], [10, 20]) == pytest.approx(0)
    assert utility.hellinger_of_proportions([1, 0], [0, 5]) == 1
    # 1 → 0: p = (⅕, ⅘), q = (0, 1); 0 → 1 the other way round: the same.
    lost = sqrt(1 - sqrt(4 / 5))
    assert utility.hellinger_of_proportions(*ONE_TO_ZERO) == pytest.approx(lost)
    assert utility.hellinger_of_proportions(*ZERO_TO_ONE) == pytest.approx(lost)
    assert isnan(utility.hellinger_of_proportions([1, 2], [0, 0]))
    with pytest.raises(ParameterError, match="at least one person"):
        utility.hellinger_of_proportions([0, 0], [1, 0])
