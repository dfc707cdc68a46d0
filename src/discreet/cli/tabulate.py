"""`discreet tabulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import By, Force, ShowCodes, StoreFolder, Where, check_new


def command(
    store: StoreFolder,
    by: By,
    where: Where = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE.csv", help="Write the table to a CSV file instead."
        ),
    ] = None,
    codes: ShowCodes = False,
    force: Force = False,
) -> None:
    """Print the true counts of a cross-tabulation, for the custodian.

    The counts are not protected and not for publication. They show nothing
    that a person who can read STORE could not read anyway.
    """
    import discreet as dc
    from discreet.cli.show import text, write_csv

    if out is not None:
        check_new(out, force)
    query = dc.Query.parse(by, where)
    population = dc.open(store)
    table = population.tabulate(query)
    if out is not None:
        write_csv(table, out)
        typer.echo(f"Wrote {out}. True counts: not for publication.", err=True)
        return
    typer.echo(text(table, population.schema.title, codes=codes))
    typer.echo("True counts: not for publication.", err=True)
