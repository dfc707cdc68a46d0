"""`discreet user`, `discreet key` and `discreet audit-log` on one store."""

from __future__ import annotations

import json
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.people.people import People
from persons import licensed_town

UNTIL = "2090-12-31"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return licensed_town(tmp_path_factory.mktemp("town"), rows=1_000)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(monkeypatch, capsys)


class Run:
    """Runs a command; gives its exit status and what it printed."""

    def __init__(self, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        patch.setenv("COLUMNS", "80")
        self.patch, self.capsys = patch, capsys

    def __call__(self, *given: object) -> tuple[int, str, str]:
        self.patch.setattr(sys, "argv", ["discreet", *map(str, given)])
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = self.capsys.readouterr()
        return int(stopped.value.code or 0), shown.out, shown.err


def test_people_projects_licences_keys_and_the_record(
    store: Path, run: Run, tmp_path: Path
) -> None:
    assert "no accounts" in run("user", "list", store)[1]
    status, out, _ = run("user", "add", store, "ada@example.org", "--name", "Ada", "--group", "g")
    assert status == 0
    token = out.strip().removeprefix("/invitation/")
    people = People.of_store(store)
    assert people.entrance.accept(token, "correct horse battery") is not None
    status, _, err = run("user", "project", store, "health")
    assert (status, "needs --title" in err) == (2, True)
    made = ("--title", "Health", "--purpose", "To plan.", "--ends", UNTIL)
    assert run("user", "project", store, "health", *made)[0] == 0
    assert run("user", "project", store, "health", "--member", "ada@example.org")[0] == 0
    assert run("user", "allow", store, "project:health", "licensed", "--until", UNTIL)[0] == 0
    assert run("user", "allow", store, "ada@example.org", "safe", "--until", UNTIL)[0] == 0
    status, _, err = run("user", "allow", store, "group:g", "everything", "--until", UNTIL)
    assert (status, "Choices: public, licensed, safe" in err) == (2, True)
    told = json.loads(run("user", "list", store, "--json")[1])
    assert told["people"][0]["member_of"] == ["group:g", "project:health"]
    assert [one["holder"] for one in told["licences"]] == ["ada@example.org", "project:health"]
    assert run("user", "forbid", store, "ada@example.org", "safe")[0] == 0
    assert "ada@example.org" in run("user", "list", store)[1]

    status, out, err = run("key", "add", store, "ada@example.org", "--name", "notebook")
    key = out.strip()
    assert key.startswith("dk_")
    assert people.entrance.by_key(key) is not None
    listed = run("key", "list", store)[1]
    assert key not in listed
    assert "notebook" in listed
    id = json.loads(run("key", "list", store, "--json")[1])[0]["id"]
    assert run("key", "end", store, id)[0] == 0
    assert people.entrance.by_key(key) is None
    assert run("key", "end", store, id)[0] == 2

    assert run("user", "change", store, "ada@example.org", "--quota", 7)[0] == 0
    assert run("user", "end", store, "ada@example.org")[0] == 0
    status, out, _ = run("audit-log", "verify", store)
    assert status == 0
    head = out.splitlines()[-1]
    shown = run("audit-log", "show", store)[1]
    assert "project health may use licensed of town" in " ".join(shown.split())
    file = tmp_path / "record.csv"
    assert run("audit-log", "export", store, "--out", file)[0] == 0
    assert run("audit-log", "export", store, "--out", file)[0] == 2  # it is there
    assert file.read_text().count("\n") == int(head.split(":")[0]) + 1
    for secret in (key, token):
        assert secret not in file.read_text()
    assert "0 lines" in run("audit-log", "prune", store)[1]
    people.close()
    with closing(sqlite3.connect(store / "state.db")) as connection, connection:
        connection.execute("DROP TRIGGER discreet_record_update")
        connection.execute("UPDATE discreet_record SET note = 'x' WHERE n = 2")
    status, out, _ = run("audit-log", "verify", store, "--head", head)
    assert (status, out) == (
        1,
        "The record is not as it was written: line 2 is not as it was written.\n",
    )


def test_an_invitation_goes_by_mail_if_the_settings_say_where(
    store: Path, run: Run, tmp_path: Path
) -> None:
    settings, folder = tmp_path / "server.toml", tmp_path / "mail"
    folder.mkdir()
    ours = 'public_url = "https://tables.example.org"\nmail_from = "office@example.org"\n'
    settings.write_text(ours)
    new = ("user", "add", store, "bea@example.org", "--name", "Bea", "--mail", "--settings")
    status, _, err = run(*new, settings)
    assert (status, "needs mail_folder or smtp_host" in " ".join(err.split())) == (2, True)
    assert "bea@" not in run("user", "list", store)[1]  # nothing was begun
    settings.write_text(f'{ours}mail_folder = "{folder}"\n')
    status, out, err = run(*new, settings)
    assert (status, "Sent to bea@example.org" in err) == (0, True)
    (message,) = folder.iterdir()
    text = message.read_text("utf-8")
    assert f"\nhttps://tables.example.org{out.strip()}?lang=en\n" in text
    with socket.socket() as taken:  # bound, and does not listen
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        settings.write_text(f'{ours}smtp_host = "127.0.0.1"\nsmtp_port = {port}\n')
        again = ("user", "invite", store, "bea@example.org", "--mail", "--settings", settings)
        status, out, err = run(*again)
    assert (status, "could not be sent (ConnectionRefusedError)" in err) == (0, True)
    token = out.strip().removeprefix("/invitation/")
    assert token not in err
    people = People.of_store(store)
    assert people.entrance.invited(token) is not None
    people.close()
