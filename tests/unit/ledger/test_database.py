"""The state database: what is on the disk, who may read it, and several processes at once."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import InternalError, LedgerUnavailable, ParameterError, QueryRefused
from discreet.ledger import Database, Ledger, Route, Status
from discreet.ledger.database import Place
from discreet.ledger.tables import Transaction
from discreet.ledger.tables import entries as ENTRIES
from discreet.query import QuestionClass
from ledgers import ledger, most_looks, of, wide_classes, wide_space

HERE = Path(__file__).parent


def test_the_file_and_those_beside_it_are_their_owners_alone(tmp_path: Path) -> None:
    kept = ledger(Database.of(tmp_path / "state.db"))
    before = os.umask(0)
    try:
        kept.claim(of("sex,age"))
    finally:
        os.umask(before)
    names = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert names == {"state.db": 0o600, "state.db-shm": 0o600, "state.db-wal": 0o600}


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "50% new?a=b#c"
    folder.mkdir()
    kept = ledger(Database.of(folder / "state.db"))
    kept.claim(of("sex,age"))
    assert (folder / "state.db").is_file()
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    kept.database.close()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_ledger_in_memory_is_a_new_one_and_no_file(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = ledger(Database.of(url))
    first.claim(of("sex,age"))
    assert ledger(Database.of(url)).route(of("sex,age")) is None
    assert list(tmp_path.iterdir()) == []


def test_what_is_claimed_is_on_the_disk_and_written_ahead(tmp_path: Path) -> None:
    database = Database.of(tmp_path / "state.db")
    with database.writing("people") as transaction:
        ask = transaction.connection.exec_driver_sql
        assert ask("PRAGMA journal_mode").scalar() == "wal"
        assert ask("PRAGMA synchronous").scalar() == 2  # FULL


def test_sqlite_is_told_the_same_directly_and_by_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [("sex", "sex", "released", "asked"), ("age", "sex,age", "partial", "plan")]
    second = [("sex,la", "sex,la", "claimed", "asked")]
    found = []
    for directly in (True, False):
        monkeypatch.setattr(Transaction, "_by_driver", directly)
        database, rows = Database.of(tmp_path / f"{directly}.db"), []
        for public, decided in ((True, first), (False, second)):
            place = Place("people", "2021", f"scope {public}", public)
            with database.writing("people") as transaction:
                rows += transaction.add(place, decided)
                assert transaction.last("people") == len(rows)
                assert list(transaction.own(place)) == rows[-len(decided) :]
        database.close()
        with closing(sqlite3.connect(tmp_path / f"{directly}.db")) as raw:
            columns = ", ".join(f"{column.name}, typeof({column.name})" for column in ENTRIES.c)
            found.append((rows, raw.execute(f"SELECT {columns} FROM {ENTRIES}").fetchall()))
    assert found[0] == found[1]


def test_the_database_of_a_store_is_in_it_unless_another_is_set(tmp_path: Path) -> None:
    assert Database.of_store(tmp_path, {}).path == tmp_path / "state.db"
    other = Database.of_store(tmp_path, {"DISCREET_DATABASE_URL": "postgresql://host/name"})
    assert other.path is None


@pytest.mark.parametrize("given", ["mysql://host/name", "http://host"])
def test_another_kind_of_database_is_refused(given: str) -> None:
    with pytest.raises(ParameterError, match="begins with 'postgresql://' or 'sqlite:///'"):
        Database.of(given)


def test_a_url_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be like postgresql://"):
        ledger(Database.of("postgresql://user@host:port/name")).claim(of("sex,age"))


def test_a_database_of_a_newer_program_is_refused(url: str) -> None:
    database = Database.of(url)
    ledger(database).claim(of("sex,age"))
    with database.writing("people") as transaction:
        transaction.connection.exec_driver_sql("UPDATE discreet_state SET value = '2'")
    database.close()
    with pytest.raises(ParameterError, match="has format 2; this program reads format 1"):
        ledger(Database.of(url)).claim(of("sex,age"))


def test_a_ledger_is_found_again(url: str) -> None:
    first = Database.of(url)
    ledger(first, looks=1).claim(of("sex,age,oa"))
    assert ledger(first, looks=1).settle(of("sex,age,oa"), Status.RELEASED)
    first.close()
    again = ledger(Database.of(url), looks=1)
    assert again.route(of("sex,age,oa")) == Route(
        of("sex,age,oa"), of("sex,age,oa"), Status.RELEASED
    )
    assert again.claim(of("age,oa")).source == of("sex,age,oa")
    assert [entry.route.asked.name for entry in again.entries()] == ["sex,age,oa", "age,oa"]
    again.database.close()


def test_refused_questions_are_counted_over_processes(url: str) -> None:
    for times in (1, 2):
        kept = ledger(Database.of(url), looks=1)
        kept.claim(of("age,oa"))
        with pytest.raises(QueryRefused):
            kept.claim(of("sex,age,la"))
        assert kept.questions()[of("sex,age,la")] == times
        kept.database.close()


def test_data_sets_do_not_share_a_ledger(url: str) -> None:
    database = Database.of(url)
    one = ledger(database, looks=1)
    other = Ledger(database, "others", "2021", "public", one.space, True)
    assert not one.claim(of("sex,age,oa")).summed
    assert other.route(of("sex,age,oa")) is None
    assert not other.claim(of("sex,age,oa")).summed
    database.close()


def test_sqlalchemy_is_imported_when_a_database_is_used() -> None:
    code = (
        "import sys; from discreet.ledger import Database; Database.of('x'); "
        "sys.exit('sqlalchemy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# When it cannot be written


def _lost(tmp_path: Path, kind: str) -> str:
    """Return the URL of a database that cannot be opened."""
    (tmp_path / "file").write_bytes(b"This is no database, and longer than its header is." * 9)
    places = {
        "no folder": f"{tmp_path}/nowhere/state.db",
        "no database": f"{tmp_path}/file",
        "no server": f"postgresql://somebody:secret@/name?host={tmp_path}",
    }
    return places[kind]


@pytest.mark.parametrize("kind", ["no folder", "no database", "no server"])
def test_nothing_is_decided_without_a_database(tmp_path: Path, kind: str) -> None:
    kept = ledger(Database.of(_lost(tmp_path, kind)))
    for ask in (kept.claim, kept.route):
        with pytest.raises(LedgerUnavailable):
            ask(of("sex,band"))  # not guarded
    for ask in (kept.claim, kept.route, kept.outlook):
        with pytest.raises(LedgerUnavailable, match="cannot be made now") as raised:
            ask(of("sex,age"))
        assert raised.value.reason
        assert "secret" not in f"{raised.value} {raised.value.reason}"


@pytest.mark.parametrize("name", ["sex,band", "sex,age"])
def test_what_cannot_be_settled_or_recorded_is_not_released(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Guarded or not: it stays claimed, and is recorded when that can be done."""
    kept, written, made = ledger(), list[QuestionClass](), {of(name): Status.RELEASED}
    kept.claim(of(name))
    with monkeypatch.context() as lost:
        lost.setattr(Database, "writing", _gone)
        with pytest.raises(LedgerUnavailable):
            kept.settle_all(made, written.extend)
    with pytest.raises(InternalError):
        kept.settle_all(made, _full)
    assert [entry.route.status for entry in kept.entries()] == [Status.CLAIMED]
    for first in ([of(name)], []):
        assert kept.settle_all(made, written.extend) == first
    assert written == [of(name)]


