"""A mail server on loopback that keeps what it is sent."""

from __future__ import annotations

import base64
import socketserver
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from threading import Thread
from typing import Any


def certificate(folder: Path) -> Path:
    """Write a certificate of 127.0.0.1 that is signed by itself, with its key."""
    file = folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=mail", "-addext"]
    command += [
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(folder / "key.pem"),
        "-out",
        str(file),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return file


@dataclass
class Mailbox:
    """What came in: envelopes, messages, who signed in, and commands that came unencrypted."""

    port: int = 0
    envelopes: list[list[str]] = field(default_factory=list)
    messages: list[EmailMessage] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)


@contextmanager
def mail_server(
    context: ssl.SSLContext | None = None, at_once: bool = False, refuse: str = ""
) -> Iterator[Mailbox]:
    """Serve SMTP, with STARTTLS or TLS at once; recipients called `refuse` are refused."""
    box = Mailbox()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(10)
            with suppress(OSError):  # a client that does not trust the certificate hangs up
                if context is not None and at_once:
                    with context.wrap_socket(self.request, server_side=True) as link:
                        self.talk(link, True)
                else:
                    self.talk(self.request, False)

        def talk(self, link: Any, secure: bool) -> None:
            with link.makefile("rwb") as file:
                self.converse(link, file, secure)

        def converse(self, link: Any, file: Any, secure: bool) -> None:
            envelope: list[str] = []

            def say(*lines: str) -> None:
                file.write("".join(f"{line}\r\n" for line in lines).encode())
                file.flush()

            if at_once or not secure:
                say("220 ready")
            while line := file.readline().decode().strip():
                if not secure:
                    box.plain.append(line)
                verb = line.split()[0].upper()
                if verb == "EHLO":
                    offers = ["250-STARTTLS"] if context and not secure else []
                    say("250-mail", *offers, "250 AUTH PLAIN")
                elif verb == "STARTTLS" and context is not None:
                    say("220 go ahead")
                    with context.wrap_socket(link, server_side=True) as wrapped:
                        self.talk(wrapped, True)
                    return
                elif verb == "AUTH":
                    box.users.append(base64.b64decode(line.split()[2]).decode())
                    say("235 welcome")
                elif verb == "RCPT" and refuse and refuse in line:
                    say("550 nobody")
                elif verb in ("MAIL", "RCPT"):
                    envelope.append(line)
                    say("250 yes")
                elif verb == "DATA":
                    say("354 go on")
                    sent = iter(file.readline, b".\r\n")
                    text = b"".join(line.removeprefix(b".") for line in sent)
                    box.envelopes.append(envelope)
                    box.messages.append(message_from_bytes(text, policy=policy.default))  # type: ignore[arg-type]
                    say("250 kept")
                elif verb == "QUIT":
                    say("221 bye")
                    return
                else:
                    say("250 well")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        box.port = server.server_address[1]
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()
