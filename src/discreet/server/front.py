"""What every request passes: its id, its limits, the headers of its answer, its line in the log."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from time import perf_counter
from typing import Any, Protocol

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.page import error_page
from discreet.server.clients import client_of, is_proxy, key_of
from discreet.server.errors import Failure, failure_of, internal, response_of, too_long
from discreet.server.identity import Identity
from discreet.server.log import Log
from discreet.server.metrics import Metrics
from discreet.server.rates import Rates
from discreet.server.settings import Live, Settings
from discreet.service.lanes import begin_request

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
_OWN = (b"cross-origin-resource-policy", b"same-origin")
TIER = b"discreet-tier"
"""The header that says of every answer in which tier it was asked for."""
_CLOSE = {"Connection": "close"}  # what follows on the connection is not to be trusted
_ALWAYS = ("/healthz", "/readyz")  # a probe must not be turned away, nor use up a limit

_PROGRAMS = ("/api/", "/px/", "/sdmx/")


_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match, X-API-Key",
    "Access-Control-Max-Age": "86400",
}


def _is_preflight(scope: Scope, path: str) -> bool:
    """Whether a browser asks if a page of somebody else may send a request."""
    asks = any(name == b"access-control-request-method" for name, _ in scope["headers"])
    return scope["method"] == "OPTIONS" and asks and is_api(path)


def is_api(path: str) -> bool:
    """Whether programs rather than people ask for a path."""
    return path.startswith(_PROGRAMS) or path in _ALWAYS


def under(scope: Scope, root: str) -> Scope:
    """Return a request as it is under a path that readers see.

    A proxy may leave the path in front of what it hands on, or take it off; either is understood.
    """
    path = scope["path"]
    if path == root or path.startswith(f"{root}/"):
        path = path[len(root) :] or "/"
    return {**scope, "root_path": root, "path": root + path}


def _not_shared(header: tuple[bytes, bytes]) -> bool:
    return header[0] not in (b"access-control-allow-origin", _OWN[0])


def _apart(
    given: Iterable[tuple[bytes, bytes]], state: dict[str, Any], path: str
) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer so that no cache gives it to somebody else.

    Every answer depends on who asks. What is for somebody who is known is theirs alone.
    """
    if path.startswith("/static/"):
        return list(given)
    varies, kept = ["Authorization", "Cookie"], []
    for name, value in given:
        if name == b"vary":
            varies.insert(0, value.decode("latin-1"))
        elif name == b"cache-control" and "who" in state and b"no-store" not in value:
            kept.append((name, b"private, no-cache"))
        else:
            kept.append((name, value))
    tier = str(state.get("tier", "public"))
    return [*kept, (b"vary", ", ".join(varies).encode("latin-1")), (TIER, tier.encode())]