def _full(_: object) -> None:
    raise InternalError("the release could not be recorded, so it was not made")


def _gone(*_: object) -> Any:
    raise LedgerUnavailable("gone")


def test_what_is_released_is_answered_while_the_database_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = ledger()
    kept.claim(of("sex,age"))
    kept.settle(of("sex,age"), Status.RELEASED)
    monkeypatch.setattr(Database, "reading", _gone)
    monkeypatch.setattr(Database, "writing", _gone)
    with pytest.raises(LedgerUnavailable):
        kept.claim(of("age,oa"))
    assert kept.claim(of("sex,age")).status is Status.RELEASED


def test_a_file_that_is_moved_away_is_used_no_more(tmp_path: Path) -> None:
    """What is written to it would be lost; put back, it is used on. Another file is not."""
    kept = ledger(Database.of(tmp_path / "state.db"))
    kept.claim(of("sex,age"))
    (tmp_path / "state.db").rename(tmp_path / "moved")
    for name in ("age,oa", "sex,band"):
        with pytest.raises(LedgerUnavailable, match="cannot be made now"):
            kept.claim(of(name))
    assert not (tmp_path / "state.db").exists()
    shutil.copy(tmp_path / "moved", tmp_path / "state.db")
    with pytest.raises(LedgerUnavailable):
        kept.claim(of("sex,band"))
    (tmp_path / "moved").rename(tmp_path / "state.db")
    assert kept.claim(of("sex,band"))


