"""`discreet synth`: writes a synthetic census."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    persons: Annotated[
        int, typer.Option("--persons", help="How many people: 1,000 to 1,000,000,000.")
    ],
    out: Annotated[
        Path, typer.Option("--out", help="The folder to write; new, or made by synth before.")
    ],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same people.")] = 1,
    threads: Annotated[
        int | None,
        typer.Option("--threads", help="How many threads draw people.  [default: all processors]"),
    ] = None,
) -> None:
    """Write a synthetic census: invented people in invented places.

    The folder gets persons.parquet (one row a person, integer codes),
    dataset.toml (what the codes mean) and a list of areas for each level.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from discreet.build.synth import check, write

    check(persons, out, seed, threads)
    columns = (
        TextColumn("Drawing people"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=persons)
        households = write(persons, out, seed, threads, lambda done: bar.advance(task, done))
    typer.echo(f"Wrote {persons:,} people in {households:,} households to {out}.")
