"""Whatever is asked in whatever order: never over the limit, and a route never changes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import QueryRefused
from discreet.ledger import Database, Ledger, Origin, Route, Status
from discreet.query import QuestionClass
from ledgers import ledger, most_looks, of

CLASSES = sorted(of("sex,age,oa").below(), key=lambda c: c.name)
JUDGED = [Status.RELEASED, Status.PARTIAL, Status.REFUSED]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(CLASSES),
        st.sampled_from(["2021", "2021", "2022"]),
        st.sampled_from([None, *JUDGED]),  # None: left unjudged
        st.sampled_from(["claim", "claim", "preload", "another process"]),
    ),
    max_size=30,
)


class Run:
    """A ledger as it is used, with what it said before."""

    def __init__(self, looks: int, sums_up_to: float) -> None:
        self.rules = {"looks": looks, "sums_up_to": sums_up_to}
        self.database = Database.of("sqlite://")
        self.open: dict[str, Ledger] = {}
        self.said: dict[tuple[str, QuestionClass], Route] = {}

    def ledger(self, edition: str, fresh: bool = False) -> Ledger:
        if fresh or edition not in self.open:
            self.open[edition] = ledger(self.database, edition, **self.rules)
        return self.open[edition]

    def ask(self, asked: QuestionClass, edition: str, how: str) -> Route | None:
        kept = self.ledger(edition, how == "another process")
        if how == "preload":
            kept.preload([(asked, Origin.PLAN)])
        before = kept.outlook(asked)
        try:
            route = kept.claim(asked)
        except QueryRefused:
            assert before.state == "used"
            return None
        assert before.state != "used"
        return route


@given(STEPS, st.integers(1, 3), st.sampled_from([1.0, 2.0, 4.0]))
@settings(max_examples=80, deadline=None)
def test_never_over_the_limit_and_a_route_never_changes(
    steps: list[tuple[QuestionClass, str, Status | None, str]], looks: int, sums_up_to: float
) -> None:
    run = Run(looks, sums_up_to)
    for asked, edition, judged, how in steps:
        route = run.ask(asked, edition, how)
        known = run.said.get((edition, asked))
        if known is not None:
            assert route is not None
            assert route.source == known.source
            assert known.status in (Status.CLAIMED, route.status)
        if route is None:
            continue
        if route.status is Status.CLAIMED and judged is not None:
            run.ledger(edition).settle(route.source, judged)
        elif route.summed:  # only from a table that is released, and for its own areas if in part
            source = run.said[edition, route.source]
            assert route.source.covers(asked)
            assert route.source.ranks[-1] == asked.ranks[-1] or route.status is Status.RELEASED
            assert source.source == route.source
        latest = run.ledger(edition).route(asked)
        assert latest is not None
        run.said[edition, asked] = latest
        tables = [one.source for one in run.said.values() if not one.summed]
        assert most_looks(run.ledger(edition).space, tables) <= looks
    run.database.close()


@given(STEPS, st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_the_looks_are_those_of_the_definition(
    steps: list[tuple[QuestionClass, str, Status | None, str]], looks: int
) -> None:
    run = Run(looks, 1.0)
    tables = []
    for asked, edition, judged, how in steps:
        route = run.ask(asked, edition, how)
        if route is not None and route.status is Status.CLAIMED:
            run.ledger(edition).settle(route.source, judged or Status.RELEASED)
            tables.append(route.source)
    kept = run.ledger("2021", fresh=True)
    for look in kept.looks():
        assert look.used == sum(table.covers(look.of) for table in tables)
    details = {detail for table in tables for detail in kept.space.edge(table)}
    assert {look.of for look in kept.looks()} == details
    run.database.close()


def test_a_row_read_before_it_was_settled_changes_nothing() -> None:
    """Another thread read the claim, and takes it in after the table was judged."""
    kept, asked = ledger(Database.of("sqlite://"), "2021"), of("sex,age")
    kept.claim(asked)
    with kept.database.reading() as transaction:
        (old,) = transaction.own(kept._place)
    kept.settle(asked, Status.REFUSED)
    known = kept.route(asked)
    assert known is not None
    assert known.status is Status.REFUSED
    assert old.status == Status.CLAIMED.value
    assert kept._memory.decided(old) == known
    assert kept.route(asked) == known
