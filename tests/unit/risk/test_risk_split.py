"""The split form wherever a risk can be asked for: four weights, one or two multipliers."""

from __future__ import annotations

from math import isnan, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding
from discreet.risk.before import split_part
from discreet.table.transition import Transition
from risk_tables import LIVELY, METHODS, Integers, every_release, released_of, tables

FOUR = (0.1, 0.7, 0.1, 0.1)
ROUNDING = RandomRounding(3).transition()
SEEDS = st.integers(0, 10**6)
NAMES = st.sampled_from(sorted(METHODS))


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


@settings(max_examples=60)
@given(tables(), SEEDS, NAMES)
def test_four_weights_after_protection(table: Integers, seed: int, name: str) -> None:
    released = released_of(table, METHODS[name], seed)
    one = risk.after_transition(table, released, METHODS[name], FOUR, (0.75, 0.9))
    other = risk.after_transition_split(table, released, METHODS[name], (0.75, 0.9))
    assert isinstance(one, risk.SplitRiskAfter)
    assert (one.value, one.entropy_small, one.entropy_large, one.uncapped) == pytest.approx(
        (other.value, other.entropy_small, other.entropy_large, other.uncapped), nan_ok=True
    )
    plain = risk.after_transition(table, released, METHODS[name], FOUR, 1.0)
    assert isinstance(plain, risk.SplitRiskAfter)
    assert one.entropy_small == pytest.approx(0.75 * plain.entropy_small)
    assert one.entropy_large == pytest.approx(0.9 * plain.entropy_large)
    assert one.before == pytest.approx(float(risk.before(table, FOUR)))


def test_the_plain_form_takes_the_larger_of_two_multipliers() -> None:
    # The risk must not be understated by a method that gives two.
    both = risk.after_transition([1, 2], [0, 3], ROUNDING, multiplier=(0.2, 0.6))
    assert both.entropy == risk.after_transition([1, 2], [0, 3], ROUNDING, multiplier=0.6).entropy
    assert risk.public_gate([0, 3], (0.2, 0.6)).value == risk.public_gate([0, 3], 0.6).value
    for wrong in (1.5, (0.5, 1.5), (0.1, 0.2, 0.3), ()):
        with pytest.raises(ParameterError, match="multiplier must be between 0 and 1"):
            risk.public_gate([0, 3], wrong)


def test_r2_by_hand() -> None:
    # Small part (2, 2) released as (3, 1), large part (8, 8) as it is: T2 of an even part is 0,
    # so take (1, 3) released as (2, 2) instead. a = (¼, ¾), b = (½, ½): H(X|Y) =
    # −¼·log(¼/½) − ¼·log(¼/½) = ½·log 2, H(X) = 2·log 2 − ¾·log 3, T2 = 1 − H(X)/log 2.
    whole = 2 * log(2) - 0.75 * log(3)
    found = risk.after([1, 3, 8, 24], [2, 2, 8, 24], FOUR)
    assert isinstance(found, risk.SplitRisk)
    assert found.entropy_small == pytest.approx((1 - whole / log(2)) * 0.5 * log(2) / whole)
    assert found.entropy_large == 0  # untouched
    assert isnan(risk.after([1, 3, 8], [0, 0, 9], FOUR).value)  # nobody released in a part
    assert risk.after([8, 24], [9, 24], FOUR).value > 0  # no small part: its term is 0


@settings(max_examples=50)
@given(tables(most_axes=3), SEEDS, NAMES, st.sampled_from(["expected", "observed"]))
def test_every_slice_is_a_table_of_its_own(
    table: Integers, seed: int, name: str, contents: str
) -> None:
    method = METHODS[name]
    released = released_of(table, method, seed)
    first = risk.all_slices(table, FOUR)
    entropy = risk.all_after_slices(table, released, FOUR)
    moved = risk.all_transition_slices(table, released, method, FOUR, (0.5, 0.9), contents)
    parts = [(table, released, first.whole, entropy.whole, moved.whole)]
    for axis in range(table.ndim):
        for i in range(table.shape[axis]):
            values = (found.axes[axis][i] for found in (first, entropy, moved))
            parts.append((table.take(i, axis=axis), released.take(i, axis=axis), *values))
    for true, seen, by_r1, by_entropy, by_transition in parts:
        if not true.any():
            assert np.isnan([by_r1, by_entropy, by_transition]).all()
            continue
        assert by_r1 == pytest.approx(float(risk.before(true, FOUR)), abs=1e-9)
        alone = float(risk.after(true, seen, FOUR))
        assert by_entropy == pytest.approx(alone, abs=1e-9, nan_ok=True)
        gate = risk.after_transition(true, seen, method, FOUR, (0.5, 0.9), contents)
        assert by_transition == pytest.approx(gate.value, abs=1e-9, nan_ok=True)


