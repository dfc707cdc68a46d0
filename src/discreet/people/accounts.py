"""People, groups, projects and licences. Whatever changes one is a line in the record."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

import sqlalchemy as sa

from discreet.checks import whole
from discreet.errors import ParameterError, unknown
from discreet.people.model import Holder, Licence, Person, Project, Role, Who, email_of, now
from discreet.people.record import Line, append
from discreet.people.tables import (
    Kept,
    invitations,
    keys,
    licences,
    members,
    people,
    projects,
    sessions,
)
from discreet.population.names import identifier

_PERSON = [people.c[name] for name in Person.__dataclass_fields__]


def person_of(row: Any) -> Person:
    """Return the person of a row."""
    return Person(row.id, row.email, row.name, Role(row.role), row.quota, row.active)


def _project(row: Any) -> Project:
    return Project(row.id, row.title, row.purpose, date.fromisoformat(row.ends), row.quota)


def _licence(row: Any) -> Licence:
    until = date.fromisoformat(row.until)
    return Licence(row.id, Holder(row.holder), row.name, row.dataset, row.tier, until)


class Accounts:
    """Who there is, what they work on, and what they may use."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    # People

    def add(
        self, email: str, name: str, role: str, quota: int = 20, by: Who | None = None
    ) -> Person:
        """Return a new person, who cannot sign in until they have used an invitation."""
        address, chosen = email_of(email), _role(role)
        whole("quota", quota, 0)
        name = " ".join(name.split())
        if not 1 <= len(name) <= 100:
            raise ParameterError("a name must have 1 to 100 characters.")
        values = {
            "email": address, "name": name, "role": chosen.value, "quota": quota, "active": True,
            "password": "", "failures": 0, "rests_until": "",
        }  # fmt: skip
        with self._kept.writing() as connection:
            if connection.scalar(sa.select(people.c.id).where(people.c.email == address)):
                raise ParameterError(f"there is an account of {address} already.")
            row = connection.execute(sa.insert(people).values(values).returning(*_PERSON)).one()
            append(connection, Line.of(by, "account", note=f"{address} is made, {chosen}"))
            return person_of(row)

    def change(
        self,
        person: Person,
        by: Who | None = None,
        role: str | None = None,
        quota: int | None = None,
    ) -> None:
        """Give somebody another role or quota; whoever loses a role is signed out."""
        values: dict[str, Any] = {}
        if role is not None:
            values["role"] = _role(role).value
        if quota is not None:
            whole("quota", quota, 0)
            values["quota"] = quota
        if not values:
            raise ParameterError("give a role or a quota to change.")
        said = ", ".join(f"{name} {value}" for name, value in values.items())
        with self._kept.writing() as connection:
            chosen = people.c.id == person.id
            connection.execute(sa.update(people).where(chosen).values(values))
            if role is not None:
                connection.execute(sa.delete(sessions).where(sessions.c.person == person.id))
            append(connection, Line.of(by, "account", note=f"{person.email}: {said}"))

    def end(self, person: Person, by: Who | None = None) -> None:
        """End an account: its sessions, keys and invitations end with it. The record stays."""
        with self._kept.writing() as connection:
            values = {"active": False, "password": ""}
            connection.execute(sa.update(people).where(people.c.id == person.id).values(values))
            for table in (sessions, invitations):
                connection.execute(sa.delete(table).where(table.c.person == person.id))
            revoked = {"revoked": now().isoformat()}
            live = sa.and_(keys.c.person == person.id, keys.c.revoked == "")
            connection.execute(sa.update(keys).where(live).values(revoked))
            append(connection, Line.of(by, "account", note=f"{person.email} is ended"))

    def everybody(self) -> list[Person]:
        """Return all people by e-mail address."""
        with self._kept.reading() as connection:
            rows = connection.execute(sa.select(*_PERSON).order_by(people.c.email)).all()
        return [person_of(row) for row in rows]

    def find(self, who: str | int) -> Person:
        """Return a person by e-mail address or number; for custodians and commands only."""
        chosen = people.c.id == who if isinstance(who, int) else people.c.email == email_of(who)
        with self._kept.reading() as connection:
            row = connection.execute(sa.select(*_PERSON).where(chosen)).first()
        if row is None:
            raise ParameterError(f"there is no account of {who}.")
        return person_of(row)

    # Groups and projects

    def join(self, holder: Holder, name: str, person: Person, by: Who | None = None) -> None:
        """Make somebody a member of a group or project."""
        _name(name)
        values = {"holder": holder.value, "name": name, "person": person.id}
        with self._kept.writing() as connection:
            if holder is Holder.PROJECT:
                _known_project(connection, name)
            if connection.execute(_membership(values)).first() is None:
                connection.execute(sa.insert(members), values)
                note = f"{person.email} joins the {holder} {name}"
                append(connection, Line.of(by, "membership", note=note))

    def leave(self, holder: Holder, name: str, person: Person, by: Who | None = None) -> None:
        """End somebody's membership of a group or project."""
        values = {"holder": holder.value, "name": name, "person": person.id}
        with self._kept.writing() as connection:
            if connection.execute(_membership(values)).first() is None:
                raise ParameterError(f"{person.email} is no member of the {holder} {name}.")
            gone = sa.and_(*(members.c[key] == value for key, value in values.items()))
            connection.execute(sa.delete(members).where(gone))
            note = f"{person.email} leaves the {holder} {name}"
            append(connection, Line.of(by, "membership", note=note))

    def members(self, holder: Holder, name: str) -> list[Person]:
        """Return the members of a group or project."""
        wanted = sa.select(*_PERSON).join(members, members.c.person == people.c.id)
        chosen = sa.and_(members.c.holder == holder.value, members.c.name == name)
        with self._kept.reading() as connection:
            rows = connection.execute(wanted.where(chosen).order_by(people.c.email)).all()
        return [person_of(row) for row in rows]

    def set_groups(self, person: Person, names: Iterable[str]) -> None:
        """Let somebody be in these groups and no others: as the office's sign-on says."""
        wanted = set(names)
        have = {name for holder, name in self.memberships(person) if holder is Holder.GROUP}
        for name in sorted(wanted - have):
            self.join(Holder.GROUP, name, person)
        for name in sorted(have - wanted):
            self.leave(Holder.GROUP, name, person)

    def memberships(self, person: Person) -> list[tuple[Holder, str]]:
        """Return the groups and projects of somebody."""
        wanted = sa.select(members.c.holder, members.c.name).where(members.c.person == person.id)
        with self._kept.reading() as connection:
            rows = connection.execute(wanted.order_by(members.c.holder, members.c.name)).all()
        return [(Holder(row.holder), row.name) for row in rows]

    def set_project(
        self, id: str, title: str, purpose: str, ends: date, quota: int = 40, by: Who | None = None
    ) -> Project:
        """Make a project, or change the one of this id."""
        _name(id)
        whole("quota", quota, 0)
        if not title.strip() or not purpose.strip():
            raise ParameterError("a project must have a title and a purpose.")
        made = Project(id, title.strip(), purpose.strip(), ends, quota)
        values = {"title": made.title, "purpose": made.purpose, "ends": str(ends), "quota": quota}
        with self._kept.writing() as connection:
            here = projects.c.id == id
            if connection.execute(sa.update(projects).where(here).values(values)).rowcount == 0:
                connection.execute(sa.insert(projects), {"id": id, **values})
            note = f"{made.title}: {made.purpose} Until {ends}, quota {quota}"
            append(connection, Line.of(by, "project", project=id, note=note))
        return made

    def projects(self) -> list[Project]:
        """Return all projects."""
        with self._kept.reading() as connection:
            rows = connection.execute(sa.select(projects).order_by(projects.c.id)).all()
        return [_project(row) for row in rows]

    def project(self, id: str) -> Project:
        """Return a project by id."""
        found = {one.id: one for one in self.projects()}
        if id not in found:
            raise unknown("project", id, found)
        return found[id]

    # Licences

    def allow(
        self, holder: Holder, name: str, dataset: str, tier: str, until: date,
        by: Who | None = None,
    ) -> None:  # fmt: skip
        """Give a licence to a person (by number), a group or a project, or give it longer."""
        values = {"holder": holder.value, "name": name, "dataset": dataset, "tier": tier}
        note = f"{holder} {name} may use {tier} of {dataset} until {until}"
        with self._kept.writing() as connection:
            if holder is Holder.PROJECT:
                _known_project(connection, name)
            here = sa.and_(*(licences.c[key] == value for key, value in values.items()))
            changed = connection.execute(
                sa.update(licences).where(here).values(until=until.isoformat())
            )
            if changed.rowcount == 0:
                connection.execute(sa.insert(licences), {**values, "until": until.isoformat()})
            append(connection, Line.of(by, "licence", dataset=dataset, tier=tier, note=note))

    def forbid(self, licence: Licence, by: Who | None = None) -> None:
        """Take a licence away, at once."""
        with self._kept.writing() as connection:
            connection.execute(sa.delete(licences).where(licences.c.id == licence.id))
            note = f"{licence.holder} {licence.name} may no longer use it"
            facts = {"dataset": licence.dataset, "tier": licence.tier, "note": note}
            append(connection, Line.of(by, "licence", **facts))

    def licences(self) -> list[Licence]:
        """Return all licences, also those that are over."""
        order = (licences.c.holder, licences.c.name, licences.c.dataset)
        with self._kept.reading() as connection:
            rows = connection.execute(sa.select(licences).order_by(*order)).all()
        return [_licence(row) for row in rows]


