"""The distances of every row are those of the row as a table of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from discreet import utility

Integers = NDArray[np.int64]

pairs = hnp.array_shapes(min_dims=1, max_dims=3, max_side=5).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.int64, shape, elements=st.integers(0, 30)),
        hnp.arrays(np.int64, shape, elements=st.integers(0, 30)),
    )
)


@settings(max_examples=60)
@given(pairs)
def test_every_row_is_a_table_of_its_own(pair: tuple[Integers, Integers]) -> None:
    true, released = pair
    every = utility.distance_rows(true, released)
    for measure, values in (
        (utility.hellinger, every.hellinger),
        (utility.relative_absolute, every.relative_absolute),
        (utility.average_absolute, every.average_absolute),
    ):
        assert values.whole == pytest.approx(measure(true, released))
        for axis in range(true.ndim):
            alone = [
                measure(true.take(i, axis=axis), released.take(i, axis=axis))
                for i in range(true.shape[axis])
            ]
            np.testing.assert_allclose(values.axes[axis], alone, atol=1e-12)
