"""`discreet tabulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import By, Force, ShowCodes, StoreFolder, Where, check_new

if TYPE_CHECKING:
    from discreet.population import Version


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
    """Print the counts of a cross-tabulation as the store has them, for the custodian.

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
        typer.echo(f"Wrote {out}. {_what(population.version)}", err=True)
        return
    typer.echo(text(table, population.schema.title, codes=codes))
    typer.echo(_what(population.version), err=True)


def _what(version: Version) -> str:
    """Return of what the counts are: records may have been altered when the store was built."""
    if version.manifest.get("protected_beforehand"):
        return "Counts of the altered records: not the true ones, and not for publication."
    return "True counts: not for publication."
