"""The same attackers over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError, QueryRefused
from discreet.study.attacks.finding import tried
from discreet.study.attacks.reading import Reading
from discreet.study.attacks.remote import Asking, Client, Remote
from discreet.study.attacks.target import Target
from servers import running


class Said:
    """A server that says what it is told to."""

    def __init__(self, *answers: tuple[int, int, Any]) -> None:
        self.answers = [(s, w, json.dumps(body).encode()) for s, w, body in answers]
        self.asked: list[Any] = []

    def send(self, path: str, body: bytes) -> tuple[int, int, bytes]:
        self.asked.append((path, json.loads(body)))
        return self.answers.pop(0)


TABLE = {
    "value": [3, None, 0, 6],
    "size": [2, 2],
    "extension": {"parts": [1, 1, 1, 1], "discreet": {}},
}
NO = {"error": {"code": "NOT_AVAILABLE", "message": "No.", "hints": [{"text": "without age"}]}}


def test_a_question_and_its_answer() -> None:
    server = Said((200, 0, TABLE))
    found = Asking("census", server.send)("la,sex", "oa=1|a%7Cb", "none").table
    assert found.values.tolist() == [[3, 0], [0, 6]]
    assert found.withheld.tolist() == [[False, True], [False, False]]
    assert found.parts is not None
    asked = {
        "by": ["la", "sex"], "where": {"oa": ["1", "a|b"]}, "totals": "none",
        "format": "json-stat",
    }  # fmt: skip
    assert server.asked == [("/api/v1/datasets/census/table", asked)]


def test_a_refusal_is_the_programs_own() -> None:
    with pytest.raises(QueryRefused) as refused:
        Asking("census", Said((403, 0, NO)).send)("la", None, "none")
    assert (refused.value.code, refused.value.hints[0].text) == ("NOT_AVAILABLE", "without age")


def test_whoever_is_asked_to_wait_waits() -> None:
    waited: list[float] = []
    server = Said((429, 7, NO), (503, 0, NO), (200, 0, TABLE))
    Asking("census", server.send, waited.append)("la", None, "none")
    assert waited == [7, 1]


def test_a_server_that_fails_is_no_refusal() -> None:
    with pytest.raises(ParameterError, match="does not answer: No"):
        Asking("census", Said((500, 0, NO)).send)("la", None, "none")


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(ParameterError, match="cannot be asked"):
        Client("http://127.0.0.1:9").send("/x", b"")
    with pytest.raises(ParameterError, match="--url must be like"):
        Client("127.0.0.1:8000").send("/x", b"")


@pytest.mark.slow
def test_over_http_the_same_is_found(census_store: Path, tmp_path: Path) -> None:
    attack, seconds = Reading(tables=3), 600
    here = tried(attack, Target.open(census_store), np.random.default_rng(1), seconds)
    with running([census_store], tmp_path) as server:
        target = Remote(census_store, server.url).target(1)
        there = tried(attack, target, np.random.default_rng(1), seconds)
    assert there == here
    assert there.tries > 0
