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
from discreet.release.complete import Tables
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
