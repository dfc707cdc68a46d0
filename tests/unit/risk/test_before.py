"""R1: hand-made values, the properties of the literature, and what is refused."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding
from risk_tables import Integers, tables

FOUR = (0.1, 0.7, 0.1, 0.1)

ROUNDING = RandomRounding(3).transition()


def test_a_table_by_hand() -> None:
    # K = 4, N = 8, one zero; H = ½·log 2 + 2·¼·log 4 = 1.5·log 2, log K = 2·log 2: T2 = ¼.
    result = risk.before([[4, 2], [2, 0]])
    assert result.zeros == 0.25
    assert result.entropy == pytest.approx(0.25)
    assert result.size == pytest.approx((1 + 0.5 * log(8)) / sqrt(8))
    assert float(result) == pytest.approx(0.1 * 0.25 + 0.8 * 0.25 + 0.1 * result.size)
    assert result.norm == pytest.approx(sqrt((2 * 0.25**2 + result.size**2) / 3))


def test_four_ones_have_no_concentration() -> None:
    assert risk.before([1, 1, 1, 1]).entropy == 0


def test_one_cell_is_degenerate() -> None:
    assert risk.before([7]).entropy == 1
    assert float(risk.before([1])) == pytest.approx(0.8 + 0.1)


def test_ones_and_zeros_are_told_apart() -> None:
    # 1 → 0 and 0 → 1 both move the share of zeros by one cell.
    assert risk.before([5, 1, 0]).zeros == pytest.approx(1 / 3)
    assert risk.before([5, 0, 0]).zeros == pytest.approx(2 / 3)
    assert risk.before([5, 1, 1]).zeros == 0


@given(tables())
def test_within_0_and_1_with_every_term(table: Integers) -> None:
    result = risk.before(table)
    for value in (result.value, result.zeros, result.entropy, result.size, result.norm):
        assert 0 <= value <= 1


@given(st.integers(2, 50), st.integers(1, 10**6))
def test_one_populated_cell_is_high_and_uniform_is_low(cells: int, people: int) -> None:
    alone = np.zeros(cells, np.int64)
    alone[0] = people * cells
    even = np.full(cells, people)
    assert risk.before(alone).entropy == pytest.approx(1)
    assert risk.before(even).entropy == pytest.approx(0, abs=1e-12)
    assert float(risk.before(alone)) > float(risk.before(even)) + 0.8


@given(tables(), st.integers(2, 100))
def test_smaller_counts_are_riskier(table: Integers, factor: int) -> None:
    assert float(risk.before(table)) >= float(risk.before(table * factor)) - 1e-12


@given(tables(), st.integers(1, 30))
def test_more_zero_cells_with_the_same_content_are_riskier(table: Integers, more: int) -> None:
    wider = np.append(table.ravel(), np.zeros(more, np.int64))
    assert float(risk.before(wider)) > float(risk.before(table)) - 1e-12
    assert risk.before(wider).zeros > risk.before(table).zeros


@given(tables(), st.integers(0, 10**6))
def test_the_order_and_the_shape_of_cells_do_not_matter(table: Integers, seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(table.ravel())
    assert float(risk.before(shuffled)) == pytest.approx(float(risk.before(table)), abs=1e-12)


def test_the_split_form_by_hand() -> None:
    # Small: 0, 2, 2 (K = 3, two equal): 1 − log 2/log 3. Large: 8, 8: 0.
    result = risk.before_split([0, 2, 2, 8, 8])
    assert result.entropy_small == pytest.approx(1 - log(2) / log(3))
    assert result.entropy_large == pytest.approx(0, abs=1e-12)
    assert result.zeros == pytest.approx(0.2)
    assert float(result) == pytest.approx(
        0.1 * 0.2 + 0.7 * result.entropy_small + 0.1 * result.size
    )


def test_the_split_is_between_6_and_7() -> None:
    # 6 is small (with 0, two cells, all in one: 1) and 7 is large (alone in its part: 1).
    result = risk.before_split([0, 6, 7])
    assert (result.entropy_small, result.entropy_large) == (1, 1)
    assert risk.before_split([0, 7, 7]).entropy_small == 0
    assert risk.before_split([1, 6, 6]).entropy_large == 0


@given(tables())
def test_the_split_form_is_within_0_and_1(table: Integers) -> None:
    assert 0 <= float(risk.before_split(table)) <= 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([0, 0], "at least one person"),
        ([], "at least one cell"),
        ([-1, 2], "negative"),
        ([0.5, 2], "fractional"),
        ([np.nan, 2], "missing"),
        (["a"], "the type"),
        ([True, False], "the type bool"),
    ],
)
def test_what_is_no_table_is_refused(table: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        risk.before(table)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=message):
        risk.before_split(table)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.5, 0.6, 0.1), (-0.1, 1, 0.1)])
def test_weights_are_three_and_sum_to_1(weights: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="weights must be 3 or 4 numbers"):
        risk.before([1, 2], weights)


@given(tables())
def test_four_weights_ask_for_the_split_form(table: Integers) -> None:
    found = risk.before(table, FOUR)
    assert isinstance(found, risk.SplitRisk)
    assert found == risk.before_split(table)
    assert 0 <= found.norm <= 1
    # (0.7·small + 0.1·large)/0.8, so that 0.8 of it is what the two add to the risk.
    both = 0.7 * found.entropy_small + 0.1 * found.entropy_large
    assert found.entropy == pytest.approx(both / 0.8)
    assert found.value == pytest.approx(0.1 * found.zeros + both + 0.1 * found.size)


def test_weights_of_another_number_are_refused() -> None:
    for measure in (
        lambda w: risk.before([1, 2], w),
        lambda w: risk.after([1, 2], [1, 2], w),
        lambda w: risk.after_transition([1, 2], [0, 3], ROUNDING, w),
        lambda w: risk.expected_after_transition([1, 2], ROUNDING, w),
        lambda w: risk.public_gate([1, 2], 0.3, w),
        lambda w: risk.before_rows([1, 2], w),
    ):
        for weights in ((0.5, 0.5), (0.2,) * 5, (0.5, 0.5, 0.5, -0.5), (0.1, 0.2, 0.3, 0.3)):
            with pytest.raises(ParameterError, match="weights must be 3 or 4 numbers"):
                measure(weights)
