"""Every route and every failure: one shape, the right status, nothing of the inside."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from applications import GENEROUS, Client
from discreet.errors import InternalError, ParameterError, Stopped
from discreet.release.pipeline import Releaser
from discreet.server.settings import Key, Settings
from discreet.service import Limits
from discreet.service.catalogue import Catalogue

ROOT = "/api/v1/datasets"
TABLE = f"{ROOT}/town/table"
CHECK = f"{ROOT}/town/check"
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
}

# Method, address, body, status, code. Every route is here with every way it can fail.
FAILURES: list[tuple[str, str, Any, int, str]] = [
    ("GET", "/api/nothing", None, 404, "NOT_FOUND"),
    ("GET", "/api/v1/datasets/", None, 404, "NOT_FOUND"),
    ("DELETE", ROOT, None, 405, "METHOD_NOT_ALLOWED"),
    ("PUT", TABLE, {}, 405, "METHOD_NOT_ALLOWED"),
    ("POST", CHECK, {}, 405, "METHOD_NOT_ALLOWED"),
    ("POST", "/healthz", None, 405, "METHOD_NOT_ALLOWED"),
    ("GET", f"{ROOT}?x=1", None, 400, "BAD_REQUEST"),
    ("GET", f"{ROOT}/town?tier=licensed", None, 400, "BAD_REQUEST"),
    ("GET", "/api/v1/config?x=1", None, 400, "BAD_REQUEST"),
    ("GET", "/api/v1/me?x=1", None, 400, "BAD_REQUEST"),
    ("GET", f"{ROOT}/nowhere", None, 404, "UNKNOWN_DATASET"),
    ("GET", f"{ROOT}/%2e%2e", None, 404, "UNKNOWN_DATASET"),
    ("GET", f"{ROOT}/nowhere/check?by=sex", None, 404, "UNKNOWN_DATASET"),
    ("GET", f"{ROOT}/nowhere/table?by=sex", None, 404, "UNKNOWN_DATASET"),
    ("POST", f"{ROOT}/nowhere/table", {"by": ["sex"]}, 404, "UNKNOWN_DATASET"),
    *(
        ("GET", f"{path}{query}", None, 400, "BAD_REQUEST")
        for path in (CHECK, TABLE, f"{TABLE}/meta", f"{TABLE}/structure")
        for query in (
            "",
            "?by=",
            "?by=sexx",
            "?by=sex,sex",
            "?by=sex&by=age",
            "?by=sex@",
            "?by=sex@age",
            "?by=sex&where=sex",
            "?by=sex&where=sex=3",
            "?by=sex&where=ward=nowhere",
            "?by=sex&where=sex=%25ff",
            "?by=sex&where=%ff",
            "?by=sex&totals=all",
            "?by=sex&tier=licensed",
            "?by=sex&unknown=1",
            "?by=%00",
            "?by=sex,age,health,rare,ward,district,sex",
        )
    ),
    ("GET", f"{TABLE}?by=sex&format=docx", None, 400, "BAD_REQUEST"),
    ("GET", f"{TABLE}/meta?by=sex&format=xlsx", None, 400, "BAD_REQUEST"),
    ("GET", f"{TABLE}/structure?by=sex&format=csv", None, 400, "BAD_REQUEST"),
    ("GET", f"{ROOT}/town/ledger", None, 400, "BAD_REQUEST"),
    ("GET", f"{ROOT}/town/ledger?by=sex,age,health,rare", None, 413, "MAX_CELLS"),
    ("GET", f"{TABLE}/meta?by=ward,rare", None, 403, "NOT_AVAILABLE"),
    ("GET", f"{TABLE}/structure?by=ward,rare", None, 403, "NOT_AVAILABLE"),
    ("POST", f"{TABLE}/meta", {}, 405, "METHOD_NOT_ALLOWED"),
    ("GET", f"{TABLE}?by=sex,age,health,rare", None, 413, "MAX_CELLS"),
    ("GET", f"{TABLE}?by=ward,rare", None, 403, "NOT_AVAILABLE"),
    ("GET", f"{TABLE}?by=sex&totals=summed", None, 403, "TOTALS"),
    ("GET", f"{TABLE}?by={'x' * 9_000}", None, 414, "QUERY_TOO_LONG"),
    ("GET", f"/healthz?{'x' * 9_000}", None, 414, "QUERY_TOO_LONG"),
    ("POST", TABLE, b"", 400, "BAD_REQUEST"),
    ("POST", TABLE, b"{", 400, "BAD_REQUEST"),
    ("POST", TABLE, b"\xff\xfe", 400, "BAD_REQUEST"),
    ("POST", TABLE, b"[" * 100_000, 400, "BAD_REQUEST"),
    ("POST", TABLE, [], 400, "BAD_REQUEST"),
    ("POST", TABLE, {}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": "sex"}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": [1]}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": []}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": ["sex"], "where": []}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": ["sex"], "where": {"sex": "1"}}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": ["sex"], "where": {"sex": []}}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": ["sex"], "totals": 1}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": ["sex"], "format": None}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": ["sex"], "tier": "licensed"}, 400, "BAD_REQUEST"),
    ("POST", TABLE, {"by": ["sex"], "more": 1}, 400, "BAD_REQUEST"),
    ("POST", TABLE, b'{"by": ["sex"], "by": ["age"]}', 400, "BAD_REQUEST"),
    ("POST", TABLE, b'{"by": ["sex"], "where": {"age": ["1"], "age": ["2"]}}', 400, "BAD_REQUEST"),
    ("POST", TABLE, b'{"by": ' + b"[" * 900 + b"]" * 900 + b"}", 400, "BAD_REQUEST"),
    ("POST", f"{TABLE}?by=sex", {"by": ["sex"]}, 400, "BAD_REQUEST"),
    (
        "POST", TABLE, {"by": ["sex"], "where": {f"n{i}": ["1"] for i in range(51)}},
        400, "BAD_REQUEST",
    ),
    (
        "POST", TABLE, {"by": ["sex"], "where": {"rare": [str(i) for i in range(10_001)]}},
        400, "BAD_REQUEST",
    ),
    ("POST", TABLE, {"by": ["sex" * 100_000]}, 413, "BODY_TOO_LARGE"),
]  # fmt: skip


def assert_told(answer: Any, status: int, code: str) -> dict[str, Any]:
    """Check the one shape, and that nothing of the inside is in it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "server" not in answer.headers
    body = answer.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) - {"hints"} == {"code", "message", "hint", "id"}
    assert error["code"] == code
    assert error["id"] == answer.headers["x-request-id"]
    assert isinstance(error["message"], str)
    assert error["hint"] is None or isinstance(error["hint"], str)
    assert not re.search(r"Traceback|\.py|/tmp|versions|records|secret", answer.text)
    return error


