"""What the program imports to print its help and its version: nothing that computes."""

from __future__ import annotations

import io
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import program
from discreet.cli.program import COMMANDS

ROOT = Path(__file__).parents[3]
NAMES = runpy.run_path(str(ROOT / "scripts" / "write_commands.py"))["names"]()
HEAVY = {
    "argon2", "clarabel", "cryptography", "duckdb", "fastapi", "highspy", "jinja2", "numba",
    "numpy", "openpyxl", "orjson", "pandas", "pyarrow", "pysdmx", "pyspark", "rich", "scipy",
    "resvg_py", "sqlalchemy", "uvicorn", "xlsxwriter",
}  # fmt: skip

# One process asks for everything, and tells after which question there was what.
_ASK = """
import contextlib, io, json, sys
from discreet.cli import main
told = {}
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["discreet", *arguments]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            main()
        except SystemExit as end:
            assert not end.code, arguments
    assert printed.getvalue(), arguments
    told[" ".join(arguments)] = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps(told))
"""


def test_help_and_version_import_nothing_heavy() -> None:
    asked = [["--version"], *([*name.split(), "--help"] for name in NAMES)]
    done = subprocess.run(
        [sys.executable, "-c", _ASK, json.dumps(asked)], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    assert len(told) == len(NAMES) + 1
    assert {asked: HEAVY.intersection(modules) for asked, modules in told.items()} == {
        asked: set() for asked in told
    }


def test_of_a_command_only_its_own_file_is_imported() -> None:
    code = (
        "import contextlib, sys\n"
        "from discreet.cli import main\n"
        "sys.argv = ['discreet', 'build', '--help']\n"
        "with contextlib.suppress(SystemExit):\n    main()\n"
        "print(*sorted(n for n in sys.modules if n.startswith('discreet.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in done.stdout.splitlines()[-1].split()}
    assert {name.replace("-", "_") for name in COMMANDS} & loaded == {"build"}


def test_opening_a_store_imports_nothing_that_reads_sources() -> None:
    code = (
        "import sys, discreet\n"
        "discreet.open\n"
        "print({'builder', 'dataset', 'draft', 'source'} & {n.rpartition('.')[2] for n in "
        "sys.modules if n.startswith('discreet.build.')})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_heavy_packages_are_those_that_the_extras_bring() -> None:
    # Of a new package somebody decides here whether the help may need it.
    from discreet.extras import EXTRAS

    light = {"starlette", "pydantic", "prometheus_client"}  # typer itself needs pydantic
    light |= {"mcp", "psycopg", "authlib", "httpx", "joserfc", "polars", "xarray", "matplotlib"}
    known = {name for packages in EXTRAS.values() for name in packages}
    assert known - HEAVY == light


_FIRST = """
import sys
from discreet.cli import main
sys.argv = ["discreet", *sys.argv[1:]]
try:
    main()
finally:
    loaded = {"numba", "scipy", "highspy"} & set(sys.modules)
    assert not loaded, loaded
"""


@pytest.mark.slow
def test_small_data_wait_for_no_compiler(tmp_path: Path) -> None:
    people = "".join(f"{i},{1 + i % 2},{'AB'[i % 3 == 0]}\n" for i in range(60))
    (tmp_path / "people.csv").write_text("id,sex,town\n" + people)
    (tmp_path / "people.toml").write_text(
        'id = "people"\ntitle = "Sixty people"\n'
        'source = { files = "people.csv", record_id = "id" }\n'
        '[variables]\nsex = { categories = { 1 = "Male", 2 = "Female" } }\n'
        '[[geography]]\nid = "town"\ncolumn = "town"\n'
    )
    for command in (
        ["build", "people.toml", "--out", "store"],
        ["table", "store", "--by", "town"],
        ["check"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", _FIRST, *command], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode in (0, 3), (command, done.stderr)
        assert "AssertionError" not in done.stderr, command
        assert "Compiling" not in done.stderr, command


def test_every_command_that_writes_takes_o() -> None:
    import typer

    from discreet.cli import app

    def options(command: Any) -> Iterator[list[str]]:
        for inner in getattr(command, "commands", {}).values():
            yield from options(inner)
        yield from (parameter.opts for parameter in command.params)

    every = options(typer.main.get_command(app))
    found = [names for names in every if {"--out", "-o"} & set(names)]
    assert len(found) > 15
    assert all({"--out", "-o"} <= set(names) for names in found)


def test_a_shell_completes_commands() -> None:
    asked = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": "discreet pro", "COMP_CWORD": "1"}
    code = "from discreet.cli import main; import sys; sys.argv = ['discreet']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True
    )
    assert done.stdout.split() == ["protect"]


@pytest.mark.parametrize("terminal", [True, False])
def test_errors_are_broken_into_lines_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    text = "discreet: " + "a rule and a value " * 8
    told = io.StringIO()
    monkeypatch.setattr(told, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", told)
    monkeypatch.setenv("COLUMNS", "200")
    program._say(text.strip())
    lines = told.getvalue().splitlines()
    assert " ".join(line.strip() for line in lines) == text.strip()
    # Programs that read it find one line.
    assert (max(map(len, lines)) <= 80) == terminal
    assert (len(lines) > 1) == terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_a_wrong_choice_is_told_in_plain_words_and_lines(
    monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    told = io.StringIO()
    monkeypatch.setattr(told, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", told)
    with pytest.raises(SystemExit) as ended:
        program.program(("suppress",))(["suppress", "t.csv", "-o", "o.csv", "--objective", "foo"])
    assert ended.value.code == 2
    lines = told.getvalue().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Error: "))
    assert " ".join(line.strip() for line in lines[start:]) == (
        "Error: Invalid value for '--objective': 'foo' is not one of 'number', 'value', "
        "'information'."
    )
    assert (max(map(len, lines)) <= 80) == terminal


def test_what_cannot_be_protected_ends_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "t.csv", tmp_path / "o.csv"
    for words, said in (
        # Neither of the others may be withheld: the 1 is what they leave.
        (["suppress"], "cannot be protected"),
        (["redesign", "--rule", "smallest=3", "--fix", "area"], "no coarsening of this table"),
    ):
        marked = words == ["suppress"]
        ends = (",mark", ",", ",never", ",never") if marked else ("", "", "", "")
        lines = zip(("area,count", "a,1", "b,5", "Total,6"), ends, strict=True)
        table.write_text("".join(f"{line}{end}\n" for line, end in lines))
        monkeypatch.setattr(sys, "argv", ["discreet", *words, str(table), "-o", str(out)])
        with pytest.raises(SystemExit) as ended:
            program.run()
        assert ended.value.code == 3
        assert said in capsys.readouterr().err
        assert not out.exists()
