"""Questions that the rules refuse, sent for review: a custodian releases, coarsens or refuses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from discreet.errors import Forbidden, ParameterError
from discreet.people.model import Role, Who, now, stamp
from discreet.people.record import Line, append
from discreet.people.tables import Kept, people, requests

MOST_OPEN = 20
"""Requests of one person that wait."""


class Answer(StrEnum):
    """What became of a request."""

    OPEN = "open"
    RELEASED = "released"
    COARSER = "coarser"
    REFUSED = "refused"


@dataclass(frozen=True)
class Review:
    """A request with its answer. `given` is the question that is released, as it is canonical."""

    id: int
    person: int
    owner: str
    email: str
    project: str
    scope: str
    dataset: str
    tier: str
    edition: str
    by: str
    where: str
    totals: str
    code: str
    purpose: str
    coarser: str
    wanted: str
    sent: str
    state: Answer
    words: str
    given_by: str
    given_where: str
    given: str
    answered: str


@dataclass(frozen=True)
class Refused:
    """A question that was refused, as a request names it."""

    dataset: str
    tier: str
    edition: str
    by: str
    where: str
    totals: str
    code: str


class Reviews:
    """Keeps requests and their answers."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def send(
        self, who: Who, about: Refused, purpose: str, coarser: str = "", wanted: str = ""
    ) -> int:
        """Send a question for review and return the number of the request."""
        if who.person.role is not Role.LICENSED:
            raise Forbidden("ROLE", "Only people with a licence can send a question for review.")
        purpose = purpose.strip()
        if not 20 <= len(purpose) <= 4_000:
            raise ParameterError("say in 20 to 4,000 characters what you need the table for.")
        project = "" if who.project is None else who.project.id
        values = {
            "person": who.person.id, "project": project, "scope": who.scope,
            **about.__dict__, "purpose": purpose, "coarser": coarser[:2_000],
            "wanted": wanted[:40], "sent": stamp(now()), "state": Answer.OPEN.value,
            "words": "", "given_by": "", "given_where": "", "given": "", "answered": "",
            "custodian": 0,
        }  # fmt: skip
        with self._kept.writing() as connection:
            waiting = sa.and_(
                requests.c.person == who.person.id, requests.c.state == Answer.OPEN.value
            )
            if (connection.scalar(sa.select(sa.func.count()).where(waiting)) or 0) >= MOST_OPEN:
                raise ParameterError(f"{MOST_OPEN} of your requests wait already.")
            made = sa.insert(requests).values(values).returning(requests.c.id)
            id = int(connection.execute(made).scalar_one())
            line = Line.of(
                who, "request", dataset=about.dataset, tier=about.tier,
                question=_question(about.by, about.where), verdict=about.code,
                note=f"request {id}: {purpose}",
            )  # fmt: skip
            append(connection, line)
            return id

    def answer(
        self,
        custodian: Who,
        id: int,
        state: Answer,
        words: str,
        given: tuple[str, str, str] = ("", "", ""),
        uses: str = "",
    ) -> int:
        """Answer a request, once; return the number of the line in the record.

        `given` is the question that is released: by, where, and as it is canonical.
        """
        if custodian.person.role is not Role.CUSTODIAN:
            raise Forbidden("ROLE", "Only a custodian answers requests.")
        values = {
            "state": state.value, "words": words[:4_000], "answered": stamp(now()),
            "given_by": given[0], "given_where": given[1], "given": given[2],
            "custodian": custodian.person.id,
        }  # fmt: skip
        with self._kept.writing() as connection:
            this = sa.and_(requests.c.id == id, requests.c.state == Answer.OPEN.value)
            if connection.execute(sa.update(requests).where(this).values(values)).rowcount == 0:
                raise ParameterError("this request is answered already.")
            row = connection.execute(sa.select(requests).where(requests.c.id == id)).one()
            line = Line.of(
                custodian, "answer", project=row.project, dataset=row.dataset, tier=row.tier,
                question=_question(given[0], given[1]), verdict=state.value, uses=uses,
                note=f"request {id}: {words}",
            )  # fmt: skip
            return append(connection, line)

    def all(self, state: Answer | None = None, person: int | None = None) -> list[Review]:
        """Return requests in a state, or of a person, the oldest first."""
        wanted = sa.select(requests, people.c.name.label("owner"), people.c.email)
        wanted = wanted.join(people, people.c.id == requests.c.person).order_by(requests.c.id)
        if state is not None:
            wanted = wanted.where(requests.c.state == state.value)
        if person is not None:
            wanted = wanted.where(requests.c.person == person)
        with self._kept.reading() as connection:
            return [_review(row) for row in connection.execute(wanted)]

    def find(self, id: int) -> Review:
        """Return a request."""
        found = next((one for one in self.all() if one.id == id), None)
        if found is None:
            raise ParameterError(f"there is no request {id}.")
        return found

    def granted(self, scope: str) -> dict[str, frozenset[str]]:
        """Return by data set the questions that were released to a scope, as they are canonical."""
        wanted = sa.select(requests.c.dataset, requests.c.given).where(
            requests.c.scope == scope, requests.c.given != ""
        )
        found: dict[str, set[str]] = {}
        with self._kept.reading() as connection:
            for row in connection.execute(wanted):
                found.setdefault(row.dataset, set()).add(row.given)
        return {dataset: frozenset(given) for dataset, given in found.items()}


def _question(by: str, where: str) -> str:
    if not by:
        return ""
    return f"by={by}&where={where}" if where else f"by={by}"


def _review(row: Any) -> Review:
    names = Review.__dataclass_fields__
    values = {name: row._mapping[name] for name in names}
    return Review(**values | {"state": Answer(values["state"])})
