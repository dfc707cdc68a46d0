"""Parts of the population that filters pick: the same figures, within a budget."""

from __future__ import annotations

from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from discreet.errors import Stopped
from discreet.population import Version
from discreet.query import Query, Question
from discreet.tabulate import ScanEngine, parts, plan, scan
from discreet.tabulate.duck import DuckEngine
from discreet.tabulate.parts import Part, Parts
from discreet.tabulate.passing.picking import Picked, Picking
from populations import make_version, populations_and_queries
from tabulations import as_dict, same


@pytest.mark.parametrize("small", [-1, 2**40], ids=["compiled", "plain"])
@settings(max_examples=100, deadline=None)
@given(populations_and_queries())
def test_a_part_gives_the_figures_of_the_whole(small: int, case: tuple[Version, Query]) -> None:
    version, query = case
    question = Question.of(query, version.schema)
    whole = DuckEngine(version)
    counted = as_dict(whole.tabulate(question))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "SMALL", small)
        patch.setattr(scan, "PATIENT", -1)
        patch.setattr(parts, "LEAST", 1)
        patch.setattr(parts, "_SHARE", 10**9)
        engine = ScanEngine(version, threads=2)
        for _ in range(4):  # as ever, when the part is made, and from the part
            assert as_dict(engine.tabulate(question)) == counted
    whole.close()
    engine.close()


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> Version:
    monkeypatch.setattr(parts, "LEAST", 0)
    return make_version(np.random.default_rng(3), 5_000, [4, 9, 300], [50, 5])


def ask(version: Version, by: str, where: dict[str, Any] | None = None) -> Question:
    return Question.of(Query.parse(by, where), version.schema)


def kept(engine: ScanEngine) -> list[Part]:
    return [part for _, part in engine._parts._held.items()]


def test_the_second_question_with_a_filter_makes_a_part_and_later_ones_share_it(
    people: Version,
) -> None:
    engine, duck = ScanEngine(people), DuckEngine(people)
    where = {"c": ["c1", "c2", "c7"]}
    engine.tabulate(ask(people, "a", where))
    assert not kept(engine)
    engine.tabulate(ask(people, "a", where))
    (part,) = kept(engine)
    assert part.filled == {"a"}
    assert part.version.rows == int(np.isin(people.codes16[0], [1, 2, 7]).sum())
    more: dict[str, Any]
    for by, more in [("b,g1", {}), ("c,a", {}), ("a", {"b": "b2"}), ("g0", {"g1": ["g11"]})]:
        question = ask(people, by, where | more)
        for _ in range(3):
            assert same(engine.tabulate(question), duck.tabulate(question)), by
    assert len(kept(engine)) == 1
    assert kept(engine)[0].filled == {"a", "b", "c"}


def test_a_part_is_filled_with_its_own_people_whoever_asks(people: Version) -> None:
    """Not with those who pass one more filter of the question that needs another column."""
    engine, duck = ScanEngine(people), DuckEngine(people)
    part = {"c": ["c1", "c2", "c7"]}
    for by, where in [("a", part), ("a", part), ("b", part | {"a": "a1"}), ("b", part)]:
        question = ask(people, by, where)
        for _ in range(2):
            assert same(engine.tabulate(question), duck.tabulate(question)), (by, where)
    assert [one.applied for one in kept(engine)] == [{"c"}]


