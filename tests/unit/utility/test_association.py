"""χ² and Cramér's V, by hand and against the sum over cells."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from discreet import utility

Integers = NDArray[np.int64]


def test_association_by_hand() -> None:
    # Independent: 0. Diagonal 10, 10: χ² = N = 20, V = 1.
    assert utility.chi_square([[2, 4], [4, 8]]) == pytest.approx(0, abs=1e-9)
    assert utility.chi_square([[10, 0], [0, 10]]) == pytest.approx(20)
    assert utility.cramers_v([[10, 0], [0, 10]]) == pytest.approx(1)
    # (3, 1; 1, 3): expected 2 everywhere, χ² = 4·½ = 2, V = √(2/8) = ½.
    both = utility.cramers_v([[10, 0], [0, 10]], [[3, 1], [1, 3]])
    assert (both.true, both.released) == (pytest.approx(1), pytest.approx(0.5))
    assert both.relative_change == pytest.approx(-0.5)
    # A row of zeros is left out: 1 → 0 can take a row away, 0 → 1 can bring one.
    assert utility.cramers_v([[10, 0], [0, 10], [0, 0]]) == pytest.approx(1)
    assert isnan(utility.cramers_v([[5, 6], [0, 0]]))
    assert utility.cramers_v([[5, 6], [1, 0]]) > 0
    assert utility.cramers_v(np.ones((2, 2, 2), int), axis=2) == 0


@given(hnp.arrays(np.int64, (3, 4), elements=st.integers(0, 20)))
def test_chi_square_is_the_sum_over_cells(table: Integers) -> None:
    rows = table[table.any(axis=1)][:, table.any(axis=0)]
    if table.sum() == 0:
        return
    expected = np.outer(rows.sum(axis=1), rows.sum(axis=0)) / rows.sum()
    naive = ((rows - expected) ** 2 / expected).sum()
    assert utility.chi_square(table) == pytest.approx(naive, abs=1e-9)
