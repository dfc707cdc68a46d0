"""The risk of every row is that of the row as a table of its own."""

from __future__ import annotations

from math import isnan, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError
from risk_tables import METHODS, Integers, released_of, tables

SEEDS = st.integers(0, 10**6)

NAMES = st.sampled_from(sorted(METHODS))

FOUR = (0.1, 0.7, 0.1, 0.1)


@settings(max_examples=60)
@given(tables(most_axes=4))
def test_every_row_is_a_table_of_its_own(table: Integers) -> None:
    every = risk.before_rows(table)
    assert every.whole == pytest.approx(float(risk.before(table)))
    for axis in range(table.ndim):
        np.testing.assert_array_equal(risk.slices(table, axis), every.axes[axis])
        for i, value in enumerate(every.axes[axis]):
            part = table.take(i, axis=axis)
            if part.any():
                assert value == pytest.approx(float(risk.before(part)), abs=1e-12)
            else:
                assert np.isnan(value)


@settings(max_examples=60)
@given(tables(most=12, most_axes=4))
def test_every_row_has_its_terms_norm_and_split_form(table: Integers) -> None:
    terms, split = risk.term_rows(table), risk.before_rows(table, risk.SPLIT_WEIGHTS)
    assert split.whole == pytest.approx(float(risk.before_split(table)))
    assert terms.norm.whole == pytest.approx(risk.before(table).norm)
    for axis in range(table.ndim):
        for i in range(table.shape[axis]):
            part = table.take(i, axis=axis)
            if not part.any():
                assert np.isnan(split.axes[axis][i])
                assert np.isnan(terms.norm.axes[axis][i])
                continue
            alone = risk.before(part)
            for name in ("zeros", "entropy", "size", "norm"):
                value = getattr(terms, name).axes[axis][i]
                assert value == pytest.approx(getattr(alone, name), abs=1e-9)
            assert split.axes[axis][i] == pytest.approx(float(risk.before_split(part)), abs=1e-9)


def test_terms_of_rows_by_hand_and_a_wrong_axis() -> None:
    terms = risk.term_rows([[4, 0], [1, 1]])
    np.testing.assert_allclose(terms.zeros.axes[0], [0.5, 0])
    np.testing.assert_allclose(terms.entropy.axes[0], [1, 0], atol=1e-12)
    expected = [(1 + 0.5 * log(4)) / 2, (1 + 0.5 * log(2)) / sqrt(2)]
    np.testing.assert_allclose(terms.size.axes[0], expected)
    with pytest.raises(ParameterError, match="axis must be between 0 and 1"):
        risk.slices([[1, 2], [3, 4]], 2)
    with pytest.raises(ParameterError, match="largest_small"):
        risk.before_split([1, 2], largest_small=-1)
    with pytest.raises(ParameterError, match="largest_small"):
        risk.before_rows([1, 2], risk.SPLIT_WEIGHTS, largest_small=-1)


@settings(max_examples=50)
@given(tables(most_axes=4), SEEDS, NAMES, st.sampled_from(["expected", "observed"]))
def test_every_row_after_protection_is_a_table_of_its_own(
    table: Integers, seed: int, name: str, contents: str
) -> None:
    method = METHODS[name]
    released = released_of(table, method, seed)
    entropy = risk.after_rows(table, released)
    moved = risk.after_transition_rows(table, released, method, contents=contents)
    pairs = [(table, released, entropy.whole, moved.whole)]
    for axis in range(table.ndim):
        for i in range(table.shape[axis]):
            parts = table.take(i, axis=axis), released.take(i, axis=axis)
            pairs.append((*parts, entropy.axes[axis][i], moved.axes[axis][i]))
    for true, seen, by_entropy, by_transition in pairs:
        if not true.any():
            assert isnan(by_entropy)
            assert isnan(by_transition)
            continue
        assert by_entropy == pytest.approx(float(risk.after(true, seen)), abs=1e-9, nan_ok=True)
        alone = float(risk.after_transition(true, seen, method, contents=contents))
        assert by_transition == pytest.approx(alone, abs=1e-9, nan_ok=True)


@settings(max_examples=50)
@given(tables(most_axes=3), SEEDS, NAMES, st.sampled_from(["expected", "observed"]))
def test_every_row_of_the_split_form_is_a_table_of_its_own(
    table: Integers, seed: int, name: str, contents: str
) -> None:
    method = METHODS[name]
    released = released_of(table, method, seed)
    first = risk.before_rows(table, FOUR)
    entropy = risk.after_rows(table, released, FOUR)
    moved = risk.after_transition_rows(table, released, method, FOUR, (0.5, 0.9), contents)
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


@pytest.mark.parametrize("weights", [(1, 0, 0), (0.5, 0.5, 0), (0.5, 0.4, 0.1, 0)])
def test_a_row_of_nobody_has_no_risk_whatever_the_weights(weights: tuple[float, ...]) -> None:
    table = [[2, 1], [0, 0]]
    rounding = METHODS["rounding to 3"]
    for every in (
        risk.before_rows(table, weights),
        risk.after_rows(table, [[3, 0], [0, 0]], weights),
        risk.after_transition_rows(table, [[3, 0], [0, 0]], rounding, weights),
    ):
        assert np.isnan(every.axes[0][1])
        assert not np.isnan(every.axes[0][0])
