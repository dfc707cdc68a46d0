from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.study.attacks.finding import READING, Finding, Share, Tally
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
    assert Finding("x", Share.of(0, 0), bound=0.5).within


def test_balanced_accuracy_is_the_mean_of_both_sides() -> None:
    # Right in 9 of 10 where the answer is yes and in 3 of 10 where it is no.
    share = Share.balanced(Share.of(9, 10), Share.of(3, 10))
    assert share.value == pytest.approx(0.6)
    assert share.low < 0.6 < share.high
    assert share.tries == 20


def test_an_attack_at_its_bound_is_within() -> None:
    finding = Finding("x", Share.of(5, 10), bound=0.5)
    assert finding.within
    assert not replace(finding, bound=0.49).within


def test_certain_statements_count_where_none_may_be_made() -> None:
    finding = Finding("x", Share.of(5, 10), bound=0.5, certain=1)
    assert finding.within
    assert not replace(finding, may_be_certain=False).within


def test_the_best_way_beside_reading_is_the_attack() -> None:
    tally = Tally()
    truth, wanted = np.array([1, 2, 3, 9]), np.array([True, True, True, False])
    ways = {READING: np.array([1, 0, 0, 9]), "a": np.array([1, 2, 0, 0]), "b": truth}
    tally.add(truth, wanted, ways)
    target = Target(None, None, 10, None, None)  # type: ignore[arg-type]
    finding = tally.finding("x", target, 0.05, "some counts")
    assert (finding.attack.value, finding.tries) == (1.0, 3)
    assert finding.reading is not None
    assert finding.bound == pytest.approx(1 / 3 + 0.05)
    assert finding.others["a"].value == pytest.approx(2 / 3)
    assert finding.note == "some counts; best: b"
