"""A site over HTTPS: one route, for the hub alone; it has no pages and no API.

Connections have the bounds in number and time of any server: whoever opens many and asks nothing
is cut off.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import DiscreetError, Forbidden, ParameterError
from discreet.federation.messages import PATH
from discreet.federation.site import Site
from discreet.server.listening import Server, check_certificate
from discreet.server.log import Log
from discreet.server.run import listen, prepare_process
from discreet.server.settings import Live, Settings
from discreet.service.opened import open_store

MOST_BODY = 2**20
_STORES = 8  # cubes for which descriptors are left


def open_site(stores: Sequence[Path]) -> Site:
    """Return the site of some stores, the first of which accepted a document."""
    return Site(stores, lambda path: open_store(path).releaser)


class Answers(Protocol):
    """Whatever answers requests of a hub."""

    def answer(self, raw: bytes) -> bytes:
        """Return the answer, or raise `Forbidden`."""
        ...


class SiteServer(Server):
    """Runs a site on a listening socket."""

    def _hear(self) -> None:
        if self._reread is not None:  # only then is it alone in its process
            super()._hear()

    def _use(self, settings: Settings) -> None:
        self.live.settings = settings

    def _stores(self) -> int:
        return _STORES

    def _ready(self) -> bool:
        return self._reread is not None  # only then is it alone in its process

    def note(self, status: int, request_id: str) -> None:
        """Log a request that never became one."""
        self.log.write(event="request", route="malformed", status=status, id=request_id)


def create_site(site: Answers, log: Log | None = None, settings: Settings | None = None) -> FastAPI:
    """Return the application of a site. What is wrong with a request is in its record alone."""
    log = log or Log()

    async def answer(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_BODY:
                return Response(status_code=413)
        try:
            found = await asyncio.to_thread(site.answer, bytes(body))
        except Forbidden:
            return Response(status_code=403)
        except DiscreetError as error:
            log.trouble("site", error)
            return Response(status_code=503)
        return Response(found, media_type="application/octet-stream")

    async def healthy(request: Request) -> Response:
        return Response("ok\n", media_type="text/plain")

    routes: list[BaseRoute] = [Route(PATH, answer, methods=["POST"]), Route("/healthz", healthy)]
    app = FastAPI(routes=routes, openapi_url=None)
    app.state.live, app.state.log = Live(settings or Settings()), log
    app.add_middleware(_Heads, live=app.state.live)
    return app


class _Heads:
    """Turns away what has too much before its body."""

    def __init__(self, app: ASGIApp, live: Live) -> None:
        self._app, self._live = app, live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
            size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
            if size > self._live.settings.max_header:
                await Response(status_code=431, headers={"connection": "close"})(
                    scope, receive, send
                )
                return
        await self._app(scope, receive, send)


def serve_site(
    stores: Sequence[Path],
    host: str,
    port: int,
    settings: Settings,
    listening: Callable[[str], None] = lambda address: None,
    reread: Callable[[], Settings] | None = None,
) -> None:
    """Serve a site until SIGTERM or Ctrl-C; it speaks TLS and nothing else.

    On SIGHUP settings and certificate are read again by `reread`.
    """
    if not (settings.certificate and settings.certificate_key):
        raise ParameterError(
            "a site must have a certificate: set certificate and certificate_key in the settings."
        )
    check_certificate(settings)
    log = Log()
    site = open_site(stores)
    prepare_process()
    listener = listen(host, port)
    try:
        server = site_server(site, settings, log, reread)
        server.config.load()
        log.capture()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the settings can be read again
        # Uvicorn finishes, then raises the signal once more: the record must be closed first.
        signal.signal(signal.SIGTERM, lambda number, frame: None)
        place = listener.getsockname()
        shown = f"[{place[0]}]" if ":" in place[0] else place[0]
        listening(f"https://{shown}:{place[1]}")
        server.run([listener])
    finally:
        listener.close()
        site.close()


def site_server(
    site: Answers,
    settings: Settings,
    log: Log | None = None,
    reread: Callable[[], Settings] | None = None,
) -> SiteServer:
    """Return what serves a site."""
    app = create_site(site, log, settings)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="error",
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=settings.grace,
        timeout_keep_alive=settings.idle_seconds,
        h11_max_incomplete_event_size=settings.max_header,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.certificate_key,
    )
    return SiteServer(config, app, reread)