EXHAUSTIVE = [
    ((0, 1, 2, 4, 5, 9), ROUNDING),
    ((0, 0, 1, 2, 7, 3, 1), RandomRounding(5).transition()),
    ((0, 0, 1, 2, 5), LIVELY),
    ((5, 7, 8), ROUNDING),
    ((0, 0, 8, 8, 9), RandomRounding(5).transition()),
    ((100, 1), ROUNDING),
    ((7,), ROUNDING),
    ((4, 40), Transition.identity()),
]


@pytest.mark.parametrize(("counts", "method"), EXHAUSTIVE)
def test_the_expectation_is_that_of_every_release(
    counts: tuple[int, ...], method: Transition
) -> None:
    # Cells of 5, 7 and 8 land on either side of 6 and 7: the number of cells of a part is random.
    true = np.array(counts)
    expected = risk.expected_after_transition(true, method, FOUR, (0.75, 0.9))
    assert isinstance(expected, risk.SplitRisk)
    small = large = value = 0.0
    for chance, released in every_release(true, method):
        after = risk.after_transition_split(true, released, method, (0.75, 0.9))
        small += chance * after.entropy_small
        large += chance * after.entropy_large
        value += chance * after.uncapped
    assert expected.entropy_small == pytest.approx(small, abs=1e-10)
    assert expected.entropy_large == pytest.approx(large, abs=1e-10)
    assert expected.value == pytest.approx(value, abs=1e-10)


def test_the_expectation_of_a_large_table_is_the_mean_of_draws() -> None:
    rng = np.random.default_rng(8)
    true = rng.poisson(rng.gamma(0.5, 12, 3000))
    expected = risk.expected_after_transition(true, ROUNDING, FOUR)
    mean = risk.simulated(
        true,
        ROUNDING,
        lambda f, g: risk.after_transition(f, g, ROUNDING, FOUR).uncapped,
        rng,
        draws=200,
    )
    assert abs(mean.mean - expected.value) < 4 * mean.standard_error


def test_the_public_gate_by_hand() -> None:
    # Released (0, 3, 3, 9, 27): 0.1·⅕ zeros; small part (0, 3, 3): H = log 2 of log 3; large part
    # (9, 27): ¼ and ¾; M = 42. Multipliers ¾ and 0.9.
    released = np.array([0, 3, 3, 9, 27])
    small, large = 1 - log(2) / log(3), 1 - (2 * log(2) - 0.75 * log(3)) / log(2)
    size = (1 + log(42) / 2) / 42**0.5
    found = risk.public_gate(released, (0.75, 0.9), FOUR)
    expected = 0.1 / 5 + 0.7 * 0.75 * small + 0.1 * 0.9 * large + 0.1 * size
    assert found.value == pytest.approx(expected)
    assert isinstance(found, risk.SplitRisk)
    assert found.entropy_small == pytest.approx(0.75 * split_part(released[:3]))
    # Nobody released never passes; a part of nobody adds nothing.
    assert risk.public_gate([0, 0], 0.3, FOUR).value == pytest.approx(1)
    assert risk.public_gate([0, 3], 1, FOUR).value < risk.public_gate([0, 3], 1).value + 1


@given(tables(most_axes=2), SEEDS)
def test_the_public_gate_reads_released_figures_alone(table: Integers, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(table.size)
    mixed = table.ravel()[order]
    assert risk.public_gate(mixed, 0.5, FOUR).value == pytest.approx(
        risk.public_gate(table, 0.5, FOUR).value
    )


def test_weights_of_another_number_are_refused() -> None:
    for measure in (
        lambda w: risk.before([1, 2], w),
        lambda w: risk.after([1, 2], [1, 2], w),
        lambda w: risk.after_transition([1, 2], [0, 3], ROUNDING, w),
        lambda w: risk.expected_after_transition([1, 2], ROUNDING, w),
        lambda w: risk.public_gate([1, 2], 0.3, w),
        lambda w: risk.all_slices([1, 2], w),
    ):
        for weights in ((0.5, 0.5), (0.2,) * 5, (0.5, 0.5, 0.5, -0.5), (0.1, 0.2, 0.3, 0.3)):
            with pytest.raises(ParameterError, match="weights must be 3 or 4 numbers"):
                measure(weights)
