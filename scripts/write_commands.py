"""Write docs/commands.md: the help of every command, as the program prints it at 80 columns."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from discreet.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"

HEAD = """\
# Commands

This page is written by `scripts/write_commands.py` from the program itself. Change the help texts
in `src/discreet/cli/`, not here.

Results go to standard output, progress and remarks to standard error.

| exit status | meaning |
|---|---|
| 0 | done |
| 1 | `discreet check` or `verify` found a fault, or `discreet audit-log verify` an altered line |
| 2 | a value is wrong; the message says which, and what is allowed |
| 3 | a disclosure rule refuses the table, or nothing that may be done to it protects it |
| 4 | `discreet certify` or `audit --true`: somebody learns more than they may |
| 5 | the machine failed, or the state database, or a promise of the program: nothing was released |
| 130 | stopped from the keyboard |


"""


def names() -> list[str]:
    """Return every command, in the order of the help; "" is the program, "a b" a command of a."""

    def below(command: Any, name: str) -> Iterator[str]:
        yield name
        for key, inner in getattr(command, "commands", {}).items():
            yield from below(inner, f"{name} {key}".strip())

    return list(below(typer.main.get_command(app), ""))


def help_of(name: str) -> str:
    """Return what `discreet NAME --help` prints; without a name, of the program."""
    program = Path(sys.executable).with_name("discreet")
    done = subprocess.run(
        [str(program), *name.split(), "--help"],
        env={**os.environ, "COLUMNS": "80", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.rstrip("\n") + "\n"


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for name in names():
        title = f"discreet {name}".strip()
        parts.append(f"## {title}\n\n```text\n{help_of(name)}```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
