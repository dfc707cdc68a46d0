"""A store knows its ledger: detail that is used up is not released again from another one.

1,600 cells of age, sex and health for 2,000 people are guarded, and one table may show them.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import ParameterError, Sealed
from discreet.ledger import Database
from discreet.population import Store, state
from discreet.population.state import MARK
from stores import build_town

SETTING = "DISCREET_DATABASE_URL"
FIRST, SECOND = "age,sex", "age,sex,health"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return build_town(folder / "data", folder / "store", rows=2_000)


@pytest.fixture
def fresh(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "store"))


@pytest.fixture
def used(fresh: Path) -> Path:
    """Return a store whose detail is used up, with a copy of its ledger from before that."""
    dc.open(fresh).release("sex")  # uses no look
    changed(fresh, f"VACUUM INTO '{fresh.parent}/before.db'")
    dc.open(fresh).release(FIRST)
    with pytest.raises(dc.QueryRefused, match="as many released tables"):
        dc.open(fresh).release(SECOND)
    return fresh


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def changed(store: Path, *statements: str) -> None:
    with closing(sqlite3.connect(store / "state.db")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def another(store: Path, folder: Path, released: str = "health,sex") -> Path:
    """Return the used state of another store of the same data set."""
    other = Path(shutil.copytree(store, folder / "other"))
    (other / MARK).unlink()
    (other / "records").unlink()
    (other / "state.db").unlink()
    assert run("ledger", other, "--new").exit_code == 0
    dc.open(other).release(released)
    changed(other, f"VACUUM INTO '{folder}/another.db'")
    return folder / "another.db"


def emptied(store: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
    changed(store, "DELETE FROM discreet_entries")


def elsewhere(store: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv(SETTING, f"sqlite:///{folder}/new.db")


def foreign(store: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
    shutil.copy(another(store, folder), store / "state.db")


def forgotten(store: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
    emptied(store, folder, patch)
    changed(store, "DELETE FROM discreet_state WHERE name <> 'format'")


def older(store: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A copy from before the newest release."""
    for beside in store.glob("state.db-*"):
        beside.unlink()
    shutil.copy(store.parent / "before.db", store / "state.db")


