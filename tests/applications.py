"""An application on an event loop of its own, asked without a port."""

from __future__ import annotations

import asyncio
import io
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import uvicorn

from discreet.server.app import create_app
from discreet.server.settings import Settings
from discreet.service import Limits, Service

GENEROUS = Settings(rate=1_000_000, burst=1_000_000, limits=Limits(wait=30))


class Waiting:
    """Requests that are under way."""

    def __init__(self, asked: list[Future[httpx.Response]]) -> None:
        self._asked = asked

    def first(self, number: int) -> list[httpx.Response]:
        """Return those that are answered first."""
        done: set[Future[httpx.Response]] = set()
        while len(done) < number:
            left = [one for one in self._asked if one not in done]
            done |= wait(left, timeout=30, return_when=FIRST_COMPLETED).done
        self._asked = [one for one in self._asked if one not in done]
        return [one.result() for one in done]

    def rest(self) -> list[httpx.Response]:
        """Return all others."""
        return [one.result(30) for one in self._asked]


class Client:
    """Asks an application; each request is made from the calling thread and waits."""

    def __init__(self, stores: Sequence[Path], settings: Settings, peer: str) -> None:
        self.app = create_app(stores, settings)
        self.stream = io.StringIO()
        self.app.state.log._stream = self.stream
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self.loop.run_forever)
        self._thread.start()
        self._life = self.app.router.lifespan_context(self.app)
        self.run(self._life.__aenter__())
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=True, client=(peer, 123))
        self._http = httpx.AsyncClient(transport=transport, base_url="http://test")

    @property
    def service(self) -> Service:
        service: Service = self.app.state.service
        return service

    @property
    def log(self) -> str:
        return self.stream.getvalue()

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def request(self, method: str, url: str, **options: Any) -> httpx.Response:
        answer: httpx.Response = self.run(self._http.request(method, url, **options))
        return answer

    def get(self, url: str, **options: Any) -> httpx.Response:
        return self.request("GET", url, **options)

    def post(self, url: str, **options: Any) -> httpx.Response:
        return self.request("POST", url, **options)

    def publish(self, page: str, **changed: str) -> httpx.Response:
        """Press the button of the builder at an address, if it has one that publishes."""
        found = self.get(page)
        token = re.search(r'name="token" value="(\w+)"', found.text)
        if token is None:
            return found
        address = urlsplit(page)
        form = dict(parse_qsl(address.query, keep_blank_values=True))
        path = re.sub(r"/(build|shown.csv|chart.svg)$", "/table", address.path)
        return self.post(path, data={**form, "token": token[1], **changed})

    def table(self, page: str) -> httpx.Response:
        """Return what is at the address of a table once it is published."""
        self.publish(re.sub(r"/(table|shown.csv|chart.svg)\?", "/build?", page))
        return self.get(page)

    def together(self, urls: Sequence[str]) -> list[httpx.Response]:
        """Ask all at once."""

        async def ask() -> list[httpx.Response]:
            return await asyncio.gather(*(self._http.get(url) for url in urls))

        answers: list[httpx.Response] = self.run(ask())
        return answers

    def begin(self, urls: Sequence[str]) -> Waiting:
        """Ask all at once and do not wait."""
        return Waiting(
            [asyncio.run_coroutine_threadsafe(self._http.get(url), self.loop) for url in urls]
        )

    def close(self) -> None:
        self.run(self._http.aclose())
        self.run(self._life.__aexit__(None, None, None))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@contextmanager
def serving(
    stores: Sequence[Path], settings: Settings = GENEROUS, peer: str = "127.0.0.1"
) -> Iterator[Client]:
    """Return a client of an application whose stores are open."""
    client = Client(stores, settings, peer)
    try:
        for _ in range(1_200):
            if client.service.ready:
                break
            time.sleep(0.05)
        assert client.service.ready
        yield client
    finally:
        client.close()


@contextmanager
def listening(stores: Sequence[Path], settings: Settings = GENEROUS) -> Iterator[tuple[str, Any]]:
    """Return the address of an application on a port of the loopback, and the application."""
    app = create_app(stores, settings)
    app.state.log._stream = io.StringIO()
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False))
    thread = Thread(target=server.run)
    thread.start()
    try:
        for _ in range(1_200):
            if server.started and app.state.service.ready:
                break
            time.sleep(0.05)
        assert app.state.service.ready
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}", app
    finally:
        server.should_exit = True
        thread.join(30)
