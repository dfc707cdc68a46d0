"""The tables of the state database, and all that is ever said to it about the ledger.

The only module that imports SQLAlchemy, and itself imported when a database is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import sqlalchemy as sa

from discreet.ledger.database import Place, Row, driver

FORMAT = 1
"""The version of the tables below."""

metadata = sa.MetaData()
_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

facts = sa.Table(
    "discreet_state",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
entries = sa.Table(
    "discreet_entries",
    metadata,
    sa.Column("id", _Id, primary_key=True),
    # Numbers the changes of a data set's entries, so that only what is new need be read.
    sa.Column("changed", _Id, nullable=False),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("edition", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("public", sa.Boolean, nullable=False),
    # The class that is answered and the one whose table answers it, by name.
    sa.Column("asked", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("since", sa.Date, nullable=False),
    sa.UniqueConstraint("dataset", "edition", "scope", "asked"),
    sa.Index("discreet_entries_in_order", "dataset", "changed"),
)
wanted = sa.Table(
    "discreet_wanted",
    metadata,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("asked", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
)


_COLUMNS = [entries.c[name] for name in Row.__dataclass_fields__]
_OWN = sa.and_(
    entries.c.dataset == sa.bindparam("dataset_"),
    entries.c.edition == sa.bindparam("edition_"),
    entries.c.scope == sa.bindparam("scope_"),
)
_FIND = sa.select(*_COLUMNS).where(_OWN, entries.c.asked == sa.bindparam("asked_"))
_ALL = sa.select(*_COLUMNS).where(_OWN).order_by(entries.c.id)
# Tables of all editions, which are looks, and what is decided in this one.
_AFTER = (
    sa.select(*_COLUMNS)
    .where(
        entries.c.dataset == sa.bindparam("dataset_"),
        entries.c.changed > sa.bindparam("after_"),
        entries.c.public == sa.bindparam("public_"),
        sa.or_(entries.c.asked == entries.c.source, _OWN),
    )
    .order_by(entries.c.changed)
)
_others = entries.alias()
_NEXT = (
    sa.select(sa.func.coalesce(sa.func.max(_others.c.changed), 0) + 1)
    .where(_others.c.dataset == sa.bindparam("dataset_"))
    .scalar_subquery()
)
_SETTLE = (
    sa.update(entries)
    .where(
        _OWN,
        entries.c.asked == sa.bindparam("asked_"),
        entries.c.source == sa.bindparam("asked_"),
    )
    .values(status=sa.bindparam("status_"), changed=_NEXT)
    .returning(*_COLUMNS)
)
_LAST = sa.select(sa.func.coalesce(sa.func.max(entries.c.changed), 0)).where(
    entries.c.dataset == sa.bindparam("dataset_")
)
_ADD = sa.insert(entries).returning(entries.c.id, entries.c.changed)
# The same as SQLite itself has them: what is said for every table that is made.
_AFTER_PLAIN = (
    f"SELECT {', '.join(column.name for column in _COLUMNS)} FROM discreet_entries "  # noqa: S608
    "WHERE dataset = :dataset AND changed > :after AND public = :public AND (asked = source "
    "OR edition = :edition AND scope = :scope) ORDER BY changed"
)
_LAST_PLAIN = "SELECT coalesce(max(changed), 0) FROM discreet_entries WHERE dataset = ?"
_ADD_PLAIN = (
    "INSERT INTO discreet_entries (changed, dataset, edition, scope, public, asked, source, "
    "status, origin, since) VALUES (:changed, :dataset, :edition, :scope, :public, :asked, "
    ":source, :status, :origin, :since)"
)
_IDENTIFIED = "ledger of "
_IDENTITY = sa.select(facts.c.value).where(facts.c.name == sa.bindparam("name_"))
_QUESTIONS = sa.select(entries.c.asked, sa.func.count()).where(
    entries.c.dataset == sa.bindparam("dataset_"), entries.c.origin == "asked"
)
_WANTED = sa.select(wanted.c.asked, wanted.c.number).where(
    wanted.c.dataset == sa.bindparam("dataset_")
)


@dataclass(frozen=True)
class Transaction:
    """What can be read and written while a transaction is open."""

    connection: sa.Connection

    def find(self, place: Place, asked: str) -> Row | None:
        """Return what is decided on a class in an edition."""
        row = self.connection.execute(_FIND, _own(place) | {"asked_": asked}).first()
        return None if row is None else Row(*row)

    def own(self, place: Place) -> Iterator[Row]:
        """Yield all that is decided in an edition, in the order of time."""
        return (Row(*row) for row in self.connection.execute(_ALL, _own(place)))

    def after(self, place: Place, last: int) -> Iterator[Row]:
        """Yield what changed after a change: tables of all editions, and what this one decides."""
        if self._by_driver:
            given = {**vars(place), "public": int(place.public), "after": last}
            rows = driver(self.connection).execute(_AFTER_PLAIN, given)
            return (Row(*(*row[:-1], date.fromisoformat(row[-1]))) for row in rows)
        values = _own(place) | {"after_": last, "public_": place.public}
        return (Row(*row) for row in self.connection.execute(_AFTER, values))

    def last(self, dataset: str) -> int:
        """Return the number of the latest change of a data set's entries, 0 where there is none."""
        if self._by_driver:
            return int(driver(self.connection).execute(_LAST_PLAIN, (dataset,)).fetchone()[0])
        return self.connection.scalar(_LAST, {"dataset_": dataset}) or 0

    def add(
        self, place: Place, decided: Sequence[tuple[str, str, str, str]], last: int | None = None
    ) -> list[Row]:
        """Write down decisions and return them: class, that of its table, status and origin.

        `last` is the number of the latest change, if that is known. Nobody else writes, so that the
        next ones are those that follow.
        """
        if not decided:
            return []
        since = datetime.now(UTC).date()
        last = self.last(place.dataset) if last is None else last
        rows = {
            last + i: dict(zip(("asked", "source", "status", "origin"), values, strict=True))
            for i, values in enumerate(decided, 1)
        }
        same = {**vars(place), "since": since}
        ids = self._added([{**same, **values, "changed": n} for n, values in rows.items()])
        return [
            Row(ids[changed], changed, place.edition, place.scope, **values, since=since)
            for changed, values in rows.items()
        ]

    def _added(self, rows: Sequence[dict[str, Any]]) -> dict[int, int]:
        """Add rows and return their ids by change."""
        if not self._by_driver:
            return {row.changed: row.id for row in self.connection.execute(_ADD, rows)}
        add = driver(self.connection).execute
        found = {}
        for row in rows:
            plain = {**row, "since": row["since"].isoformat(), "public": int(row["public"])}
            found[row["changed"]] = int(add(_ADD_PLAIN, plain).lastrowid or 0)
        return found

    @property
    def _by_driver(self) -> bool:
        """Whether what is said for every table goes to SQLite directly, at a third of the cost."""
        return self.connection.dialect.name == "sqlite"

    def settle(self, place: Place, made: str, status: str) -> Row | None:
        """Write down what became of a table and return it; None where it was not claimed."""
        values = _own(place) | {"asked_": made, "status_": status}
        row = self.connection.execute(_SETTLE, values).first()
        return None if row is None else Row(*row)

    def want(self, dataset: str, asked: Mapping[str, int]) -> None:
        """Count questions that were refused: of which class, and nothing else."""
        insert: Any
        if self.connection.dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import insert
        else:
            from sqlalchemy.dialects.sqlite import insert
        rows = [{"dataset": dataset, "asked": name, "number": n} for name, n in asked.items()]
        adding = insert(wanted).values(rows)
        total = wanted.c.number + adding.excluded.number
        adding = adding.on_conflict_do_update(
            index_elements=["dataset", "asked"], set_={"number": total}
        )
        self.connection.execute(adding)

    def questions(self, dataset: str) -> dict[str, int]:
        """Return how often each class was asked for anew, whether answered or refused."""
        found: dict[str, int] = {}
        for statement in (_QUESTIONS.group_by(entries.c.asked), _WANTED):
            for asked, number in self.connection.execute(statement, {"dataset_": dataset}):
                found[asked] = found.get(asked, 0) + number
        return found

    def identity(self, dataset: str) -> str | None:
        """Return the id that a data set's ledger shares with its store, if it has one."""
        return self.connection.scalar(_IDENTITY, {"name_": _IDENTIFIED + dataset})

    def identify(self, dataset: str, identity: str) -> None:
        """Give the ledger of a data set its id."""
        values = {"name": _IDENTIFIED + dataset, "value": identity}
        self.connection.execute(sa.insert(facts), values)

    def known(self, dataset: str, classes: Sequence[str]) -> set[str]:
        """Return those of some classes on which anything was ever decided."""
        found = sa.select(entries.c.asked).where(
            entries.c.dataset == dataset, entries.c.asked.in_(classes)
        )
        return set(self.connection.scalars(found))

    def settled(self, dataset: str) -> bool:
        """Whether any table of a data set was ever made."""
        found = sa.select(entries.c.id).where(
            entries.c.dataset == dataset, entries.c.asked == entries.c.source,
            entries.c.status != "claimed",
        ).limit(1)  # fmt: skip
        return self.connection.scalar(found) is not None

    def copy(self, dataset: str, into: Transaction) -> None:
        """Write all that is known of a data set into another database, a new one."""
        identity = self.identity(dataset)
        if identity is not None:
            into.identify(dataset, identity)
        for table in (entries, wanted):
            found = self.connection.execute(sa.select(table).where(table.c.dataset == dataset))
            rows = [dict(row._mapping) for row in found]
            if rows:
                into.connection.execute(sa.insert(table), rows)


def _own(place: Place) -> dict[str, object]:
    return {"dataset_": place.dataset, "edition_": place.edition, "scope_": place.scope}


def format_of(connection: sa.Connection) -> int | None:
    """Return the version of the tables that are there, None where there are none."""
    if not sa.inspect(connection).has_table(facts.name):
        return None
    found = connection.scalar(sa.select(facts.c.value).where(facts.c.name == "format"))
    return None if found is None else int(found)


def create(connection: sa.Connection) -> None:
    """Make the tables."""
    metadata.create_all(connection)
    connection.execute(sa.insert(facts), {"name": "format", "value": str(FORMAT)})
