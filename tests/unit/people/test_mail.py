"""Mail: files in a folder, SMTP to a real server on loopback, and what must not get through."""

from __future__ import annotations

import smtplib
import ssl
import stat
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from discreet.errors import ParameterError
from discreet.page.post import Post, invitation
from discreet.people.mail import Mail
from discreet.people.people import People
from mailboxes import Mailbox, certificate, mail_server

URL = "https://tables.example.org"
ADA = "ada@example.org"


def by_smtp(box: Mailbox, tls: str = "none", **more: str) -> Mail:
    return Mail("office@example.org", URL, host="127.0.0.1", port=box.port, tls=tls, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def context(pem: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(pem, pem.with_name("key.pem"))
    return made


def test_a_message_is_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    mail = Mail("office@example.org", f"{URL}/", folder=str(tmp_path))
    token = "t" * 43
    for _ in range(2):
        mail.send(invitation(mail, ADA, token))
    files = list(tmp_path.iterdir())
    assert [file.suffix for file in files] == [".eml", ".eml"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    text = files[0].read_text("utf-8")
    # The address is on one line, as somebody would copy it; both languages are there.
    assert f"\n{URL}/invitation/{token}?lang=en\n" in text
    assert f"\n{URL}/invitation/{token}?lang=de\n" in text
    assert "Wählen Sie hier ein Passwort" in text
    read = message_from_bytes(files[0].read_bytes(), policy=policy.default)
    assert (read["To"], read["From"]) == (ADA, "office@example.org")
    assert read["Subject"] == "Your account for tables / Ihr Konto für Tabellen"
    assert read["Message-ID"].endswith("@example.org>")


def test_a_mail_server_gets_it() -> None:
    with mail_server() as box:
        mail = by_smtp(box)
        mail.send(invitation(mail, ADA, "token"))
    assert box.envelopes[0][0].upper().startswith("MAIL FROM:<OFFICE@EXAMPLE.ORG>")
    assert [line.upper() for line in box.envelopes[0][1:]] == ["RCPT TO:<ADA@EXAMPLE.ORG>"]
    assert f"{URL}/invitation/token?lang=de" in box.messages[0].get_content()
    assert "Wählen Sie hier ein Passwort" in box.messages[0].get_content()


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_the_certificate_of_a_mail_server_is_checked(
    tls: str, context: ssl.SSLContext, pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mail_server(context, at_once=tls == "tls") as box:
        mail = by_smtp(box, tls, user="discreet", password="secret of the tests")
        message = invitation(mail, ADA, "token")
        with pytest.raises(ssl.SSLCertVerificationError):
            mail.send(message)
        assert (box.messages, box.users) == ([], [])
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        mail.send(message)
    assert box.users == ["\0discreet\0secret of the tests"]
    assert len(box.messages) == 1
    assert {line.split()[0].upper() for line in box.plain} <= {"EHLO", "STARTTLS"}
    assert "secret" not in repr(mail)


def test_without_starttls_nothing_is_sent() -> None:
    with mail_server() as box:
        mail = by_smtp(box, "starttls")
        with pytest.raises(smtplib.SMTPNotSupportedError):
            mail.send(invitation(mail, ADA, "token"))
    assert (box.envelopes, box.messages) == ([], [])


@pytest.mark.parametrize(
    "odd",
    ["a@b.org\r\nBcc: x@b.org", "a@b.org\n", "a@b.org, x@b.org", "<a@b.org>", "a b@b.org",
     "a\0@b.org", "ä@b.org", "a@b.org\u2028x", "@b.org", ""],
)  # fmt: skip
def test_an_address_is_one_address(odd: str, tmp_path: Path) -> None:
    mail = Mail("office@example.org", URL, folder=str(tmp_path))
    with pytest.raises(ParameterError, match=r"must be like name@example.org"):
        mail.message([odd], "s", "t")
    with pytest.raises(ParameterError, match="mail_from must be like"):
        Mail(odd, URL, folder=str(tmp_path))


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_a_subject_is_one_line(end: str, tmp_path: Path) -> None:
    mail = Mail("office@example.org", URL, folder=str(tmp_path))
    with pytest.raises(ValueError, match="linefeed or carriage return"):
        mail.message([ADA], f"Request 1{end}Bcc: x@example.org", "t")


def test_text_that_looks_like_an_end_or_a_header_stays_text() -> None:
    text = "one\n.\nRCPT TO:<x@example.org>\nBcc: x@example.org\n"
    with mail_server() as box:
        mail = by_smtp(box)
        mail.send(mail.message([ADA], "s", text))
    assert box.messages[0].get_content().replace("\r\n", "\n") == text
    assert box.messages[0]["Bcc"] is None
    assert len(box.envelopes[0]) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"folder": "/no/such/folder"}, "mail_folder must be a folder"),
        ({"folder": "/", "host": "mail"}, "not both"),
        ({"host": "mail", "url": ""}, "needs public_url"),
        ({"host": "mail", "url": "http://tables.example.org"}, "needs public_url"),
        ({"host": "mail", "url": "https://a b"}, "needs public_url"),
        ({"host": "mail", "tls": "no"}, "Choices: starttls, tls, none"),
        ({"host": "mail", "tls": "none", "user": "x"}, "sent encrypted only"),
    ],
)
def test_settings_that_cannot_be_meant(given: dict[str, str], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Mail(**{"sender": "office@example.org", "url": URL, **given})  # type: ignore[arg-type]


def test_custodians_are_told_and_a_failure_is_told_without_the_text(people: People) -> None:
    people.accounts.add("cus@example.org", "Cus", "custodian")
    people.accounts.end(people.accounts.add("old@example.org", "Old", "custodian"))
    people.accounts.add(ADA, "Ada", "licensed")
    failures: list[tuple[str, str]] = []
    post = Post(lambda event, error: failures.append((event, type(error).__name__)))
    post.request(people, 7)  # no mail is set: nothing happens
    with mail_server() as box:
        post.mail = by_smtp(box)
        post.request(people, 7)
        post._thread.shutdown()
    assert [message["To"] for message in box.messages] == ["cus@example.org"]
    assert f"{URL}/office/requests/7?lang=en" in box.messages[0].get_content()
    assert failures == []
    post = Post(lambda event, error: failures.append((event, type(error).__name__)))
    post.mail = by_smtp(box)  # nothing listens there any more
    post.request(people, 8)
    post._thread.shutdown()
    assert failures == [("mail", "ConnectionRefusedError")]


def test_a_recipient_who_is_refused_is_a_failure() -> None:
    with mail_server(refuse="bob") as box:
        mail = by_smtp(box)
        message = mail.message([ADA, "bob@example.org"], "s", "t")
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            mail.send(message)
    assert len(box.messages) == 1
