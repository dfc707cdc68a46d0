"""Asking over HTTP: the same attackers against a server that runs.

Whom they attack is known from a store on this side, of which the server has a copy: one of invented
people. A server cannot be made to forget, so that each attacker finds used up what those before it
have used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from discreet.errors import ParameterError, QueryRefused
from discreet.query import Query
from discreet.study.attacks.target import Target

_PATIENCE = 60  # seconds for an answer
_TRIES = 20  # for a server that is busy, or asks to wait

Send = Callable[[str, bytes], tuple[int, int, bytes]]
"""A path and a body; the status, the seconds to wait before asking again, and the answer."""


@dataclass(frozen=True)
class Remote:
    """A server, and the store of invented people that it serves a copy of."""

    store: Path
    url: str
    edition: Path | None = None

    def target(self, seed: int) -> Target:
        """Return the store as a target that the server answers for."""
        own = Target.open(self.store, None, self.edition)
        asking = Asking(own.schema.id, Client(self.url).send)
        # What is asked of the next edition is asked here: one server has one edition.
        return replace(own, asking=asking, again=None)


@dataclass(frozen=True)
class Asking:
    """Asks questions about a data set; raises `QueryRefused` as the program itself does."""

    dataset: str
    send: Send
    wait: Callable[[float], None] = sleep

    def __call__(self, by: str, where: str | None, totals: str) -> Any:
        """Return as much of a release as attackers read."""
        query = Query.of(by, where)
        asked = {
            "by": [name if level is None else f"{name}@{level}" for name, level in query.by],
            "where": {name: list(codes) for name, codes in query.where},
            "totals": totals,
            "format": "json-stat",
        }
        status, body = self._answer(json.dumps(asked).encode())
        if status == 200:
            return _release(json.loads(body))
        error = json.loads(body)["error"]
        hints = tuple(SimpleNamespace(text=hint["text"]) for hint in error.get("hints", ()))
        if status in (403, 413):
            raise QueryRefused(error["code"], error["message"], hints)
        raise ParameterError(f"the server does not answer: {error['message']}")

    def _answer(self, body: bytes) -> tuple[int, bytes]:
        path = f"/api/v1/datasets/{self.dataset}/table"
        for _ in range(_TRIES):
            status, wait, answer = self.send(path, body)
            if status not in (429, 503):
                return status, answer
            self.wait(max(wait, 1))
        return status, answer


@dataclass(frozen=True)
class Client:
    """Asks a server, each time over a connection of its own."""

    url: str

    def send(self, path: str, body: bytes) -> tuple[int, int, bytes]:
        """Return the answer to a POST."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(f"--url must be like http://127.0.0.1:8000. Got {self.url}.")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        headers = {"Content-Type": "application/json"}
        with closing(kind(parts.hostname, parts.port, timeout=_PATIENCE)) as connection:
            try:
                connection.request("POST", parts.path.rstrip("/") + path, body, headers)
                answer = connection.getresponse()
                wait = answer.headers.get("Retry-After", "0")
                return answer.status, int(wait) if wait.isdigit() else 1, answer.read()
            except (HTTPException, OSError) as error:
                raise ParameterError(f"{self.url} cannot be asked: {error}") from None


def _release(data: dict[str, Any]) -> Any:
    """Return what attackers read of a table in JSON-stat."""
    values = np.array([np.nan if x is None else x for x in data["value"]], float)
    values = values.reshape(data["size"])
    gone = np.isnan(values)
    table = SimpleNamespace(
        values=np.where(gone, 0, values).astype(np.int64),
        withheld=gone,
        parts=data["extension"].get("parts"),
    )
    areas = data["extension"]["discreet"].get("withheld", ())
    return SimpleNamespace(table=table, withheld=tuple(areas), hints=())