@pytest.mark.parametrize(("method", "url", "body", "status", "code"), FAILURES)
def test_every_failure_has_the_one_shape(
    client: Client, method: str, url: str, body: Any, status: int, code: str
) -> None:
    content = body if isinstance(body, bytes) or body is None else json.dumps(body)
    answer = client.request(method, url, content=content)
    assert_told(answer, status, code)
    if status == 405:
        assert answer.headers["allow"] == ("GET, HEAD, POST" if url == TABLE else "GET, HEAD")


def test_every_route_is_walked() -> None:
    from discreet.server.openapi import OF

    walked = {url.split("?")[0].replace("town", "{d}") for _, url, *_ in FAILURES}
    assert {ROOT, f"{ROOT}/{{d}}", f"{ROOT}/{{d}}/check", f"{ROOT}/{{d}}/table"} <= walked
    assert {f"{ROOT}/{{d}}/table/meta", f"{ROOT}/{{d}}/table/structure"} <= walked
    assert {"/api/v1/config", "/api/v1/me", "/healthz"} <= walked
    assert f"{ROOT}/{{d}}/ledger" in walked
    assert len(OF) == 12, "a new route must be walked too"


@pytest.mark.parametrize("error", [RuntimeError, InternalError, ParameterError, OSError])
def test_our_own_mistakes_show_an_id_and_nothing_else(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*arguments: object, **more: object) -> None:
        raise error("12345 people live at /tmp/secret")

    monkeypatch.setattr(Releaser, "_make", fail)
    place = (RuntimeError, InternalError, ParameterError, OSError).index(error)
    by = ("age", "sex,age", "age_band,health", "sex,age_band,health")[place]
    url = f"{TABLE}?by={by}"  # a table that nobody asked for before
    told = assert_told(client.get(url), 500, "INTERNAL")
    line = next(line for line in client.log.splitlines() if '"event":"failure"' in line)
    assert told["id"] in client.log
    assert "12345" not in client.log
    assert json.loads(line)["where"], "the log says where it came from"
    monkeypatch.undo()
    assert client.get(url).status_code == 200, "a failure is not kept"


def test_a_limit_is_told_with_when_to_come_back(start: Callable[..., Client]) -> None:
    client = start(Settings(rate=60, burst=3))
    assert [client.get("/api/v1/config").status_code for _ in range(3)] == [200] * 3
    answer = client.get("/api/v1/config")
    assert_told(answer, 429, "TOO_MANY_REQUESTS")
    assert answer.headers["retry-after"] == "1"  # 60 a minute are one a second
    assert client.get("/healthz").status_code == 200, "probes are never turned away"


def test_a_key_has_a_limit_of_its_own_and_private_answers(start: Callable[..., Client]) -> None:
    key = Key("office", hashlib.sha256(b"open sesame").hexdigest(), rate=6_000)
    client = start(Settings(rate=60, burst=1, keys=(key,)))
    client.get("/api/v1/config")
    with_key = {"X-API-Key": "open sesame"}
    answer = client.get(f"{TABLE}?by=sex", headers=with_key)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "private, no-cache"
    assert_told(client.get("/api/v1/config"), 429, "TOO_MANY_REQUESTS")


