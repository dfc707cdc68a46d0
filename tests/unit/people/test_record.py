from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
import sqlalchemy as sa

from discreet.errors import LedgerUnavailable, ParameterError
from discreet.ledger import Database
from discreet.people.exported import as_csv
from discreet.people.model import Person
from discreet.people.people import People
from discreet.people.record import START, Line, Record, chained, due
from discreet.people.tables import allow_removal, forbid_changes, record, record_start


def write(people: People, number: int = 5) -> Record:
    for i in range(number):
        people.record.add(Line("asked", f"p{i % 2}@example.org", question=f"sex,age {i}"))
    return people.record


def without_triggers(people: People, *statements: sa.Executable) -> None:
    """Do what somebody with the file in hand could do."""
    with people.kept.database.writing("people") as transaction:
        for name in ("update", "delete"):
            transaction.connection.exec_driver_sql(f"DROP TRIGGER discreet_record_{name}")
        for statement in statements:
            transaction.connection.execute(statement)


def test_every_line_holds_the_hash_of_all_before_it(people: People) -> None:
    lines = write(people).lines()
    assert [one.n for one in lines] == [1, 2, 3, 4, 5]
    assert lines[0].before == START
    for before, one in pairwise(lines):
        assert one.before == before.hash
        assert one.hash == chained(one.n, one.time, one.line, before.hash)
    found = people.record.verify()
    assert found.broken is None
    assert (found.lines, found.last, found.head) == (5, 5, lines[-1].hash)


def test_the_database_itself_refuses_changes(people: People) -> None:
    write(people)
    for statement in (
        sa.update(record).values(verdict="released"),
        sa.delete(record).where(record.c.n == 5),
    ):
        with pytest.raises(LedgerUnavailable), people.kept.writing() as connection:
            connection.execute(statement)
    assert people.record.verify().broken is None


@pytest.mark.parametrize("column", ["time", "person", "question", "verdict", "note", "tier"])
def test_an_altered_line_is_found(people: People, column: str) -> None:
    kept = write(people)
    without_triggers(people, sa.update(record).where(record.c.n == 3).values({column: "other"}))
    found = kept.verify()
    assert found.broken == 3
    assert "not as it was written" in found.why


def test_a_line_altered_with_its_hash_is_found_by_the_next(people: People) -> None:
    kept = write(people)
    one = kept.lines()[2]
    line = Line("asked", "p0@example.org", question="another")
    values = {"question": "another", "hash": chained(3, one.time, line, one.before)}
    without_triggers(people, sa.update(record).where(record.c.n == 3).values(values))
    assert kept.verify().broken == 4


@pytest.mark.parametrize("gone", [1, 3])
def test_a_removed_line_is_found(people: People, gone: int) -> None:
    kept = write(people)
    without_triggers(people, sa.delete(record).where(record.c.n == gone))
    found = kept.verify()
    assert found.broken is not None
    assert found.why == f"line {gone} is missing"


def test_an_end_that_was_cut_off_is_found_by_what_was_noted(people: People) -> None:
    kept = write(people)
    noted = kept.verify()
    head = f"{noted.last}:{noted.head}"
    assert kept.verify(head).broken is None
    kept.add(Line("asked"))
    assert kept.verify(head).broken is None
    without_triggers(people, sa.delete(record).where(record.c.n >= 5))
    assert kept.verify().broken is None  # the chain alone cannot tell
    assert kept.verify(head).broken == 5
    kept.add(Line("asked", note="written in its place"))
    found = kept.verify(head)
    assert found.broken == 5
    assert "noted" in found.why


@pytest.mark.parametrize("head", ["5", "5:abc", "x:" + "0" * 64])
def test_what_was_noted_must_be_whole(people: People, head: str) -> None:
    with pytest.raises(ParameterError, match="NUMBER:HASH"):
        people.record.verify(head)


