"""`discreet init`: a draft of the description of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Force, check_out


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Records, .csv or .parquet.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DATASET.toml", help="File to write."),
    ] = None,
    force: Force = False,
) -> None:
    """Draft the description of a data set from a file of records.

    Guesses ids, variables, categories, levels and areas, and says beside each
    what is guessed. Look it over, then build with it. The counts in its
    comments are true ones: it is for the custodian. Nothing else is written.
    """
    from discreet.build.draft import NO_VALUE, draft
    from discreet.files import written

    if out is not None:
        check_out(out, file, force)
    text = draft(file, None if out is None else out.parent)
    absent = sum(NO_VALUE in line for line in text.splitlines())
    if absent:
        columns = "column has" if absent == 1 else "columns have"
        typer.echo(
            f"Note: {absent} {columns} missing values, which a build refuses: see '{NO_VALUE}' in "
            "the draft.",
            err=True,
        )
    if out is None:
        typer.echo(text, nl=False)
        return
    with written(out, 0o600) as target:
        target.write(text.encode())
    typer.echo(f"Wrote {out}. Look it over, then: discreet build {out} --out STORE")