def test_a_claim_that_does_not_reach_the_disk_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = ledger(looks=1)
    kept.claim(of("sex,age"))
    kept.settle(of("sex,age"), Status.RELEASED)
    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "want", _gone)  # the last step
        with pytest.raises(LedgerUnavailable):
            kept.claim_all([of("age,oa"), of("age,la")])
    assert [entry.route.asked.name for entry in kept.entries()] == ["sex,age"]
    assert {look.of.name for look in kept.looks()} == {"sex,age"}
    assert not kept.claim(of("age,la")).summed  # its look was not used


def test_a_plan_that_fails_is_not_claimed_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ledger()

    def planned() -> Iterator[Any]:
        yield of("sex,age"), "plan"
        raise LedgerUnavailable("gone")

    with pytest.raises(LedgerUnavailable):
        kept.preload(planned())
    assert kept.entries() == kept.looks() == []


# Several at once


def test_threads_share_a_ledger(url: str) -> None:
    space = wide_space()
    kept = Ledger(Database.of(url), "wide", "2021", "public", space, True)
    classes = [c for c in wide_classes(space) if space.guarded(c)][::-1][:60]
    found: list[dict[str, str]] = [{} for _ in range(4)]

    def ask(number: int) -> None:
        for asked in classes[number:] + classes[:number]:
            try:
                found[number][asked.name] = kept.claim(asked).source.name
            except QueryRefused:
                found[number][asked.name] = ""

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tables = [entry.route.source for entry in kept.entries() if not entry.route.summed]
    assert most_looks(space, tables) == 2
    assert all(one == found[0] for one in found)
    kept.database.close()


@pytest.mark.slow
def test_three_processes_at_once_and_one_killed_never_go_over_the_limit(url: str) -> None:
    path = os.pathsep.join([str(HERE.parents[1]), *sys.path])
    processes = [
        subprocess.Popen(
            [sys.executable, HERE / "claiming.py", url, str(seed), str(dies)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": path},
        )
        for seed, dies in ((1, 0), (2, 5), (3, 0))
    ]
    for process in processes:  # all are up before any begins
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, -signal.SIGKILL, 0]

    space = wide_space()
    kept = Ledger(Database.of(url), "wide", "2021", "public", space, True)
    entries = kept.entries()
    decided = {e.route.asked.name: e.route.source.name for e in entries}
    for lines in said:  # nothing was answered that is not claimed, and all agree
        for line in lines:
            asked, source = line.split()
            assert decided[asked] == source
    tables = [e.route.source for e in entries if not e.route.summed]
    assert most_looks(space, tables) == 2
    kept.database.close()


def test_a_file_that_two_make_at_once_is_made_once(tmp_path: Path) -> None:
    kept = [ledger(Database.of(tmp_path / "state.db")) for _ in range(8)]
    start = threading.Barrier(len(kept))

    def claim(one: Ledger) -> None:
        start.wait()
        one.claim(of("sex,age"))

    threads = [threading.Thread(target=claim, args=(one,)) for one in kept]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept[0].entries()) == 1
    assert sorted(path.name for path in tmp_path.iterdir())[0] == "state.db"
    for one in kept:
        one.database.close()
    with closing(sqlite3.connect(tmp_path / "state.db")) as file:
        assert file.execute("SELECT count(*) FROM discreet_state").fetchone() == (1,)


def test_a_copy_says_the_same_of_its_data_set_and_nothing_of_others(
    url: str, tmp_path: Path
) -> None:
    kept = ledger(Database.of(url))
    kept.claim(of("sex,age"))
    kept.settle(of("sex,age"), Status.PARTIAL)
    for dataset, entries in (("people", kept.entries()), ("other", [])):
        Database.of(url).copy(dataset, tmp_path / f"{dataset}.db")
        copied = ledger(Database.of(tmp_path / f"{dataset}.db"))
        assert copied.entries() == entries
        assert bool(copied.looks()) == bool(entries)
