"""Connections: how many there may be, and how long each may take for what it does.

A connection is idle between requests, sends the head of a request or its body, is being answered,
or takes its answer. Once a second all are looked at; whoever is at one of these for too long is cut
off. Nothing here knows what is asked.
"""

from __future__ import annotations

import asyncio
import errno
import secrets
import socket
import sys
from enum import Enum
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.server.errors import Failure, body_of, of_status, too_long
from discreet.server.front import API_HEADERS

if TYPE_CHECKING:
    from discreet.server.listening import Server

_AT_ONCE = 64  # connections accepted before others are looked at
_PAUSE = 0.25  # seconds until a full server looks for room again
_SCARCE = 1.0  # …and until one without descriptors does
_ELSEWHERE = 0.005  # seconds in which a worker with fewer connections may take a new one
_SETTLED = 1.0  # seconds after which an idle connection may be closed in favour of a new one
_OUT = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Phase(Enum):
    """What a connection is doing."""

    IDLE = "idle"
    HEAD = "head"
    BODY = "body"
    WORK = "work"
    SEND = "send"


class Connection(H11Protocol):
    """One connection; failures before there is a request are told in the one shape too."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.config, server.server_state, server.lifespan.state)
        self._server = server
        self._doing: tuple[Any, ...] = ()
        self._since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to count the time."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._doing = (Phase.IDLE, None, 0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room for whoever waits to be let in."""
        super().connection_lost(exc)
        self._server.acceptor.resume()

    @property
    def phase(self) -> Phase:
        """What it is doing now."""
        if self.transport.get_write_buffer_size() > 0:
            return Phase.SEND
        if self.conn.their_state is h11.SEND_BODY:
            return Phase.BODY
        if self.conn.their_state is h11.IDLE:
            return Phase.HEAD if self.conn.trailing_data[0] else Phase.IDLE
        return Phase.WORK

    def idle_for(self, now: float) -> float:
        """Return the seconds for which nothing has been asked; 0 where something is."""
        self._notice(now)
        return now - self._since if self._doing[0] is Phase.IDLE else 0.0

    def _notice(self, now: float) -> None:
        """Begin to count anew where it does something else: another request, more of an answer."""
        doing = (self.phase, self.cycle, self.transport.get_write_buffer_size())
        if doing != self._doing:
            self._doing, self._since = doing, now

    def look(self, now: float) -> None:
        """Cut off whoever takes too long."""
        self._notice(now)
        phase, settings = self._doing[0], self._server.live.settings
        most = {
            Phase.IDLE: settings.header_seconds if self.cycle is None else settings.idle_seconds,
            Phase.HEAD: settings.header_seconds,
            Phase.BODY: settings.body_seconds + 2,  # the front tells it first
            Phase.SEND: settings.send_seconds,
        }.get(phase)
        if most is None or now - self._since < most:
            return
        if phase is Phase.HEAD:
            self._refuse(of_status(408))
        elif phase is Phase.IDLE:
            self.transport.close()
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Tell what h11 did not understand, in the one shape."""
        hint = getattr(sys.exc_info()[1], "error_status_hint", 400)
        if hint == 431 and b"\n" not in self.conn.trailing_data[0]:
            self._refuse(too_long(self._server.live.settings.max_query))
        else:
            self._refuse(of_status(hint))

    def _refuse(self, failure: Failure) -> None:
        """Answer without asking the application, and close."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # its body is no body: nobody takes its answer
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            request_id = secrets.token_hex(8)
            self._server.note(failure.status, request_id)
            body = body_of(failure, request_id)
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                (b"cache-control", b"no-store"),
                (b"connection", b"close"),
                (b"x-request-id", request_id.encode()),
                *API_HEADERS,
            ]
            for event in (
                h11.Response(status_code=failure.status, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Acceptor:
    """Takes new connections off the queue of the system as long as there is room for them.

    Without room it closes who has been idle longest; if nobody is idle, or there are no descriptors
    left, it pauses, and newcomers wait in the queue of the system. Of several workers, all of which
    take from one queue, the one with fewer connections goes first.
    """

    def __init__(self, server: Server, listener: socket.socket, most: int) -> None:
        self.most = most
        self._server = server
        self._seat = server.seat
        self._listener = listener
        self._opening: set[asyncio.Task[Any]] = set()
        self._reading = self._closed = self._waited = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        listener.setblocking(False)
        self.resume()

    @property
    def held(self) -> int:
        """How many connections there are, those included that are still shaking hands."""
        own = len(self._server.server_state.connections) + len(self._opening)
        if self._seat is None:
            return own
        self._seat.tell("connections", own)
        return own + int(sum(self._seat.others("connections")))

    def _after_you(self) -> bool:
        """Whether to leave a connection to another worker, which has fewer; but not for long."""
        if self._seat is None or self._waited:
            self._waited = False
            return False
        others = self._seat.others("connections")
        own = self.held - int(sum(others))
        self._waited = bool(others) and own > min(others)
        return self._waited

    def resume(self) -> None:
        """Listen again."""
        held = self.held  # which the other workers are told as well
        if not self._reading and not self._closed and held < self.most:
            self._reading = True
            self._loop.add_reader(self._listener.fileno(), self._ready)

    def _pause(self, seconds: float) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._listener.fileno())
            self._later(seconds)

    def _later(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(seconds, self._look_for_room)

    def _look_for_room(self) -> None:
        self._timer = None
        if self.held >= self.most and not self._close_idle() and not self._closed:
            self._later(_PAUSE)
        self.resume()

    def _ready(self) -> None:
        for _ in range(_AT_ONCE):
            if self._after_you():
                self._pause(_ELSEWHERE)
                return
            if self.held >= self.most and not self._close_idle():
                self._pause(_PAUSE)
                return
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._server.log.trouble("accept", error, errno=error.errno)
                self._pause(_SCARCE if error.errno in _OUT else _PAUSE)
                return
            task = self._loop.create_task(self._open(connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket) -> None:
        server = self._server
        seconds = server.live.settings.header_seconds
        try:
            await self._loop.connect_accepted_socket(
                lambda: Connection(server),
                connection,
                ssl=server.config.ssl,
                ssl_handshake_timeout=seconds if server.config.ssl else None,
            )
        except (OSError, asyncio.CancelledError):  # gone, or no TLS: the peer's mistake
            connection.close()
        if self._closed:
            self._loop.call_later(_SETTLED, self._close_idle)

    def _close_idle(self) -> bool:
        """Close those who have been idle longest; return whether there was anybody."""
        now, found = self._loop.time(), self._server.server_state.connections
        idle = [(one.idle_for(now), one) for one in found if isinstance(one, Connection)]
        idle = sorted(idle, key=lambda pair: pair[0], reverse=True)[:_AT_ONCE]
        settled = [one for seconds, one in idle if seconds >= _SETTLED]
        for one in settled:
            one.transport.close()
            found.discard(one)
        return bool(settled)

    def close(self) -> None:
        """Accept nobody any more, but for those who wait already."""
        if self._reading:
            self._loop.remove_reader(self._listener.fileno())
            self._reading, self._waited = False, True
            self._ready()
        self._closed = True

    async def wait_closed(self) -> None:
        """Wait for those who were just let in."""
        if self._opening:
            await asyncio.wait(self._opening, timeout=1)
