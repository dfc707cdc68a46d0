"""`discreet convert`: any CSV table in the formats of releases, without a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Force, check_new, check_out


def command(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE.csv", help="Figures, long or wide.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="F",
            help="json-stat, csv, csv-layout, xlsx, px, sdmx-csv, sdmx-ml, parquet or html.",
        ),
    ],
    meta: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE.meta.json", help="Title, notes and labels of the table, in JSON."
        ),
    ] = None,
    absent_zero: Annotated[
        bool, typer.Option("--absent-zero", help="Rows that a long file leaves out are zeros.")
    ] = False,
    force: Force = False,
) -> None:
    """Write a table of figures in another format, with title and notes.

    Figures are written as they are given: nothing is protected, checked against
    a policy or signed. An empty figure stays missing.
    """
    from discreet.release.formats import named
    from discreet.release.standalone import Sidecar, convert

    check_out(out, table, force)
    for ending in named(format).beside:
        check_new(out.with_name(out.name + ending), force)
    sidecar = Sidecar() if meta is None else Sidecar.read(meta)
    release = convert(table, sidecar, absent_zero)
    for path in release.write(out, format):
        typer.echo(f"Wrote {path}")
    typer.echo("Figures as they were given: not protected, not signed.", err=True)
