"""`discreet batch`: runs a batch file of τ-ARGUS."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE.arb", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write the tables to this folder, not beside FILE.",
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """Run a batch file of τ-ARGUS: read tables, suppress them, write what is safe.

    Files are looked for beside it. All tables are written as CSV, long, with
    a column status, whatever form the batch asks for. A command or rule that
    is not known here is named, and nothing is done.
    """
    from discreet.cli.progress import after_a_while, shown
    from discreet.desk.suppress.batch import read_batch

    batch = read_batch(file)
    for note in batch.notes:
        typer.echo(f"Note: {note}", err=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    for table in batch.tables:
        if table.out is not None:
            table.out = table.out if out is None else out / table.out.name
            options.check_new(table.out, force, "<WRITETABLE>")
    with shown() as tell:
        reports = batch.run(after_a_while(tell))
    for path, report in reports.items():
        typer.echo(f"{report}\nWrote {path}")
