"""The program and its commands, one file each; they import what is heavy when they run.

Of a command that is named only its own file is imported: all of them would take longer than most
commands do.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from discreet import __version__
from discreet.errors import (
    CannotProtect,
    InternalError,
    ParameterError,
    QueryRefused,
    SitesUnavailable,
    Stopped,
    Unavailable,
)
from discreet.extras import with_extra

# The order of the help text. Each name is a module of this folder that holds a function `command`.
COMMANDS: tuple[str, ...] = (
    "demo",
    "synth",
    "init",
    "build",
    "info",
    "backup",
    "restore",
    "table",
    "tabulate",
    "ledger",
    "plan",
    "serve",
    "hub",
    "site",
    "mcp",
    "user",
    "key",
    "audit-log",
    "verify",
    "convert",
    "base",
    "policy",
    "risk",
    "study",
    "protect",
    "lookup",
    "audit",
    "round",
    "suppress",
    "batch",
    "adjust",
    "redesign",
    "attack",
    "certify",
    "check",
)

WIDTH = 80  # errors are broken at this, or at the width of a narrower terminal
_PREFIX = "Value error, "  # what the checker of values puts before the words of a check
_COMPLETING = "_DISCREET_COMPLETE"  # what the shell sets when it asks for what may follow


class _Program(TyperGroup):
    """The program: what it says of a wrong option is in its own words and lines."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_PREFIX)
            full = f"Error: {error.format_message()}"
            error.message = _broken(full)[len(full) - len(error.message) :]
            raise


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


def _program(
    version: bool = typer.Option(
        False, "--version", help="Print the version and stop.", callback=_print_version
    ),
) -> None:
    """Publish any table that users ask for, protected against disclosure."""


@cache
def program(names: tuple[str, ...] = COMMANDS) -> typer.Typer:
    """Return the program with some of its commands."""
    app = typer.Typer(
        name="discreet",
        cls=_Program,
        help="Publish any table that users ask for, protected.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 80},
    )
    app.callback()(_program)
    for name in names:
        command: Callable[..., Any] | typer.Typer = import_module(
            f"discreet.cli.{name.replace('-', '_')}"
        ).command
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _named() -> tuple[str, ...]:
    """Return the command that the arguments name, or all where none is, or the shell asks."""
    first = sys.argv[1:2]
    alone = first and first[0] in COMMANDS and _COMPLETING not in os.environ
    return tuple(first) if alone else COMMANDS


def run() -> None:
    """Run the command that the arguments name, and end with its exit status."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # memory with records in it is not left behind
    try:
        with with_extra():
            program(_named())()
    except ParameterError as error:
        _say(f"discreet: {error}")
        sys.exit(3 if isinstance(error, CannotProtect) else 2)
    except QueryRefused as error:
        typer.echo(f"Refused ({error.code}): {error}", err=True)
        for hint in error.hints:
            where = f" --where '{hint.where}'" if hint.where else ""
            typer.echo(f"  {hint.text}: --by {hint.by}{where}", err=True)
        sys.exit(3)
    except Unavailable as error:
        _say(f"discreet: {error.what} cannot be used: {error.reason}")
        sys.exit(5)
    except SitesUnavailable as error:
        _say(f"discreet: {error}")
        sys.exit(5)
    except Stopped:
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        raise  # whoever read the output has gone; click ends quietly
    except (InternalError, OSError, MemoryError, RecursionError) as error:
        _say(f"discreet: {_fault(error)}")
        sys.exit(2 if isinstance(error, RecursionError) else 5)


def _say(text: str) -> None:
    """Print an error: broken into lines on a terminal, each line in one piece for programs."""
    typer.echo(_broken(text), err=True)


def _broken(text: str) -> str:
    """Return a text as it is printed: in lines that fit a terminal, as it is for programs."""
    if not sys.stderr.isatty():
        return text
    from shutil import get_terminal_size
    from textwrap import wrap

    width = min(WIDTH, get_terminal_size().columns)
    lines: list[str] = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines)


def _fault(error: BaseException) -> str:
    """Return what went wrong on this machine, in a sentence."""
    if isinstance(error, OSError) and error.strerror:
        where = f"'{error.filename}' cannot be used: " if error.filename else ""
        return f"{where}{error.strerror}."
    if isinstance(error, MemoryError):
        return "there is not enough memory for this."
    if isinstance(error, RecursionError):
        return "a file is nested too deeply."
    return str(error)
