"""What the ledger says: which table answers a class, and what a new one would use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from discreet.query import QuestionClass


class Status(StrEnum):
    """What became of a table."""

    CLAIMED = "claimed"  # its looks are used; it is not judged yet
    RELEASED = "released"
    PARTIAL = "partial"  # released, with some areas withheld
    REFUSED = "refused"  # for its counts; its looks stay used

    @property
    def shown(self) -> bool:
        """Whether figures of the table are published."""
        return self in (Status.RELEASED, Status.PARTIAL)


class Origin(StrEnum):
    """Why a table was made."""

    PLAN = "plan"
    ASKED = "asked"
    OFFICIAL = "official"  # published exactly, as benchmark totals are


class State(StrEnum):
    """What would become of a question."""

    RELEASED = "released"  # its table is published
    SUMS = "sums"  # answered by sums of a published table
    LOOK = "look"  # a new table, which uses looks
    FREE = "free"  # a new table, which uses none
    USED = "used"  # no look is left, and no published table covers it
    REFUSED = "refused"  # its table was made, and is not available

    @property
    def new(self) -> bool:
        """Whether a table would be made for it."""
        return self in (State.LOOK, State.FREE)


@dataclass(frozen=True)
class Route:
    """The table that answers a class, itself or a finer one. It never changes in an edition."""

    asked: QuestionClass
    source: QuestionClass
    status: Status

    @property
    def summed(self) -> bool:
        """Whether the class is answered by sums of a finer table."""
        return self.source != self.asked


@dataclass(frozen=True)
class Entry:
    """One class of questions that was decided on, and when."""

    route: Route
    origin: Origin
    since: date


@dataclass(frozen=True)
class Shown:
    """A table that uses a look at a detail, released or not; never who asked for it."""

    name: str
    cells: int
    status: Status
    origin: Origin
    since: date


@dataclass(frozen=True)
class Look:
    """How many tables show a guarded class, and how many may."""

    of: QuestionClass
    used: int
    limit: int

    @property
    def left(self) -> int:
        """How many more may."""
        return max(self.limit - self.used, 0)


@dataclass(frozen=True)
class Outlook:
    """What would become of a question, before it is asked.

    `source` is the table that would answer it and `since` the day it was decided on, where there
    is one. `detail` is the guarded class with the fewest looks left that its table would show, and
    `tables` are those whose looks at it are used.
    """

    state: State
    source: QuestionClass | None = None
    since: date | None = None
    detail: Look | None = None
    tables: tuple[Shown, ...] = ()
