"""The risk of any method: by what is known of it, or by what was seen."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import risk
from discreet.protect import IndividualSwapping, RandomRounding
from discreet.study.judge import Known, Seen, mean_factor, pairs_of, repeated
from discreet.study.methods import CountPram, Untouched

F = np.array([[0, 1, 1, 2], [5, 9, 40, 0]])
G = np.array([[0, 0, 3, 3], [6, 9, 39, 0]])


def test_pairs_count_the_cells_from_a_count_to_another() -> None:
    found = {(i, j): n for i, j, n in pairs_of(F, G).tolist()}
    assert found == {(0, 0): 2, (1, 0): 1, (1, 3): 1, (2, 3): 1, (5, 6): 1, (9, 9): 1, (40, 39): 1}
    true, released = repeated(pairs_of(F, G))
    assert sorted(zip(true, released, strict=True)) == sorted(
        zip(F.ravel(), G.ravel(), strict=True)
    )


def test_what_was_seen_is_a_transition() -> None:
    seen = Seen.of([pairs_of(F, G), pairs_of(F, F)])
    # Of four cells of 1 (two in each draw) two stayed, one went to 0 and one to 3.
    assert seen.row(1)[0].tolist() == [0, 1, 3]
    assert seen.row(1)[1].tolist() == [0.25, 0.5, 0.25]
    np.testing.assert_allclose(seen.matrix(9).sum(axis=1), 1)
    mu, sums = seen.flows(*np.unique(F, return_counts=True), np.array([0, 3]))
    # Released 0: both zeros, and a quarter of two cells of 1. Released 3: a quarter of two cells
    # of 1, and half of the cell of 2.
    assert mu.tolist() == [2.5, 1.0]
    assert sums.tolist() == [0.5, 1.5]


def test_the_best_guess_is_right_for_the_commonest_count_behind_each_figure() -> None:
    # 0 ← 0, 0, 1: two right; 3 ← 1, 2: one; 6, 9, 39: one each. Six of eight.
    assert Seen.of([pairs_of(F, G)]).correct_claims == 6 / 8


def test_many_draws_of_a_known_method_show_its_transition() -> None:
    method, rng = RandomRounding(3), np.random.default_rng(1)
    drawn = [method.apply(F, rng.random(F.shape)) for _ in range(1500)]
    seen = Seen.of(pairs_of(F, G) for G in drawn)
    known = Known.of(method, 2)
    ours = np.mean([float(known.after(F, G, risk.WEIGHTS)) for G in drawn])
    filled = Known(multiplier=known.multiplier).filled(seen)
    theirs = np.mean([float(filled.after(F, G, risk.WEIGHTS)) for G in drawn])
    assert theirs == pytest.approx(ours, abs=0.005)
    assert known.claims(F, None) == pytest.approx(seen.correct_claims, abs=0.03)


def test_the_identity_leaves_the_risk_as_it_was() -> None:
    for known in (Known.of(Untouched(), 2), Known().filled(Seen.of([pairs_of(F, F)]))):
        for weights in (risk.WEIGHTS, risk.SPLIT_WEIGHTS):
            expected = float(risk.before(F, weights))
            assert float(known.after(F, F, weights)) == pytest.approx(expected)


def test_swapping_is_judged_by_its_rate() -> None:
    known = Known.of(IndividualSwapping(0.1), 2)
    assert known.complete
    assert float(known.after(F, G, risk.WEIGHTS)) == float(risk.after_swapping(F, G, 0.1))


def test_a_table_that_a_swap_did_not_change_is_as_risky_as_before() -> None:
    true = np.array([[4, 7, 0], [1, 12, 3]])
    untouched = float(risk.before(true))
    assert float(Known(rate=0.3).after(true, true, risk.WEIGHTS)) == pytest.approx(untouched)
    moved = true + np.array([[1, -1, 0], [-1, 1, 0]])
    assert float(Known(rate=0.3).after(true, moved, risk.WEIGHTS)) < untouched


def test_the_multiplier_of_a_table_is_the_mean_over_its_figures() -> None:
    # G has 3 figures of 1 to 6 and 2 larger ones.
    assert mean_factor((0.5, 1.0), G) == pytest.approx((3 * 0.5 + 2) / 5)
    assert mean_factor((0.5, 1.0), np.zeros(3, np.int64)) == 1


def test_pram_of_counts_keeps_margins_and_frequencies_on_average() -> None:
    method, rng = CountPram(axis=1, stay=0.8), np.random.default_rng(1)
    drawn = np.array([method.apply(F, rng) for _ in range(3000)])
    np.testing.assert_array_equal(drawn.sum(axis=2), np.tile(F.sum(axis=1), (3000, 1)))
    # tR = t: the totals of the categories, 5, 10, 41 and 2, on average.
    np.testing.assert_allclose(drawn.sum(axis=1).mean(axis=0), F.sum(axis=0), atol=0.2)
