"""Ctrl-C at many moments of a command: one sentence, 130, and never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stores import build_town, write_town

# The moments begin where the program does: what Python does before is not its own.
# Until `main` is in it a Ctrl-C waits, as it would for a moment later.
_PROGRAM = """
import sys
import _signal
import discreet.cli
_signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGINT})
print("begun", flush=True)
discreet.cli.main()
"""


def begin(*arguments: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def struck(after: float, *arguments: object, again: float | None = None) -> tuple[int, list[str]]:
    """Return the exit status and what was said, apart from stages and the log of a server."""
    process = begin(*arguments)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    if again is not None:
        time.sleep(again)
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    lines = [line for line in said.splitlines() if not line.endswith(" …") and line[:1] != "{"]
    return process.returncode, lines


def moments(number: int, *arguments: object) -> list[float]:
    """Return moments from the beginning to the end of a command, as long as it takes here."""
    began = time.monotonic()
    process = begin(*arguments)
    process.communicate(timeout=120)
    took = time.monotonic() - began
    return [took * i / number for i in range(number)]


def check(found: list[tuple[int, list[str]]]) -> None:
    for status, said in found:
        assert (status, said) in [(130, ["discreet: stopped"]), (0, [])]
    assert found[0][0] == 130


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return build_town(folder, folder / "store", rows=2_000)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [["--help"], ["table", "--help"], ["--version"]])
def test_help(asked: list[str]) -> None:
    check([struck(after, *asked) for after in moments(6, *asked)])


@pytest.mark.slow
def test_twice_in_a_row() -> None:
    check([struck(after, "--help", again=0.004) for after in moments(8, "--help")])


@pytest.mark.slow
def test_again_while_it_waits_for_threads() -> None:
    # The first one waits until somebody minds it, the second comes in the last wait for threads.
    program = """
import os, signal, threading
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
signal.raise_signal(signal.SIGINT)

def again():
    threading.main_thread().join()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=again).start()
import discreet.cli
discreet.cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "discreet: stopped\n")


@pytest.mark.slow
def test_a_table(store: Path) -> None:
    asked = ("table", store, "--by", "sex")
    check([struck(after, *asked) for after in moments(8, *asked)])


@pytest.mark.slow
def test_a_build(tmp_path: Path) -> None:
    dataset = write_town(tmp_path, rows=50_000)
    asked = ("build", dataset, "--out")
    found = []
    for i, after in enumerate(moments(8, *asked, tmp_path / "whole")):
        found.append(struck(after, *asked, tmp_path / f"store{i}"))
        # Stopped before the last step there is no store, and after it a whole one.
        assert found[-1][0] == 130 or (tmp_path / f"store{i}" / "CURRENT").exists()
    check(found)


@pytest.mark.slow
def test_a_server(store: Path) -> None:
    # As long as a table takes it starts, and then it serves.
    times = moments(5, "table", store, "--by", "sex")
    found = [struck(after, "serve", store, "--port", "0") for after in [*times, times[-1] * 2]]
    assert found == [(130, ["discreet: stopped"])] * len(found)


@pytest.mark.slow
def test_a_backup_and_its_restoring(store: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("correct horse battery")
    words.chmod(0o600)
    by = ("--passphrase-file", words, "--out")
    asked = ("backup", store, *by)
    found = []
    for i, after in enumerate(moments(8, *asked, tmp_path / "whole")):
        found.append(struck(after, *asked, tmp_path / f"b{i}"))
        assert found[-1][0] == 130 or (tmp_path / f"b{i}").exists()
    check(found)
    found = []
    asked = ("restore", tmp_path / "whole", *by)
    for i, after in enumerate(moments(8, *asked, tmp_path / "again")):
        found.append(struck(after, *asked, tmp_path / f"s{i}"))
        assert found[-1][0] == 130 or (tmp_path / f"s{i}" / "CURRENT").exists()
    check(found)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "xlsx"])
def test_converting(format: str, tmp_path: Path) -> None:
    rows = "".join(f"{a},{b},{a * b}\n" for a in range(300) for b in range(100))
    (tmp_path / "t.csv").write_text("a,b,count\n" + rows)
    asked = ("convert", tmp_path / "t.csv", "--format", format, "--out")
    found = []
    for i, after in enumerate(moments(5, *asked, tmp_path / "whole")):
        found.append(struck(after, *asked, tmp_path / f"t{i}"))
    # A file that is there is whole, and what a stopped command began is gone.
    whole = (tmp_path / "whole").stat().st_size
    assert {path.stat().st_size for path in tmp_path.glob("t?")} <= {whole}
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    note = "Figures as they were given: not protected, not signed."
    for status, said in found:  # what was done when it was stopped may have been told
        assert (status, said[-1:]) in [(130, ["discreet: stopped"]), (0, [note])]
        assert said[:-1] in ([], [note])


# Ctrl-C at the n-th call of a function on the way to a workbook.
_AT = """
import signal, sys
import zipfile, xlsxwriter, xlsxwriter.worksheet
owner, name, at = eval(sys.argv.pop(1)), sys.argv.pop(1), int(sys.argv.pop(1))
real, calls = getattr(owner, name), []

def struck(*given, **named):
    if getattr(given[0], "mode", "w") == "w":  # imports look into archives, too
        calls.append(name)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
    return real(*given, **named)

setattr(owner, name, struck)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "name", "at"),
    [
        ("xlsxwriter.worksheet.Worksheet", "write_number", 30),  # in the middle of the rows
        ("xlsxwriter.Workbook", "close", 1),  # before anything is packed
        ("zipfile.ZipFile", "write", 3),  # in the middle of the parts
        ("zipfile.ZipFile", "close", 1),  # before the last bytes
    ],
)
def test_a_workbook(tmp_path: Path, owner: str, name: str, at: int) -> None:
    rows = "".join(f"{a},{b},{a * b}\n" for a in range(10) for b in range(10))
    (tmp_path / "t.csv").write_text("a,b,count\n" + rows)
    (tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _AT + _PROGRAM, owner, name, str(at), "convert",
         tmp_path / "t.csv", "--format", "xlsx", "--out", tmp_path / "t.xlsx"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp")},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "discreet: stopped\n")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["t.csv", "tmp"]
