"""Logs and metrics: one line a request, and nothing in either that depends on a true count."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from applications import Client, serving
from discreet.server.log import Log
from stores import build_town

TABLE = "/api/v1/datasets/town/table"
QUESTIONS = [
    f"{TABLE}?by=sex,health&format=csv",
    f"{TABLE}?by=sex,health&format=csv",
    f"{TABLE}?by=age_band&where=sex=2&totals=protected",
    f"{TABLE}?by=nothing",
    f"{TABLE}?by=sex,age,health,rare",
    "/api/v1/datasets/town/check?by=sex",
    "/healthz",
    "/api/nothing",
]


def lines_of(client: Client) -> list[dict[str, Any]]:
    return [json.loads(line) for line in client.log.splitlines()]


def test_a_request_is_one_line(start: Callable[..., Client]) -> None:
    client = start()
    answers = [client.get(url) for url in QUESTIONS]
    lines = lines_of(client)
    assert len(lines) == len(QUESTIONS)
    for line, answer in zip(lines, answers, strict=True):
        assert set(line) == {"time", "event", "method", "route", "status", "ms", "id", "cache"}
        assert line["id"] == answer.headers["x-request-id"]
        assert line["status"] == answer.status_code
    assert [line["cache"] for line in lines[:3]] == ["miss", "hit", "miss"]
    assert lines[0]["route"] == "/api/v1/datasets/{dataset}/table"
    assert lines[-1]["route"] == "unmatched", "what was typed is not in the log"


@pytest.mark.parametrize(
    ("url", "route"),
    [
        ("/api/v1/catalogue", "/api/v1/catalogue"),
        (f"{TABLE}/csvw?by=sex", "/api/v1/datasets/{dataset}/table/csvw"),
        ("/px/v2/tables/town/metadata", "/px/v2/tables/{dataset}/metadata"),
        ("/sdmx/dataflow", "/sdmx/{path:path}"),
    ],
)
def test_routes_of_other_protocols_are_named(
    start: Callable[..., Client], url: str, route: str
) -> None:
    client = start()
    client.get(url)
    assert lines_of(client)[-1]["route"] == route


def test_what_others_say_is_a_line_without_its_message() -> None:
    """A message might hold a figure: of what other packages log only the place is kept."""
    stream = io.StringIO()
    log, before = Log(stream), logging.getLogger().handlers[:]
    hooks = threading.excepthook, sys.unraisablehook
    try:
        log.capture()
        logging.getLogger("asyncio").error("12345 people\nover two lines")
        error = ValueError("12345 people")
        logging.getLogger("uvicorn.error").error("failed", exc_info=error)
        logging.getLogger("uvicorn.error").error("failed again", exc_info=error)
        thread = threading.Thread(target=lambda: int("12345 people"))
        thread.start()
        thread.join()
        log.write(event="odd", name="\ud800")
    finally:
        logging.getLogger().handlers[:] = before
        logging.captureWarnings(False)
        threading.excepthook, sys.unraisablehook = hooks
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    # An error that was told is not told again by whoever passes it on.
    assert [line["event"] for line in lines] == ["log", "log", "thread", "odd"]
    assert "12345" not in stream.getvalue()


def test_a_log_that_cannot_be_written_costs_nothing() -> None:
    stream = io.StringIO()
    stream.close()
    Log(stream).write(event="request")


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return two censuses of one town: the same people's ids, other answers, other numbers."""
    stores = []
    for seed, rows in ((1, 9_000), (2, 12_000)):
        folder = tmp_path_factory.mktemp(f"world{seed}")
        stores.append(build_town(folder / "data", folder / "store", rows=rows, seed=seed))
    return stores


def test_what_is_outside_the_table_is_the_same_in_both_worlds(worlds: list[Path]) -> None:
    """Status, headers, log and metrics are equal though every true count differs.

    Content-Length is the length of the released bytes and nothing else; an ETag is looked at below.
    """
    seen = []
    for store in worlds:
        with serving([store]) as client:
            plain = {"Accept-Encoding": "identity"}
            answers = [client.get(url, headers=plain) for url in QUESTIONS]
            assert all(a.headers["content-length"] == str(len(a.content)) for a in answers)
            volatile = ("x-request-id", "etag", "content-length", "date")
            told = [
                (a.status_code, {k: v for k, v in a.headers.items() if k not in volatile})
                for a in answers
            ]
            lines = lines_of(client)
            for line in lines:
                for name in ("time", "ms", "id"):
                    del line[name]
            counted = [
                line
                for line in generate_latest(client.app.state.metrics.registry).decode().split("\n")
                if "seconds" not in line and "_created" not in line and "cache_bytes" not in line
            ]
            seen.append((told, lines, counted))
    assert seen[0] == seen[1]


def test_an_etag_is_no_function_of_figures(tmp_path: Path, worlds: list[Path]) -> None:
    """The same question of the same version has one name, whatever its records are."""
    from discreet.service import open_store

    opened, other = (open_store(world) for world in worlds)
    named = replace(other, version=replace(other.version, path=opened.version.path))
    assert named.tag("by=sex") == opened.tag("by=sex"), "as if it were the same version"
    assert opened.tag("by=sex") == opened.tag("by=sex") != opened.tag("by=health")
    assert opened.tag("a", "b") != opened.tag("ab"), "parts do not run into each other"


def test_metrics_count_requests(start: Callable[..., Client]) -> None:
    client = start()
    for url in QUESTIONS:
        client.get(url)
    text = generate_latest(client.app.state.metrics.registry).decode()
    route = "/api/v1/datasets/{dataset}/table"
    assert f'discreet_requests_total{{route="{route}",status="200"}} 3.0' in text
    assert 'discreet_tables_total{cache="hit"} 1.0' in text
    assert "discreet_ready 1.0" in text
    assert client.get("/metrics").status_code == 404, "on a port of their own only"
