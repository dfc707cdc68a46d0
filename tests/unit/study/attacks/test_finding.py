from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.policy import Over
from discreet.study.attacks.finding import READING, Clock, Finding, Share, Tally, Verdict, tried
from discreet.study.attacks.reading import Reading
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


def test_a_bound_over_reading_is_held_against_whoever_knows_the_method() -> None:
    # 0.36 is beyond 0.30 + 0.05, and within 0.33 + 0.05; the plain reading is told beside it.
    plain, informed = Share.of(30, 100), Share.of(33, 100)
    finding = Finding("x", Share.of(36, 100), plain, most=0.05, over=Over.READING)
    assert finding.verdict is Verdict.BEYOND
    knows = replace(finding, informed=informed)
    assert knows.verdict is Verdict.WITHIN
    assert knows.bound == pytest.approx(0.38)
    told = Finding.pooled([knows, knows]).as_dict()
    assert (told["reading"]["value"], told["informed"]["value"]) == (0.30, 0.33)


def test_without_a_baseline_nothing_is_within() -> None:
    finding = Finding("x", Share.of(0, 100), Share.of(0, 0), most=1.0, over=Over.READING)
    assert finding.verdict is Verdict.BEYOND
    assert finding.as_dict()["bound"] is None


def test_few_tries_are_too_few_to_pass_or_fail() -> None:
    # 20 tries are enough, 19 are not, whatever they found: 3 of 3 right has an interval from 0.44.
    assert Finding("x", Share.of(0, 19), most=0.5).verdict is Verdict.TOO_FEW
    assert Finding("x", Share.of(0, 20), most=0.5).verdict is Verdict.WITHIN
    assert Finding("x", Share.of(3, 3), most=0.5).verdict is Verdict.TOO_FEW
    assert Finding("x", Share.of(19, 19), most=0.5).verdict is Verdict.TOO_FEW
    assert Finding("x", Share.of(20, 20), most=0.5).verdict is Verdict.BEYOND
    # What is stated with certainty needs no second try.
    sure = Finding("x", Share.of(1, 1), most=0.5, certain=1, may_be_certain=False)
    assert sure.verdict is Verdict.BEYOND


def reasoned(**more: Any) -> str:
    """Return the reason that is told of an attack that found this."""

    class Finds(Reading):
        def run(self, target: Any, rng: Any, clock: Any) -> Finding:
            return Finding("x", Share.of(0, 0), note="small cells of areas", **more)

    target: Any = SimpleNamespace(fresh=lambda: None)
    return tried(Finds(), target, np.random.default_rng(1), 1.0).reason


def test_an_attack_without_tries_says_why_and_not_what_it_is() -> None:
    assert reasoned(questions=7, refused=7) == "every question was refused (7)"
    assert reasoned(questions=7, refused=2) == (
        "the answers to 5 questions showed nothing to try it on and 2 were refused"
    )
    assert reasoned() == "the data have nothing of the kind that it asks for"
    assert reasoned(questions=7, reason="there is one edition only") == "there is one edition only"


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


def test_whoever_reads_one_figure_is_a_baseline_and_no_attack() -> None:
    tally = Tally()
    truth, wanted = np.array([1, 2, 3]), np.array([True, True, True])
    # Reading is right once, the method and one figure twice, an attack once.
    ways = {READING: np.array([1, 0, 0]), "asks": np.array([0, 2, 0])}
    tally.add(truth, wanted, ways, {"knows": np.array([1, 2, 0])})
    finding = tally.finding("x", Target(None, None, 10, None, None), "counts")  # type: ignore[arg-type]
    assert finding.informed is not None
    assert finding.informed.value == pytest.approx(2 / 3)
    assert finding.attack.value == pytest.approx(1 / 3)
    assert finding.note == "counts; best: asks"


def test_an_attack_ends_by_what_it_has_tried_and_a_clock_says_if_it_cut_it_short() -> None:
    # A clock that is looked at once in the beginning, and before each thing but the first.
    times = iter([0.0, 5.0, 10.0, 11.0])
    clock = Clock(10, lambda: next(times))
    assert list(clock.through("abcde")) == ["a", "b", "c"]
    assert clock.cut
    # The time is over, but so is the work: nothing was cut.
    late = Clock(10, iter([0.0, 5.0, 10.0, 99.0]).__next__)
    assert list(late.through("abc")) == ["a", "b", "c"]
    assert not late.cut
    # One thing is always tried.
    over = Clock(0, iter([0.0, 1.0, 2.0]).__next__)
    assert list(over.through("ab")) == ["a"]
    assert over.cut
