"""Whether a ledger is the one of a store: without its own, used-up detail would be released again.

Store and ledger share an id, drawn when they are first opened together. And the guarded tables that
the store recorded last are in the ledger: an older copy of it, or one that was emptied, does not
know them. Tables that use no look are entered with their record, so that a process that is killed
in between may leave a record of one that the ledger does not know: nothing is lost with it.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, ParameterError, Sealed
from discreet.files import sync, written
from discreet.ledger.database import Database, Place
from discreet.ledger.ledgers import Ledgers
from discreet.ledger.model import Origin, Status
from discreet.policy import Tier
from discreet.population.state import MARK
from discreet.query import QuestionClass
from discreet.query.classes import EVERYBODY

_TAIL = 2**20  # bytes at the end of the records that are looked at
_NEWEST = 100  # and lines of them
_ID = 32  # hexadecimal digits


@dataclass(frozen=True)
class Belonging:
    """A store, and where its releases are recorded: in it, or elsewhere if it is read-only."""

    store: Path
    records: Path
    dataset: str

    def check(self, ledgers: Ledgers) -> None:
        """Raise `Sealed` unless a ledger is this store's; a store that has none yet takes it."""
        mine, database = self._mark(), ledgers.database
        newest = [name for name, tier in self._newest() if _used_looks(name, tier, ledgers)]
        with database.reading() as transaction:
            its = transaction.identity(self.dataset)
            known = transaction.known(self.dataset, newest)
        if mine is not None and its is None:
            raise Sealed(f"the state database does not know {self.store}. {self._remedy}")
        if mine not in (None, its):
            raise Sealed(f"the state database is another store's. {_OTHER}")
        if not known.issuperset(newest):
            raise Sealed(
                f"the state database does not know what was last released from {self.store}. "
                f"{self._remedy}"
            )
        if mine is None:
            self._take(database)
            if newest:
                _log.warning("%s: the ledger is known as its own from now on", self.store)

    def begin(self, database: Database, ledgers: dict[str, Ledgers]) -> None:
        """Make a ledger that lacks something this store's: enter all tables that are recorded.

        `ledgers` are those of the versions that are kept. A table of another version is entered as
        one of an edition that is gone: its looks are used.
        """
        with database.writing(self.dataset) as transaction:
            if self._mark() not in (None, transaction.identity(self.dataset) or self._mark()):
                raise ParameterError(f"the state database is another store's. {_OTHER}")
            for name, status, tier, version in self._recorded():
                place = self._place(tier, version, ledgers)
                if transaction.find(place, name) is None:
                    transaction.add(place, [(name, name, status, Origin.ASKED)])
        self._take(database)

    def _place(self, tier: str, version: str, ledgers: dict[str, Ledgers]) -> Place:
        of = ledgers.get(version)
        found = None if of is None else of.policy.tiers.get(tier)
        if of is None or found is None:
            now = next(reversed(ledgers.values())).policy.tiers.get(tier)
            return Place(self.dataset, f"version {version}", tier, _is_public(now))
        return Place(self.dataset, of.edition(found), of.scope_of(found), found.public)

    def _take(self, database: Database) -> None:
        """Let store and ledger share an id, that of the ledger if it has one."""
        with database.writing(self.dataset) as transaction:
            its = transaction.identity(self.dataset)
            if its is None:
                its = self._mark() or secrets.token_hex(_ID // 2)
                transaction.identify(self.dataset, its)
        if self._mark() is None:
            with suppress(OSError):  # where nothing can be written, nothing is recorded either
                with written(self.records.with_name(MARK)) as file:
                    file.write(f"{its}\n".encode("ascii"))
                sync(self.records.parent)

    def _mark(self) -> str | None:
        for path in (self.store / MARK, self.records.with_name(MARK)):
            try:
                found = path.read_text("ascii", "replace").strip()
            except FileNotFoundError:
                continue
            if len(found) != _ID or not set(found) <= set("0123456789abcdef"):
                raise Sealed(
                    f"{path} must hold {_ID} hexadecimal digits, by which the store knows its "
                    "ledger. Put the file back from a backup."
                )
            return found
        return None

    def _newest(self) -> list[tuple[str, str]]:
        """Return class and tier of the tables that were recorded last."""
        found: dict[tuple[str, str], None] = {}
        for path in self._logs:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - _TAIL))
                lines = file.read().splitlines()
            read = [line for line in map(_line, lines[1 if size > _TAIL else 0 :]) if line]
            if not read and size:
                raise Sealed(f"{path} cannot be read. Put the file back from a backup.")
            found |= dict.fromkeys((_class_of(line), str(line["tier"])) for line in read[-_NEWEST:])
        return list(found)

    @property
    def _logs(self) -> list[Path]:
        """The files of records: a store may have become read-only."""
        paths = dict.fromkeys((self.store / self.records.name, self.records))
        return [path for path in paths if path.exists()]

    def _recorded(self) -> Iterator[tuple[str, Status, str, str]]:
        """Yield all tables that are recorded: class, what became of it, tier and version."""
        lines = [(path, each) for path in self._logs for each in path.read_bytes().splitlines()]
        for number, (path, text) in enumerate(lines, 1):
            line = _line(text)
            if line is None:
                raise Sealed(
                    f"line {number} of {path} cannot be read. Put the file back from a backup, or "
                    "write the line anew."
                )
            yield _class_of(line), _status(line), str(line["tier"]), str(line["data_version"])

    @property
    def _remedy(self) -> str:
        return (
            "With it detail would be released again that is used up. Put the database back from a "
            "backup, or, if it is lost, make a new one of what is recorded: "
            f"discreet ledger {self.store} --new"
        )


_OTHER = "Put this store's own back from a backup, or name another database."
_log = logging.getLogger(__name__)


def _line(text: bytes) -> dict[str, Any] | None:
    """Return what a line of the records says, None where it is none."""
    try:
        found = json.loads(text)
        return found if {"question", "tier", "data_version", "verdict"} <= set(found) else None
    except (ValueError, TypeError, RecursionError):
        return None


def _class_of(line: dict[str, Any]) -> str:
    return str(line["question"]).removeprefix("by=") or EVERYBODY


def _used_looks(name: str, tier: str, ledgers: Ledgers) -> bool:
    """Whether a table is guarded; one of which nothing is known any more counts as if it were."""
    of = ledgers.policy.tiers.get(tier)
    try:
        asked = QuestionClass.named(name, ledgers.version.schema)
    except DiscreetError:
        return True
    return of is None or ledgers.space(of).guarded(asked)


def _status(line: dict[str, Any]) -> Status:
    if line["verdict"] not in ("released", "joint"):
        return Status.REFUSED
    return Status.PARTIAL if line.get("withheld") else Status.RELEASED


def _is_public(tier: Tier | None) -> bool:
    return tier is not None and tier.public
