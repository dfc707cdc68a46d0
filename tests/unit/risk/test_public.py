"""What the public may know: from the released table and the method, withheld if a guess."""

from __future__ import annotations

import inspect
import json
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import risk, utility
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding
from discreet.risk import public
from discreet.risk.before import entropy_term
from discreet.risk.prior import dense_flow, fit_prior
from discreet.table.transition import Transition
from risk_tables import LIVELY, METHODS, Integers, released_of, tables

ROUNDING = RandomRounding(3).transition()

SEEDS = st.integers(0, 10**6)

FOUR = (0.1, 0.7, 0.1, 0.1)


def test_no_public_function_takes_the_true_table() -> None:
    for function in (risk.public_quality, risk.public_gate, risk.possible_range):
        assert "F" not in inspect.signature(function).parameters


def census(cells: int, seed: int) -> Integers:
    rng = np.random.default_rng(seed)
    return rng.poisson(30 * np.exp(rng.normal(0, 1.3, cells))).astype(np.int64)


def test_two_true_tables_with_equal_releases_give_equal_bytes() -> None:
    released = released_of(census(500, 1), ROUNDING, 2)
    # A table of multiples of 3 is one that rounding leaves as it is: another true table.
    texts = {
        json.dumps(risk.public_quality(table, ROUNDING, True).as_dict()).encode()
        for table in (released, released.copy(), released.astype(np.uint32))
    }
    assert len(texts) == 1


@settings(max_examples=30)
@given(tables(most=300), SEEDS, st.sampled_from(sorted(METHODS)))
def test_the_order_of_cells_does_not_matter(table: Integers, seed: int, name: str) -> None:
    released = released_of(table, METHODS[name], seed)
    shuffled = np.random.default_rng(seed).permutation(released.ravel())
    one, other = (
        json.dumps(risk.public_quality(each, METHODS[name]).as_dict())
        for each in (released, shuffled)
    )
    assert one == other


@given(tables())
def test_the_identity_method_is_close_to_nothing_but_1(table: Integers) -> None:
    quality = risk.public_quality(table, Transition.identity())
    assert quality.score == risk.Estimate(1, 1, 1)
    assert quality.sentences == ("Figures are not altered.",)
    assert not quality.altered


@pytest.mark.parametrize("name", ["rounding to 3", "rounding to 5"])
def test_the_estimate_is_near_the_exact_score(name: str) -> None:
    # docs/public-quality.md: the error at 2,457 cells is below 0.01 at every draw.
    for seed in range(5):
        true = census(2457, seed)
        released = released_of(true, METHODS[name], seed)
        quality = risk.public_quality(released, METHODS[name])
        assert quality.score is not None
        assert abs(quality.score.value - utility.score(true, released)) < 0.01
        assert quality.score.low <= quality.score.value <= quality.score.high
        assert quality.unchanged is not None
        assert abs(quality.unchanged.value - (true == released).mean()) < 0.06


def test_zeros_do_not_make_the_other_figures_look_closer() -> None:
    # Rounding leaves every true zero alone: 3,000 of them more make the share of all cells that
    # are unchanged rise to (2,457/3 + 3,000)/5,457 or so, and must not move that of the others.
    dense = np.maximum(census(2457, 1), 1)
    released = released_of(np.concatenate([dense, np.zeros(3000, np.int64)]), ROUNDING, 1)
    true = np.concatenate([dense, np.zeros(3000, np.int64)])
    quality = risk.public_quality(released, ROUNDING)
    assert quality.unchanged is not None
    assert quality.positive is not None
    assert quality.unchanged.value > 0.6
    above = released > 0
    assert abs(quality.positive.value - (true == released)[above].mean()) < 0.06
    assert risk.public_quality(np.zeros(10, np.int64), ROUNDING).positive is None


def test_a_score_that_would_be_a_guess_is_withheld() -> None:
    sparse = released_of(np.random.default_rng(1).poisson(2, 3000), ROUNDING, 1)
    assert sparse.mean() < 5
    assert risk.public_quality(sparse, ROUNDING).score is None
    tiny = released_of(census(6, 3), ROUNDING, 3)
    quality = risk.public_quality(tiny, ROUNDING)
    assert quality.score is None or quality.score.width <= 0.04
    text = " ".join(risk.public_quality(np.array([0, 3, 3, 6]), ROUNDING).sentences)
    assert "Hellinger utility" not in text


def test_words_and_what_they_leave_out() -> None:
    released = released_of(census(2457, 4), ROUNDING, 4)
    told = risk.public_quality(released, ROUNDING, method_published=True)
    assert told.sentences[0] == "Figures are deliberately altered."
    assert "Hellinger utility is 0.9" in told.sentences[1]
    assert "1 = unchanged" in told.sentences[1]
    assert told.sentences[-1] == "Each figure may be off by up to 2, sums of figures by more."
    assert any("assumes that counts vary smoothly" in said for said in told.sentences)
    untold = risk.public_quality(released, ROUNDING)
    assert untold.largest_change is None
    assert "off by" not in " ".join(untold.sentences)
    assert told.zeros_true is None or 0 <= told.zeros_true.low < told.zeros_true.high
    assert told.small_true is None  # rounding to 3 releases no ones and twos


