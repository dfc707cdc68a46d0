"""Risk after protection by conditional entropy."""

from __future__ import annotations

from math import isnan, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError
from risk_tables import METHODS, Integers, released_of, tables

SEEDS = st.integers(0, 10**6)

NAMES = st.sampled_from(sorted(METHODS))

FOUR = (0.1, 0.7, 0.1, 0.1)


def naive_conditional_entropy(true: Integers, released: Integers) -> float:
    """H(X|Y) from the joint distribution of Theorem 4, cell by cell."""
    return risk.channel_entropy(true, risk.averaged_channel(true, released[None]))


@settings(max_examples=60)
@given(tables(), SEEDS, NAMES)
def test_the_closed_form_is_the_entropy_of_the_channel(
    table: Integers, seed: int, name: str
) -> None:
    released = released_of(table, METHODS[name], seed)
    if released.any():
        assert risk.conditional_entropy(table, released) == pytest.approx(
            naive_conditional_entropy(table, released), abs=1e-9
        )


def test_conditional_entropy_by_hand() -> None:
    # a = (½, ½), b = (¾, ¼): m = (½, ¼), s = ¼. −½·log(½/¾) − 0 − ¼·log(¼/¾) = ½·log 1.5 + ¼·log 3.
    assert risk.conditional_entropy([2, 2], [3, 1]) == pytest.approx(0.5 * log(1.5) + 0.25 * log(3))
    assert risk.conditional_entropy([1, 2, 3], [2, 4, 6]) == 0


def test_r2_as_printed_by_hand() -> None:
    # a = (½, ¼, ¼), b = (¼, ¼, ½): only cell 3 gains, ¼. Eq. 3.6: −¼·log(¼/½) − ¼·log(¼/½) =
    # ½·log 2. Cell 3 is the largest of b, so that the variant says the same.
    assert risk.conditional_entropy([2, 1, 1], [1, 1, 2]) == pytest.approx(0.5 * log(2))
    assert risk.conditional_entropy_as_printed([2, 1, 1], [1, 1, 2]) == pytest.approx(0.5 * log(2))
    # a = (⅞, ⅛), b = (¾, ¼): cell 2 gains ⅛; max b/b_2 = 3 adds ⅛·log 3 to eq. 3.6.
    formula = risk.conditional_entropy([7, 1], [6, 2])
    printed = risk.conditional_entropy_as_printed([7, 1], [6, 2])
    assert printed == pytest.approx(formula + log(3) / 8)
    whole = 3 * log(2) - 7 / 8 * log(7)
    found = risk.after_as_printed([7, 1], [6, 2], (0, 1, 0))
    assert found.entropy == pytest.approx((1 - whole / log(2)) * printed / whole)
    # M = 0 counts with a second term of 0; a table released as it is has H(X|Y) = 0.
    assert risk.after_as_printed([1, 1, 2], [0, 0, 0]).entropy == 0
    assert risk.conditional_entropy_as_printed([1, 2, 3], [2, 4, 6]) == 0


@given(tables(), SEEDS, NAMES)
def test_r2_is_never_above_r1(table: Integers, seed: int, name: str) -> None:
    released = released_of(table, METHODS[name], seed)
    if released.any():
        assert float(risk.after(table, released)) <= float(risk.before(table)) + 1e-9


def test_zeros_of_the_first_term() -> None:
    assert risk.after([1, 2], [0, 3]).zeros == 0  # no true zero
    assert risk.after([0, 2], [1, 2]).zeros == 0  # no zero kept: the limit
    # D = {0}, E = {0, 1}: (1/3)^(2/1); 1 → 0 counts, and so does 0 → 1: D∪E = {0, 1}, D∩E = {0}.
    assert risk.after([0, 1, 5], [0, 0, 6]).zeros == pytest.approx(1 / 9)
    assert risk.after([0, 0, 5], [0, 1, 6]).zeros == pytest.approx((2 / 3) ** 2)


def test_released_tables_of_nobody_have_no_value() -> None:
    assert isnan(float(risk.after([1, 1], [0, 0])))
    assert isnan(risk.conditional_entropy([1, 1], [0, 0]))
    assert risk.after([3, 0], [3, 0]).entropy == 0  # H(X) = 0
    with pytest.raises(ParameterError, match="at least one person"):
        risk.after([0, 0], [1, 0])
    with pytest.raises(ParameterError, match="one shape"):
        risk.after([1, 2], [1, 2, 3])


def test_the_split_form_of_r2_by_hand() -> None:
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
