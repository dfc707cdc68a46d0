"""Which tables a plan holds, by hand and against every choice there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from discreet.ledger import Origin, Plan, Space, propose
from discreet.query import QuestionClass
from ledgers import ledger, most_looks, of, space, wide_classes, wide_space


def named(*names: str) -> list[QuestionClass]:
    return [of(name) for name in names]


def tables(plan: Plan) -> dict[str, tuple[int, int]]:
    return {one.table.name: (one.direct, one.summed) for one in plan.tables}


def test_what_is_not_guarded_needs_no_plan() -> None:
    plan = propose(named("sex,band", "sex,band", "la"), space())
    assert (plan.tables, plan.free, plan.answered, plan.wanted) == ((), 3, 3, 3)


def test_all_that_fits_is_planned() -> None:
    # sex,age and age,oa share no guarded detail but age,la is in age,oa alone: one look each.
    plan = propose(named("sex,age", "age,oa", "age,oa"), space(looks=1))
    assert tables(plan) == {"age,oa": (2, 0), "sex,age": (1, 0)}
    assert plan.left_out == ()


def test_the_most_wanted_goes_first_and_the_rest_is_named_with_its_reason() -> None:
    # Both show age,la (one look). Each has 32 cells; neither covers the other.
    plan = propose(named("sex,age,la", "age,oa", "age,oa"), space(looks=1))
    assert tables(plan) == {"age,oa": (2, 0)}
    [left] = plan.left_out
    assert (left.asked, left.times, left.why) == (
        of("sex,age,la"), 1, "'age,la' is in 'age,oa'",
    )  # fmt: skip
    assert (plan.answered, plan.wanted) == (2, 3)


def test_one_table_may_answer_two_by_short_sums() -> None:
    # sex,age,oa covers both: of 64 cells, each figure of the two is a sum of two.
    plan = propose(named("sex,age,la", "age,oa", "age,oa"), space(looks=1, sums_up_to=2.0))
    assert tables(plan) == {"sex,age,oa": (0, 3)}
    assert plan.left_out == ()


def test_a_table_that_nobody_wants_must_not_be_too_thin() -> None:
    wanted, rules = named("sex,age,la", "age,oa", "age,oa"), space(looks=1, sums_up_to=2.0)
    # 1,000 people in 64 cells: 15.6 in each.
    assert tables(propose(wanted, rules, least=15.0)) == {"sex,age,oa": (0, 3)}
    assert tables(propose(wanted, rules, least=16.0)) == {"age,oa": (2, 0)}


def test_a_table_of_its_own_is_better_than_sums_if_there_is_a_look_left() -> None:
    plan = propose(named("sex,age,la", "age,oa"), space(looks=2, sums_up_to=2.0))
    assert tables(plan) == {"age,oa": (1, 0), "sex,age,la": (1, 0)}


def test_a_greedy_choice_is_exchanged() -> None:
    # With one look a,b is in the way of both others: it shows a × b_half as the first does, and
    # a_half × b as the second. They share nothing. Wanted 3 against 2 + 2 times.
    wide = wide_space(looks=1)
    names = ["a,b"] * 3 + ["a,b_half,c_half"] * 2 + ["a_half,b,d_half"] * 2
    plan = propose([QuestionClass.named(name, wide.schema) for name in names], wide)
    assert tables(plan) == {"a,b_half,c_half": (2, 0), "a_half,b,d_half": (2, 0)}
    assert [left.asked.name for left in plan.left_out] == ["a,b"]


def test_looks_that_are_used_count() -> None:
    plan = propose(named("sex,age", "age,oa"), space(looks=1), taken=named("sex,age,la"))
    assert tables(plan) == {}
    assert [left.why for left in plan.left_out] == [
        "'sex,age' is in 'sex,age,la'", "'age,la' is in 'sex,age,la'",
    ]  # fmt: skip
    known = propose(named("sex,age"), space(looks=1), named("sex,age,la"), named("sex,age"))
    assert (known.before, known.answered, known.tables) == (1, 1, ())


def test_a_table_that_is_too_large_is_left_out() -> None:
    plan = propose(named("sex,age,oa"), space(max_table=63))
    [left] = plan.left_out
    assert left.why == "its table has 64 cells, more than 63"


@pytest.mark.parametrize("seed", range(12))
def test_a_plan_is_as_good_as_the_best_of_all_and_can_be_claimed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wide = wide_space(looks=int(rng.integers(1, 3)))
    classes = wide_classes(wide)
    picked = rng.choice(len(classes), 8, replace=False)
    wanted = [classes[i] for i in picked for _ in range(int(rng.integers(1, 4)))]
    plan = propose(wanted, wide)
    made = [one.table for one in plan.tables]
    assert most_looks(wide, made) <= wide.rules.looks
    assert plan == propose(wanted[::-1], wide)  # the order does not matter
    assert plan.answered == _answered(wanted, made, wide)
    assert plan.answered >= _most(wanted, wide)


def _answered(wanted: list[QuestionClass], made: list[QuestionClass], wide: Space) -> int:
    return sum(not wide.guarded(c) or any(t.covers(c) for t in made) for c in wanted)


def _most(wanted: list[QuestionClass], wide: Space) -> int:
    """Return how many are answered by the best of all choices among the tables wanted."""
    single = sorted({c for c in wanted if wide.guarded(c)}, key=lambda c: c.name)
    choices = (list(made) for n in range(len(single) + 1) for made in combinations(single, n))
    fit = (made for made in choices if most_looks(wide, made) <= wide.rules.looks)
    return max(_answered(wanted, made, wide) for made in fit)


def test_the_ledger_takes_every_table_of_a_plan() -> None:
    wanted = named("sex,age", "age,oa", "sex,band,la", "band,oa", "sex,half,oa")
    plan = propose(wanted, space(looks=1))
    kept = ledger(looks=1)
    assert kept.preload([(one.table, Origin.PLAN) for one in plan.tables]) == []
    assert set(kept.tables()) == {one.table for one in plan.tables}
