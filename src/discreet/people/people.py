"""All that is known of people, in one place, over one state database."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from discreet.ledger import Database
from discreet.people.accounts import Accounts
from discreet.people.entrance import Entrance
from discreet.people.quotas import Uses
from discreet.people.record import Record
from discreet.people.reviews import Reviews
from discreet.people.saved import Saved
from discreet.people.tables import Kept


class People:
    """Accounts, who comes in, what is used up, and the record."""

    def __init__(self, database: Database) -> None:
        self.kept = Kept(database)

    @classmethod
    def of_store(cls, store: Path) -> People:
        """Return the people in the state database of a store."""
        return cls(Database.of_store(store.resolve()))

    @cached_property
    def accounts(self) -> Accounts:
        """People, groups, projects and licences."""
        return Accounts(self.kept)

    @cached_property
    def entrance(self) -> Entrance:
        """Passwords, sessions and keys."""
        return Entrance(self.kept)

    @cached_property
    def uses(self) -> Uses:
        """New tables of fine detail."""
        return Uses(self.kept)

    @cached_property
    def record(self) -> Record:
        """Who asked what."""
        return Record(self.kept)

    @cached_property
    def saved(self) -> Saved:
        """Tables with names."""
        return Saved(self.kept)

    @cached_property
    def reviews(self) -> Reviews:
        """Questions that were sent for review."""
        return Reviews(self.kept)

    @property
    def any(self) -> bool:
        """Whether there are accounts at all; nothing is made."""
        return self.kept.used and bool(self.accounts.everybody())

    def close(self) -> None:
        """Close the database."""
        self.kept.database.close()