@pytest.mark.parametrize("small", [-1, 2**40], ids=["compiled", "plain"])
def test_questions_in_any_order_have_the_figures_of_the_whole(
    small: int, people: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of earlier questions changes no later one: 400 with few filters, in turns."""
    monkeypatch.setattr(scan, "SMALL", small)
    monkeypatch.setattr(scan, "PATIENT", -1)
    engine, duck = ScanEngine(people, threads=2), DuckEngine(people)
    engine._parts.budget = engine._parts._held.budget = 60_000  # so that parts go as well
    draw = np.random.default_rng(20)
    choices = {"a": ["a1", ["a0", "a2"]], "b": ["b2", ["b1", "b3", "b8"]],
               "c": [["c1", "c2", "c7"], [f"c{i}" for i in range(150)]],
               "g1": ["g11", ["g10", "g12", "g13"]]}  # fmt: skip
    counted: dict[str, dict[Any, Any]] = {}
    for _ in range(400):
        by = draw.choice(["a", "b", "c", "g0", "g1"], draw.integers(1, 4), replace=False)
        if {"g0", "g1"} <= {*by}:
            continue
        names = draw.choice([*choices], draw.integers(0, 4), replace=False)
        where: dict[str, Any] = {name: choices[name][draw.integers(2)] for name in names}
        question = ask(people, ",".join(by), where)
        asked = f"{by} {where}"
        if asked not in counted:
            counted[asked] = as_dict(duck.tabulate(question))
        assert as_dict(engine.tabulate(question)) == counted[asked], asked
    assert len(kept(engine)) > 1


def test_few_areas_make_no_part_but_use_one(people: Version) -> None:
    engine, duck = ScanEngine(people), DuckEngine(people)
    local = ask(people, "a", {"b": "b3", "g0": ["g04", "g05"]})
    for _ in range(3):
        assert same(engine.tabulate(local), duck.tabulate(local))
    assert not kept(engine)
    for _ in range(2):
        engine.tabulate(ask(people, "a", {"b": "b3"}))
    made = kept(engine)
    assert same(engine.tabulate(local), duck.tabulate(local))
    assert len(made) == 1
    assert kept(engine) == made


def test_parts_stay_within_their_budget(people: Version) -> None:
    engine, duck = ScanEngine(people), DuckEngine(people)
    held = engine._parts = Parts(people, 9_500)
    held._held.budget = 9_500
    for where in ({"b": "b1"}, {"b": "b2"}, {"b": "b3"}, {"b": ["b4", "b5", "b6", "b7"]}):
        for by in ("a", "a", "a,c", "b,c", "a"):
            question = ask(people, by, where)
            assert same(engine.tabulate(question), duck.tabulate(question))
            assert held._held.used == sum(part.bytes for part in kept(engine)) <= 9_500
    # About 2,200 people pass the last one, of five bytes each: too many.
    assert {part.filters for part in kept(engine)} == {
        frozenset({("b", question.filters[0].allowed.tobytes())})
        for question in (ask(people, "a", {"b": "b3"}), ask(people, "a", {"b": "b2"}))
    }


def test_what_too_many_pass_is_not_counted_again(
    people: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "PIECE", 500)
    engine = ScanEngine(people, threads=1)
    engine._parts.budget = 100
    counted: list[Picked | None] = []
    count = Picking.count

    def counting(*given: Any) -> Picked | None:
        counted.append(count(*given))
        return counted[-1]

    monkeypatch.setattr(Picking, "count", counting)
    for _ in range(4):
        engine.tabulate(ask(people, "a", {"b": ["b1", "b2"]}))
    assert counted == [None]
    assert not kept(engine)


def test_small_populations_have_no_parts(people: Version, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LEAST", 5_001)
    engine = ScanEngine(people)
    for _ in range(3):
        engine.tabulate(ask(people, "a", {"b": "b1"}))
    assert not kept(engine)


def test_picking_can_be_stopped(people: Version) -> None:
    engine, stop = ScanEngine(people), Event()
    question = ask(people, "a", {"b": "b1"})
    engine.tabulate(question)
    stop.set()
    with pytest.raises(Stopped):
        engine._picking(question, frozenset({"b"}), stop).count(np.empty(0, np.int64), 10_000)
    with pytest.raises(Stopped):
        engine.tabulate(question, stop)
    stop.clear()
    engine.tabulate(question, stop)
    assert len(kept(engine)) == 1, "the lock was let go"
