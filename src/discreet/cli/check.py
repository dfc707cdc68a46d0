"""`discreet check`."""

from __future__ import annotations

import typer


def command() -> None:
    """Test the installed program, in seconds.

    Builds a small invented data set in a temporary folder, and compares the
    program's figures with the same figures computed in another way.
    """
    from discreet.build.selfcheck import checks

    failed = 0
    for name, passed in checks():
        typer.echo(f"{'ok    ' if passed else 'FAILED'}  {name}")
        failed += not passed
    if failed:
        typer.echo(f"{failed} of the checks failed: do not use this installation.", err=True)
        raise typer.Exit(1)
    typer.echo("All is well.")
