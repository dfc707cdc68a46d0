"""`discreet certify`: the attacks as a gate."""

from __future__ import annotations

import typer

from discreet.cli.attack import Edition, Json, Out, Seconds, Seed, attacked
from discreet.cli.options import Force, StoreFolder

BEYOND = 4
"""The exit status if an attack goes beyond its bound."""


def command(
    store: StoreFolder,
    seconds: Seconds = 300,
    seed: Seed = 1,
    out: Out = None,
    json_file: Json = None,
    edition: Edition = None,
    force: Force = False,
) -> None:
    """Run all attacks; fail if one of them goes beyond its bound.

    The exit status is 4 if an attack learns more than it may, or was not run.
    """
    if not attacked(store, seconds, seed, out, json_file, edition, force):
        typer.echo("Not certified.", err=True)
        raise typer.Exit(BEYOND)
    typer.echo("Certified.")
