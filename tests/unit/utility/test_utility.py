"""Utility: values by hand, 1 → 0 and 0 → 1 for each, and expectations by enumeration."""

from __future__ import annotations

from itertools import product
from math import inf, isnan, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from discreet import risk, utility
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding
from discreet.table.transition import Transition

Integers = NDArray[np.int64]
LIVELY = Transition.from_matrix([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]])
ONE_TO_ZERO = ([1, 4], [0, 4])
ZERO_TO_ONE = ([0, 4], [1, 4])

pairs = hnp.array_shapes(min_dims=1, max_dims=3, max_side=5).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.int64, shape, elements=st.integers(0, 30)),
        hnp.arrays(np.int64, shape, elements=st.integers(0, 30)),
    )
)


def test_hellinger_by_hand() -> None:
    assert utility.hellinger([1, 4, 9], [4, 4, 4]) == pytest.approx(sqrt(0.5 * (1 + 0 + 1)))
    assert utility.hellinger(*ONE_TO_ZERO) == utility.hellinger(*ZERO_TO_ONE) == sqrt(0.5)
    assert utility.score([16, 0], [9, 0]) == pytest.approx(1 - sqrt(0.5) / 4)
    assert utility.score([1, 0], [0, 100]) == 0  # cut: the released total is larger
    with pytest.raises(ParameterError, match="at least one person"):
        utility.score([0, 0], [1, 0])


@given(pairs)
def test_hellinger_is_a_distance(pair: tuple[Integers, Integers]) -> None:
    true, released = pair
    distance = utility.hellinger(true, released)
    assert distance == utility.hellinger(released, true)
    assert distance <= sqrt((true.sum() + released.sum()) / 2) + 1e-9
    assert utility.hellinger(true, true) == 0
    assert (distance == 0) == bool((true == released).all())


def test_hellinger_of_proportions_by_hand() -> None:
    # p = (½, ½), q = (¼, ¾): √(1 − √⅛ − √⅜).
    expected = sqrt(1 - sqrt(1 / 8) - sqrt(3 / 8))
    assert utility.hellinger_of_proportions([2, 2], [1, 3]) == pytest.approx(expected)
    assert utility.hellinger_of_proportions([1, 2], [10, 20]) == pytest.approx(0)
    assert utility.hellinger_of_proportions([1, 0], [0, 5]) == 1
    # 1 → 0: p = (⅕, ⅘), q = (0, 1); 0 → 1 the other way round: the same.
    lost = sqrt(1 - sqrt(4 / 5))
    assert utility.hellinger_of_proportions(*ONE_TO_ZERO) == pytest.approx(lost)
    assert utility.hellinger_of_proportions(*ZERO_TO_ONE) == pytest.approx(lost)
    assert isnan(utility.hellinger_of_proportions([1, 2], [0, 0]))
    with pytest.raises(ParameterError, match="at least one person"):
        utility.hellinger_of_proportions([0, 0], [1, 0])


def test_kullback_leibler_by_hand() -> None:
    # p = (½, ½), q = (¼, ¾): ½·log 2 + ½·log ⅔.
    found = utility.kullback_leibler([2, 2], [1, 3])
    assert found == pytest.approx(0.5 * log(2) + 0.5 * log(2 / 3))
    assert utility.kullback_leibler([1, 2, 0], [3, 6, 0]) == pytest.approx(0)
    assert utility.kullback_leibler(*ONE_TO_ZERO) == inf
    assert utility.kullback_leibler(*ZERO_TO_ONE) == pytest.approx(log(5 / 4))  # p = 1, q = ⅘
    assert isnan(utility.kullback_leibler([1, 2], [0, 0]))
    with pytest.raises(ParameterError, match="at least one person"):
        utility.kullback_leibler([0, 0], [1, 0])


@given(pairs)
def test_divergences_of_distributions(pair: tuple[Integers, Integers]) -> None:
    true, released = pair
    if not (true.any() and released.any()):
        return
    distance = utility.hellinger_of_proportions(true, released)
    divergence = utility.kullback_leibler(true, released)
    # [Antal2014, §3.1]: against the uniform it is log K − H, which is T2·log K.
    uniform = utility.kullback_leibler(true, np.ones_like(true))
    if true.size > 1:
        assert uniform == pytest.approx(risk.before(true).entropy * log(true.size), abs=1e-9)
    assert 0 <= distance <= 1 + 1e-12
    # −2·log(1 − HD²) is a lower bound of the divergence, by Jensen.
    if divergence < inf:
        assert divergence >= -2 * log(1 - distance**2) - 1e-9


def test_reciprocal_mean_square_by_hand() -> None:
    assert utility.reciprocal_mean_square([[2, 4], [0, 5]], [[3, 3], [7, 5]]) == 4 / (1 + 1 + 49)
    assert utility.reciprocal_mean_square(*ONE_TO_ZERO) == 2
    assert utility.reciprocal_mean_square(*ZERO_TO_ONE) == 2
    assert utility.reciprocal_mean_square([1, 2], [1, 2]) == inf


