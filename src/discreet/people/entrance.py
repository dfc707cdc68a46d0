"""How people come in: by password, by an invitation that works once, by a session, by a key.

Nobody learns from an answer, or from how long it takes, whether there is an account.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from discreet.errors import ParameterError
from discreet.people import secrets
from discreet.people.accounts import in_force, person_of
from discreet.people.model import Person, Project, Role, Who, email_of, now, stamp
from discreet.people.record import Line, append
from discreet.people.tables import Kept, invitations, keys, people, sessions

TRIES = 5
REST = timedelta(minutes=15)
INVITED = timedelta(days=7)
IDLE = timedelta(hours=1)
LONGEST = timedelta(hours=12)
LONGEST_KEY = 730
"""Days that a key may last."""
_SEEN_AGAIN = timedelta(minutes=1)  # how exactly it is known when a session or key was last used


@dataclass(frozen=True)
class Key:
    """A key of somebody's programs, without the key itself."""

    id: str
    person: int
    name: str
    project: str
    datasets: tuple[str, ...]
    made: str
    ends: str
    revoked: str
    used: str

    @property
    def live(self) -> bool:
        """Whether it still works."""
        return not self.revoked and self.ends > stamp(now())


class Entrance:
    """Lets people in, and says who somebody is."""

    def __init__(self, kept: Kept, clock: Callable[[], datetime] = now) -> None:
        self._kept = kept
        self._clock = clock

    # Passwords

    def sign_in(self, email: str, password: str, before: str = "") -> str | None:
        """Return the token of a new session, or None; `before` is one that it takes the place of.

        An account rests after some failures. A password that is right is then refused too, in
        the same words and as slowly.
        """
        try:
            address = email_of(email)
        except ParameterError:
            address = ""
        with self._kept.reading() as connection:
            row = connection.execute(sa.select(people).where(people.c.email == address)).first()
        # The one slow step is always taken, and once.
        right = secrets.matches(password, row.password if row is not None else "")
        if row is None:
            return None
        with self._kept.writing() as connection:
            return self._tried(connection, row.id, right, row.password, before)

    def _tried(
        self, connection: sa.Connection, id: int, right: bool, compared: str, before: str
    ) -> str | None:
        row = connection.execute(sa.select(people).where(people.c.id == id)).one()
        time, this = self._clock(), people.c.id == id
        open_to = row.active and row.rests_until <= stamp(time)
        if right and open_to and row.password == compared:
            connection.execute(sa.update(people).where(this).values(failures=0, rests_until=""))
            return self._begun(connection, person_of(row), before, "password")
        # After its rest an account has all its tries again.
        failures = (0 if row.failures >= TRIES and open_to else row.failures) + 1
        values: dict[str, Any] = {"failures": failures}
        if open_to and failures >= TRIES:
            values["rests_until"] = stamp(time + REST)
            note = f"the account rests after {TRIES} tries"
            append(connection, Line("sign-in", row.email, row.role, "password", note=note))
        connection.execute(sa.update(people).where(this).values(values))
        return None

    # Invitations

    def invite(self, person: Person, by: Who | None = None, days: int = INVITED.days) -> str:
        """Return the token of an invitation to choose a password; earlier ones are void."""
        given = secrets.token()
        values = {
            "digest": secrets.digest(given), "person": person.id,
            "ends": stamp(self._clock() + timedelta(days=days)),
        }  # fmt: skip
        with self._kept.writing() as connection:
            connection.execute(sa.delete(invitations).where(invitations.c.person == person.id))
            connection.execute(sa.insert(invitations), values)
            append(connection, Line.of(by, "invitation", note=f"{person.email} is invited"))
        return given

    def invited(self, token: str) -> Person | None:
        """Return who an invitation is for, if it still holds; it is not used by this."""
        with self._kept.reading() as connection:
            return self._invited(connection, token)

    def _invited(self, connection: sa.Connection, token: str) -> Person | None:
        wanted = sa.select(people).join(invitations, invitations.c.person == people.c.id)
        holds = sa.and_(
            invitations.c.digest == secrets.digest(token),
            invitations.c.ends > stamp(self._clock()),
            people.c.active,
        )
        row = connection.execute(wanted.where(holds)).first()
        return None if row is None else person_of(row)

    def accept(self, token: str, password: str) -> Person | None:
        """Use an invitation up: set the password, and end all sessions that there are."""
        kept = secrets.hashed(password)
        with self._kept.writing() as connection:
            person = self._invited(connection, token)
            if person is None:
                return None
            if person.email.split("@")[0] in password.casefold():
                raise ParameterError("a password must not contain your e-mail address.")
            values = {"password": kept, "failures": 0, "rests_until": ""}
            connection.execute(sa.update(people).where(people.c.id == person.id).values(values))
            for table in (invitations, sessions):
                connection.execute(sa.delete(table).where(table.c.person == person.id))
            line = Line("password", person.email, person.role, "invitation")
            append(connection, line)
            return person

    # Sessions

    def begin(self, person: Person, via: str, before: str = "") -> str:
        """Return the token of a new session for somebody whom another service has let in."""
        with self._kept.writing() as connection:
            return self._begun(connection, person, before, via)

    def _begun(self, connection: sa.Connection, person: Person, before: str, via: str) -> str:
        """Begin a session under a name that nobody could know before; one cookie, one session."""
        given, time = secrets.token(), self._clock()
        over = sessions.c.ends <= stamp(time)
        if before:
            over = sa.or_(over, sessions.c.digest == secrets.digest(before))
        connection.execute(sa.delete(sessions).where(over))
        values = {
            "digest": secrets.digest(given), "person": person.id, "csrf": secrets.token(),
            "project": "", "seen": stamp(time), "ends": stamp(time + LONGEST),
        }  # fmt: skip
        connection.execute(sa.insert(sessions), values)
        append(connection, Line("sign-in", person.email, person.role, via))
        return given

    def by_session(self, token: str) -> Who | None:
        """Return who a session belongs to, if it is not over."""
        time, name = self._clock(), secrets.digest(token)
        with self._kept.reading() as connection:
            wanted = sa.select(sessions, *_PERSON).join(people, people.c.id == sessions.c.person)
            row = connection.execute(wanted.where(sessions.c.digest == name)).first()
            over = row is None or row.ends <= stamp(time) or row.seen <= stamp(time - IDLE)
            if row is None or over or not row.active:
                return None
            projects, licences = in_force(connection, row.person, time.date())
        if row.seen <= stamp(time - _SEEN_AGAIN):
            self._seen(sessions, sessions.c.digest == name, time)
        project = _chosen(projects, row.project)
        return Who(
            _person(row), "session", project, tuple(projects), tuple(licences), row.csrf, name
        )

    def work_in(self, who: Who, project: str) -> None:
        """Let a session go on in another of the person's projects."""
        if project not in {one.id for one in who.projects}:
            raise ParameterError("you are no member of this project.")
        with self._kept.writing() as connection:
            this = sessions.c.digest == who.session
            connection.execute(sa.update(sessions).where(this).values(project=project))
            append(connection, Line.of(who, "project", note=f"works in {project}"))

    def sign_out(self, who: Who) -> None:
        """End a session."""
        with self._kept.writing() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.digest == who.session))
            append(connection, Line.of(who, "sign-out"))

    # Keys

    def make_key(
        self,
        person: Person,
        name: str,
        days: int = 365,
        project: str = "",
        datasets: Sequence[str] = (),
        by: Who | None = None,
    ) -> str:
        """Return a new key; it is shown this once, and only its hash is kept."""
        if not 1 <= days <= LONGEST_KEY:
            raise ParameterError(f"days must be an integer from 1 to {LONGEST_KEY}. Got {days}.")
        name = " ".join(name.split())
        if not 1 <= len(name) <= 60:
            raise ParameterError("the name of a key must have 1 to 60 characters.")
        given, time = secrets.KEY + secrets.token(), self._clock()
        values = {
            "id": given[len(secrets.KEY) :][:8], "digest": secrets.digest(given),
            "person": person.id, "name": name, "project": project,
            "datasets": ",".join(datasets), "made": stamp(time), "revoked": "", "used": "",
            "ends": stamp(time + timedelta(days=days)),
        }  # fmt: skip
        with self._kept.writing() as connection:
            mine = {one.id for one in in_force(connection, person.id, time.date())[0]}
            if project and project not in mine:
                raise ParameterError(f"{person.email} is no member of the project '{project}'.")
            connection.execute(sa.insert(keys), values)
            note = f"key {values['id']} of {person.email} is made"
            append(connection, Line.of(by, "key", project=project, note=note))
        return given

    def by_key(self, given: str) -> Who | None:
        """Return whose key this is, if it still works."""
        time, name = self._clock(), secrets.digest(given)
        with self._kept.reading() as connection:
            wanted = sa.select(keys, *_PERSON).join(people, people.c.id == keys.c.person)
            row = connection.execute(wanted.where(keys.c.digest == name)).first()
            if row is None or row.revoked or row.ends <= stamp(time) or not row.active:
                return None
            projects, licences = in_force(connection, row.person, time.date())
        if row.used <= stamp(time - _SEEN_AGAIN):
            self._seen(keys, keys.c.digest == name, time, "used")
        project = next((one for one in projects if one.id == row.project), None)
        if row.project and project is None:
            return None  # the project is over, or they have left it
        if project is None:
            project = _chosen(projects, "")
        datasets = frozenset(row.datasets.split(",")) if row.datasets else None
        via = f"key {row.id}"
        return Who(_person(row), via, project, tuple(projects), tuple(licences), datasets=datasets)

    def keys(self, person: Person | None = None) -> list[Key]:
        """Return the keys of somebody, or of all."""
        columns = [keys.c[name] for name in Key.__dataclass_fields__]
        wanted = sa.select(*columns).order_by(keys.c.made)
        if person is not None:
            wanted = wanted.where(keys.c.person == person.id)
        with self._kept.reading() as connection:
            rows = connection.execute(wanted).all()
        return [_key(row) for row in rows]

    def end_key(self, id: str, person: Person | None = None, by: Who | None = None) -> None:
        """End a key, at once; of this person if one is given."""
        this = sa.and_(keys.c.id == id, keys.c.revoked == "")
        if person is not None:
            this = sa.and_(this, keys.c.person == person.id)
        with self._kept.writing() as connection:
            ended = sa.update(keys).where(this).values(revoked=stamp(self._clock()))
            if connection.execute(ended).rowcount == 0:
                raise ParameterError(f"there is no key {id[:20]} that could be ended.")
            append(connection, Line.of(by, "key", note=f"key {id} is ended"))

    def _seen(self, table: sa.Table, this: Any, time: datetime, column: str = "seen") -> None:
        with self._kept.writing() as connection:
            connection.execute(sa.update(table).where(this).values({column: stamp(time)}))


_PERSON = [
    people.c[name].label(f"person_{name}") if name != "active" else people.c.active
    for name in Person.__dataclass_fields__
]


def _person(row: Any) -> Person:
    return Person(
        row.person_id, row.person_email, row.person_name, Role(row.person_role),
        row.person_quota, row.active,
    )  # fmt: skip


def _key(row: Any) -> Key:
    values = dict(row._mapping)
    values["datasets"] = tuple(filter(None, values["datasets"].split(",")))
    return Key(**values)


def _chosen(projects: Sequence[Project], chosen: str) -> Project | None:
    """Return the project that was chosen, or the only one."""
    found = next((one for one in projects if one.id == chosen), None)
    return projects[0] if found is None and len(projects) == 1 else found
