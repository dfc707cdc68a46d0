"""Distinct counts with their numbers of cells, by adding up or by sorting."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.risk.terms import distinct


@pytest.mark.parametrize(
    "counts",
    [
        np.zeros((2, 3), np.int64),
        np.array([[3, 0], [3, 1]]),
        np.array([16, 0, 16, 1]),  # 16 is four times the cells: added up
        np.array([17, 0, 17, 1]),  # and 17 is more: sorted
        np.empty(0, np.int64),
        np.random.default_rng(1).integers(0, 50, (9, 13, 21)),
    ],
)
def test_it_is_numpys_unique(counts: np.ndarray) -> None:  # type: ignore[type-arg]
    found, expected = distinct(counts), np.unique(counts, return_counts=True)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
