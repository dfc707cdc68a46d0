"""Risk after record swapping, by the matrix that stands in for it [Shlomo2015, §4.2]."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect import IndividualSwapping
from discreet.risk.terms import x_log_x
from risk_tables import Integers, tables

SEEDS = st.integers(0, 10**6)
WEIGHTS = st.sampled_from([(0.1, 0.8, 0.1), (0.0, 1.0, 0.0), (0.1, 0.7, 0.1, 0.1)])


def shuffled(table: Integers, seed: int) -> Integers:
    return np.random.default_rng(seed).permutation(table.ravel()).reshape(table.shape)


def naive_term(true: Integers, rate: float, low: int = 0, high: int = 10**9) -> float:
    """log K − H over log K of the contents low to high by the dense matrix, K the true cells."""
    inside = true[(true >= low) & (true <= high)]
    if not inside.any() or inside.size == 1:
        return float(inside.any())
    largest = int(true.max())
    matrix = np.full((largest + 1, largest + 1), rate / largest)
    np.fill_diagonal(matrix, 1 - rate)
    n = np.bincount(true.ravel())
    part = slice(low, high + 1)
    mu, sums = (n @ matrix)[part], ((np.arange(largest + 1) * n) @ matrix)[part]
    relative = sums[mu > 0] / mu[mu > 0] * mu.sum() / sums.sum()
    inequality = (mu[mu > 0] * x_log_x(relative)).sum() / mu.sum()
    return float(min(inequality / log(inside.size), 1))


@settings(max_examples=80)
@given(tables(most=30), SEEDS, st.floats(0, 0.5))
def test_the_closed_form_is_the_dense_matrix(table: Integers, seed: int, rate: float) -> None:
    # At most L/(L + 1), where all values are as likely: with L = 1 that is ½.
    released = shuffled(table, seed)
    after = risk.after_swapping(table, released, rate, multiplier=1)
    assert after.entropy == pytest.approx(naive_term(table, rate), abs=1e-9)
    split = risk.after_swapping(table, released, rate, (0.1, 0.7, 0.1, 0.1), multiplier=1)
    assert isinstance(split, risk.SplitRiskAfter)
    assert split.entropy_small == pytest.approx(naive_term(table, rate, 0, 6), abs=1e-9)
    assert split.entropy_large == pytest.approx(naive_term(table, rate, 7), abs=1e-9)


def test_by_hand() -> None:
    # F = (0, 2), rate ½, L = 2: of every value ½·n_j + ¼·(2 − n_j) cells: ¾, ½, ¾, holding
    # ¼·2 = ½, ½ and ½·2 = 1 people: contents ⅔, 1, 4/3. H = −Σ μ·(c/2)·log(c/2) over 2 cells.
    entropy = -(0.75 * (1 / 3) * log(1 / 3) + 0.5 * 0.5 * log(0.5) + 0.75 * (2 / 3) * log(2 / 3))
    after = risk.after_swapping([0, 2], [0, 2], 0.5)
    assert after.entropy == pytest.approx(0.5 * (1 - entropy / log(2)))
    assert after.zeros == 0.5


@given(tables(), WEIGHTS)
def test_a_rate_of_0_leaves_the_risk_unchanged(table: Integers, weights: tuple[float, ...]) -> None:
    after = risk.after_swapping(table, table, 0, weights)
    assert after.uncapped == pytest.approx(float(risk.before(table, weights)), abs=1e-9)


@settings(max_examples=80)
@given(tables(), SEEDS, st.floats(0, 0.999), st.floats(0, 0.999))
def test_a_higher_rate_never_raises_the_risk(
    table: Integers, seed: int, one: float, other: float
) -> None:
    # The matrix of the higher rate is that of the lower followed by another of the kind, so that
    # contents are means of contents: Jensen, for every table.
    released = shuffled(table, seed)
    low, high = (risk.after_swapping(table, released, rate) for rate in sorted((one, other)))
    assert high.entropy <= low.entropy + 1e-9
    assert high.uncapped <= low.uncapped + 1e-9
    assert low.uncapped <= low.before + 1e-9


def census(seed: int) -> NDArray[np.int64]:
    """Two regions by 117 kinds of people, about 100,000 of them: as Table 4 of the paper."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.poisson(rng.lognormal(2, 3, (2, 117))), np.int64)


@pytest.mark.parametrize("weights", [(0.1, 0.8, 0.1), (0.1, 0.7, 0.1, 0.1)])
def test_a_real_swap_leaves_about_what_its_rate_leaves(weights: tuple[float, ...]) -> None:
    # Of the four printed tables a tenth moved leaves 0.77 to 0.91 of the risk (Table 5), so a
    # hundredth must leave more than 0.91. Nearly all large cells of the swapped table have values
    # that no true cell has: with contents of those a hundredth used to halve the risk.
    for seed in range(3):
        true = census(seed)
        rng = np.random.default_rng(seed)
        left = []
        for rate in (0.01, 0.1):
            released = IndividualSwapping(rate).apply(true, rng)
            assert (released != true)[true > 50].mean() > 0.5
            after = risk.after_swapping(true, released, rate, weights)
            left.append(float(after) / float(risk.before(true, weights)))
        assert 0.91 < left[0] < 1
        assert 0.77 <= left[1] <= 0.91


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="rate must be"):
        risk.after_swapping([1, 2], [1, 2], rate=1)
    with pytest.raises(ParameterError, match="3 or 4 numbers"):
        risk.after_swapping([1, 2], [1, 2], 0.1, (0.5, 0.5))
