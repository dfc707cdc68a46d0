"""Figures kept in a byte each wherever they fit come back as they were."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.protect.records.protected_base.narrow import Narrow


@pytest.mark.parametrize(("largest", "size"), [(255, 1), (256, 2), (65_535, 2), (65_536, 4)])
def test_columns_of_small_figures_take_a_byte(largest: int, size: int) -> None:
    figures = np.array([[0, 3, 255], [7, largest, 1]], np.int32)
    kept = Narrow.of(figures)
    assert kept.wide().tolist() == figures.tolist()
    assert kept.wide().dtype == np.int32
    # Three columns of a byte, or two of them and one of as many as its largest figure needs.
    assert kept.small.nbytes + kept.large.nbytes == 2 * (2 + size)


def test_no_areas_and_no_cells() -> None:
    for shape in ((0, 4), (3, 0)):
        kept = Narrow.of(np.zeros(shape, np.int32))
        assert kept.shape == kept.wide().shape == shape
