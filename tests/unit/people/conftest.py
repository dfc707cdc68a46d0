"""People in a database of their own, and a clock that is told the time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from discreet.ledger import Database
from discreet.people.entrance import Entrance
from discreet.people.model import Person
from discreet.people.people import People
from persons import quick_hashes
from postgres import running_postgres


class Clock:
    """The time, which passes when it is told to."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def wait(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick_hashes(monkeypatch)


@pytest.fixture
def people() -> Iterator[People]:
    made = People(Database.of("sqlite://"))
    yield made
    made.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def entrance(people: People, clock: Clock) -> Entrance:
    return Entrance(people.kept, clock)


@pytest.fixture
def ada(people: People) -> Person:
    return people.accounts.add("Ada@Example.org", "Ada", "licensed", quota=2)
