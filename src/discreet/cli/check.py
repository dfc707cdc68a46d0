"""`discreet check`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.errors import DiscreetError, ParameterError, unknown


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Methods to test.  [default: all]"),
    ] = None,
    methods: Annotated[
        bool,
        typer.Option("--methods", help="Hold protection methods to what they say of themselves."),
    ] = False,
) -> None:
    """Test the installed program, in seconds.

    Builds a small invented data set in a temporary folder, and compares the
    program's figures with the same figures computed in another way.

    With --methods it tests the protection methods instead, those of installed
    packages among them; all of them take about a minute.
    """
    if names and not methods:
        raise ParameterError("names of methods need --methods.")
    failed = _methods(names or []) if methods else _program()
    if failed:
        raise typer.Exit(1)
    typer.echo("All is well.")


def _program() -> bool:
    from discreet.service.selfcheck import checks

    failed = 0
    for name, passed in checks():
        typer.echo(f"{'ok    ' if passed else 'FAILED'}  {name}")
        failed += not passed
    if failed:
        typer.echo(f"{failed} of the checks failed: do not use this installation.", err=True)
    return bool(failed)


def _methods(names: list[str]) -> bool:
    from discreet.protect.conformance import examine
    from discreet.protect.registry import example, methods

    known = methods()
    for name in names:
        if name not in known:
            raise unknown("method", name, known)
    failed = []
    for name in names or known:
        try:
            checks = list(examine(example(name)))
        except DiscreetError as error:
            checks = [("It is made from its options.", [str(error)])]
        broken = {check: sentences for check, sentences in checks if sentences}
        failed += [name] * bool(broken)
        passed = f"{len(checks) - len(broken)} of {len(checks)} checks passed"
        typer.echo(f"{'FAILED' if broken else 'ok    '}  {name}: {passed}")
        for check, sentences in broken.items():
            more = f" And {len(sentences) - 1} more." if len(sentences) > 1 else ""
            typer.echo(f"        {check} But: {sentences[0]}{more}")
    if failed:
        typer.echo(f"Do not protect anything by {', '.join(failed)}.", err=True)
    return bool(failed)