def blank(store: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A good database in which nothing is."""
    (store / "state.db").unlink()
    state.make(store)


Harm = Callable[[Path, Path, pytest.MonkeyPatch], None]
HARMS: list[Harm] = [emptied, elsewhere, foreign, forgotten, older, blank]


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("before", [False, True])
def test_another_ledger_seals_the_store(
    used: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Harm, before: bool
) -> None:
    """Also of a store that was used `before` stores knew their ledgers."""
    harm(used, tmp_path, monkeypatch)
    if before:
        (used / MARK).unlink()
    for asked in (FIRST, SECOND, "sex"):
        with pytest.raises(Sealed, match="Put ") as raised:
            dc.open(used).release(asked)
    assert not any(digit in str(raised.value).replace(str(used), "") for digit in "123456789")
    ran = run("table", used, "--by", SECOND)
    assert isinstance(ran.exception, Sealed)


def test_a_record_of_a_table_that_uses_no_look_may_be_ahead_of_the_ledger(used: Path) -> None:
    """A process was killed between the record and the ledger: the table is made and told again."""
    right = dc.open(used).release("health,sex").table.values.tolist()
    changed(used, "DELETE FROM discreet_entries WHERE asked = 'sex,health'")
    assert dc.open(used).release("health,sex").table.values.tolist() == right
    assert run("info", used, "--verify").exit_code == 0
    with pytest.raises(dc.QueryRefused, match="as many released tables"):
        dc.open(used).release(SECOND)


@pytest.mark.parametrize("harm", [emptied, elsewhere, forgotten, older, blank])
def test_a_new_ledger_is_made_of_what_is_recorded(
    used: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Harm
) -> None:
    """What is released is answered with the same figures, and what is used up stays so."""
    right = dc.open(used).release(FIRST).table.values.tolist()
    harm(used, tmp_path, monkeypatch)
    assert run("ledger", used, "--new").exit_code == 0
    assert dc.open(used).release(FIRST).table.values.tolist() == right
    with pytest.raises(dc.QueryRefused, match="as many released tables"):
        dc.open(used).release(SECOND)


def test_tables_of_a_version_that_is_gone_have_used_their_looks(used: Path) -> None:
    text = (used / "records").read_text()
    (used / "records").write_text(
        text.replace(Store(used).open().id, "20200101T000000000000-000000")
    )
    (used / "state.db").unlink()
    assert run("ledger", used, "--new").exit_code == 0
    for asked in (FIRST, SECOND):
        with pytest.raises(dc.QueryRefused, match="as many released tables"):
            dc.open(used).release(asked)


def test_a_ledger_that_knows_the_same_tables_is_still_another_store_s(
    used: Path, tmp_path: Path
) -> None:
    shutil.copy(another(used, tmp_path, FIRST), used / "state.db")
    with pytest.raises(Sealed, match="another store's"):
        dc.open(used)


def test_a_ledger_of_another_store_is_not_made_this_ones(used: Path, tmp_path: Path) -> None:
    shutil.copy(another(used, tmp_path), used / "state.db")
    before = (used / "state.db").read_bytes()
    ran = run("ledger", used, "--new")
    assert isinstance(ran.exception, ParameterError)
    assert "another store's" in str(ran.exception)
    assert (used / "state.db").read_bytes() == before  # nothing was entered


def test_records_that_cannot_be_read_make_no_ledger(used: Path) -> None:
    (used / "records").write_text("nonsense\n")
    for words in (("table", used, "--by", "sex"), ("ledger", used, "--new")):
        assert isinstance(run(*words).exception, Sealed)


def test_a_fresh_store_takes_the_ledger_that_is_there(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two copies of a store on one database, as two machines have them: looks are shared."""
    copy = Path(shutil.copytree(fresh, tmp_path / "copy"))
    monkeypatch.setenv(SETTING, f"sqlite:///{tmp_path}/shared.db")
    dc.open(fresh).release(FIRST)
    with pytest.raises(dc.QueryRefused, match="as many released tables"):
        dc.open(copy).release(SECOND)
    assert (copy / MARK).read_text() == (fresh / MARK).read_text()
    assert (copy / MARK).stat().st_mode & 0o777 == 0o600


def test_a_store_of_before_takes_its_ledger_once_and_says_so(
    used: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (used / MARK).unlink()
    changed(used, "DELETE FROM discreet_state WHERE name <> 'format'")
    dc.open(used).release(FIRST)
    assert [record.message for record in caplog.records] == [
        f"{used}: the ledger is known as its own from now on"
    ]
    dc.open(used).release(FIRST)
    assert len(caplog.records) == 1


def test_a_read_only_store_keeps_the_mark_beside_its_records(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv(SETTING, f"sqlite:///{tmp_path}/one.db")
    dc.open(fresh).release(FIRST)
    assert not (fresh / MARK).exists()
    dc.open(fresh).release(FIRST)
    monkeypatch.setenv(SETTING, f"sqlite:///{tmp_path}/another.db")
    with pytest.raises(Sealed, match="does not know"):
        dc.open(fresh)


def test_a_mark_that_is_none_seals_the_store(used: Path) -> None:
    (used / MARK).write_text("")
    with pytest.raises(Sealed, match="32 hexadecimal digits"):
        dc.open(used)


def test_a_ledger_in_memory_belongs_to_nobody(used: Path) -> None:
    before = (used / "records").read_bytes()
    trying = dc.open(used, database="sqlite://")
    for asked in ("sex", FIRST, "health"):
        assert trying.release(asked)
    assert (used / "records").read_bytes() == before
    assert dc.open(used).release("sex"), "the store is not sealed by it"
    assert not Database.of("sqlite://").lasting
