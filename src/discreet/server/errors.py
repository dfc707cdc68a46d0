"""One shape for every failure; nothing of the inside is in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response

from discreet.errors import (
    Busy,
    Damaged,
    Forbidden,
    NotReleased,
    ParameterError,
    QueryRefused,
    SitesUnavailable,
    Starting,
    TooLong,
    Unavailable,
    UnknownDataset,
)
from discreet.rules import Code
from discreet.server.models import Failed, Suggested, Told


@dataclass
class Failure(Exception):
    """A failure as a reader sees it."""

    status: int
    code: str
    message: str
    hint: str | None = None
    hints: tuple[Any, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)

    def under(self, root: str) -> Failure:
        """Return the failure as readers of a server under a path are told: its hint names it."""
        hint = None if self.hint is None else self.hint.replace(" /api/", f" {root}/api/")
        return replace(self, hint=hint)


def failure_of(error: BaseException) -> Failure | None:
    """Return how an error is told, or None if it must not be."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, QueryRefused):
        status = 413 if error.code in (Code.MAX_CELLS, Code.TOO_LARGE) else 403
        hint = error.hints[0].text + "." if error.hints else _HINTS.get(error.code)
        return Failure(status, error.code, str(error), hint, error.hints)
    if isinstance(error, Damaged) or isinstance(error.__cause__, Damaged):
        wait = {"Retry-After": "60"}
        text = "The data cannot be read."  # and not which file it is
        return Failure(503, "UNAVAILABLE", text, "Ask again later.", headers=wait)
    if isinstance(error, UnknownDataset):
        return Failure(404, "UNKNOWN_DATASET", _sentence(error), "GET /api/v1/datasets lists them.")
    if isinstance(error, ParameterError):
        return Failure(400, "BAD_REQUEST", _sentence(error), "See /api/openapi.json.")
    if isinstance(error, Forbidden):
        return Failure(403, error.code, str(error))
    if isinstance(error, NotReleased):
        return Failure(403, "NOT_RELEASED", str(error), "POST the question to release it.")
    if isinstance(error, SitesUnavailable) and error.lasting:
        hint = "This does not pass by itself: the offices must change something first."
        return Failure(503, "UNAVAILABLE", str(error), hint)
    if isinstance(error, Unavailable | SitesUnavailable):
        wait = {"Retry-After": "30"}
        return Failure(503, "UNAVAILABLE", str(error), "Ask again later.", headers=wait)
    if isinstance(error, Busy):
        wait = {"Retry-After": str(error.retry_after)}
        return Failure(503, "BUSY", str(error), "Ask again in a moment.", headers=wait)
    if isinstance(error, Starting):
        wait = {"Retry-After": "1"}
        return Failure(503, "STARTING", str(error), "Ask again in a moment.", headers=wait)
    if isinstance(error, TooLong):
        hint = "Ask for fewer categories or a larger area, or again when the server is less busy."
        return Failure(503, "TIME_LIMIT", str(error), hint, headers={"Retry-After": "30"})
    return None


_HINTS: dict[str, str] = {
    Code.MAX_CELLS: "Use fewer variables or categories, or keep some of them by a filter.",
    Code.MAX_DIMENSIONS: "Leave out a variable.",
    Code.MAX_CATEGORIES: "Use a coarser level, or keep some of the categories by a filter.",
    Code.LEVEL: "Use a coarser level.",
    Code.FILTER: "Leave out the filter.",
    Code.TOO_LARGE: "Use coarser levels, or leave out a variable or a filter.",
    Code.USED_UP: "Use a coarser level, or leave out a variable.",
    Code.TOTALS: "Leave out totals.",
}


def _sentence(error: BaseException) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]


def internal() -> Failure:
    """Return the failure that says nothing but that it is ours."""
    return Failure(500, "INTERNAL", "Something went wrong here.", "Tell us the id of this error.")


def too_long(most: int) -> Failure:
    """Return the failure of an address that is too long."""
    return Failure(
        414,
        "QUERY_TOO_LONG",
        f"The query string may have at most {most:,} bytes.",
        "POST the question instead.",
    )


def of_status(status: int, headers: dict[str, str] | None = None) -> Failure:
    """Return the failure of a bare status, such as an unknown path."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    code = phrase.upper().replace(" ", "_").replace("-", "_")
    hint = "See /api/openapi.json." if status in (404, 405) else None
    return Failure(status, code, f"{phrase}.", hint, headers=dict(headers or {}))


def body_of(failure: Failure, request_id: str) -> bytes:
    """Return the body of a failure."""
    hints = [Suggested(text=h.text, by=h.by, where=h.where) for h in failure.hints]
    told = Told(
        code=failure.code,
        message=failure.message,
        hint=failure.hint,
        id=request_id,
        **({"hints": hints} if hints else {}),
    )
    return Failed(error=told).model_dump_json(exclude_unset=True).encode()


def response_of(failure: Failure, request_id: str, problem: bool = False) -> Response:
    """Return a failure as a response; `problem` adds what clients of PxWebApi read (RFC 7807)."""
    headers = {"Cache-Control": "no-store", **failure.headers}
    body = body_of(failure, request_id)
    if problem:
        told = {"type": failure.code, "title": failure.message, "status": failure.status}
        told |= {"detail": failure.hint, "instance": request_id}
        body = orjson.dumps(told | orjson.loads(body))
    return Response(body, failure.status, headers, media_type="application/json")