def test_every_line_of_x_forwarded_for_is_read(start: Callable[..., Client]) -> None:
    """Each proxy may add a line; the last one is the nearest, and the first the reader's own."""
    client = start(Settings(rate=60, burst=1, proxies=("127.0.0.1", "10.0.0.1")))

    def asked(*lines: str) -> int:
        given = [("X-Forwarded-For", line) for line in lines]
        status: int = client.get("/api/v1/config", headers=given).status_code
        return status

    assert asked("192.0.2.1", "198.51.100.7, 10.0.0.1") == 200
    # The same reader, who claims to be another one in a line of their own.
    assert asked("192.0.2.2", "198.51.100.7, 10.0.0.1") == 429
    assert asked("192.0.2.2", "198.51.100.7", "10.0.0.1") == 429
    assert asked("192.0.2.2", "198.51.100.8", "10.0.0.1") == 200


def test_two_ways_to_say_where_a_body_ends_are_refused(client: Client) -> None:
    given = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
    answer = client.get(f"{TABLE}?by=sex", headers=given)
    assert_told(answer, 400, "BAD_REQUEST")
    assert answer.headers["connection"] == "close"


def test_headers_have_a_limit(start: Callable[..., Client]) -> None:
    client = start(Settings(max_header=1_000))
    assert client.get("/api/v1/config", headers={"X-A": "a" * 500}).status_code == 200
    answer = client.get("/api/v1/config", headers={"X-A": "a" * 1_000})
    assert_told(answer, 431, "HEADERS_TOO_LARGE")


def test_an_unknown_key_is_refused_and_counted(start: Callable[..., Client]) -> None:
    client = start(Settings(rate=60, burst=1))
    wrong = {"X-API-Key": "guess"}
    assert_told(client.get("/api/v1/config", headers=wrong), 401, "UNKNOWN_KEY")
    assert_told(client.get("/api/v1/config", headers=wrong), 429, "TOO_MANY_REQUESTS")


def test_a_full_queue_turns_away(
    start: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Event()
    answer_now = Releaser.answer

    def slow(*arguments: Any) -> Any:
        gate.wait(60)  # also where a table is kept: one of them is made while the server starts
        return answer_now(*arguments)

    limits = Limits(light_workers=1, heavy_workers=1, queue=1, wait=30)
    client = start(Settings(rate=10_000, burst=1_000, limits=limits))
    monkeypatch.setattr(Releaser, "answer", slow)
    # Four questions that views answer, one worker, one place to wait.
    tables = ("sex", "health", "age_band", "sex,health")
    waiting = client.begin([f"{TABLE}?by={by}" for by in tables])
    for answer in waiting.first(2):
        assert_told(answer, 503, "BUSY")
        assert int(answer.headers["retry-after"]) >= 1
    gate.set()
    assert [answer.status_code for answer in waiting.rest()] == [200, 200]


def test_a_question_that_takes_too_long_is_stopped(
    start: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = []

    def endless(self: Any, making: Any, stop: Event) -> Any:
        assert stop.wait(20)
        stopped.append(True)
        raise Stopped("stopped")

    client = start(Settings(rate=10_000, burst=1_000, limits=Limits(seconds=1)))
    monkeypatch.setattr(Releaser, "_make", endless)
    answer = client.get(f"{TABLE}?by=health")
    assert_told(answer, 503, "TIME_LIMIT")
    assert answer.headers["retry-after"]
    assert stopped


def test_while_starting_it_says_so(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Catalogue, "fresh", lambda self: [])  # opening takes for ever
    client = Client([store], GENEROUS, "127.0.0.1")
    try:
        for url in ("/readyz", ROOT, f"{ROOT}/town", f"{TABLE}?by=sex", f"{CHECK}?by=sex"):
            answer = client.get(url)
            assert_told(answer, 503, "STARTING")
            assert answer.headers["retry-after"] == "1"
        assert client.get("/healthz").status_code == 200
    finally:
        client.close()


def test_all_that_is_wrong_with_a_question_is_told_at_once(client: Client) -> None:
    told = client.get(f"{CHECK}?where=sex=1&totals=all&more=1").json()["error"]["message"]
    assert told == (
        "By must name at least one variable, like by=sex,age_band. "
        "No kind of totals 'all'; Choices: none, protected, summed. "
        "No parameter 'more'; Choices: by, where, totals."
    )
    wrong = {"by": "sex", "where": {"sex": "1", "age": [2]}, "format": 1, "tier": "x"}
    told = client.request("POST", TABLE, content=json.dumps(wrong)).json()["error"]["message"]
    assert told == (
        'By must be a list of 1 to 6 names, like ["sex", "age_band"]. '
        'Where must map names to lists of codes, like {"sex": ["2"]}. '
        "Format must be a text. "
        "A tier cannot be asked for: it follows from the account or the key."
    )
