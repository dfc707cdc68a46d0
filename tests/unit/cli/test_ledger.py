"""`discreet ledger`: what is released, what is used up, what a table would use."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.ledger import Status
from discreet.query import QuestionClass
from discreet.service.opened import open_store
from stores import build_town, two_looks

TODAY = datetime.now(UTC).date().isoformat()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 20,000 people: detail of more than 200 cells is guarded."""
    folder = tmp_path_factory.mktemp("town")
    made = build_town(folder, folder / "store", policy=two_looks(folder))
    opened = open_store(made)
    kept = opened.ledger
    for name, status in (
        ("sex,age,ward", Status.RELEASED),
        ("age,health,ward", Status.REFUSED),
        ("health", Status.RELEASED),
    ):
        kept.settle(kept.claim(QuestionClass.named(name, opened.schema)).source, status)
    kept.claim(QuestionClass.named("age,ward", opened.schema))
    kept.database.close()
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(monkeypatch, capsys)


class Run:
    """Runs `discreet ledger` at 80 columns; gives its exit status and what it printed."""

    def __init__(self, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        patch.setenv("COLUMNS", "80")
        self.patch, self.capsys = patch, capsys

    def __call__(self, *given: object) -> tuple[int, str]:
        self.patch.setattr(sys, "argv", ["discreet", "ledger", *map(str, given)])
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = self.capsys.readouterr()
        return int(stopped.value.code or 0), shown.out + shown.err


def test_what_is_released_and_used_up_is_listed(store: Path, run: Run) -> None:
    # age,district has 80 · 4 = 320 cells. sex,health,ward and sex,age_band,ward have 400 and 240
    # and lie in one table each; so do age,health with 400 and health,age_band,ward with 600.
    code, said = run(store)
    assert code == 0
    assert (
        said
        == f"""\
The town (town), Public
Detail of more than 200 cells, fewer than 100 of 20,000 people in each, may be
in 2 tables.

Table             Cells  Status    Why    Since
sex,age,ward      6,400  released  asked  {TODAY}
age,health,ward  16,000  refused   asked  {TODAY}
health                5  released  asked  {TODAY}

Answered by sums  of the table
age,ward          sex,age,ward

Used up       In tables
age,district  2 of 2
No new table may show one of these; sums of the tables above may.
3 details are in some table, and may be in more.
"""
    )


def test_all_of_it_as_json(store: Path, run: Run) -> None:
    said = json.loads(run(store, "--json")[1])
    assert (said["dataset"], said["tier"], said["population"]) == ("town", "public", 20_000)
    assert [table["name"] for table in said["tables"]] == [
        "sex,age,ward", "age,health,ward", "health",
    ]  # fmt: skip
    assert said["sums"][0]["source"] == "sex,age,ward"
    assert said["details"][0] == {"name": "age,district", "cells": 320, "used": 2, "limit": 2}


@pytest.mark.parametrize(
    ("by", "state", "sentence"),
    [
        ("sex,age,ward", "released", "It is released, since"),
        ("age,ward", "sums", "answered by sums of 'sex,age,ward', which is released."),
        ("rare,sex", "look", "It would be a new table, and use a look at all of its detail."),
        ("sex,age", "free", "It may be released, and uses nothing."),
        ("age,rare,ward", "used", "It is refused: detail in it is used up"),
        ("age,health,ward", "refused", "It was made, and is not available."),
    ],
)
def test_what_a_table_would_use(store: Path, run: Run, by: str, state: str, sentence: str) -> None:
    code, said = run(store, "--by", by)
    assert code == 0
    assert sentence in said
    assert max(map(len, said.splitlines())) <= 80
    assert json.loads(run(store, "--by", by, "--json")[1])["state"] == state


def test_a_filter_belongs_to_the_table(store: Path, run: Run) -> None:
    said = run(store, "--by", "health", "--where", "ward=3")[1]
    assert said.startswith("health,ward: the complete table has 200 cells.\n")


def test_the_tables_that_use_a_detail_are_named(store: Path, run: Run) -> None:
    said = run(store, "--by", "age,rare,ward")[1]
    assert "'age,district' has the fewest looks left: 0 of 2." in said
    assert f"age,health,ward  16,000  refused   asked  {TODAY}" in said


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        (["--where", "sex=1"], 2, "--where is of a table: give --by as well."),
        (["--by", "agee"], 2, "no variable 'agee'; did you mean 'age'?"),
        (["--tier", "nobody"], 2, "no tier 'nobody'"),
        (["--by", "sex,age,health,rare,ward"], 3, "Refused (TOO_LARGE)"),  # 6,400,000 cells
    ],
)
def test_mistakes_are_told(
    store: Path, run: Run, given: list[str], status: int, message: str
) -> None:
    code, said = run(store, *given)
    assert code == status
    assert message in said


def test_a_database_that_cannot_be_opened_is_told(
    store: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_DATABASE_URL", f"sqlite:///{tmp_path}/nowhere/state.db")
    code, said = run(store)
    assert code == 5
    assert "the state database cannot be used: " in said
