"""The state database: SQLite in the store, in memory, or PostgreSQL for several servers.

A transaction that writes is alone: on SQLite from its beginning (BEGIN IMMEDIATE), on PostgreSQL
among all that write about the same data set (an advisory lock). It is on the disk when it ends.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerUnavailable, ParameterError
from discreet.files import sync
from discreet.population.state import FILE, SETTING

if TYPE_CHECKING:
    import sqlalchemy as sa

    from discreet.ledger.tables import Transaction

_MEMORY = "sqlite://"
_FILE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://", "postgresql+psycopg://")
# Seconds to wait for others that write; each takes milliseconds.
_PATIENCE = 30
# A key for making tables; those of data sets are hashes.
_CREATING = 0
_WRITES = {"writes": True}  # what a connection is told that writes, see `_begun`


@dataclass(frozen=True)
class Place:
    """Whose entries: of a data set, in an edition, for a scope, which is everybody if public."""

    dataset: str
    edition: str
    scope: str
    public: bool


@dataclass(frozen=True)
class Row:
    """An entry of the ledger as it is kept, its classes by name.

    `changed` numbers the changes of a data set's entries.
    """

    id: int
    changed: int
    edition: str
    scope: str
    asked: str
    source: str
    status: str
    origin: str
    since: date


class Database:
    """Where the state is kept; opened when it is first used, and once more after a fork."""

    def __init__(self, url: str, path: Path | None = None) -> None:
        self.url = url
        self.path = path
        # One connection alone may use memory, and in one process writers of a file queue here.
        self._turn = threading.RLock()
        self._opening = threading.Lock()
        self._engine: sa.Engine | None = None
        self._writer: sa.Connection | None = None  # to a file; whoever has the turn writes by it
        self._process = 0
        self._inode = (0, 0)

    @classmethod
    def of(cls, given: str | Path) -> Database:
        """Return the database at a path or URL; `sqlite://` is a new one in memory."""
        text = str(given)
        if text in (_MEMORY, f"{_FILE}:memory:"):
            return cls(_MEMORY)
        if text.startswith(_FILE):
            given = text = text.removeprefix(_FILE)
        if isinstance(given, Path) or "://" not in text:
            return cls(f"{_FILE}{text}", Path(text))
        for start in _POSTGRES:
            if text.startswith(start):
                return cls(f"postgresql+psycopg://{text.removeprefix(start)}")
        raise ParameterError(
            "the state database must be a file or a URL that begins with 'postgresql://' or "
            f"'sqlite:///'. Got one that begins with '{text.split('://')[0]}://'."
        )

    @classmethod
    def of_store(cls, store: Path, environment: Mapping[str, str] = os.environ) -> Database:
        """Return the database of a store: the one that is set, or else the file in its folder."""
        return cls.of(environment.get(SETTING) or store / FILE)

    @property
    def lasting(self) -> bool:
        """Whether it outlives the program."""
        return self.url != _MEMORY

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Give a transaction that only reads."""
        with self._connected(self.url == _MEMORY) as connection, connection.begin():
            yield _transaction(connection)

    @contextmanager
    def writing(self, dataset: str) -> Iterator[Transaction]:
        """Give a transaction that nobody else can write beside; an error in it undoes it all."""
        alone, kept = self.url.startswith(_MEMORY), self.path is not None
        with self._connected(alone, kept) as connection:
            if not kept:
                connection = connection.execution_options(**_WRITES)
            with connection.begin():
                _lock(connection, _key(dataset))
                yield _transaction(connection)

    @contextmanager
    def _connected(self, alone: bool, kept: bool = False) -> Iterator[sa.Connection]:
        """Give a connection; any error of the database becomes the one that callers know.

        One that is `kept` is open from one turn to the next: to open it takes longer than to write.
        """
        with (
            self._turn if alone else nullcontext(),
            _told(),
            nullcontext(self._kept()) if kept else self._open().connect() as connection,
        ):
            if self.path is not None and _inode(self.path) != self._inode:
                raise LedgerUnavailable(f"{self.path} was moved or replaced while it was open")
            yield connection

    def _kept(self) -> sa.Connection:
        """Return the connection by which a file is written to."""
        engine = self._open()
        if self._writer is None or self._writer.closed or self._writer.invalidated:
            self._writer = engine.connect().execution_options(**_WRITES)
        return self._writer

    def copy(self, dataset: str, path: Path) -> None:
        """Write all that is known of a data set into a new file, as it is at this moment."""
        made = Database.of(path)
        with self.reading() as here, made.writing(dataset) as there:
            here.copy(dataset, there)
        made.close()

    def close(self) -> None:
        """Close what is open. The database can be used again; one in memory is gone."""
        with self._opening:
            if self._writer is not None:
                self._writer.close()
            if self._engine is not None:
                self._engine.dispose()
            self._engine = self._writer = None

    def _open(self) -> sa.Engine:
        with self._opening:
            if self._engine is not None and self._process != os.getpid():
                self._engine.dispose(close=False)  # its connections are the parent's
                self._engine = self._writer = None
            if self._engine is None:
                if self.path is not None and not self.path.exists():
                    _new_file(self.path)
                engine = _engine(self.url)
                weakref.finalize(self, engine.dispose)
                _prepare(engine)
                self._engine, self._process = engine, os.getpid()
                self._inode = (0, 0) if self.path is None else _inode(self.path)
            return self._engine


