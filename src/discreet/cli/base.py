"""`discreet base`: the protected base of a store as a file of records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Force, check_new


def command(
    store: Annotated[Path, typer.Argument(metavar="STORE", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.parquet", help="The file to write.")
    ],
    force: Force = False,
) -> None:
    """Write the protected base of a store as a public-use file.

    One row per person, a column of codes for each variable and each level of
    geography. FILE.parquet.meta.json says what the codes mean and how far figures
    are off. The store must have been built with [[protect]] method = "base".
    """
    from discreet.release.formats.tidy import META
    from discreet.release.public_file import write_base

    for path in (out, out.with_name(out.name + META)):
        check_new(path, force)
    for path in write_base(store, out):
        typer.echo(f"Wrote {path}")
