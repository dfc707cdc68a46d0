"""PRAM: invariance, strata, and that nothing impossible is made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.protect import Pram


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=2, max_size=6), st.floats(0, 1))
def test_the_invariant_matrix_keeps_the_frequencies(t: list[int], stay: float) -> None:
    matrix = Pram.staying(len(t), stay).chances(t)[0]
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    np.testing.assert_allclose(np.array(t) @ matrix, t, atol=1e-9)
    # Nothing goes where nobody is.
    assert not matrix[:, np.array(t) == 0][np.array(t) > 0].any()


def test_two_categories_by_hand() -> None:
    """t = (3, 1), to stay ¾: Σ(t/N)² = 10/16, so α = ¼/(6/16) = ⅔ are drawn anew from (¾, ¼).

    R[0] = ⅓·(1, 0) + ⅔·(¾, ¼) = (5/6, 1/6), R[1] = (½, ½); ¾·5/6 + ¼·½ = ¾ stay.
    """
    matrix = Pram.staying(2, 0.75).chances([3, 1])[0]
    np.testing.assert_allclose(matrix, [[5 / 6, 1 / 6], [0.5, 0.5]])


def test_a_given_matrix_made_invariant_by_hand() -> None:
    """t = (3, 1), P stays with 3/4: joint (9/4, 3/4; 1/4, 3/4), released (5/2, 3/2).

    Q = (9/10, 1/10; 1/2, 1/2), so R[0] = 3/4·Q[0] + 1/4·Q[1] = (4/5, 1/5) and R[1] = (3/5, 2/5):
    ¾·4/5 + ¼·2/5 = 0.7 stay.
    """
    pram = Pram([[0.75, 0.25], [0.25, 0.75]])
    np.testing.assert_allclose(pram.chances([3, 1])[0], [[0.8, 0.2], [0.6, 0.4]])
    np.testing.assert_allclose(pram.kept([3, 1]), [0.7])


@pytest.mark.parametrize(
    "t", [[970, 20, 10], [5, 5], [1, 0, 1], [900, 50, 25, 15, 9, 1], [40, 30, 20, 10]]
)
@pytest.mark.parametrize("stay", [0.95, 0.99])
@pytest.mark.parametrize("invariant", [True, False])
def test_what_stay_says_is_what_is_reached(t: list[int], stay: float, invariant: bool) -> None:
    # However skewed. For stay = 0.95 the matrix of [Gouweleeuw1998] kept 0.962 of (970, 20, 10),
    # and 0.905 of (40, 30, 20, 10).
    assert Pram.staying(len(t), stay, invariant).kept(t)[0] == pytest.approx(stay)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=6), st.floats(0, 1))
def test_stay_is_reached_or_as_many_change_as_can(t: list[int], stay: float) -> None:
    pram = Pram.staying(len(t), stay)
    (kept,), matrix = pram.kept(t), pram.chances(t)[0]
    if sum(count > 0 for count in t) < 2:
        assert np.isnan(kept) or kept == 1
        return
    assert kept >= stay - 1e-9
    if kept > stay + 1e-9:
        # Frequencies cannot be kept with a smaller share: the rarest never stays.
        rarest = min(count for count in t if count)
        assert matrix[t.index(rarest), t.index(rarest)] == pytest.approx(0, abs=1e-9)


def test_a_matrix_made_invariant_keeps_another_share_than_it_says() -> None:
    # Why `stay` is not such a matrix: it misses on either side.
    even = np.full((4, 4), 0.05 / 3) + np.eye(4) * (0.95 - 0.05 / 3)
    assert Pram(even).kept([40, 30, 20, 10])[0] == pytest.approx(0.905, abs=5e-4)
    skewed = np.full((3, 3), 0.025) + np.eye(3) * 0.925
    assert Pram(skewed).kept([970, 20, 10])[0] == pytest.approx(0.962, abs=5e-4)


def test_the_share_cannot_be_reached_where_nearly_all_are_alike() -> None:
    # Of (990, 10) the ten who have the rare one can change places with ten others: 980 must stay.
    assert Pram.staying(2, 0.95).kept([990, 10])[0] == pytest.approx(0.98)
    assert Pram.staying(2, 0.95).kept([[50, 50], [1000, 0]]).tolist() == pytest.approx([0.95, 1])


def test_draws_follow_the_matrix_exactly_on_an_even_grid() -> None:
    codes = np.repeat(np.array([0, 1], np.uint8), [3000, 1000])
    grid = np.concatenate([(np.arange(3000) + 0.5) / 3000, (np.arange(1000) + 0.5) / 1000])
    changed = Pram.staying(2, 0.75).apply(codes, grid)
    assert changed.dtype == np.uint8
    assert (changed[:3000] == 1).sum() == 500  # 1/6 of 3,000
    assert (changed[3000:] == 0).sum() == 500  # ½ of 1,000; 3,000 of 4,000 stayed


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 0.9))
def test_nothing_is_made_that_a_stratum_does_not_have(seed: int, stay: float) -> None:
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 8, 300) * 1000
    codes = rng.integers(0, 4, 300) * (strata > 2000)
    changed = Pram.staying(4, stay).apply(codes, rng.random(300), strata)
    before = set(zip(strata.tolist(), codes.tolist(), strict=True))
    assert set(zip(strata.tolist(), changed.tolist(), strict=True)) <= before


def test_without_invariance_the_matrix_is_as_given() -> None:
    matrix = [[0.5, 0.5, 0], [0, 1, 0], [0.25, 0.25, 0.5]]
    np.testing.assert_allclose(Pram(matrix, invariant=False).chances([1, 2, 3])[0], matrix)


def test_the_largest_uniform_draws_a_category_that_can_be() -> None:
    codes = np.array([0, 1, 2])
    changed = Pram.staying(3, 0.5).apply(codes, np.full(3, np.nextafter(1, 0)), [0, 0, 1])
    assert changed.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        ([[1, 0]], "as many rows as columns"),
        ([[0.5, 0.4], [0, 1]], "sum to 1"),
        ([[1.5, -0.5], [0, 1]], "sum to 1"),
    ],
)
def test_bad_matrices(matrix: list[list[float]], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Pram(matrix)


def test_bad_input() -> None:
    pram = Pram.staying(3, 0.9)
    with pytest.raises(ParameterError, match="codes must be from 0 to 2"):
        pram.apply(np.array([3]), [0.5])
    with pytest.raises(ParameterError, match="shape of the counts"):
        pram.apply(np.array([1]), [0.5, 0.5])
    with pytest.raises(ParameterError, match="strata must be a list of 1 integers"):
        pram.apply(np.array([1]), [0.5], [0, 1])
    with pytest.raises(ParameterError, match="stay must be between 0 and 1"):
        Pram.staying(3, 1.5)
    with pytest.raises(ParameterError, match="too many"):
        Pram.staying(5000, 0.9).apply(np.arange(5000), np.full(5000, 0.5), np.arange(5000))
