"""The record of who asked what: lines that are added and never changed, each with the hash of all
before it. No count is in it.

A line says the question, the tier and the versions of data and policy: asked again, they give the
same figures. So an auditor can find out what somebody was given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime, timedelta

import sqlalchemy as sa

from discreet.errors import ParameterError
from discreet.people.model import Who, now, stamp
from discreet.people.tables import Kept, allow_removal, forbid_changes, record, record_start

START = "0" * 64
"""What the first line has for the hash of those before it."""
RETENTION = "retention"
"""What the line is about that says which lines were removed after their time."""
NOBODY = "command line"
"""Who did what was done by a command: whoever may read the store."""


@dataclass(frozen=True)
class Line:
    """What is written down. `uses` is the detail whose look it used, `note` what else was said."""

    action: str
    person: str = NOBODY
    role: str = ""
    via: str = ""
    project: str = ""
    dataset: str = ""
    tier: str = ""
    policy: str = ""
    data: str = ""
    question: str = ""
    verdict: str = ""
    uses: str = ""
    note: str = ""

    @classmethod
    def of(cls, who: Who | None, action: str, **facts: str) -> Line:
        """Return the line of somebody's action, of the command line's for None."""
        if who is None:
            return cls(action, **facts)
        project = "" if who.project is None else who.project.id
        about = {"project": project, **facts}
        return cls(action, who.person.email, who.person.role, who.via, **about)


@dataclass(frozen=True)
class Written:
    """A line as it is kept: numbered from 1, with its time and its place in the chain."""

    n: int
    time: str
    line: Line
    before: str
    hash: str

    def as_dict(self) -> dict[str, object]:
        """Return all of it as plain values."""
        told = asdict(self.line)
        chain = {"before": self.before, "hash": self.hash}
        return {"n": self.n, "time": self.time, **told, **chain}


@dataclass(frozen=True)
class Verified:
    """What a look at the whole record found; `broken` is the first line that is not as written."""

    lines: int
    first: int
    last: int
    head: str
    broken: int | None = None
    why: str = ""


def chained(n: int, time: str, line: Line, before: str) -> str:
    """Return the hash of a line and all before it."""
    values = [n, time, *asdict(line).values(), before]
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()


def append(connection: sa.Connection, line: Line, time: datetime | None = None) -> int:
    """Add a line and return its number; within the transaction of what it is about."""
    n, before = _end(connection)
    n, at = n + 1, stamp(time or now())
    values = asdict(line) | {"n": n, "time": at, "before": before}
    values["hash"] = chained(n, at, line, before)
    connection.execute(sa.insert(record), values)
    return n


def _end(connection: sa.Connection) -> tuple[int, str]:
    last = sa.select(record.c.n, record.c.hash).order_by(record.c.n.desc()).limit(1)
    found = connection.execute(last).first() or _start(connection)
    return int(found[0]), str(found[1])


def _start(connection: sa.Connection) -> tuple[int, str]:
    """Return the number and hash of the last line that was removed after its time."""
    last = sa.select(record_start.c.n, record_start.c.hash).order_by(record_start.c.n.desc())
    found = connection.execute(last.limit(1)).first()
    return (0, START) if found is None else (int(found[0]), str(found[1]))


_LINE = [one.name for one in fields(Line)]


def _written(row: sa.Row[tuple[object, ...]]) -> Written:
    values = row._mapping
    line = Line(**{name: values[name] for name in _LINE})
    return Written(values["n"], values["time"], line, values["before"], values["hash"])


class Record:
    """Reads the record, and removes lines whose time is over."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def add(self, line: Line, time: datetime | None = None) -> int:
        """Add a line by itself and return its number."""
        with self._kept.writing() as connection:
            return append(connection, line, time)

    def lines(
        self, person: str = "", project: str = "", action: str = "", most: int = 0
    ) -> list[Written]:
        """Return the lines of a person or project, or all of them, in order; the latest `most`."""
        wanted = sa.select(record).order_by(record.c.n.desc())
        for column, value in (("person", person), ("project", project), ("action", action)):
            if value:
                wanted = wanted.where(record.c[column] == value)
        with self._kept.reading() as connection:
            rows = connection.execute(wanted.limit(most) if most else wanted).all()
        return [_written(row) for row in reversed(rows)]

    def verify(self, head: str = "") -> Verified:
        """Follow the chain from its start to its end.

        `head` is what an earlier look found, as NUMBER:HASH: that line must still be there, or
        the end could have been cut off.
        """
        noted = _noted(head)
        with self._kept.reading() as connection:
            start, before = _start(connection)
            rows = connection.execute(sa.select(record).order_by(record.c.n))
            return _followed((_written(row) for row in rows), start, before, noted)

    def prune(self, before: date) -> int:
        """Remove the lines of days before one, and return how many.

        The chain begins after them with what they ended with; that they were removed is a line.
        """
        with self._kept.writing() as connection:
            old = sa.select(record.c.n, record.c.hash, record.c.time)
            old = old.where(record.c.time < before.isoformat()).order_by(record.c.n.desc())
            last = connection.execute(old.limit(1)).first()
            if last is None:
                return 0
            gone = record.c.n <= last.n
            number = connection.scalar(sa.select(sa.func.count()).where(gone)) or 0
            values = {"n": last.n, "hash": last.hash, "time": stamp(now())}
            connection.execute(sa.insert(record_start), values)
            allow_removal(connection)
            connection.execute(sa.delete(record).where(gone))
            forbid_changes(connection)
            append(connection, Line(RETENTION, note=_removal(last.n, last.hash)))
            return number


def due(years: int, today: date) -> date:
    """Return the day before which lines are kept no longer."""
    return today - timedelta(days=round(365.25 * years))


def _noted(head: str) -> tuple[int, str] | None:
    if not head:
        return None
    number, _, found = head.partition(":")
    if not number.isdigit() or len(found) != len(START):
        raise ParameterError("--head must be as verify prints it: NUMBER:HASH.")
    return int(number), found


def _followed(
    lines: Iterator[Written], start: int, before: str, noted: tuple[int, str] | None
) -> Verified:
    began = before
    last, seen, many = start, noted is None or noted[0] <= start, 0
    said = not start  # lines may only be missing at the beginning if one that is there says so
    for one in lines:
        found = Verified(many, start + 1, last, before, one.n)
        if one.n != last + 1:
            return _with(found, f"line {last + 1} is missing")
        if one.before != before:
            return _with(found, f"line {one.n} does not follow from line {last}")
        if chained(one.n, one.time, one.line, before) != one.hash:
            return _with(found, f"line {one.n} is not as it was written")
        if noted is not None and one.n == noted[0]:
            if one.hash != noted[1]:
                return _with(found, f"line {one.n} is not the one that was noted")
            seen = True
        if one.line.action == RETENTION and one.line.note == _removal(start, began):
            said = True
        last, before, many = one.n, one.hash, many + 1
    if not said:
        return Verified(many, start + 1, last, before, 1, f"lines up to {start} are missing")
    if not seen and noted is not None:
        return Verified(many, start + 1, last, before, noted[0], f"line {noted[0]} is missing")
    return Verified(many, start + 1, last, before)


def _removal(n: int, hash: str) -> str:
    """Return the words by which a line says that those up to one were removed after their time."""
    return f"lines up to {n} were removed; that one had the hash {hash}"


def _with(found: Verified, why: str) -> Verified:
    return Verified(found.lines, found.first, found.last, found.head, found.broken, why)