def test_a_beginning_that_was_cut_off_is_missed(people: People) -> None:
    """Where the chain starts is a row that whoever may write the database can write too."""
    kept = write(people)
    last = kept.lines()[1]
    with people.kept.writing() as connection:
        allow_removal(connection)
        connection.execute(sa.delete(record).where(record.c.n <= last.n))
        start = {"n": last.n, "hash": last.hash, "time": last.time}
        connection.execute(sa.insert(record_start), start)
        forbid_changes(connection)
    found = kept.verify()
    assert (found.broken, found.why) == (1, "lines up to 2 are missing")


def test_lines_can_be_had_of_one_person(people: People) -> None:
    kept = write(people)
    assert [one.n for one in kept.lines("p0@example.org")] == [1, 3, 5]
    assert [one.n for one in kept.lines(most=2)] == [4, 5]


def test_old_lines_are_removed_and_the_rest_still_verifies(people: People) -> None:
    now = datetime.now(UTC)
    for days in (3000, 2500, 2000, 10, 0):
        people.record.add(Line("asked"), now - timedelta(days=days))
    # Five years are 1,826 days: the first three lines are older.
    assert people.record.prune(due(5, now.date())) == 3
    lines = people.record.lines()
    assert [one.n for one in lines] == [4, 5, 6]
    assert lines[-1].line.action == "retention"
    found = people.record.verify()
    assert found.broken is None
    assert (found.first, found.last) == (4, 6)
    assert people.record.prune(due(5, now.date())) == 0
    with pytest.raises(LedgerUnavailable), people.kept.writing() as connection:
        connection.execute(sa.delete(record))
    # More than was due is missed.
    without_triggers(people, sa.delete(record).where(record.c.n == 4))
    assert people.record.verify().why == "line 4 is missing"


def test_what_a_custodian_does_is_in_the_record(people: People, ada: Person) -> None:
    people.accounts.change(ada, quota=5)
    people.entrance.make_key(ada, "notebook")
    people.accounts.end(ada)
    notes = [one.line.note for one in people.record.lines()]
    assert notes[0] == "ada@example.org is made, licensed"
    assert notes[1] == "ada@example.org: quota 5"
    assert notes[2].startswith("key ")
    assert notes[3] == "ada@example.org is ended"


def test_an_action_that_fails_leaves_no_line_and_no_change(people: People, ada: Person) -> None:
    before = len(people.record.lines())
    with pytest.raises(ParameterError):
        people.entrance.end_key("unknown")
    with pytest.raises(ParameterError):
        people.accounts.add(ada.email, "Ada", "reader")
    assert len(people.record.lines()) == before


def test_an_export_is_no_formula(people: People) -> None:
    people.record.add(Line("asked", "=cmd|' /C calc'!A0", note="+1"))
    rows = list(csv.DictReader(io.StringIO(as_csv(people.record.lines()).decode())))
    assert rows[0]["person"].startswith("'=")
    assert rows[0]["note"] == "'+1"
    assert rows[0]["n"] == "1"


def test_on_postgresql_the_record_is_kept_the_same(postgres: str) -> None:
    people = People(Database.of(postgres))
    write(people)
    for statement in (
        "UPDATE discreet_record SET note = 'x'",
        "DELETE FROM discreet_record",
        "TRUNCATE discreet_record",
    ):
        with pytest.raises(LedgerUnavailable), people.kept.writing() as connection:
            connection.exec_driver_sql(statement)
    assert people.record.verify().lines == 5
    assert people.record.prune((datetime.now(UTC) + timedelta(days=1)).date()) == 5
    with pytest.raises(LedgerUnavailable), people.kept.writing() as connection:
        connection.exec_driver_sql("DELETE FROM discreet_record")
    assert people.record.verify().broken is None
    ada = people.accounts.add("ada@example.org", "Ada", "licensed")
    token = people.entrance.begin(ada, "test")
    found = people.entrance.by_session(token)
    assert found is not None
    assert people.uses.use(found, "census", "e", "s", "sex,age")
    people.close()