@pytest.mark.parametrize(
    ("estimate", "words", "share"),
    [
        # Rounded outwards, with the digits that the width needs: 0.9996 to 0.9998 is 0.0002 wide.
        ((0.99971, 0.99963, 0.99978), "0.9997 (0.9996–0.9998)", "99.97% (99.96%–99.98%)"),
        ((0.95, 0.9449, 0.9551), "0.95 (0.94–0.96)", "95% (94%–96%)"),
        # What is not 1 is not said to be, however close.
        ((0.998, 0.98, 1.0), "0.998 (0.980–1.000)", "99.8% (98.0%–100.0%)"),
        (
            (1 - 1e-9, 1 - 2e-9, 1.0),
            "0.999999 (0.999999–1.000000)",
            "99.9999% (99.9999%–100.0000%)",
        ),
        ((1e-9, 0.0, 2e-9), "0.000001 (0.000000–0.000001)", "0.0001% (0.0000%–0.0001%)"),
        ((1.0, 1.0, 1.0), "1.00 (1.00–1.00)", "100% (100%–100%)"),
    ],
)
def test_an_interval_is_never_shown_narrower_than_it_is(
    estimate: tuple[float, float, float], words: str, share: str
) -> None:
    value, low, high = estimate
    found = risk.Estimate(value, low, high)
    assert (found.text(), found.percent()) == (words, share)
    shown, _ = found.rounded(3)
    assert shown.low <= low <= value <= high <= shown.high
    assert shown.low <= shown.value <= shown.high
    assert (shown.value == 1) == (value == 1)


def test_a_released_zero_has_its_full_range() -> None:
    assert risk.possible_range(ROUNDING, 0) == (0, 2)
    assert risk.possible_range(ROUNDING, 3) == (1, 5)
    assert risk.possible_range(LIVELY, 0) == (0, 2)
    assert risk.possible_range(Transition.identity(), 7) == (7, 7)


def test_a_table_that_the_method_cannot_make_is_refused() -> None:
    with pytest.raises(ParameterError, match="one that the transition can make"):
        risk.public_quality([1, 3, 6], ROUNDING)


def test_the_gate_by_hand() -> None:
    # G = (4, 2, 2, 0): zeros ¼, T2 = ¼ (test_risk_before), M = 8; multiplier ⅓.
    gate = risk.public_gate([4, 2, 2, 0], 1 / 3)
    size = risk.before([4, 2, 2, 0]).size
    assert float(gate) == pytest.approx(0.1 * 0.25 + 0.8 * 0.25 / 3 + 0.1 * size)
    assert float(risk.public_gate([0, 0], 0.5)) == 1
    with pytest.raises(ParameterError, match="multiplier"):
        risk.public_gate([1], 2)


@given(tables(), SEEDS)
def test_where_zeros_stay_the_first_term_of_the_gate_is_large_enough(
    table: Integers, seed: int
) -> None:
    released = released_of(table, ROUNDING, seed)
    after = risk.after_transition(table, released, ROUNDING)
    assert risk.public_gate(released, 1 / 3).zeros >= after.zeros - 1e-12


@given(tables())
def test_with_the_identity_method_the_gate_is_the_risk_before(table: Integers) -> None:
    assert float(risk.public_gate(table, 1.0)) == pytest.approx(float(risk.before(table)))


@pytest.mark.parametrize("name", ["rounding to 3", "rounding to 5", "lively"])
def test_the_flow_is_the_matrix_with_everything_beyond_in_one_class(name: str) -> None:
    flow = dense_flow(METHODS[name])
    np.testing.assert_allclose(flow.sum(axis=1), 1)
    matrix = METHODS[name].matrix(30)
    np.testing.assert_allclose(flow[:31, : matrix.shape[1]], matrix[:, : flow.shape[1]])


def test_the_fit_finds_the_prior_that_made_the_table() -> None:
    # True counts from the family itself: the shares of small counts come back.
    i = np.arange(1, 46)
    x = np.log(i / 6)
    weights = np.concatenate([[0.6], np.exp(-np.log(i) - 0.4 * x - 0.1 * x**2)])
    shares = weights / weights.sum()
    rng = np.random.default_rng(9)
    true = rng.choice(46, 40_000, p=shares)
    for method in (ROUNDING, LIVELY):
        released = released_of(true, method, 10)
        values, number = np.unique(released, return_counts=True)
        found = fit_prior(values, number, method).shares
        np.testing.assert_allclose(found[:6], shares[:6], atol=0.02)


def test_the_split_form_of_the_public_gate_by_hand() -> None:
    # Released (0, 3, 3, 9, 27): 0.1·⅕ zeros; small part (0, 3, 3): H = log 2 of log 3; large part
    # (9, 27): ¼ and ¾; M = 42. Multipliers ¾ and 0.9.
    released = np.array([0, 3, 3, 9, 27])
    small, large = 1 - log(2) / log(3), 1 - (2 * log(2) - 0.75 * log(3)) / log(2)
    size = (1 + log(42) / 2) / 42**0.5
    found = risk.public_gate(released, (0.75, 0.9), FOUR)
    expected = 0.1 / 5 + 0.7 * 0.75 * small + 0.1 * 0.9 * large + 0.1 * size
    assert found.value == pytest.approx(expected)
    assert isinstance(found, risk.SplitRisk)
    assert found.entropy_small == pytest.approx(0.75 * entropy_term(released[:3]))
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


@pytest.mark.parametrize(
    ("name", "limit", "widest"),
    [
        ("score", "WIDEST_SCORE", 0.04),
        *((name, "WIDEST_SHARE", 0.10) for name in ("unchanged", "positive", "zeros", "small")),
    ],
)
def test_an_interval_is_told_up_to_its_limit(name: str, limit: str, widest: float) -> None:
    """The limits of docs/public-quality.md: wider, it tells less than knowing nothing."""
    assert getattr(public, limit) == widest
    assert public.SMALLEST_MEAN == 5.0
    for width, told in ((0.99 * widest, True), (1.01 * widest, False)):
        spread = width / 0.95  # of even draws, of which the middle 95% are `width` apart
        drawn = np.array([0.5, *np.linspace(0.5 - spread / 2, 0.5 + spread / 2, 60)])
        assert (public._kept({name: drawn})[name] is not None) == told
