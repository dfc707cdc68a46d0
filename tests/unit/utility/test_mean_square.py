"""The reciprocal of the mean squared error by hand."""

from __future__ import annotations

from math import inf

from discreet import utility

ONE_TO_ZERO = ([1, 4], [0, 4])

ZERO_TO_ONE = ([0, 4], [1, 4])


def test_reciprocal_mean_square_by_hand() -> None:
    assert utility.reciprocal_mean_square([[2, 4], [0, 5]], [[3, 3], [7, 5]]) == 4 / (1 + 1 + 49)
    assert utility.reciprocal_mean_square(*ONE_TO_ZERO) == 2
    assert utility.reciprocal_mean_square(*ZERO_TO_ONE) == 2
    assert utility.reciprocal_mean_square([1, 2], [1, 2]) == inf
