"""What is kept says how much memory it takes, so that a budget of bytes bounds a server."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest

from discreet.errors import QueryRefused
from discreet.query import Query, Question
from discreet.release import Release
from discreet.release.complete import BUDGET, Tables
from discreet.service import memory
from discreet.service.asked import kept_bytes
from discreet.service.opened import Opened, open_store
from stores import build_town

NAMES = ("sex", "age", "age_band", "health", "rare", "ward", "district")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    place = tmp_path_factory.mktemp("town")
    store = build_town(place, place / "store", rows=20_000, policy="preset:rounding-3")
    return open_store(store, database="sqlite://")


def releases(opened: Opened, tables: Tables) -> Iterator[Release]:
    """Yield what is released of all tables of one to three variables."""
    releaser = replace(opened.releaser, tables=tables)
    for names in (c for width in (1, 2, 3) for c in combinations(NAMES, width)):
        try:
            question = Question.of(Query.parse(list(names)), opened.schema)
            yield releaser.release(question)
        except (QueryRefused, ValueError):  # of two levels of one variable
            continue


def test_answers_and_tables_say_no_less_than_they_take(opened: Opened) -> None:
    tables = Tables()
    for _ in releases(opened, Tables()):
        pass  # what is loaded once, views above all, is there
    gc.collect()
    tracemalloc.start()
    try:
        kept = list(releases(opened, tables))
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) > 5
    said = sum(map(kept_bytes, kept)) + tables.used
    assert taken <= 1.1 * said


def test_complete_tables_stay_under_their_budget(opened: Opened) -> None:
    tables = Tables(budget=100_000)
    for _ in range(2):
        for _ in releases(opened, tables):
            assert tables.used <= 100_000
    assert tables.used > 50_000  # it was worth asking


class Held:
    """A cache of some bytes, all of which can go."""

    def __init__(self, used: int, budget: int) -> None:
        self.used, self.budget = used, budget

    def shrink(self, by: int) -> int:
        """Let bytes go."""
        gone = min(by, self.used)
        self.used -= gone
        return gone


def test_caches_give_way_where_the_system_counts_more() -> None:
    """It begins with 100 and may have 30 + 20 in caches and 10 beside them: 160 in all."""
    first, second = Held(25, 30), Held(18, 20)
    told = iter([100, 160, 161, 161, 185, 184])
    bound = memory.Bound(first, own=lambda: next(told))
    assert bound._within([first, second], 10) == 0  # the beginning
    assert bound._within([first, second], 10) == 0
    assert (first.used, second.used) == (25, 18)
    assert bound._within([first, second], 10) == 1  # still, after free memory was given back
    assert (first.used, second.used) == (24, 18)
    assert bound._within([first, second], 10) == 24
    assert (first.used, second.used) == (0, 18)


def test_what_was_only_not_given_back_costs_no_cache() -> None:
    cache = Held(25, 30)
    told = iter([100, 150, 130])
    bound = memory.Bound(cache, own=lambda: next(told))
    assert bound._within([cache], 0) == 0
    assert bound._within([cache], 0) == 0  # 150 is over 130, which is what is left
    assert cache.used == 25


def test_free_memory_is_given_back_as_memory_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """By 16 MiB from 100; 110 are left, and so again after 126."""
    given = list[int]()
    monkeypatch.setattr(memory, "give_back", lambda: given.append(1))
    told = (mib * 2**20 for mib in (100, 116, 117, 110, 126, 127, 112))
    bound, cache = memory.Bound(Held(0, 0), own=lambda: next(told)), Held(0, 100 * 2**20)
    found = []
    for _ in range(5):
        assert bound._within([cache], 0) == 0
        found.append(len(given))
    assert found == [0, 0, 1, 1, 2]


def test_workers_share_the_memory_for_tables(opened: Opened) -> None:
    for workers, share in ((1, 1.0), (2, 0.5), (16, 0.25)):
        memory.Bound(Held(0, 0), workers).look([opened])
        tables, made_up = opened.releaser.tables, opened.releaser.made_up
        assert (tables.budget, made_up.budget) == (BUDGET * share, BUDGET * share / 8)


def test_memory_of_one_s_own_is_what_is_written_to() -> None:
    before = memory.own()
    if not before:
        pytest.skip("the system does not say")
    block = bytearray(b"x") * (64 * 2**20)
    assert memory.own() - before > 60 * 2**20
    del block
    memory.give_back()
    assert memory.own() - before < 30 * 2**20
