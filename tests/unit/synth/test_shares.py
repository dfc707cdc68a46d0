"""Shares become thresholds that never draw what has no weight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.synth.shares import chances, thresholds


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=12).filter(lambda w: sum(w) > 1e-3),
    st.integers(0, 2**31 - 1),
)
def test_thresholds_never_give_a_category_of_weight_zero(weights, u):
    row = thresholds(weights)[0]
    drawn = int(np.searchsorted(row, u, side="right"))  # the naive twin of the kernel's search
    assert drawn < len(weights)
    assert weights[drawn] > 0


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1]])
def test_thresholds_refuse_what_is_no_distribution(weights):
    with pytest.raises(ValueError, match="weights"):
        thresholds([weights])


def test_chances_refuse_what_is_no_probability():
    with pytest.raises(ValueError, match="between 0 and 1"):
        chances([1.5])
