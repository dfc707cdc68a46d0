"""A site over HTTPS: one route, for the hub alone; it has no pages and no API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import DiscreetError, Forbidden, ParameterError
from discreet.federation.messages import PATH
from discreet.federation.site import Site
from discreet.server.listening import check_certificate
from discreet.server.log import Log
from discreet.server.run import listen, prepare_process
from discreet.server.settings import Settings
from discreet.service.opened import open_store

MOST_BODY = 2**20
_CONNECTIONS = 64


def open_site(stores: Sequence[Path]) -> Site:
    """Return the site of some stores, the first of which accepted a document."""
    return Site(stores, lambda path: open_store(path).releaser)


class Answers(Protocol):
    """Whatever answers requests of a hub."""

    def answer(self, raw: bytes) -> bytes:
        """Return the answer, or raise `Forbidden`."""
        ...


def create_site(site: Answers, log: Log | None = None) -> Starlette:
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

    return Starlette(routes=[Route(PATH, answer, methods=["POST"]), Route("/healthz", healthy)])


def serve_site(
    stores: Sequence[Path],
    host: str,
    port: int,
    settings: Settings,
    listening: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a site until SIGTERM or Ctrl-C; it speaks TLS and nothing else."""
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
        config = site_config(create_site(site, log), settings)
        config.load()
        log.capture()
        place = listener.getsockname()
        shown = f"[{place[0]}]" if ":" in place[0] else place[0]
        listening(f"https://{shown}:{place[1]}")
        uvicorn.Server(config).run([listener])
    finally:
        listener.close()


def site_config(app: Starlette, settings: Settings) -> uvicorn.Config:
    """Return how a site is served."""
    return uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="error",
        proxy_headers=False,
        server_header=False,
        ws="none",
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=settings.grace,
        timeout_keep_alive=settings.idle_seconds,
        h11_max_incomplete_event_size=settings.max_header,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.certificate_key,
    )
