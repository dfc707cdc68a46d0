"""Variance ratios by hand."""

from __future__ import annotations

from math import isnan

import pytest

from discreet import utility
from discreet.errors import ParameterError


def test_variance_ratio_by_hand() -> None:
    # Variances 2 → 8, and a row of equal cells has none.
    ratio = utility.variance_ratio([[1, 3], [5, 5]], [[0, 4], [3, 6]])
    assert ratio.values[0] == pytest.approx(4)
    assert isnan(ratio.values[1])
    assert ratio.mean == pytest.approx(4)
    assert utility.variance_ratio([[1, 3]], [[0, 3]]).mean == pytest.approx(4.5 / 2)  # 1 → 0
    assert utility.variance_ratio([[0, 2]], [[1, 2]]).mean == pytest.approx(0.5 / 2)  # 0 → 1
    with pytest.raises(ParameterError, match="at least 2 cells"):
        utility.variance_ratio([1, 2], [1, 2])
