"""Four people and two projects with a history, for a demonstration."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

from discreet.errors import DiscreetError, QueryRefused
from discreet.people.model import Holder, Who, now
from discreet.people.people import People
from discreet.people.reviews import Refused
from discreet.people.telling import asking
from discreet.service import Service

PASSWORD = "discreet demo people"  # noqa: S105 - of people who are invented, for everybody to read
EMAILS = ("ada@example.org", "ben@example.org", "cleo@example.org", "abel@example.org")
_NAMES = ("Ada", "Ben", "Cleo", "Abel")
_ROLES = ("licensed", "licensed", "custodian", "auditor")
_PROJECTS = {
    "homes": ("Damp homes", "To find out where homes make people ill.", EMAILS[0]),
    "carers": ("Young carers", "To plan places of respite for young carers.", EMAILS[1]),
}


def make(store: Path, questions: Sequence[tuple[str, str]], refused: tuple[str, str]) -> People:
    """Return the people of a store, made if there are none, with a history of some questions."""
    people = People.of_store(store)
    if people.any:
        return people
    for email, name, role in zip(EMAILS, _NAMES, _ROLES, strict=True):
        person = people.accounts.add(email, name, role)
        people.entrance.accept(people.entrance.invite(person), PASSWORD)
    until = now().date() + timedelta(days=365)
    service = Service([store])
    asyncio.run(service.refresh())
    dataset = next(iter(service.catalogue.datasets))
    for id, (title, purpose, member) in _PROJECTS.items():
        people.accounts.set_project(id, title, purpose, until)
        people.accounts.join(Holder.PROJECT, id, people.accounts.find(member))
        people.accounts.allow(Holder.PROJECT, id, dataset, "licensed", until)
    _history(people, service, dataset, questions, refused)
    asyncio.run(service.stop())
    return people


def _history(
    people: People,
    service: Service,
    dataset: str,
    questions: Sequence[tuple[str, str]],
    refused: tuple[str, str],
) -> None:
    """Ask some questions in the first project, save them, and send the last one for review."""
    session = people.entrance.begin(people.accounts.find(EMAILS[0]), "demo")
    who = people.entrance.by_session(session)
    assert who is not None
    known = partial(asking, people, who, frozenset())
    for name, by in questions:
        with suppress(DiscreetError):
            asked = service.ask(dataset, by, who=known)
            asyncio.run(service.release(asked))
            people.saved.save(who, dataset, name, f"by={by}", shared=True)
    _send(people, service, who, dataset, refused)
    people.entrance.sign_out(who)


def _send(
    people: People, service: Service, who: Who, dataset: str, refused: tuple[str, str]
) -> None:
    by, purpose = refused
    known = partial(asking, people, who, frozenset())
    asked = service.ask(dataset, by, who=known)
    code = ""
    try:
        asyncio.run(service.release(asked))
    except QueryRefused as refusal:
        code = refusal.code
    if code:
        tier = asked.opened.tier
        edition = asked.opened.releaser.ledgers.edition(tier)
        about = Refused(dataset, tier.id, edition, by, "", "none", code)
        people.reviews.send(who, about, purpose)
