"""What is piped is plain: no colours, no bars, no lines that are written over."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.cli.program import COMMANDS
from stores import build_town, write_town

TABLE = "sex,area,count\nf,a,1\nf,b,20\nf,c,7\nm,a,14\nm,b,2\nm,c,30\n"

STUDY = """title = "Rounding"
draws = 2
data = { cube = "table.csv" }
tables = [{ name = "all", by = "sex,area" }]
methods = [{ method = "random-rounding", base = 3 }]
"""

DRIVEN: dict[str, str] = {
    "synth": "--persons 1000 --out synthetic",
    "init": "records.csv",
    "build": "dataset.toml --out built",
    "info": "store",
    "table": "store --by sex",
    "tabulate": "store --by sex",
    "ledger": "store",
    "plan": "store questions.txt",
    "policy": "explain preset:rounding-3",
    "risk": "table.csv",
    "study": "study.toml --out compared --workers 1",
    "protect": "table.csv --method random-rounding --out protected.csv",
    "lookup": "--bound 2 --variance 1 --out lookup.csv",
    "audit": "published.csv",
    "round": "table.csv --out rounded.csv",
    "suppress": "table.csv --out safe.csv",
    "adjust": "table.csv --out adjusted.csv",
    "redesign": "table.csv --rule smallest=3 --out coarser.csv",
    "convert": "table.csv --out table.json --format json-stat",
    "user": "list store",
    "key": "list store",
    "audit-log": "verify store",
}
"""Commands that print, with arguments."""

ELSEWHERE: dict[str, str] = {
    "demo": "serves until it is stopped",
    "serve": "serves until it is stopped",
    "hub": "serves until it is stopped",
    "site": "serves until it is stopped",
    "mcp": "speaks a protocol on its output",
    "backup": "asks for a passphrase",
    "restore": "asks for a passphrase",
    "verify": "a sentence by the same echo as the others",
    "batch": "as suppress, whose report it prints",
    "base": "needs a protected base, which takes long to build",
    "attack": "takes long",
    "certify": "takes long",
    "check": "takes long",
}

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|[━╸╺]")
"""Control characters, escapes and carriage returns among them, and the parts of a bar."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("piped")
    build_town(folder, folder / "store", rows=2_000)
    write_town(folder, rows=500)
    (folder / "table.csv").write_text(TABLE)
    (folder / "records.csv").write_text("id,sex,area\n" + "".join(f"{i},f,a\n" for i in range(30)))
    (folder / "questions.txt").write_text("sex,health\n")
    (folder / "study.toml").write_text(STUDY)
    (folder / "published.csv").write_text("sex,count\nf,\nm,5\n_T,9\n")
    return folder


def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str) -> str:
    """Return all that a command prints into a pipe."""
    monkeypatch.setattr(sys, "argv", ["discreet", *line.split()])
    with pytest.raises(SystemExit) as stopped:
        main()
    shown = capfd.readouterr()
    assert not stopped.value.code, shown.err
    return shown.out + shown.err


def test_every_command_is_driven_or_said_why_not() -> None:
    assert sorted([*DRIVEN, *ELSEWHERE]) == sorted(COMMANDS)


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        *((command, "TERM") for command in DRIVEN),
        *((command, "NO_COLOR") for command in ("info", "ledger", "table")),
        # Colours are what it asks for; a bar in a pipe is not.
        *((command, "FORCE_COLOR") for command in ("build", "synth")),
    ],
)
def test_what_is_piped_is_plain(
    command: str,
    environment: str,
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv(environment, "xterm-256color" if environment == "TERM" else "1")
    force = "" if "--out" not in DRIVEN[command] or command == "build" else " --force"
    printed = run(capfd, monkeypatch, f"{command} {DRIVEN[command]}{force}")
    assert printed
    assert not CONTROL.search(printed), printed


def test_no_color_is_heeded_on_a_terminal(folder: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "discreet", "build", "dataset.toml", "--out", "shown"]
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    printed = b""
    try:
        while more := os.read(ours, 65_536):
            printed += more
    except OSError:
        pass  # the other end is closed
    assert done.wait() == 0
    assert "━" in printed.decode()  # a bar, for there is a terminal
    assert not re.search(rb"\x1b\[[0-9;]*(3|4|9|10)[0-9][0-9;]*m", printed)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_that_is_piped_is_plain(
    command: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = run(capfd, monkeypatch, f"{command} --help")
    assert printed.startswith("Usage: ")
    assert not CONTROL.search(printed)


def test_that_something_is_compiled_is_said_at_once() -> None:
    from discreet.cli.progress import after_a_while

    told: list[str] = []
    tell = after_a_while(lambda stage, done, total: told.append(stage), 1e6)
    tell("cells", 0, None)
    tell("compiling", 0, None)
    assert told == ["compiling"]
