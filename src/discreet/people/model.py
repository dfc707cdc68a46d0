"""What is known of people: their role, their projects, their licences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum

from discreet.errors import Forbidden, ParameterError
from discreet.policy import Policy

_EMAIL = re.compile(r"[^@\s<>\"',;]{1,64}@[^@\s<>\"',;]{1,190}")


class Role(StrEnum):
    """What somebody may do here."""

    READER = "reader"  # has an account, and what the public has
    LICENSED = "licensed"  # may use the tiers of their licences
    CUSTODIAN = "custodian"  # answers requests, sees people and licences
    AUDITOR = "auditor"  # reads the record


class Holder(StrEnum):
    """Whom a licence is given to."""

    PERSON = "person"
    GROUP = "group"
    PROJECT = "project"


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def stamp(time: datetime) -> str:
    """Return a time as it is kept: in UTC, so that texts sort as times do."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def email_of(text: str) -> str:
    """Return an e-mail address as it is kept, in small letters."""
    found = text.strip().casefold()
    if not _EMAIL.fullmatch(found):
        raise ParameterError("an e-mail address must be like name@example.org.")
    return found


@dataclass(frozen=True)
class Person:
    """Somebody with an account; `quota` is how many new tables of fine detail they may have."""

    id: int
    email: str
    name: str
    role: Role
    quota: int
    active: bool


@dataclass(frozen=True)
class Project:
    """What some people work on together, for a purpose and until a day."""

    id: str
    title: str
    purpose: str
    ends: date
    quota: int


@dataclass(frozen=True)
class Licence:
    """Leave to use a tier of a data set until a day."""

    id: int
    holder: Holder
    name: str
    dataset: str
    tier: str
    until: date


@dataclass(frozen=True)
class Who:
    """Somebody who asks: known by a session or by a key, working in a project or alone."""

    person: Person
    via: str
    project: Project | None
    projects: tuple[Project, ...]
    licences: tuple[Licence, ...]
    csrf: str = ""
    """What the forms of a session carry; empty for a key."""
    session: str = ""
    datasets: frozenset[str] | None = None
    """The data sets that a key is for, None for all."""

    @property
    def scope(self) -> str:
        """Whose looks are used: the project's, or the person's own."""
        if self.project is not None:
            return f"project:{self.project.id}"
        return f"person:{self.person.id}"

    @property
    def by_session(self) -> bool:
        """Whether a browser says who it is, and not a program."""
        return bool(self.session)

    def tier(self, dataset: str, policy: Policy) -> str:
        """Return the tier of a data set that this person has: the last one of the policy's.

        It follows from their licences alone. Raises `Forbidden` for a key of other data sets.
        """
        if self.datasets is not None and dataset not in self.datasets:
            raise Forbidden("KEY_SCOPE", "This key is not for this data set.")
        mine = {one.tier for one in self.licences if one.dataset == dataset and self._holds(one)}
        found = policy.default_tier.id
        for name in policy.tiers:
            if name in mine:
                found = name
        return found

    def _holds(self, licence: Licence) -> bool:
        """Whether a licence holds now; a project's is for work in it, and ends with it."""
        if self.person.role is not Role.LICENSED:
            return False
        mine = self.project is not None and licence.name == self.project.id
        return licence.holder is not Holder.PROJECT or mine


@dataclass(frozen=True)
class Left:
    """How many new tables of fine detail are left, and of how many."""

    left: int
    quota: int

    @property
    def used(self) -> int:
        """How many are used."""
        return self.quota - self.left


Quotas = Mapping[str, Left]
"""What is left to the person, and to their project if they have one."""
