"""The hub's side of the line: requests to several sites at once, over TLS, answers checked.

Whatever is wrong with a site is told by its name. Nothing of an answer that is not the site's, or
not to this request, is used.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import DiscreetError, ParameterError, SitesUnavailable
from discreet.federation.card import Member
from discreet.federation.document import Document
from discreet.federation.messages import (
    MOST_BYTES,
    PATH,
    REFUSED,
    WINDOW,
    Message,
    is_answer,
    request,
)
from discreet.release.signature import Signer

HEALTH = "/healthz"
NO_ANSWER = "sent something that is no answer"


class Wrong(Exception):
    """What is wrong with a site, in words."""


class Line(http.client.HTTPConnection):
    """A connection to a site over TLS, which another thread can cut at any time."""

    default_port = 443

    def __init__(self, host: str, port: int, seconds: float, context: ssl.SSLContext) -> None:
        super().__init__(host, port, seconds)
        self._tls = context
        self.late = False

    def connect(self) -> None:
        """Connect and shake hands; `sock` is known before the handshake, so that it can be cut."""
        super().connect()
        held = self._tls.wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock = held
        if self.late:  # cut while there was nothing to cut yet
            raise TimeoutError
        held.do_handshake()

    def cut(self) -> None:
        """End the connection while another thread reads from it or writes to it."""
        self.late = True
        if self.sock is not None:
            with suppress(OSError):
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)  # not of TLS, which would wait


@dataclass(frozen=True, eq=False)
class Link:
    """How the hub reaches its sites: its key, the authority of their certificates, its patience."""

    signer: Signer
    ca: Path | None
    seconds: float
    clock: Callable[[], float] = time.time

    def context(self) -> ssl.SSLContext:
        """Return what certificates are checked with."""
        try:
            made = ssl.create_default_context(cafile=None if self.ca is None else str(self.ca))
        except (OSError, ssl.SSLError) as error:
            raise ParameterError(f"ca must be a file of certificates (PEM). {error}") from None
        made.minimum_version = ssl.TLSVersion.TLSv1_3
        return made

    def connection(self, member: Member, context: ssl.SSLContext) -> Line:
        """Return a connection to a site, not opened yet."""
        parts = urlsplit(member.address)
        return Line(parts.hostname or "", parts.port or 443, self.seconds, context)


class Conversation:
    """Requests to some sites, all of them at the same time, on one connection each."""

    def __init__(self, link: Link, document: Document, sites: Sequence[str]) -> None:
        self._link, self._document = link, document
        self._members = [document.member(site) for site in sites]
        context = link.context()
        self._lines = {one.id: link.connection(one, context) for one in self._members}
        self._pool = ThreadPoolExecutor(len(self._members), "discreet-hub")

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        for line in self._lines.values():
            line.close()

    def ask(self, kind: str, body: Mapping[str, Any]) -> dict[str, Message]:
        """Return the answer of each site, or raise with what is wrong with whom."""
        found, wrong = self.ask_each(kind, body)
        if wrong:
            raise SitesUnavailable({self._document.member(s).label: w for s, w in wrong.items()})
        return found

    def ask_each(
        self, kind: str, body: Mapping[str, Any]
    ) -> tuple[dict[str, Message], dict[str, str]]:
        """Return the answers, and what is wrong with those of which there is none."""
        futures = {
            member.id: self._pool.submit(self._ask, member, kind, dict(body))
            for member in self._members
        }
        found: dict[str, Message] = {}
        wrong: dict[str, str] = {}
        for site, future in futures.items():
            try:
                found[site] = future.result()
            except Wrong as error:
                wrong[site] = str(error)
        return found, wrong

    def _ask(self, member: Member, kind: str, body: dict[str, Any]) -> Message:
        link = self._link
        asked = request(link.signer, self._document.digest, member.id, kind, body, link.clock())
        raw = self._sent(member, asked.pack())
        try:
            answer = Message.unpack(raw)
        except (DiscreetError, ValueError):
            raise Wrong(NO_ANSWER) from None
        if not is_answer(answer, bytes.fromhex(member.key), asked):
            raise Wrong("sent an answer that it did not sign, or to another request")
        return answer

    def away(self) -> dict[str, str]:
        """Return which sites do not answer at all, and why; nothing is asked of them."""
        asked = {one.id: self._pool.submit(self._away, one) for one in self._members}
        return {site: why for site, future in asked.items() if (why := future.result())}

    def _away(self, member: Member) -> str:
        try:
            self._said(member, "GET", HEALTH, b"")
        except Wrong as error:
            return str(error)
        return ""  # whatever it says

    def _sent(self, member: Member, raw: bytes) -> bytes:
        response, body = self._said(member, "POST", PATH, raw)
        if response.status == 403:
            raise Wrong("does not take the hub's request" + self._apart(response))
        if response.status != 200:
            raise Wrong("failed")
        return body

    def _apart(self, response: http.client.HTTPResponse) -> str:
        """Return how far the clocks of site and hub are apart, where that is too far."""
        try:
            there = parsedate_to_datetime(response.getheader("Date", "")).timestamp()
        except ValueError:
            return ""
        apart = abs(there - self._link.clock())
        return f": the two clocks are {apart:,.0f} seconds apart" if apart > WINDOW else ""

    def _said(
        self, member: Member, method: str, to: str, raw: bytes
    ) -> tuple[http.client.HTTPResponse, bytes]:
        line, end = self._lines[member.id], time.monotonic() + self._link.seconds
        late = Timer(self._link.seconds, line.cut)  # a drip is no answer, of a head neither
        late.daemon, line.late = True, False
        path = urlsplit(member.address).path.rstrip("/") + to
        try:
            late.start()
            line.request(method, path, raw, {"Content-Type": "application/octet-stream"})
            response = line.getresponse()
            body = self._read(response, end)
            if time.monotonic() > end:  # cut off, which looks like the end of an answer
                raise TimeoutError
        except TimeoutError:
            line.close()
            raise Wrong(self._late) from None
        except ssl.SSLCertVerificationError:
            line.close()
            raise Wrong("has a certificate that is not trusted") from None
        except (OSError, http.client.HTTPException):
            line.close()
            gone = time.monotonic() < end
            raise Wrong("cannot be reached" if gone else self._late) from None
        finally:
            late.cancel()
        return response, body

    @property
    def _late(self) -> str:
        return f"did not answer within {self._link.seconds:g} seconds"

    @staticmethod
    def _read(response: http.client.HTTPResponse, end: float) -> bytes:
        """Return the body, within the bounds of time and size: a drip is no answer."""
        parts, size = [], 0
        while part := response.read1(2**16):
            size += len(part)
            if time.monotonic() > end:
                raise TimeoutError
            if size > MOST_BYTES:
                raise http.client.HTTPException("too long")
            parts.append(part)
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        response.close()  # so that the connection takes the next request
        return b"".join(parts)


def refusal(message: Message) -> str:
    """Return the code of a refusal, empty where a message is none."""
    if message.statement["kind"] != REFUSED:
        return ""
    return str(message.body.get("code", REFUSED))