class Direct(Protocol):
    """A route that needs no layer between the front and what answers it."""

    def takes(self, scope: Scope, path: str) -> bool:
        """Whether a request is for it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""


class Front:
    """The outermost layer; every failure that reaches it is told in the one shape."""

    def __init__(
        self,
        app: ASGIApp,
        live: Live,
        log: Log,
        metrics: Metrics,
        identity: Identity,
        rates: Rates,
        direct: Direct,
    ) -> None:
        self._app = app
        self._direct = direct
        self._rates = rates
        self._identity = identity
        self._live = live
        self._log = log
        self._metrics = metrics
        self._use(live.settings)

    def _use(self, settings: Settings) -> None:
        """Have these settings."""
        self._settings = settings
        self._networks = settings.networks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._live.settings is not self._settings:
            self._use(self._live.settings)
        begin_request()
        begin = perf_counter()
        request_id = secrets.token_hex(8)
        state: dict[str, Any] = {**scope.get("state", {})}
        root = self._settings.root_path
        inner: Scope = {**under(scope, root), "state": state}
        path = inner["path"][len(root) :]
        if scope["method"] == "HEAD":
            inner["method"] = "GET"  # the server below leaves out the body
            state["quiet"] = True  # whoever wants no table releases none
        status = 0
        common = API_HEADERS if is_api(path) else PAGE_HEADERS

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", ())
                told = [*common, (b"x-request-id", request_id.encode())]
                if "who" in state:  # what is somebody's own is not for the pages of others
                    told = [*filter(_not_shared, told), _OWN]
                if any(name == b"referrer-policy" for name, _ in given):  # a page's own is stricter
                    told = [one for one in told if one[0] != b"referrer-policy"]
                if self._live.draining:
                    told.append((b"connection", b"close"))  # ask the next server
                message["headers"] = [*_apart(given, state, path), *told]
            await send(message)

        try:
            await self._admit(inner, state, path)
            if _is_preflight(scope, path):
                await Response(status_code=204, headers=_PREFLIGHT)(inner, receive, answer)
                return
            to = self._direct if self._direct.takes(inner, path) else self._app
            await to(inner, self._in_time(receive), answer)
        except ClientDisconnect:
            status = status or 499  # nobody is left to be told
        except Exception as error:
            failure = self._told(error, request_id)
            if status:
                raise  # half an answer is out: cut the connection rather than lie
            await self._response(failure, path, request_id)(inner, receive, answer)
        finally:
            self._note(inner, scope["method"], status, perf_counter() - begin, request_id)

    def _in_time(self, receive: Receive) -> Receive:
        """Return the same, but for a body that takes too long."""
        deadline: float | None = None
        whole = False

        async def receive_in_time() -> Message:
            nonlocal deadline, whole
            if whole:
                return await receive()
            now = asyncio.get_running_loop().time()
            deadline = deadline or now + self._settings.body_seconds
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                most = self._settings.body_seconds
                text = f"The body must arrive within {most} seconds."
                raise Failure(408, "REQUEST_TIMEOUT", text, headers=_CLOSE) from None
            whole = not message.get("more_body", False)
            return message

        return receive_in_time

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

    async def _admit(self, scope: Scope, state: dict[str, Any], path: str) -> None:
        """Raise what keeps a request out."""
        settings = self._settings
        if len(scope["query_string"]) > settings.max_query:
            raise too_long(settings.max_query)
        headers = Headers(scope=scope)
        size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if size > settings.max_header:
            raise Failure(
                431,
                "HEADERS_TOO_LARGE",
                f"What comes before the body may have at most {settings.max_header:,} bytes.",
                headers=_CLOSE,
            )
        if "transfer-encoding" in headers and "content-length" in headers:
            # Two programs could disagree about where such a request ends.
            text = "A request may not have both Content-Length and Transfer-Encoding."
            raise Failure(400, "BAD_REQUEST", text, headers=_CLOSE)
        if path in _ALWAYS:
            return
        peer = scope.get("client")
        # Each proxy may have added a line of its own, the last one the nearest.
        forwarded = ",".join(headers.getlist("x-forwarded-for"))[-1000:]
        client = client_of(peer[0] if peer else "", forwarded, self._networks)
        state["secure"] = self._secure(scope, headers)
        try:
            said = self._said(peer[0] if peer else "", headers)
            known = await self._identity.known(headers, state["secure"], is_api(path), said)
        except Failure:
            self._take(self._rates.take("address", client, settings.rate))
            raise
        state["accounts"] = await self._identity.accounts()
        if known is not None:
            state["known"], state["who"] = known.of, known.who
            account = str(known.who.person.id)
            self._take(self._rates.take("account", account, settings.account_rate))
            return
        given = headers.get("x-api-key")
        key = None if given is None else key_of(given, self._settings.keys)
        if key is not None:
            state["key"] = key.name
            wait = self._rates.take("key", key.name, key.rate)
        else:
            wait = self._rates.take("address", client, settings.rate)
        self._take(wait)
        if given is not None and key is None:
            raise Failure(401, "UNKNOWN_KEY", "The key in X-API-Key is not known here.")

    def _take(self, wait: int) -> None:
        """Raise if there is time to wait."""
        if wait:
            raise Failure(
                429,
                "TOO_MANY_REQUESTS",
                "Too many requests came from this address or with this key.",
                f"Ask again in {wait} seconds.",
                headers={"Retry-After": str(wait)},
            )

    def _said(self, peer: str, headers: Headers) -> str:
        """Return whom a configured proxy says a request is from."""
        name = self._settings.proxy_user_header
        return headers.get(name, "") if name and is_proxy(peer, self._networks) else ""

    def _secure(self, scope: Scope, headers: Headers) -> bool:
        """Whether the reader's connection is encrypted: here, or before a configured proxy."""
        peer = scope.get("client")
        if peer and is_proxy(peer[0], self._networks):
            return headers.get("x-forwarded-proto", scope["scheme"]).strip().lower() == "https"
        return bool(scope["scheme"] == "https")

    def _response(self, failure: Failure, path: str, request_id: str) -> Response:
        failure = failure.under(self._settings.root_path)
        if is_api(path):
            return response_of(failure, request_id, problem=path.startswith("/px/"))
        page = error_page(
            failure.status, failure.code, failure.message, failure.hint, failure.hints, request_id,
            self._settings.root_path,
        )  # fmt: skip
        page.headers.update({"Cache-Control": "no-store", **failure.headers})
        return page
