"""What Ctrl-C left is used only if somebody at a terminal says so; stages are told once."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from discreet.cli import app, build
from discreet.cli.progress import shown
from discreet.errors import Damaged
from discreet.population import Store, envelope
from stores import write_town


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stdin", "taken"),
    [(io.StringIO("y\n"), False), (Terminal("y\n"), True), (Terminal("\n"), False)],
)
def test_offered(stdin: io.StringIO, taken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody answers for a pipe, and Enter alone is no.
    monkeypatch.setattr("sys.stdin", stdin)
    assert build._offered("A base.") is taken


def test_a_build_that_is_told_to_end_ends_as_by_an_error() -> None:
    # Whatever tidies up after an error does so then, too: records must not be left behind.
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, build._ending_tidily():
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_follows_a_colon_is_no_stage_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with shown() as tell:
        tell("polishing: off by 3.1", 0, 2)
        tell("polishing: off by 2.2", 1, 2)
    assert capsys.readouterr().err == "Polishing …\n"


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_it_is_said_where_the_records_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of records elsewhere: by the build, by info for the custodian, by backup and restore."""
    monkeypatch.setattr(envelope, "_WORK", 2**4)
    store, town = tmp_path / "store", write_town(tmp_path / "town", 2_000)
    done = run("build", town, "--out", store, "--engine", "duckdb")
    assert done.exit_code == 0, done.exception
    elsewhere = Store(store).open().elsewhere
    assert elsewhere is not None
    # One folder up: beside the folder of the original, not in it.
    assert Path(elsewhere.coded).parent == tmp_path / "town-coded"
    assert f"are in {elsewhere.coded}." in done.output
    told = run("info", store).output
    assert "Counted by duckdb" in told
    assert f"Coded records: {elsewhere.coded}" in told.replace("\n", " ")
    (tmp_path / "words").write_text("correct horse battery")
    (tmp_path / "words").chmod(0o600)
    secret = ("--passphrase-file", tmp_path / "words")
    done = run("backup", store, "-o", tmp_path / "kept", *secret)
    assert f"the records are not in it. They are in {elsewhere.coded}" in done.output
    Path(elsewhere.coded).rename(tmp_path / "gone")
    done = run("restore", tmp_path / "kept", "-o", tmp_path / "again", *secret)
    assert done.exit_code == 0, done.exception
    assert f"They must be in {elsewhere.coded}" in done.output


def test_verify_reads_the_records_that_are_elsewhere(tmp_path: Path) -> None:
    store, town = tmp_path / "store", write_town(tmp_path / "town", 2_000)
    run("build", town, "--out", store, "--engine", "duckdb", "--views", 0)
    assert "Every file has its checksum." in run("info", store, "--verify").output
    elsewhere = Store(store).open().elsewhere
    assert elsewhere is not None
    path = next(Path(elsewhere.coded).iterdir())
    before, raw = path.stat(), bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert isinstance(run("info", store, "--verify").exception, Damaged)
