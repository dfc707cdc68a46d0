"""`discreet backup` and `discreet restore`, from the store to the store, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import discreet as dc
from discreet.cli import app
from discreet.errors import LedgerUnavailable
from discreet.population import envelope
from stores import build_town


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "_WORK", 2**4)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("town")
    build_town(place, place / "store", rows=2_000)
    dc.open(place / "store").release("sex").write(place / "t.csv")
    for name, words in (("words", "correct horse battery"), ("other", "another horse battery")):
        (place / name).write_text(words)
        (place / name).chmod(0o600)
    for words in (["genpkey", "-algorithm", "x25519", "-out", "backup.key"],
                  ["pkey", "-in", "backup.key", "-pubout", "-out", "backup.pub"]):  # fmt: skip
        subprocess.run(["openssl", *words], cwd=place, check=True)
    return place


def run(*words: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], input=typed)


@pytest.mark.parametrize(
    ("shut", "opened"),
    [(("--passphrase-file", "words"), ("--passphrase-file", "words")),
     (("--to", "backup.pub"), ("--key", "backup.key"))],
)  # fmt: skip
def test_there_and_back(
    shut: tuple[str, str], opened: tuple[str, str], place: Path, tmp_path: Path
) -> None:
    done = run("backup", place / "store", "--out", tmp_path / "b", shut[0], place / shut[1])
    assert done.exit_code == 0, done.exception
    version = (place / "store" / "CURRENT").read_text().strip()
    assert done.output == f"Wrote {tmp_path / 'b'} (town, version {version}).\n"
    done = run("restore", tmp_path / "b", "--out", tmp_path / "s", opened[0], place / opened[1])
    assert done.exit_code == 0, done.exception
    said, signs = done.output.splitlines()
    assert said == f"Restored {tmp_path / 's'} (town, version {version})."
    assert signs.startswith("It signs with the key ")
    # What the restored store released is genuine by the key of the old, and the same.
    assert run("verify", place / "t.csv", "--store", tmp_path / "s").exit_code == 0
    assert run("table", tmp_path / "s", "--by", "sex", "--out", tmp_path / "t.csv").exit_code == 0
    assert (tmp_path / "t.csv").read_bytes() == (place / "t.csv").read_bytes()


def test_a_passphrase_is_asked_for(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("backup", place / "store", "--out", tmp_path / "b")
    assert "--passphrase-file must be given" in str(done.exception)
    monkeypatch.setattr("discreet.cli.backup._can_ask", lambda: True)
    words = "correct horse battery"
    done = run("backup", place / "store", "--out", tmp_path / "b", typed=f"{words}\n{words}\n")
    assert done.exit_code == 0, done.exception
    assert words not in done.output
    done = run("restore", tmp_path / "b", "--out", tmp_path / "s", typed=f"{words}\n")
    assert done.exit_code == 0, done.exception


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["backup", "STORE", "--out", "OUT", "--to", "backup.key"], "X25519 public key"),
        (["backup", "STORE", "--out", "OUT", "--to", "backup.pub", "--passphrase-file", "words"],
         "not both"),
        (["backup", "words", "--out", "OUT", "--to", "backup.pub"], "not a store"),
        (["backup", "STORE", "--out", "OUT", "--passphrase-file", "none"], "readable file"),
        (["restore", "words", "--out", "OUT", "--key", "backup.key"], "discreet backup wrote"),
        (["restore", "none", "--out", "OUT", "--key", "backup.key"], "cannot be used"),
        (["restore", "FILE", "--out", "STORE", "--passphrase-file", "words"], "new folder"),
        (["restore", "FILE", "--out", "OUT", "--passphrase-file", "other"], "another than"),
        (["restore", "FILE", "--out", "OUT", "--key", "backup.key"], "by a passphrase"),
        (["restore", "FILE", "--out", "OUT", "--key", "backup.key", "--passphrase-file", "words"],
         "not both"),
    ],
)  # fmt: skip
def test_what_is_refused(words: list[str], message: str, place: Path, tmp_path: Path) -> None:
    run("backup", place / "store", "--out", tmp_path / "b", "--passphrase-file", place / "words")
    named = {"STORE": place / "store", "OUT": tmp_path / "out", "FILE": tmp_path / "b"}
    files = {name: place / name for name in ("words", "other", "none", "backup.key", "backup.pub")}
    done = run(*({**named, **files}.get(word, word) for word in words))
    assert message in str(done.exception), done.exception
    assert not (tmp_path / "out").exists()


def test_the_cost_of_a_guess_is_not_that_of_the_tests() -> None:
    """128 MiB for every guess: N · r · 128 bytes of scrypt, with N = 2^17 and r = 8."""
    told = "from discreet.population import envelope; print(envelope._WORK * 8 * 128)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 128 * 2**20


def test_a_ledger_in_another_database_is_taken_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the restored store would release again what is used up."""
    store = build_town(tmp_path, tmp_path / "store", rows=2_000)
    (tmp_path / "words").write_text("correct horse battery")
    (tmp_path / "words").chmod(0o600)
    monkeypatch.setenv("DISCREET_DATABASE_URL", f"sqlite:///{tmp_path}/elsewhere.db")
    dc.open(store).release("age,sex")  # 160 cells of 2,000 people: the one look at this detail
    with pytest.raises(dc.QueryRefused, match="as many released tables"):
        dc.open(store).release("age,sex,health")
    words = ("--passphrase-file", tmp_path / "words")
    done = run("backup", store, "--out", tmp_path / "b", *words)
    assert done.exit_code == 0, done.exception
    monkeypatch.delenv("DISCREET_DATABASE_URL")
    assert run("restore", tmp_path / "b", "--out", tmp_path / "s", *words).exit_code == 0
    assert dc.open(tmp_path / "s").release("age,sex")
    with pytest.raises(dc.QueryRefused, match="as many released tables"):
        dc.open(tmp_path / "s").release("age,sex,health")
    monkeypatch.setenv("DISCREET_DATABASE_URL", f"sqlite:///{tmp_path}/nowhere/state.db")
    done = run("backup", store, "--out", tmp_path / "c", *words)
    assert isinstance(done.exception, LedgerUnavailable)
    assert not (tmp_path / "c").exists()
