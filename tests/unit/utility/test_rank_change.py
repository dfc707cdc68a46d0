"""Changes of rank, by hand and against plain sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from discreet import utility
from discreet.errors import ParameterError

Integers = NDArray[np.int64]

pairs = hnp.array_shapes(min_dims=1, max_dims=3, max_side=5).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.int64, shape, elements=st.integers(0, 30)),
        hnp.arrays(np.int64, shape, elements=st.integers(0, 30)),
    )
)


def test_rank_change_by_hand() -> None:
    # Ten cells are ten deciles; swapping the two largest changes 2 of 10.
    true = np.arange(10)
    released = true.copy()
    released[[8, 9]] = released[[9, 8]]
    assert utility.rank_change(true, released).mean == pytest.approx(0.2)
    # Ties stay in the order of the first sort: all equal changes nothing.
    assert utility.rank_change(true, np.full(10, 3)).mean == 0
    # 1 → 0 ties with the zero before it and keeps its place; 0 → 1 ties with the 1 after it.
    assert utility.rank_change([0, 1, 5], [0, 0, 5]).mean == 0
    assert utility.rank_change([0, 1, 5], [1, 1, 5]).mean == 0
    with pytest.raises(ParameterError, match="groups"):
        utility.rank_change([1, 2], [1, 2], groups=1)


def naive_rank_change(true: list[int], released: list[int], groups: int = 10) -> float:
    """By sorting lists of (count, place) pairs."""
    n = len(true)
    first = sorted(range(n), key=lambda c: (true[c], c))
    rank = {cell: r for r, cell in enumerate(first)}
    again = sorted(range(n), key=lambda c: (released[c], rank[c]))
    now = {cell: r for r, cell in enumerate(again)}
    return sum(groups * rank[c] // n != groups * now[c] // n for c in range(n)) / n


@given(
    st.integers(1, 40).flatmap(
        lambda n: hnp.arrays(np.int64, (2, n, 2), elements=st.integers(0, 9))
    )
)
def test_rank_change_is_that_of_sorted_lists(both: Integers) -> None:
    got = utility.rank_change(both[0], both[1]).values
    expected = [naive_rank_change(both[0, :, c].tolist(), both[1, :, c].tolist()) for c in (0, 1)]
    np.testing.assert_allclose(got, expected)
