"""Claims by hand: which table answers a class, and when there is none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from discreet.errors import InternalError, QueryRefused
from discreet.ledger import Database, Ledger, Origin, Route, Shown, State, Status
from ledgers import COARSEST, ledger, of


def released(kept: Ledger, name: str, status: Status = Status.RELEASED) -> Route:
    """Claim a class and settle its table."""
    route = kept.claim(of(name))
    if not route.summed:
        kept.settle(route.source, status)
    known = kept.route(of(name))
    assert known is not None
    return known


def refused(kept: Ledger, name: str) -> bool:
    try:
        kept.claim(of(name))
    except QueryRefused as error:
        return error.code == "USED_UP"
    return False


def used(kept: Ledger) -> dict[str, int]:
    return {look.of.name: look.used for look in kept.looks()}


def test_a_table_that_is_not_guarded_uses_no_look() -> None:
    kept = ledger()
    assert kept.route(of("sex,band")) is None
    assert kept.claim(of("sex,band")) == Route(of("sex,band"), of("sex,band"), Status.CLAIMED)
    assert kept.looks() == []
    assert kept.settle(of("sex,band"), Status.RELEASED)
    assert kept.claim(of("sex,band")).status is Status.RELEASED


def test_a_guarded_table_is_a_look_at_each_guarded_class_below() -> None:
    kept = ledger()
    kept.claim(of("sex,age,oa"))
    assert used(kept) == dict.fromkeys(COARSEST, 1)
    kept.claim(of("age,oa"))  # 32 cells: shows age,la and band,oa once more
    assert used(kept) == dict.fromkeys(COARSEST, 1) | {"age,la": 2, "band,oa": 2}


def test_nothing_is_released_that_would_be_one_look_too_many() -> None:
    kept = ledger()
    released(kept, "sex,age,oa", Status.REFUSED)  # charged all the same
    released(kept, "age,oa")
    # age,la is in two tables, of which age,oa covers it; nothing covers sex,age,la.
    assert released(kept, "age,la") == Route(of("age,la"), of("age,oa"), Status.RELEASED)
    assert refused(kept, "sex,age,la")
    assert not refused(kept, "sex,age")  # one look is left


def test_a_finer_table_answers_where_the_sums_are_short() -> None:
    kept = ledger(sums_up_to=4.0)
    released(kept, "sex,age,oa")  # 64 cells
    assert kept.claim(of("age,oa")).source == of("sex,age,oa")  # 32: sums of two
    assert kept.claim(of("sex,age")).source == of("sex,age,oa")  # 16: sums of four
    shorter = ledger(sums_up_to=3.9)
    released(shorter, "sex,age,oa")
    assert shorter.claim(of("sex,age")).source == of("sex,age")


def test_a_class_that_is_not_guarded_has_figures_of_its_own() -> None:
    kept = ledger(sums_up_to=4.0)
    released(kept, "sex,band,la")  # 16 cells
    assert kept.claim(of("sex,band")).source == of("sex,band")  # 8: not guarded


def test_the_smallest_table_is_summed_and_of_equal_ones_the_first_by_name() -> None:
    kept = ledger(sums_up_to=8.0, looks=3)
    kept.preload([(of(name), Origin.PLAN) for name in ("sex,age,oa", "sex,age,la", "age,oa")])
    for name in ("sex,age,oa", "sex,age,la", "age,oa"):
        kept.settle(of(name), Status.RELEASED)
    # age × la lies in all three; two of them have 32 cells.
    assert kept.claim(of("age,la")).source == of("age,oa")


def test_a_table_that_is_not_judged_is_no_source() -> None:
    kept = ledger(looks=1, sums_up_to=4.0)
    kept.claim(of("sex,age,oa"))
    assert refused(kept, "age,oa")
    kept.settle(of("sex,age,oa"), Status.RELEASED)
    assert kept.claim(of("age,oa")).source == of("sex,age,oa")


def test_a_table_with_areas_withheld_answers_for_its_own_areas_only() -> None:
    kept = ledger(looks=1)
    released(kept, "sex,age,oa", Status.PARTIAL)
    assert kept.claim(of("age,oa")) == Route(of("age,oa"), of("sex,age,oa"), Status.PARTIAL)
    assert refused(kept, "age,la")
    assert refused(kept, "sex,age")


def test_several_totals_are_claimed_in_their_order() -> None:
    kept = ledger(looks=1)
    found = kept.claim_all([of("sex,band"), of("age,oa"), of("age,la"), of("age,oa")])
    assert [route and route.source.name for route in found] == [
        "sex,band", "age,oa", None, "age,oa",
    ]  # fmt: skip


def test_a_route_stays_when_a_better_table_comes() -> None:
    kept = ledger(looks=1)
    released(kept, "sex,age,oa")
    assert kept.claim(of("sex,age")).source == of("sex,age,oa")
    again = ledger(kept.database, looks=3)  # the policy allows more now
    assert again.claim(of("sex,age")).source == of("sex,age,oa")


def test_a_new_edition_is_a_new_look() -> None:
    first = ledger(edition="2021")
    released(first, "sex,age")
    second = ledger(first.database, edition="2022")
    assert second.route(of("sex,age")) is None
    assert second.claim(of("sex,age")) == Route(of("sex,age"), of("sex,age"), Status.CLAIMED)
    assert used(second) == {"sex,age": 2}
    third = ledger(first.database, edition="2023")
    assert refused(third, "sex,age")  # and the tables of other editions are no sources
    assert not refused(first, "sex,age")


def test_tables_of_an_edition_with_other_levels_still_count() -> None:
    first = ledger(edition="2021")
    with first.database.writing("people") as transaction:
        place = first._place
        transaction.add(
            place, [("sex,age,parish", "sex,age,parish", Status.RELEASED, Origin.ASKED)]
        )
    assert used(ledger(first.database, edition="2022")) == {"sex,age": 1}


def test_each_scope_has_looks_of_its_own_and_the_office_a_total() -> None:
    public = ledger(looks=2, office_looks=3)
    released(public, "sex,age")
    people = [
        ledger(public.database, scope=name, public=False, looks=2, office_looks=3)
        for name in "abcd"
    ]
    for kept in people[:3]:
        assert kept.route(of("sex,age")) is None
        assert not refused(kept, "sex,age")
    assert refused(people[3], "sex,age")  # three in all, the public one aside
    assert not refused(public, "sex,age,la")
    [look] = [look for look in people[3].looks() if look.of == of("sex,age")]
    assert (look.used, look.limit, look.left) == (3, 3, 0)


def test_a_table_is_settled_once() -> None:
    kept = ledger()
    kept.claim(of("sex,age"))
    assert kept.settle(of("sex,age"), Status.RELEASED)
    assert not kept.settle(of("sex,age"), Status.RELEASED)
    other = ledger(kept.database)
    assert not other.settle(of("sex,age"), Status.RELEASED)


def test_other_rules_may_judge_a_table_otherwise_and_its_looks_stay_used() -> None:
    """The office changes its rules on counts: the figures are the same, and so are the looks."""
    kept = ledger()
    kept.claim(of("sex,age"))
    kept.settle(of("sex,age"), Status.REFUSED)
    used = [(look.of, look.used) for look in kept.looks()]
    other = ledger(kept.database)
    assert other.settle(of("sex,age"), Status.RELEASED)
    assert other.outlook(of("sex,age")).state is State.RELEASED
    assert kept.outlook(of("sex,age")).state is State.RELEASED
    assert [(look.of, look.used) for look in other.looks()] == used


def test_nothing_is_settled_that_was_not_claimed() -> None:
    with pytest.raises(InternalError, match="was not claimed"):
        ledger().settle(of("sex,age"), Status.RELEASED)


def test_a_claim_left_by_a_killed_process_is_made_by_the_next() -> None:
    first = ledger()
    first.claim(of("sex,age"))
    second = ledger(first.database)
    assert second.claim(of("sex,age")).status is Status.CLAIMED
    assert second.settle(of("sex,age"), Status.PARTIAL)
    assert first.claim(of("sex,age")).status is Status.PARTIAL
    assert used(first) == {"sex,age": 1}


def test_a_plan_is_claimed_beforehand_as_far_as_there_are_looks() -> None:
    kept = ledger(looks=1)
    planned = [
        (of("sex,age"), Origin.OFFICIAL),
        (of("sex,age,oa"), Origin.PLAN),  # would be a second look at sex,age
        (of("age,oa"), Origin.PLAN),
        (of("sex,band"), Origin.PLAN),
    ]
    assert kept.preload(planned) == [of("sex,age,oa")]
    assert kept.preload(planned) == [of("sex,age,oa")]  # nothing is claimed twice
    assert [(e.route.asked.name, e.origin) for e in kept.entries()] == [
        ("sex,age", Origin.OFFICIAL), ("age,oa", Origin.PLAN), ("sex,band", Origin.PLAN),
    ]  # fmt: skip
    assert {e.since for e in kept.entries()} == {datetime.now(UTC).date()}


def test_the_outlook_of_each_state() -> None:
    kept = ledger(looks=1)
    today = datetime.now(UTC).date()
    new = kept.outlook(of("sex,age"))
    assert (new.state, new.source, new.tables) == (State.LOOK, None, ())
    assert new.detail is not None
    assert (new.detail.of, new.detail.used, new.detail.limit) == (of("sex,age"), 0, 1)
    assert kept.entries() == []
    free = kept.outlook(of("sex,band"))
    assert (free.state, free.detail) == (State.FREE, None)
    kept.claim(of("age,oa"))
    assert kept.outlook(of("age,oa")).state is State.FREE  # its look is used already
    kept.settle(of("age,oa"), Status.RELEASED)
    there = kept.outlook(of("age,oa"))
    assert (there.state, there.source, there.since) == (State.RELEASED, of("age,oa"), today)
    sums = kept.outlook(of("age,la"))
    assert (sums.state, sums.source, sums.since) == (State.SUMS, of("age,oa"), today)
    gone = kept.outlook(of("sex,age,la"))
    assert (gone.state, gone.source) == (State.USED, None)
    assert gone.detail is not None
    assert (gone.detail.of, gone.detail.left) == (of("age,la"), 0)
    assert gone.tables == (Shown("age,oa", 32, Status.RELEASED, Origin.ASKED, today),)
    released(kept, "sex,age", Status.REFUSED)
    assert kept.outlook(of("sex,age")).state is State.REFUSED


def test_what_was_refused_is_counted_and_nothing_else_is_known_of_it() -> None:
    kept = ledger(looks=1)
    released(kept, "age,oa")
    for _ in range(3):
        assert refused(kept, "sex,age,la")
    kept.claim(of("sex,band"))  # counts are written down with the next claim
    assert kept.questions() == {of("age,oa"): 1, of("sex,band"): 1, of("sex,age,la"): 3}


def test_a_refusal_ends_when_a_table_is_released_that_covers_it() -> None:
    kept = ledger(looks=1)
    kept.claim(of("age,oa"))
    assert refused(kept, "age,la")
    assert refused(kept, "age,la")
    ledger(kept.database).settle(of("age,oa"), Status.RELEASED)
    assert kept.claim(of("age,la")).source == of("age,oa")


def test_repeated_questions_do_not_reach_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ledger()
    released(kept, "sex,age,oa")
    released(kept, "sex,band")

    def gone(*arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Database, "reading", gone)
    monkeypatch.setattr(Database, "writing", gone)
    assert kept.claim(of("sex,age,oa")).status is Status.RELEASED
    assert kept.claim(of("sex,band")).status is Status.RELEASED
    assert not kept.settle(of("sex,band"), Status.RELEASED)
    both = kept.claim_all([of("sex,age,oa"), of("sex,band")])
    assert [route and route.status for route in both] == [Status.RELEASED] * 2


def test_what_is_not_guarded_is_written_down_when_it_is_made() -> None:
    """sex,band has 8 cells and uses no look, so that it need not be claimed first."""
    kept = ledger()
    made = {of("sex,band"): Status.RELEASED, of("sex"): Status.REFUSED}
    assert kept.settle_all(made) == [of("sex,band"), of("sex")]
    assert kept.settle_all(made) == []
    other = ledger(kept.database)
    assert {entry.route.asked: entry.route.status for entry in other.entries()} == made
    assert other.settle_all(made | {of("half"): Status.RELEASED}) == [of("half")]


def test_what_was_summed_before_it_was_free_stays_so() -> None:
    """The office guards less now: what was decided in the edition is not decided again."""
    kept = ledger(looks=1)
    released(kept, "sex,age,oa")
    assert kept.claim(of("sex,age")).source == of("sex,age,oa")
    now = ledger(kept.database, guard_below=1)
    assert not now.settle(of("sex,age"), Status.RELEASED)
    assert now.decided(of("sex,age")) == kept.decided(of("sex,age"))
