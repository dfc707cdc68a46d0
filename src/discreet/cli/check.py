"""`discreet check`."""

from __future__ import annotations

import typer


def command() -> None:
    """Let the installed program test itself, in seconds.

    Builds a small made-up data set in a temporary folder and compares what
    the program says about it with the same worked out another way.
    """
    from discreet.service.selfcheck import checks

    failed = 0
    for name, passed in checks():
        typer.echo(f"{'ok    ' if passed else 'FAILED'}  {name}")
        failed += not passed
    if failed:
        typer.echo(f"{failed} of the checks failed: do not use this installation.", err=True)
        raise typer.Exit(1)
    typer.echo("All is well.")
