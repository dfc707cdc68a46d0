"""The tables of the state database that are about people.

Times are texts in UTC, which sort as they pass. The record cannot be changed: the database itself
refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import sqlalchemy as sa

from discreet.errors import Sealed
from discreet.ledger import Database

_ABOUT = "people"
metadata = sa.MetaData()
_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _text(name: str, **more: object) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, **more)  # type: ignore[arg-type]


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, _Id, nullable=False)


people = sa.Table(
    "discreet_people", metadata, sa.Column("id", _Id, primary_key=True),
    _text("email", unique=True), _text("name"), _text("role"), _number("quota"),
    sa.Column("active", sa.Boolean, nullable=False),
    # A hash by argon2id, empty until an invitation is used; failures in a row, and until when the
    # account rests because of them.
    _text("password"), _number("failures"), _text("rests_until"),
)  # fmt: skip
members = sa.Table(
    "discreet_members", metadata,
    sa.Column("holder", sa.Text, primary_key=True), sa.Column("name", sa.Text, primary_key=True),
    sa.Column("person", _Id, primary_key=True),
)  # fmt: skip
projects = sa.Table(
    "discreet_projects", metadata, sa.Column("id", sa.Text, primary_key=True),
    _text("title"), _text("purpose"), _text("ends"), _number("quota"),
)  # fmt: skip
licences = sa.Table(
    "discreet_licences", metadata, sa.Column("id", _Id, primary_key=True),
    _text("holder"), _text("name"), _text("dataset"), _text("tier"), _text("until"),
    sa.UniqueConstraint("holder", "name", "dataset", "tier"),
)  # fmt: skip
keys = sa.Table(
    "discreet_keys", metadata, sa.Column("id", sa.Text, primary_key=True),
    _text("digest", unique=True), _number("person"), _text("name"), _text("project"),
    _text("datasets"), _text("made"), _text("ends"), _text("revoked"), _text("used"),
)  # fmt: skip
invitations = sa.Table(
    "discreet_invitations", metadata, sa.Column("digest", sa.Text, primary_key=True),
    _number("person"), _text("ends"),
)  # fmt: skip
sessions = sa.Table(
    "discreet_sessions", metadata, sa.Column("digest", sa.Text, primary_key=True),
    _number("person"), _text("csrf"), _text("project"), _text("seen"), _text("ends"),
)  # fmt: skip
uses = sa.Table(
    "discreet_uses", metadata, sa.Column("id", _Id, primary_key=True),
    _text("dataset"), _text("edition"), _text("scope"), _text("asked"),
    _number("person"), _text("project"), _text("time"),
    sa.UniqueConstraint("dataset", "edition", "scope", "asked"),
)  # fmt: skip
saved = sa.Table(
    "discreet_saved", metadata, sa.Column("id", _Id, primary_key=True),
    _number("person"), _text("project"), _text("dataset"), _text("name"), _text("address"),
    _text("time"), sa.UniqueConstraint("person", "dataset", "name"),
)  # fmt: skip
requests = sa.Table(
    "discreet_requests", metadata, sa.Column("id", _Id, primary_key=True),
    _number("person"), _text("project"), _text("scope"), _text("dataset"), _text("tier"),
    _text("edition"), _text("by"), _text("where"), _text("totals"), _text("code"),
    _text("purpose"), _text("coarser"), _text("wanted"), _text("sent"), _text("state"),
    # What a custodian answered, in words, and the question that is released.
    _text("words"), _text("given_by"), _text("given_where"), _text("given"), _text("answered"),
    _number("custodian"),
)  # fmt: skip
record = sa.Table(
    "discreet_record", metadata,
    sa.Column("n", _Id, primary_key=True, autoincrement=False),
    _text("time"), _text("person"), _text("role"), _text("via"), _text("project"),
    _text("action"), _text("dataset"), _text("tier"), _text("policy"), _text("data"),
    _text("question"), _text("verdict"), _text("uses"), _text("note"),
    _text("before"), _text("hash", unique=True),
    sa.Index("discreet_record_of", "person", "n"),
)  # fmt: skip
record_start = sa.Table(
    "discreet_record_start", metadata, sa.Column("n", _Id, primary_key=True, autoincrement=False),
    _text("hash"), _text("time"),
)  # fmt: skip

_REFUSAL = "the record cannot be changed"
_SQLITE = [
    f"CREATE TRIGGER IF NOT EXISTS discreet_record_{what.lower()} BEFORE {what} ON discreet_record "
    f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
    for what in ("UPDATE", "DELETE")
]
_POSTGRES = [
    "CREATE OR REPLACE FUNCTION discreet_record_kept() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$",
    *(
        f"CREATE OR REPLACE TRIGGER discreet_record_{what.lower()} BEFORE {what} "
        "ON discreet_record EXECUTE FUNCTION discreet_record_kept()"
        for what in ("UPDATE", "DELETE", "TRUNCATE")
    ),
]


def forbid_changes(connection: sa.Connection) -> None:
    """Have the database refuse changes of the record."""
    for statement in _POSTGRES if connection.dialect.name == "postgresql" else _SQLITE:
        connection.exec_driver_sql(statement)


def allow_removal(connection: sa.Connection) -> None:
    """Let lines be removed until `forbid_changes`, in one transaction: for retention alone."""
    on = " ON discreet_record" if connection.dialect.name == "postgresql" else ""
    connection.exec_driver_sql(f"DROP TRIGGER discreet_record_delete{on}")


class Kept:
    """Where people are kept: the state database, with these tables made when first used."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._made = False
        self._making = Lock()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection that only reads."""
        self._make()
        with self.database.reading() as transaction:
            yield transaction.connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give a connection whose writing nobody else can write beside; an error undoes it all."""
        self._make()
        with self.database.writing(_ABOUT) as transaction:
            yield transaction.connection

    @property
    def used(self) -> bool:
        """Whether there are such tables at all; nothing is made."""
        if self._made:
            return True
        if self.database.path is not None and not self.database.path.exists():
            return False
        with self.database.reading() as transaction:
            return sa.inspect(transaction.connection).has_table(people.name)

    def _make(self) -> None:
        with self._making:
            if self._made:
                return
            path = self.database.path
            if path is not None and not path.exists():
                # Making one would let detail be released again that is used up.
                raise Sealed(f"{path} is missing: put it back from a backup.")
            with self.database.writing(_ABOUT) as transaction:
                metadata.create_all(transaction.connection)
                forbid_changes(transaction.connection)
            self._made = True