def in_force(
    connection: sa.Connection, person: int, today: date
) -> tuple[list[Project], list[Licence]]:
    """Return somebody's projects that are not over, and their licences with those of all groups
    and projects they are in.
    """
    mine = sa.select(members.c.holder, members.c.name).where(members.c.person == person)
    held = {(row.holder, row.name) for row in connection.execute(mine)}
    held.add((Holder.PERSON.value, str(person)))
    live = sa.select(projects).where(projects.c.ends >= today.isoformat()).order_by(projects.c.id)
    found = [
        _project(row) for row in connection.execute(live) if (Holder.PROJECT.value, row.id) in held
    ]
    valid = sa.select(licences).where(licences.c.until >= today.isoformat())
    rows = connection.execute(valid).all()
    return found, [_licence(row) for row in rows if (row.holder, row.name) in held]


def _role(text: str) -> Role:
    if text not in list(Role):
        raise unknown("role", text, [role.value for role in Role])
    return Role(text)


def _name(text: str) -> None:
    identifier(text, "the id of a group or project")


def _known_project(connection: sa.Connection, id: str) -> None:
    known = [row.id for row in connection.execute(sa.select(projects.c.id))]
    if id not in known:
        raise unknown("project", id, known)


def _membership(values: dict[str, Any]) -> sa.Select[Any]:
    same = (members.c[key] == value for key, value in values.items())
    return sa.select(members).where(*same)
