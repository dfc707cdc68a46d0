"""Uvicorn's server with bounds on its connections, and settings that can be read again."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI

from discreet.errors import ParameterError
from discreet.server.app import check, reload
from discreet.server.connections import Acceptor, Connection
from discreet.server.log import Log
from discreet.server.settings import Live, Settings
from discreet.service.memory import keep
from discreet.service.shared import Seat

_RESERVE = 64  # descriptors that connections leave to files, and…
_PER_STORE = 16  # …to each store: its columns, twice while it changes to a new version


class Server(uvicorn.Server):
    """Runs an application on a listening socket."""

    def __init__(
        self,
        config: uvicorn.Config,
        app: FastAPI,
        reread: Callable[[], Settings] | None,
        seat: Seat | None = None,
    ) -> None:
        super().__init__(config)
        self.seat = seat
        self._until = 0.0
        self._kept = False
        self.live: Live = app.state.live
        self.log: Log = app.state.log
        self._app = app
        self._reread = reread
        self.acceptor: Acceptor

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(3)
        assert sockets is not None
        (listener,) = sockets
        self.servers = []
        await self._open_elsewhere()
        self.acceptor = Acceptor(self, listener, self._most())
        self.servers = [self.acceptor]  # type: ignore[list-item]
        self._hear()
        if self.seat is not None:
            self.log.write(event="worker", level="info", status="answers")
        self.started = True

    def _hear(self) -> None:
        """Read the settings again on SIGHUP."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Have handlers for signals, those included that came shortly before."""
        with super().capture_signals():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            yield

    async def _open_elsewhere(self) -> None:
        """Leave connections to workers that are ready, until this one is."""
        if self.seat is None:
            return
        while any(self.seat.others("ready")) and not self._app.state.service.ready:
            if self.should_exit or await self.on_tick(1):
                return
            await asyncio.sleep(0.05)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; on SIGTERM after some seconds in which the server only says that it will."""
        drain = self.live.settings.drain if sig == signal.SIGTERM else 0
        if self.live.draining or not drain:
            super().handle_exit(sig, frame)
        else:
            self._captured_signals.append(sig)
            self._until = time.monotonic() + drain
        self.live.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Look at every connection once a second."""
        if self._until and time.monotonic() >= self._until:
            self.should_exit = True
        if self.seat is not None:
            self._app.state.metrics.tell()
            self.seat.tell("seen", time.monotonic())
            if os.getppid() != self.seat.parent:
                self.should_exit = True  # who would replace or stop this worker is gone
        if not self._kept and self._ready():
            self._kept = True
            keep()
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for connection in tuple(self.server_state.connections):
                if isinstance(connection, Connection):
                    connection.look(now)
        return await super().on_tick(counter)

    def reload(self) -> None:
        """Read settings and certificate again; with a mistake in them all stays as it was."""
        if self._reread is None:
            return
        try:
            settings = self._reread()
            check_certificate(settings)
            check(settings)
        except (ParameterError, OSError) as error:
            self.log.write(event="reload", level="error", message=str(error))
            return
        fixed = [
            name
            for name in ("metrics_host", "metrics_port", "grace")
            if getattr(settings, name) != getattr(self.live.settings, name)
        ]
        if bool(settings.certificate) != bool(self.live.settings.certificate):
            fixed.append("certificate")
        elif self.config.ssl is not None:
            self.config.ssl.load_cert_chain(settings.certificate, settings.certificate_key)
        self._use(settings)
        self.acceptor.most = self._most()
        self.acceptor.resume()
        self.log.write(event="reload", level="info", needs_restart=fixed)

    def _use(self, settings: Settings) -> None:
        reload(self._app, settings)

    def note(self, status: int, request_id: str) -> None:
        """Count and log a request that never became one."""
        self._app.state.metrics.request("malformed", status, 0.0, None)
        self.log.write(event="request", method=None, route="malformed", status=status,
                       ms=0, id=request_id, cache=None)  # fmt: skip

    def _most(self) -> int:
        """Return how many connections there may be, with descriptors left for files."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        kept = _RESERVE + _PER_STORE * self._stores()
        return max(8, min(self.live.settings.connections, files - kept))

    def _stores(self) -> int:
        return len(self._app.state.service.catalogue.stores)

    def _ready(self) -> bool:
        """Whether everything has been opened that stays open."""
        return bool(self._app.state.service.ready)


def check_certificate(settings: Settings) -> None:
    """Complain about a certificate that cannot be used."""
    if not (settings.certificate or settings.certificate_key):
        return
    try:
        scratch = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        scratch.load_cert_chain(settings.certificate, settings.certificate_key)
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"certificate and certificate_key must be a pair of files in PEM. Got "
            f"{settings.certificate} and {settings.certificate_key}: {error}"
        ) from None
