"""The service: each question once, a new version without a wrong answer, cheap ones not starved."""

from __future__ import annotations

import io
import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from applications import serving
from discreet.build import build
from discreet.errors import ParameterError
from discreet.query import Query
from discreet.release import pipeline
from discreet.release.pipeline import Releaser
from discreet.server.settings import Settings
from discreet.service import Limits
from discreet.service.catalogue import open_served
from stores import build_town, write_town

TABLE = "/api/v1/datasets/town/table"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return build_town(folder / "data", folder / "store", rows=5_000)


def test_identical_questions_in_flight_run_once(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, seen = Releaser._make, Counter[str]()

    def slow(self: Any, making: Any, *rest: Any) -> Any:
        seen[making.of.name] += 1
        time.sleep(0.2)
        return make(self, making, *rest)

    with serving([store]) as client:
        monkeypatch.setattr(Releaser, "_make", slow)
        # One question in two spellings and one of its own.
        urls = [f"{TABLE}?by=sex&where=health=1|2"] * 5 + [f"{TABLE}?by=sex&where=health=2|1"] * 5
        answers = client.together([*urls, f"{TABLE}?by=sex&where=health=3"])
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers[:10]}) == 1
    assert seen == {"sex,health": 1}  # all of them are parts of one table


def test_the_rules_on_a_question_run_once_and_it_is_read_once(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for a release, however it is asked for; not at all for one that is at hand."""
    ruled, read = Counter[str](), Counter[str]()
    check, parse = pipeline.check_question, Query.parse

    def checked(question: Any, *rest: Any) -> None:
        ruled[question.canonical] += 1
        check(question, *rest)

    def parsed(by: Any, where: Any = None) -> Query:
        read[by] += 1
        return parse(by, where)

    with serving([store]) as client:
        monkeypatch.setattr(pipeline, "check_question", checked)
        monkeypatch.setattr(Query, "parse", parsed)
        for form in ("csv", "json-stat", "csv"):
            assert client.get(f"{TABLE}?by=sex,health&format={form}").status_code == 200
        assert ruled["by=sex,health"] == 1  # hints are questions of their own, each looked at once
        assert set(ruled.values()) == {1}
        assert read == {"sex,health": 2}  # the third was typed as the first
        # The page reads its address itself and hands on the question.
        page = "/datasets/town/table?by=health&columns="
        client.publish(page)
        before = Counter(ruled)
        assert before["by=health"]
        assert 'class="figures"' in client.get(page).text
        assert ruled == before
        assert "health" not in read


def test_the_link_beside_a_file_asks_the_same_question(store: Path) -> None:
    """In the same words too: ages one by one are not said as their band."""
    with serving([store]) as client:
        ages = "|".join(map(str, range(20)))
        file = client.get(f"{TABLE}?by=sex&where=age={ages}&format=csv")
        link = file.headers["link"].partition(">")[0].removeprefix("<table/")
        said = client.get(f"{TABLE}/{link}").json()
        assert [f["name"] for f in said["filters"]] == ["Age"]


def test_a_reader_who_goes_away_does_not_take_the_answer_with_them(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = Releaser._make
    begun = threading.Event()

    def slow(*arguments: Any) -> Any:
        begun.set()
        time.sleep(0.3)
        return make(*arguments)

    with serving([store]) as client:
        monkeypatch.setattr(Releaser, "_make", slow)
        url = f"{TABLE}?by=health"
        waiting = client.begin([url, url])
        assert begun.wait(10)
        waiting._asked.pop(0).cancel()
        assert [answer.status_code for answer in waiting.rest()] == [200]


def test_refusals_are_kept_too(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving([store]) as client:
        first = client.get(f"{TABLE}?by=health,rare")
        monkeypatch.setattr(Releaser, "_make", None)  # nothing is made again
        again = client.get(f"{TABLE}?by=health,rare")
        assert first.status_code == again.status_code == 403
        told, told_again = first.json()["error"], again.json()["error"]
        assert told["code"] == "NOT_AVAILABLE"  # after it was counted
        assert told.pop("id") != told_again.pop("id")
        assert told == told_again


def test_a_new_version_is_picked_up_without_a_wrong_answer(tmp_path: Path) -> None:
    store = build_town(tmp_path / "data", tmp_path / "store", rows=5_000)
    url = f"{TABLE}?by=sex,health&format=csv"
    with serving([store]) as client:
        old = client.get(url)
        seen = [old]
        write_town(tmp_path / "data", rows=5_000, seed=2)
        builder = threading.Thread(target=build, args=(tmp_path / "data/dataset.toml", store))
        builder.start()
        for _ in range(2_000):
            seen.append(client.get(url))
            if seen[-1].content != old.content:
                break
            time.sleep(0.01)
        builder.join()
        new = client.get(url)
        kept = client.get(url, headers={"If-None-Match": old.headers["etag"]})
    fresh = dc.open(store).release("sex,health").table.values.ravel().tolist()
    assert pd.read_csv(io.StringIO(new.text))["value"].tolist() == fresh
    assert {answer.status_code for answer in seen} == {200}
    # Never anything but the one or the other, each under its own name.
    assert {(a.headers["etag"], a.content) for a in seen} == {
        (old.headers["etag"], old.content),
        (new.headers["etag"], new.content),
    }
    assert kept.status_code == 200, "the name of an old answer is not the name of the new one"


def test_a_version_that_cannot_be_opened_leaves_the_old_one(tmp_path: Path) -> None:
    store = build_town(tmp_path / "data", tmp_path / "store", rows=3_000)
    url = f"{TABLE}?by=sex&format=csv"
    with serving([store]) as client:
        old = client.get(url)
        (store / "CURRENT.x").write_text("nothing-here\n")
        os.replace(store / "CURRENT.x", store / "CURRENT")
        client.run(client.service.refresh())
        client.run(client.service.refresh())
        assert client.get(url).content == old.content
        assert client.log.count('"event":"store"') == 1, "told once"
        assert client.get("/readyz").status_code == 200


def test_a_store_without_a_public_tier_is_not_served(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "policy.toml").write_text("[tiers.licensed]\n")
    store = build_town(tmp_path / "data", tmp_path / "store", rows=3_000, policy="policy.toml")
    with pytest.raises(ParameterError, match="public tier"):
        open_served(store)


def test_slow_questions_do_not_keep_light_ones_waiting(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, release = Releaser._make, threading.Event()

    def slow(self: Any, making: Any, *rest: Any) -> Any:
        if making.of.cells > 100:
            release.wait(30)
        return make(self, making, *rest)

    limits = Limits(light_workers=1, heavy_workers=2, light_cells=100)
    with serving([store], Settings(rate=10**6, burst=10**6, limits=limits)) as client:
        monkeypatch.setattr(Releaser, "_make", slow)
        heavy = client.begin([f"{TABLE}?by=age,health&where=sex={s}" for s in (1, 2)] * 5)
        assert client.get(f"{TABLE}?by=sex").status_code == 200
        release.set()
        assert {answer.status_code for answer in heavy.rest()} <= {200, 403}


def test_the_budget_of_the_cache_holds(store: Path) -> None:
    limits = Limits(cache_bytes=20_000)
    with serving([store], Settings(rate=10**6, burst=10**6, limits=limits)) as client:
        for i in range(80):
            client.get(f"{TABLE}?by=sex,health&where=age={i}")
            assert client.service.cache.bytes <= 20_000
