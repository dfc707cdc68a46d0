"""Distances of every row by hand, with mean and standard error."""

from __future__ import annotations

from math import isnan, sqrt

import numpy as np
import pytest

from discreet import utility
from discreet.errors import ParameterError

ONE_TO_ZERO = ([1, 4], [0, 4])

ZERO_TO_ONE = ([0, 4], [1, 4])


def test_relative_and_average_absolute_by_hand() -> None:
    true, released = [[2, 4], [0, 5]], [[3, 3], [7, 5]]
    assert utility.relative_absolute(true, released) == pytest.approx(1 / 2 + 1 / 4)
    assert utility.average_absolute(true, released) == pytest.approx((1 + 1 + 7) / 4)
    assert utility.relative_absolute(*ONE_TO_ZERO) == 1
    assert utility.relative_absolute(*ZERO_TO_ONE) == 0
    assert utility.average_absolute(*ONE_TO_ZERO) == utility.average_absolute(*ZERO_TO_ONE) == 0.5
    rows = utility.relative_absolute_rows(true, released)
    np.testing.assert_allclose(rows.values, [0.75, 0])
    assert rows.mean == pytest.approx(0.375)
    # s = 0.75/√2, n = 2: s/√n = 0.375.
    assert rows.standard_error == pytest.approx(0.375)
    np.testing.assert_allclose(utility.average_absolute_rows(true, released, 1).values, [4, 0.5])
    np.testing.assert_allclose(
        utility.hellinger_rows([[1, 4], [9, 9]], [[0, 4], [9, 4]]).values,
        [sqrt(0.5), sqrt(0.5)],
    )
    assert isnan(utility.hellinger_rows([[1, 4]], [[0, 4]]).standard_error)


def test_tables_of_two_shapes_are_refused() -> None:
    for measure in (utility.hellinger, utility.relative_absolute, utility.rank_change):
        with pytest.raises(ParameterError, match="one shape"):
            measure([1, 2], [1, 2, 3])
