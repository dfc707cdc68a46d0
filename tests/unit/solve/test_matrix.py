"""Unbiased rounding of a matrix that keeps its sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from discreet.errors import ParameterError
from discreet.solve import round_matrix


@settings(max_examples=100, deadline=None)
@given(
    matrix=arrays.arrays(
        np.float64,
        arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7),
        # Halves, thirds and tenths give sums that are integers but for the last digit.
        elements=st.sampled_from([0, 0.1, 0.2, 0.5, 1 / 3, 2 / 3, 1, 3.7, 12.25]),
    ),
    seed=st.integers(0, 100),
)
def test_entries_and_sums_become_neighbouring_integers(
    matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]], seed: int
) -> None:
    solution = round_matrix(matrix, np.random.default_rng(seed))
    assert solution.solved
    for got, asked in (
        (solution.values, matrix),
        (solution.values.sum(axis=0), matrix.sum(axis=0)),
        (solution.values.sum(axis=1), matrix.sum(axis=1)),
        (solution.values.sum(), matrix.sum()),
    ):
        assert (got >= np.floor(asked + 1e-9)).all()
        assert (got <= np.ceil(asked - 1e-9)).all()


def test_the_mean_of_many_draws_is_the_matrix() -> None:
    rng = np.random.default_rng(5)
    matrix = np.array([[0.5, 0.5, 1.2], [0.3, 0.9, 2.8], [0.2, 0.1, 0.05]])
    draws = 4000
    mean = sum(round_matrix(matrix, rng).values for _ in range(draws)) / draws
    # Standard deviation of an entry at most 1/2.
    assert (np.abs(mean - matrix) < 5 * 0.5 / np.sqrt(draws)).all()


def test_integers_stay_and_empty_matrices_are_fine() -> None:
    rng = np.random.default_rng(1)
    assert round_matrix([[1, 2], [3, 4]], rng).values.tolist() == [[1, 2], [3, 4]]
    assert round_matrix(np.zeros((0, 3)), rng).values.shape == (0, 3)
    with pytest.raises(ParameterError, match="finite"):
        round_matrix([[np.nan]], rng)
