"""Stochastic perturbation: the printed matrix, the invariant version, exact draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.protect import InvariantPerturbation, StochasticPerturbation

PUBLISHED = StochasticPerturbation.published()


def test_the_printed_matrix() -> None:
    # [Shlomo2015, table 3]: rows 1, 3, 8 and 10, and residues 1 and 5.
    matrix = PUBLISHED.transition().matrix(15)
    small = 1 / 60  # printed 0.0167
    np.testing.assert_allclose(matrix[1, :6], [0, 0.5, 0.125, 0.125, 0.125, 0.125])
    np.testing.assert_allclose(matrix[3, :8], [0, small, small, 0.9, *[small] * 4])
    np.testing.assert_allclose(matrix[8, 5:12], [*[small] * 3, 0.9, *[small] * 3])
    np.testing.assert_allclose(matrix[10, 7:14], [*[small] * 3, 0.9, *[small] * 3])
    np.testing.assert_allclose(matrix[11, 8:15], [*[small] * 3, 0.9, *[small] * 3])
    np.testing.assert_allclose(matrix[15, 9:16], [*[small] * 6, 0.9])
    np.testing.assert_allclose(matrix.sum(axis=1), 1)


def test_counts_above_10_go_by_their_residue_to_base_5() -> None:
    transition = PUBLISHED.transition()
    for count in (15, 20, 1005):
        values, _ = transition.row(count)
        np.testing.assert_array_equal(values - count, range(-6, 1))
    for count in (11, 16, 1001):
        values, _ = transition.row(count)
        np.testing.assert_array_equal(values - count, range(-3, 4))


def test_the_oddities_of_the_printed_matrix() -> None:
    matrix = PUBLISHED.transition().matrix(15)
    assert matrix[0, 0] == 1  # no zero is made into anything
    assert not matrix[1:, 0].any()  # and none appears
    # Class 5 only goes down: (1 + 2 + … + 6)/60 = 0.35 on average.
    assert PUBLISHED.transition().bias[15] == pytest.approx(-0.35)
    # Not invariant: of the published hypercube's 4,028 ones and 2,112 twos (and 2,964 cells of
    # 3 to 5, here 988 of each) 4,028/2 + 2,112/8 + (988 + 988)/60 = 2,311 are released as 1.
    t = np.zeros(16)
    t[1:6] = 4028, 2112, 988, 988, 988
    assert (t @ matrix)[1] == pytest.approx(2311, abs=1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=40))
def test_the_invariant_version_keeps_the_frequencies(frequencies: list[int]) -> None:
    t = np.array(frequencies, float)
    method = PUBLISHED.invariant(t)
    matrix = method.transition().matrix(len(t) - 1)
    assert matrix.shape[1] <= len(t)  # nothing leaves 0 … L
    released = np.zeros(len(t))
    released[: matrix.shape[1]] = t @ matrix
    np.testing.assert_allclose(released, t, atol=1e-9 * max(1, t.sum()))
    values, _ = method.transition().row(len(t) + 10)
    np.testing.assert_array_equal(values, [len(t) + 10])


@pytest.mark.parametrize("exact", [False, True])
def test_the_invariant_method_keeps_the_numbers_of_cells(exact: bool) -> None:
    # 800 ones, 400 twos, 300 of 3 to 5, a lone 700 and 500 zeros. As printed the matrix would
    # leave about 800/2 + 400/8 + 200/60 = 453 ones.
    counts = np.repeat([0, 1, 2, 3, 4, 5, 700], [500, 800, 400, 100, 100, 100, 1])
    method = InvariantPerturbation(StochasticPerturbation.published(exact))
    numbers, totals = [], []
    for seed in range(60):
        released = method.apply(counts, np.random.default_rng(seed))
        assert not released[:500].any()  # zeros stay
        assert released[-1] == 700  # nothing is near it
        assert (released != counts)[500:1300].mean() > 0.1  # ones change all the same
        numbers.append(np.bincount(released[:-1], minlength=8))
        totals.append(released.sum())
    mean, error = np.mean(numbers, axis=0), np.std(numbers, axis=0) / np.sqrt(60)
    true = np.bincount(counts[:-1], minlength=8)
    assert (np.abs(mean - true) <= 5 * error + 1e-9).all()
    assert abs(np.mean(totals) - counts.sum()) <= 5 * np.std(totals) / np.sqrt(60)
    if exact:
        assert (np.abs(np.array(numbers) - true) < 1).all()


def test_a_biased_matrix_says_so() -> None:
    # Row 1 as printed: 1/2 + (2 + 3 + 4 + 5)/8 = 2.25, the largest bias.
    assert PUBLISHED.caution.startswith(
        "the matrix as printed is biased, a count of 1 becomes 2.25 on average"
    )
    assert StochasticPerturbation([[1, 0], [0, 1]]).caution == ""
    leaning = StochasticPerturbation([[1, 0], [0.5, 0.5]])
    assert leaning.caution.startswith("the matrix is biased, a count of 1 becomes 0.5 on average")


def test_exact_draws_have_the_expected_numbers() -> None:
    # 80 ones: 40 stay, 10 become each of 2 to 5. 120 eights: 108 stay, 2 move to each of 5 to 11.
    counts = np.array([1] * 80 + [8] * 120 + [0] * 50)
    method = StochasticPerturbation.published(exact=True)
    for seed in range(10):
        released = method.apply(counts, np.random.default_rng(seed))
        assert np.bincount(released[:80], minlength=6).tolist() == [0, 40, 10, 10, 10, 10]
        expected = [2, 2, 2, 108, 2, 2, 2]
        assert np.bincount(released[80:200], minlength=12)[5:].tolist() == expected
        assert not released[200:].any()


def test_exact_draws_are_within_one_of_expectation_and_without_bias() -> None:
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 9, 100)
    method = StochasticPerturbation.published(exact=True)
    matrix = PUBLISHED.transition().matrix(11)
    expected = np.bincount(counts, minlength=12) @ matrix[:, : matrix.shape[1]]
    draws = 400
    mean = np.zeros(100)
    for seed in range(draws):
        released = method.apply(counts, np.random.default_rng(seed))
        got = np.bincount(released, minlength=len(expected))
        assert (np.abs(got - expected) < 1).all()
        mean += released / draws
    changes = matrix @ np.arange(matrix.shape[1])
    spread = np.sqrt(matrix @ np.arange(matrix.shape[1]) ** 2 - changes**2)
    error = 5 * np.maximum(spread[counts], 0.01) / np.sqrt(draws)
    assert (np.abs(mean - changes[counts]) <= error).all()


def test_exact_draws_take_a_generator() -> None:
    with pytest.raises(ParameterError, match="takes a generator, not uniforms"):
        StochasticPerturbation.published(exact=True).apply(np.ones(3, int), np.zeros(3))


def test_bad_matrices_are_refused() -> None:
    with pytest.raises(ParameterError, match="sum to 1"):
        StochasticPerturbation([[0.5, 0.4]])
    with pytest.raises(ParameterError, match="two dimensions"):
        StochasticPerturbation([1.0])
    with pytest.raises(ParameterError, match="period must be an integer from 1 to 2"):
        StochasticPerturbation(np.eye(2), period=3)
    with pytest.raises(ParameterError, match="frequencies must be"):
        PUBLISHED.invariant([1])


def test_the_matrix_cannot_be_changed_afterwards() -> None:
    given = np.eye(2)
    method = StochasticPerturbation(given)
    given[0] = 0
    np.testing.assert_array_equal(np.asarray(method.matrix), np.eye(2))
