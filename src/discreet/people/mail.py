"""Messages to people: text files in a folder, or sent by SMTP over a connection that is checked."""

from __future__ import annotations

import re
import smtplib
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from os import urandom
from pathlib import Path
from urllib.parse import urlsplit

from discreet.errors import ParameterError, unknown
from discreet.files import sync, written
from discreet.people.model import now

SECONDS = 10
"""How long a mail server may take for each step."""
TLS = ("starttls", "tls", "none")
# No sign in it has a meaning in a header, or is not ASCII.
_ADDRESS = re.compile(r"[\w!#$%&*+/=?^`{|}~-][\w!#$%&*+/=?^`{|}~.-]{0,63}@[\w.-]{1,190}", re.ASCII)


@dataclass(frozen=True)
class Mail:
    """Where messages go, who they are from, and the address of the server they speak of."""

    sender: str
    url: str
    folder: str = ""
    host: str = ""
    port: int = 587
    user: str = ""
    password: str = field(default="", repr=False)
    tls: str = "starttls"

    def __post_init__(self) -> None:
        if self.folder and self.host:
            raise ParameterError("set mail_folder or smtp_host, not both.")
        if self.folder and not Path(self.folder).is_dir():
            raise ParameterError(f"mail_folder must be a folder. Got '{self.folder}'.")
        address(self.sender, "mail_from")
        parts = urlsplit(self.url)
        safe = parts.scheme == "https" or parts.hostname in ("127.0.0.1", "localhost", "::1")
        if not safe or not re.fullmatch(r"[!-~]+", self.url):
            raise ParameterError("mail needs public_url, like https://tables.example.org.")
        if self.tls not in TLS:
            raise unknown("smtp_tls", self.tls, TLS)
        if self.user and self.tls == "none":
            raise ParameterError("smtp_user needs smtp_tls: a password is sent encrypted only.")

    def message(self, to: Sequence[str], subject: str, text: str) -> EmailMessage:
        """Return a message; raises on an address or subject that would be more than one line."""
        made = EmailMessage(policy.strict)
        made["From"] = self.sender
        made["To"] = ", ".join(address(one, "an address of mail") for one in to)
        made["Subject"] = subject
        made["Date"] = format_datetime(now())
        made["Message-ID"] = make_msgid(domain=self.sender.rpartition("@")[2])
        made["Auto-Submitted"] = "auto-generated"
        # In a file, addresses are to be copied as they stand; not every mail server takes 8 bits.
        made.set_content(text, cte="8bit" if self.folder else "quoted-printable")
        return made

    def send(self, message: EmailMessage) -> None:
        """Write or send a message; raises `OSError` if that cannot be done."""
        if self.folder:
            name = f"{now():%Y%m%dT%H%M%S%f}-{urandom(4).hex()}.eml"
            with written(Path(self.folder) / name) as file:
                file.write(message.as_bytes())
            sync(Path(self.folder))
            return
        checked = ssl.create_default_context()
        made = (
            smtplib.SMTP_SSL(self.host, self.port, timeout=SECONDS, context=checked)
            if self.tls == "tls"
            else smtplib.SMTP(self.host, self.port, timeout=SECONDS)
        )
        with made as server:
            if self.tls == "starttls":
                server.starttls(context=checked)
            if self.user:
                server.login(self.user, self.password)
            refused = server.send_message(message)
        if refused:
            raise smtplib.SMTPRecipientsRefused(refused)


def address(text: str, name: str) -> str:
    """Return an address that can stand in a header."""
    if not _ADDRESS.fullmatch(text):
        raise ParameterError(f"{name} must be like name@example.org, in ASCII.")
    return text
