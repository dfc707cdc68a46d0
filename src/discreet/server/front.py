"""What every request passes: its id, its limits, the headers of its answer, its line in the log."""

from __future__ import annotations

import secrets
from time import perf_counter
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.page import error_page
from discreet.server.clients import Buckets, client_of, key_of
from discreet.server.errors import Failure, failure_of, internal, response_of
from discreet.server.log import Log
from discreet.server.metrics import Metrics
from discreet.server.settings import Settings

_COMMON = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
]
API_HEADERS = [
    *_COMMON,
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; sandbox"),
    # Tables are public: a page of anyone may load them, and sends no cookie with it.
    (b"access-control-allow-origin", b"*"),
    (b"x-robots-tag", b"noindex, nofollow"),
    (b"access-control-expose-headers", b"ETag, Retry-After, X-Request-Id"),
    (b"cross-origin-resource-policy", b"cross-origin"),
]
PAGE_HEADERS = [
    *_COMMON,
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
_ALWAYS = ("/healthz", "/readyz")  # a probe must not be turned away, nor use up a limit


def is_api(path: str) -> bool:
    """Whether programs rather than people ask for a path."""
    return path.startswith("/api/") or path in _ALWAYS


class Front:
    """The outermost layer; every failure that reaches it is told in the one shape."""

    def __init__(self, app: ASGIApp, settings: Settings, log: Log, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._networks = settings.networks
        self._log = log
        self._metrics = metrics
        self._buckets = Buckets(settings.burst)
        self._key_buckets = {key.name: Buckets(settings.burst) for key in settings.keys}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = perf_counter()
        request_id = secrets.token_hex(8)
        state: dict[str, Any] = {**scope.get("state", {})}
        inner: Scope = {**scope, "state": state}
        if scope["method"] == "HEAD":
            inner["method"] = "GET"  # the server below leaves out the body
            state["quiet"] = True  # whoever wants no table releases none
        status = 0
        common = API_HEADERS if is_api(scope["path"]) else PAGE_HEADERS

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", ())
                message["headers"] = [*given, *common, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            self._admit(inner, state)
            await self._app(inner, receive, answer)
        except Exception as error:
            failure = self._told(error, request_id)
            if status:
                raise  # half an answer is out: cut the connection rather than lie
            await self._response(failure, scope["path"], request_id)(inner, receive, answer)
        finally:
            self._note(inner, scope["method"], status, perf_counter() - begin, request_id)

    def _told(self, error: Exception, request_id: str) -> Failure:
        """Return how an error is told; one that must not be is logged."""
        failure = failure_of(error)
        if failure is None:
            self._log.trouble("failure", error, id=request_id)
            return internal()
        return failure

    def _note(
        self, scope: Scope, method: str, status: int, seconds: float, request_id: str
    ) -> None:
        """Count a request and write its line in the log."""
        route = getattr(scope.get("route"), "path", "unmatched")
        cache = scope["state"].get("cache")
        self._metrics.request(route, status, seconds, cache)
        self._log.write(
            event="request",
            method=method,
            route=route,
            status=status,
            ms=round(seconds * 1e3, 2),
            id=request_id,
            cache=cache,
        )

    def _admit(self, scope: Scope, state: dict[str, Any]) -> None:
        """Raise what keeps a request out."""
        if len(scope["query_string"]) > self._settings.max_query:
            raise Failure(
                414,
                "QUERY_TOO_LONG",
                f"The query string may have at most {self._settings.max_query:,} bytes.",
                "POST the question instead.",
            )
        if scope["path"] in _ALWAYS:
            return
        headers = Headers(scope=scope)
        peer = scope.get("client")
        client = client_of(
            peer[0] if peer else "", headers.get("x-forwarded-for", "")[-1000:], self._networks
        )
        given = headers.get("x-api-key")
        key = None if given is None else key_of(given, self._settings.keys)
        if key is not None:
            state["key"] = key.name
            wait = self._key_buckets[key.name].take(key.name, key.rate)
        else:
            wait = self._buckets.take(client, self._settings.rate)
        if wait:
            raise Failure(
                429,
                "TOO_MANY_REQUESTS",
                "Too many requests came from this address or with this key.",
                f"Ask again in {wait} seconds.",
                headers={"Retry-After": str(wait)},
            )
        if given is not None and key is None:
            raise Failure(401, "UNKNOWN_KEY", "The key in X-API-Key is not known here.")

    def _response(self, failure: Failure, path: str, request_id: str) -> Response:
        if is_api(path):
            return response_of(failure, request_id)
        page = error_page(
            failure.status, failure.code, failure.message, failure.hint, failure.hints, request_id
        )
        page.headers.update({"Cache-Control": "no-store", **failure.headers})
        return page
