"""What is sent to people by mail: that there is something to read here, and where.

No figure, no purpose and no words of an answer are in a message, nor who asked. Nobody's language
is known, so each message is in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from email.message import EmailMessage

from discreet.page.texts import LANGUAGES, texts
from discreet.people.mail import Mail
from discreet.people.model import Role
from discreet.people.people import People
from discreet.people.reviews import Answer, Review

Trouble = Callable[[str, BaseException], None]
_RULE = "\n\n* * *\n\n"


def invitation(mail: Mail, email: str, token: str) -> EmailMessage:
    """Return the message with which somebody chooses a password."""
    return _message(mail, "invitation", [email], f"/invitation/{token}")


def _message(
    mail: Mail, kind: str, to: Sequence[str], path: str, id: str = "", state: str = ""
) -> EmailMessage:
    subjects, parts = [], []
    for lang in LANGUAGES:
        t = texts(lang)
        told = {"id": id, "state": t(f"review.states.{state}") if state else ""}
        address = f"{mail.url.rstrip('/')}{path}"
        subjects.append(t(f"mail.{kind}.subject", **told))
        parts.append(t(f"mail.{kind}.text", address=f"{address}?lang={lang}", **told))
    return mail.message(to, " / ".join(subjects), _RULE.join(parts) + "\n")


class Post:
    """Sends messages one after another in a thread; what fails is told, and stops nothing."""

    def __init__(self, trouble: Trouble) -> None:
        self.mail: Mail | None = None
        self._trouble = trouble
        self._thread = ThreadPoolExecutor(1, "mail")

    def request(self, people: People, id: int) -> None:
        """Tell the custodians of a request."""

        def custodians() -> list[str]:
            everybody = people.accounts.everybody()
            return [one.email for one in everybody if one.active and one.role is Role.CUSTODIAN]

        self._begin("request", custodians, f"/office/requests/{id}", str(id))

    def answer(self, people: People, review: Review, state: Answer) -> None:
        """Tell whoever asked of the answer to their request."""

        def owner() -> list[str]:
            person = people.accounts.find(review.person)
            return [person.email] if person.active else []

        self._begin("answer", owner, "/me/tables", str(review.id), state.value)

    def close(self) -> None:
        """Finish the message that is under way; those that wait are told as not sent."""
        self._thread.shutdown(cancel_futures=True)

    def _begin(self, kind: str, to: Callable[[], list[str]], *about: str) -> None:
        if self.mail is not None:
            self._thread.submit(_send, self.mail, kind, to, *about).add_done_callback(self._done)

    def _done(self, sent: Future[None]) -> None:
        error = TimeoutError() if sent.cancelled() else sent.exception()
        if error is not None:
            self._trouble("mail", error)


def _send(mail: Mail, kind: str, to: Callable[[], list[str]], *about: str) -> None:
    found = to()
    if found:
        mail.send(_message(mail, kind, found, *about))