def _inode(path: Path) -> tuple[int, int]:
    """Return which file has a name: what is written to one that lost its name is lost too."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def _transaction(connection: sa.Connection) -> Transaction:
    from discreet.ledger.tables import Transaction

    return Transaction(connection)


@contextmanager
def _told() -> Iterator[None]:
    """Raise whatever goes wrong with the database as the one error that callers know."""
    try:
        yield
    except OSError as error:
        raise LedgerUnavailable(f"{error.filename}: {error.strerror}") from error
    except Exception as error:
        from sqlalchemy.exc import SQLAlchemyError

        if not isinstance(error, sqlite3.Error | SQLAlchemyError):
            raise
        said = str(getattr(error, "orig", None) or error).strip()
        raise LedgerUnavailable(said.splitlines()[0] if said else type(error).__name__) from error


def _engine(url: str) -> sa.Engine:
    import sqlalchemy as sa

    if not url.startswith(_MEMORY):
        try:
            return sa.create_engine(
                url,
                # At a higher level a transaction would not see what was written while it waited.
                isolation_level="READ COMMITTED",
                pool_pre_ping=True,
                connect_args={"connect_timeout": _PATIENCE},
            )
        except ModuleNotFoundError:
            raise ParameterError(
                "PostgreSQL needs the package psycopg: pip install 'discreet[postgres]'"
            ) from None
        except (sa.exc.ArgumentError, ValueError):
            raise ParameterError(
                "the URL of the state database must be like postgresql://USER@HOST/NAME."
            ) from None
    memory = {"poolclass": sa.StaticPool} if url == _MEMORY else {}
    arguments = {"timeout": _PATIENCE, "check_same_thread": False}
    # The name of a folder may hold what has a meaning in a URL.
    place = sa.URL.create("sqlite", database=url.removeprefix(_FILE) if not memory else None)
    engine = sa.create_engine(place, connect_args=arguments, **memory)
    sa.event.listen(engine, "connect", _set_up)
    sa.event.listen(engine, "begin", _begun)
    return engine


def _set_up(connection: sqlite3.Connection, record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, below
    connection.execute("PRAGMA synchronous = FULL")


def _begun(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    driver(connection).execute("BEGIN IMMEDIATE" if writes else "BEGIN")


def driver(connection: sa.Connection) -> sqlite3.Connection:
    """Return the connection to SQLite itself, for what is said to it for every table."""
    found = connection.connection.driver_connection
    assert isinstance(found, sqlite3.Connection)
    return found


def _lock(connection: sa.Connection, key: int) -> None:
    """Wait on PostgreSQL until nobody else writes under a key."""
    import sqlalchemy as sa

    if connection.dialect.name != "postgresql":
        return
    connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_PATIENCE}s'"))
    connection.execute(
        sa.text(
            "SELECT set_config('synchronous_commit', 'on', true) "
            "WHERE current_setting('synchronous_commit') = 'off'"
        )
    )
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


def _key(dataset: str) -> int:
    digest = blake2b(dataset.encode(), digest_size=8, person=b"discreet ledger").digest()
    return int.from_bytes(digest, signed=True)


def _prepare(engine: sa.Engine) -> None:
    """Make the tables where there are none; refuse those of a newer program."""
    from discreet.ledger import tables

    with engine.connect() as connection, connection.begin():
        found = tables.format_of(connection)
    if found is None:
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            _lock(connection, _CREATING)
            found = tables.format_of(connection)
            if found is None:
                tables.create(connection)
                found = tables.FORMAT
    if found != tables.FORMAT:
        raise ParameterError(
            f"the state database has format {found}; this program reads format {tables.FORMAT}. "
            "Use the program that wrote it, or a newer one."
        )


def _new_file(path: Path) -> None:
    """Make a database file that is there whole or not at all, and only its owner's.

    SQLite gives the files beside it (-wal, -shm) the same mode.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        engine = _engine(f"{_FILE}{part}")
        try:
            _prepare(engine)
        finally:
            engine.dispose()
        sync(part)
        with suppress(FileExistsError):  # another process was first
            os.link(part, path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)
