"""`discreet synth`: writes a synthetic census, or synthetic businesses."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Force
from discreet.errors import ParameterError


class Kind(StrEnum):
    """What is invented."""

    CENSUS = "census"
    BUSINESS = "business"


def command(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="The folder to write: a new one, or with --force one that synth wrote.",
        ),
    ],
    persons: Annotated[
        int | None, typer.Option("--persons", help="How many people: 1,000 to 1,000,000,000.")
    ] = None,
    records: Annotated[
        int | None, typer.Option("--records", help="How many businesses: 10 to 10,000,000.")
    ] = None,
    kind: Annotated[
        Kind, typer.Option("--kind", help="census: people and counts; business: magnitudes.")
    ] = Kind.CENSUS,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same people.")] = 1,
    threads: Annotated[
        int | None,
        typer.Option("--threads", help="How many threads draw people.  [default: all processors]"),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(
            "--parts", help="Write people to so many files of a folder persons, not to one file."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write a synthetic census: invented people in invented places.

    The folder gets persons.parquet (one row per person, integer codes),
    dataset.toml (what the codes mean) and a list of areas for each level.

    With --kind business it gets records.csv, with invented businesses in nine
    dimensions and their skewed turnovers, and a hierarchy file (.hrc) for each
    dimension that has one.
    """
    if out.is_dir() and any(out.iterdir()) and not force:
        raise ParameterError(f"{out} is there already. Give --force to write over it.")
    if kind is Kind.BUSINESS:
        if persons is not None:
            raise ParameterError("businesses are counted by --records, not --persons.")
        if threads is not None:
            raise ParameterError("--threads is for the census; businesses are drawn by one.")
        if parts is not None:
            raise ParameterError("--parts is for the census; businesses are in one file.")
        if records is None:
            raise ParameterError("--records must say how many businesses, such as --records 20000.")
        _businesses(records, out, seed)
        return
    if records is not None:
        raise ParameterError(
            "people are counted by --persons, not --records. For businesses add --kind business."
        )
    if persons is None:
        raise ParameterError("--persons must say how many people, such as --persons 1500000.")
    _census(persons, out, seed, threads, parts)


def _businesses(records: int, out: Path, seed: int) -> None:
    from discreet.synth.business import write

    businesses = write(records, out, seed)
    holdings = int(businesses.holding.max())
    typer.echo(f"Wrote {records:,} businesses of {holdings:,} holdings to {out}.")


def _census(persons: int, out: Path, seed: int, threads: int | None, parts: int | None) -> None:
    from discreet.cli.progress import shown
    from discreet.synth import check, write

    check(persons, out, seed, threads, parts)
    drawn = 0
    with shown() as tell:

        def advance(more: int) -> None:
            nonlocal drawn
            drawn += more
            tell("drawing people", drawn, persons)

        households = write(persons, out, seed, threads, advance, parts)
    typer.echo(f"Wrote {persons:,} people in {households:,} households to {out}.")
