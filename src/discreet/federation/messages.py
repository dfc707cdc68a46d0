"""What hub and sites say to each other: signed statements, with bytes behind some of them.

A request is for one site, under one document, now and once. An answer names its request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError
from discreet.json import canonical, parsed
from discreet.release.signature import Signer, is_proof

VERSION = 1
PATH = "/federation/v1"
WINDOW = 60
"""Seconds by which the clocks of hub and site may differ, the way of the message included."""

MOST_BYTES = 2**26
REFUSED = "refused"
_NONCE = re.compile(r"[0-9a-f]{32}")
_REQUEST = b"discreet federation request\0"
_ANSWER = b"discreet federation answer\0"

Statement = dict[str, Any]


def digest(value: Any) -> str:
    """Return the SHA-256 of a value in canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()


@dataclass(frozen=True)
class Message:
    """A signed statement and the bytes that belong to it."""

    proof: dict[str, Any]
    payload: bytes = b""

    @property
    def statement(self) -> Statement:
        """What is said."""
        said: Statement = self.proof["statement"]
        return said

    @property
    def body(self) -> dict[str, Any]:
        """What is asked or answered."""
        found = self.statement.get("body")
        return found if isinstance(found, dict) else {}

    def pack(self) -> bytes:
        """Return the message as it is sent: JSON on one line, then the bytes."""
        return canonical(self.proof) + b"\n" + self.payload

    @classmethod
    def unpack(cls, raw: bytes) -> Message:
        """Return a message as it came; nothing in it is believed yet."""
        head, _, payload = raw.partition(b"\n")
        proof = parsed(head, "a message")
        if not isinstance(proof.get("statement"), dict):
            raise ParameterError("a message must have a statement.")
        return cls(proof, payload)


def request(
    signer: Signer, document: str, site: str, kind: str, body: dict[str, Any], now: float
) -> Message:
    """Return a request of the hub to a site."""
    said = {
        "version": VERSION,
        "document": document,
        "site": site,
        "nonce": secrets.token_hex(16),
        "time": int(now),
        "kind": kind,
        "body": body,
    }
    return Message(signer.sign(said, _REQUEST))


def why_not(message: Message, hub: bytes, document: str, site: str, now: float) -> str:
    """Return why a site must not answer a request, empty if it is the hub's, for it and timely."""
    said = message.statement
    if message.payload or not is_proof(message.proof, hub, _REQUEST, VERSION):
        return "not signed by the hub"
    if said.get("site") != site:
        return "for another site"
    if said.get("document") != document:
        return "another document"
    time, nonce, kind = said.get("time"), said.get("nonce"), said.get("kind")
    if not isinstance(time, int) or not now - WINDOW <= time <= now + WINDOW:
        return "too old or too new"
    if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce) or not isinstance(kind, str):
        return "not a request"
    return ""


def answer(
    signer: Signer, asked: Message, kind: str, body: dict[str, Any], payload: bytes = b""
) -> Message:
    """Return the answer of a site to a request."""
    said = {
        "version": VERSION,
        "document": asked.statement["document"],
        "site": asked.statement["site"],
        "request": digest(asked.statement),
        "kind": kind,
        "body": body,
        "payload": hashlib.sha256(payload).hexdigest(),
    }
    return Message(signer.sign(said, _ANSWER), payload)


def is_answer(message: Message, key: bytes, asked: Message) -> bool:
    """Whether a message is what the owner of a key answered to this very request."""
    said, wanted = message.statement, asked.statement
    return (
        is_site_statement(message.proof, key)
        and said.get("request") == digest(wanted)
        and (said.get("site"), said.get("document")) == (wanted["site"], wanted["document"])
        and said.get("kind") in (wanted["kind"], REFUSED)
        and said.get("payload") == hashlib.sha256(message.payload).hexdigest()
    )


def is_site_statement(proof: object, key: bytes) -> bool:
    """Whether the owner of a key signed this as an answer, to whichever request."""
    return isinstance(proof, dict) and is_proof(proof, key, _ANSWER, VERSION)