def test_relative_and_average_absolute_by_hand() -> None:
    true, released = [[2, 4], [0, 5]], [[3, 3], [7, 5]]
    assert utility.relative_absolute(true, released) == pytest.approx(1 / 2 + 1 / 4)
    assert utility.average_absolute(true, released) == pytest.approx((1 + 1 + 7) / 4)
    assert utility.relative_absolute(*ONE_TO_ZERO) == 1
    assert utility.relative_absolute(*ZERO_TO_ONE) == 0
    assert utility.average_absolute(*ONE_TO_ZERO) == utility.average_absolute(*ZERO_TO_ONE) == 0.5
    rows = utility.relative_absolute_rows(true, released)
    np.testing.assert_allclose(rows.values, [0.75, 0])
    assert rows.mean == pytest.approx(0.375)
    # s = 0.75/√2, n = 2: s/√n = 0.375.
    assert rows.standard_error == pytest.approx(0.375)
    np.testing.assert_allclose(utility.average_absolute_rows(true, released, 1).values, [4, 0.5])
    np.testing.assert_allclose(
        utility.hellinger_rows([[1, 4], [9, 9]], [[0, 4], [9, 4]]).values,
        [sqrt(0.5), sqrt(0.5)],
    )
    assert isnan(utility.hellinger_rows([[1, 4]], [[0, 4]]).standard_error)


@settings(max_examples=60)
@given(pairs)
def test_every_slice_is_a_table_of_its_own(pair: tuple[Integers, Integers]) -> None:
    true, released = pair
    every = utility.all_slices(true, released)
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


def test_variance_ratio_by_hand() -> None:
    # Variances 2 → 8, and a row of equal cells has none.
    ratio = utility.variance_ratio([[1, 3], [5, 5]], [[0, 4], [3, 6]])
    assert ratio.values[0] == pytest.approx(4)
    assert isnan(ratio.values[1])
    assert ratio.mean == pytest.approx(4)
    assert utility.variance_ratio([[1, 3]], [[0, 3]]).mean == pytest.approx(4.5 / 2)  # 1 → 0
    assert utility.variance_ratio([[0, 2]], [[1, 2]]).mean == pytest.approx(0.5 / 2)  # 0 → 1
    with pytest.raises(ParameterError, match="at least 2 cells"):
        utility.variance_ratio([1, 2], [1, 2])


def naive_rank_change(true: list[int], released: list[int], groups: int = 10) -> float:
    """By sorting lists of (count, place) pairs."""
    n = len(true)
    first = sorted(range(n), key=lambda c: (true[c], c))
    rank = {cell: r for r, cell in enumerate(first)}
    again = sorted(range(n), key=lambda c: (released[c], rank[c]))
    now = {cell: r for r, cell in enumerate(again)}
    return sum(groups * rank[c] // n != groups * now[c] // n for c in range(n)) / n


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


@given(
    st.integers(1, 40).flatmap(
        lambda n: hnp.arrays(np.int64, (2, n, 2), elements=st.integers(0, 9))
    )
)
def test_rank_change_is_that_of_sorted_lists(both: Integers) -> None:
    got = utility.rank_change(both[0], both[1]).values
    expected = [naive_rank_change(both[0, :, c].tolist(), both[1, :, c].tolist()) for c in (0, 1)]
    np.testing.assert_allclose(got, expected)


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


@pytest.mark.parametrize(
    ("counts", "method"),
    [
        ((0, 1, 2, 4, 5, 9), RandomRounding(3).transition()),
        ((0, 0, 1, 2, 7, 3), RandomRounding(5).transition()),
        ((0, 0, 1, 2, 5), LIVELY),
        ((1,), RandomRounding(3).transition()),
        ((3, 6), RandomRounding(3).transition()),
    ],
)
def test_expectations_are_those_of_every_release(
    counts: tuple[int, ...], method: Transition
) -> None:
    true = np.array(counts)
    rows = [method.row(count) for count in counts]
    sums = np.zeros(5)
    for chosen in product(*(range(len(values)) for values, _ in rows)):
        released = np.array([rows[c][0][k] for c, k in enumerate(chosen)])
        chance = np.prod([rows[c][1][k] for c, k in enumerate(chosen)])
        distance = utility.hellinger(true, released)
        sums += chance * np.array(
            [
                distance,
                distance**2,
                utility.relative_absolute(true, released),
                utility.average_absolute(true, released),
                (true == released).mean(),
            ]
        )
    got = [
        utility.expected_hellinger(true, method),
        utility.expected_hellinger_square(true, method),
        utility.expected_relative_absolute(true, method),
        utility.expected_average_absolute(true, method),
        utility.expected_unchanged(true, method),
    ]
    np.testing.assert_allclose(got, sums, rtol=0, atol=1e-10)
    assert utility.expected_score(true, method) == pytest.approx(
        max(0, 1 - sums[0] / sqrt(true.sum()))
    )


def test_tables_of_two_shapes_are_refused() -> None:
    for measure in (utility.hellinger, utility.relative_absolute, utility.rank_change):
        with pytest.raises(ParameterError, match="one shape"):
            measure([1, 2], [1, 2, 3])
