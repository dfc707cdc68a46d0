"""Margins and additivity by hand."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import utility
from discreet.errors import ParameterError


def test_margins_by_hand() -> None:
    differences = utility.margin_differences([[2, 4], [0, 4]], [[3, 3], [0, 6]])
    assert set(differences) == {(), (0,), (1,)}
    assert differences[()] == pytest.approx(0.2)
    np.testing.assert_allclose(differences[(0,)], [0, 0.5])
    np.testing.assert_allclose(differences[(1,)], [0.5, 1 / 8])
    np.testing.assert_array_equal(
        utility.margin_differences([[0], [1]], [[1], [0]])[(0,)], [np.inf, -1]
    )
    assert utility.margin_differences([[0, 1]], [[0, 1]])[(1,)][0] == 0
    assert set(utility.margin_differences(np.ones((2, 2, 2), int), np.ones((2, 2, 2), int))) == {
        (), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)
    }  # fmt: skip


def test_additivity_gap_by_hand() -> None:
    cells = [[3, 0], [6, 3]]
    margins = {(0,): [3, 9], (1,): [9, 6], (): 12}
    # The second column sums to 3, not 6.
    assert utility.additivity_gap(cells, margins) == 3
    assert utility.additivity_gap(cells, {(): 12}) == 0
    with pytest.raises(ParameterError, match="must have 2 values"):
        utility.additivity_gap(cells, {(0,): [1, 2, 3]})
