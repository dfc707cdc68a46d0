from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.policy import Over
from discreet.study.attacks.finding import READING, Finding, Share, Tally, Verdict
from discreet.study.attacks.target import Target


def test_the_interval_of_a_share_is_wilsons() -> None:
    # 8 of 10: centre (0.8 + 1.9207/10) / (1 + 3.8415/10) = 0.71674, half width
    # 1.96/1.38415 × √(0.016 + 3.8415/400) = 0.22658.
    share = Share.of(8, 10)
    assert share.value == 0.8
    assert (share.low, share.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)


@pytest.mark.parametrize(("right", "value"), [(0, 0.0), (10, 1.0)])
def test_an_interval_holds_its_share_at_the_ends(right: int, value: float) -> None:
    share = Share.of(right, 10)
    assert share.low <= share.value == value <= share.high


def test_no_tries_say_nothing() -> None:
    assert str(Share.of(0, 0)) == "–"
    assert Finding("x", Share.of(0, 0), most=0.5).verdict is Verdict.NOT_TRIED
    assert Finding("x", Share.of(0, 0)).verdict is Verdict.NOT_TRIED


def test_balanced_accuracy_is_the_mean_of_both_sides() -> None:
    # Right in 9 of 10 where the answer is yes and in 3 of 10 where it is no.
    share = Share.balanced(Share.of(9, 10), Share.of(3, 10))
    assert share.value == pytest.approx(0.6)
    assert share.low < 0.6 < share.high
    assert share.tries == 20


def test_an_attack_at_its_bound_is_within() -> None:
    finding = Finding("x", Share.of(10, 20), most=0.5)
    assert finding.verdict is Verdict.WITHIN
    assert replace(finding, most=0.49).verdict is Verdict.BEYOND
    assert replace(finding, most=None).verdict is Verdict.TOLD


def test_a_bound_is_above_its_baseline() -> None:
    # 0.30 + 0.05 is less than 0.36, and 0.31 + 0.05 is not.
    finding = Finding("x", Share.of(36, 100), Share.of(30, 100), Share.of(31, 100), most=0.05)
    assert replace(finding, over=Over.READING).verdict is Verdict.BEYOND
    assert replace(finding, over=Over.PRIOR).verdict is Verdict.WITHIN


def test_without_a_baseline_nothing_is_within() -> None:
    finding = Finding("x", Share.of(0, 100), Share.of(0, 0), most=1.0, over=Over.READING)
    assert finding.verdict is Verdict.BEYOND
    assert finding.as_dict()["bound"] is None


def test_few_tries_are_too_few_to_pass_and_enough_to_fail() -> None:
    # 20 tries are enough, 19 are not.
    assert Finding("x", Share.of(0, 19), most=0.5).verdict is Verdict.TOO_FEW
    assert Finding("x", Share.of(0, 20), most=0.5).verdict is Verdict.WITHIN
    assert Finding("x", Share.of(19, 19), most=0.5).verdict is Verdict.BEYOND


def test_certain_statements_count_where_none_may_be_made() -> None:
    finding = Finding("x", Share.of(10, 20), most=0.5, certain=1)
    assert finding.verdict is Verdict.WITHIN
    assert replace(finding, may_be_certain=False).verdict is Verdict.BEYOND


def test_populations_are_pooled_by_their_tries() -> None:
    # 30 of 100 and 30 of 50 are 60 of 150.
    shares = [Share.of(30, 100), Share.of(30, 50)]
    assert Share.pooled(shares).value == pytest.approx(0.4)
    assert Share.pooled(shares).tries == 150
    one, two = (Finding("x", s, s, certain=2, certain_right=1, most=0.05) for s in shares)
    both = Finding.pooled([one, replace(two, short=True), Finding("x", Share.of(0, 0))])
    assert both.attack.value == pytest.approx(0.4)
    assert (both.certain, both.certain_right, both.short, both.most) == (4, 2, True, 0.05)


def test_the_best_way_beside_reading_is_the_attack() -> None:
    tally = Tally()
    truth, wanted = np.array([1, 2, 3, 9]), np.array([True, True, True, False])
    ways = {READING: np.array([1, 0, 0, 9]), "a": np.array([1, 2, 0, 0]), "b": truth}
    tally.add(truth, wanted, ways)
    target = Target(None, None, 10, None, None)  # type: ignore[arg-type]
    finding = tally.finding("x", target, "some counts")
    assert (finding.attack.value, finding.tries) == (1.0, 3)
    assert finding.reading is not None
    assert finding.reading.value == pytest.approx(1 / 3)
    assert finding.others["a"].value == pytest.approx(2 / 3)
    assert finding.note == "some counts; best: b"
