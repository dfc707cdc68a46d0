"""`discreet round`: rounds a table under control, or makes one add up again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.desk import round as rounded
from discreet.desk.round import Mode


def command(
    table: Annotated[Path, typer.Argument(help="CSV file of counts, long or wide.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write, in the same layout.")],
    base: Annotated[int, typer.Option(help="Round to multiples of this.")] = 3,
    mode: Annotated[
        Mode,
        typer.Option(
            help="controlled: every cell and total; small: only counts below the base; "
            "additive: no rounding, the closest table that adds up."
        ),
    ] = Mode.CONTROLLED,
    secret: options.SecretFile = None,
    seed: options.Seed = None,
    absent_zero: options.AbsentZero = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Round a table so that everything still adds up, and say how far that went.

    Three- and more-way tables may have no controlled rounding. Then some totals are one multiple
    further away, and the report says whether that was proved necessary.
    """
    from discreet.cli.progress import after_a_while, shown

    options.check_out(out, table, force)
    with shown() as tell:
        report = rounded(
            table,
            base,
            mode=mode,
            absent_zero=absent_zero,
            secret=secret,
            seed=seed,
            tell=after_a_while(tell),
        )
    report.write(out)
    options.show(replace(report, name=out.name), as_json)
