"""`discreet table`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import By, Force, ShowCodes, StoreFolder, Where, check_new

if TYPE_CHECKING:
    from discreet.release import Record


def command(
    store: StoreFolder,
    by: By,
    where: Where = None,
    totals: Annotated[
        str,
        typer.Option(metavar="KIND", help="none, protected or summed, as the policy allows."),
    ] = "none",
    tier: Annotated[
        str | None,
        typer.Option(
            metavar="TIER", help="The kind of user.  [default: public]", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the table to a file instead."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="The format of the file.  [default: by its ending]",
            show_default=False,
        ),
    ] = None,
    csvw: Annotated[
        bool,
        typer.Option(
            "--csvw",
            help="Beside a CSV file write FILE-metadata.json: columns and types, CSV on the Web.",
        ),
    ] = False,
    codes: ShowCodes = False,
    record: Annotated[
        bool,
        typer.Option("--record", help="Also print the record: exact measures, not for release."),
    ] = False,
    originals: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Compare the record with the originals that the build kept here.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Release one table, protected, or say why it is refused.

    The question is checked against the rules, the table is counted and
    protected, and the risk that is left decides. A refusal comes with coarser
    questions that may be asked.
    """
    import discreet as dc
    from discreet.cli.show import release_text

    for option, given in (("--format", format), ("--csvw", csvw or None)):
        if given is not None and out is None:
            raise dc.ParameterError(f"{option} is of a file: give --out as well.")
    if originals is not None and not record:
        raise dc.ParameterError("--originals is for the record: give --record as well.")
    if out is not None:
        from discreet.release.formats import CSVW, named, refuse_csvw

        format = format or _by_ending(out)
        if csvw:
            refuse_csvw(format)
        for ending in ("", *named(format).beside, *([CSVW] if csvw else [])):
            check_new(out.with_name(out.name + ending), force)
    population = dc.open(store, originals)
    try:
        release = population.release(by, where, totals, tier)
    except dc.QueryRefused as refused:
        if record:
            _print_record(refused.record)
        raise
    if out is None:
        typer.echo(release_text(release, codes=codes))
    else:
        release.write(out, format or "", csvw)
        typer.echo(f"Wrote {out}.", err=True)
    if record:
        _print_record(release.record)


def _print_record(record: Record | None) -> None:
    if record is None:
        typer.echo("There is no record: nothing was counted.", err=True)
        return
    typer.echo(json.dumps(record.as_dict(), indent=1))
    typer.echo("The record is not for release.", err=True)


def _by_ending(path: Path) -> str:
    """Return the format that the ending of a file stands for, the first where several share it."""
    from discreet.errors import ParameterError
    from discreet.release.formats import FORMATS

    for name, format in FORMATS.items():
        if path.suffix.lower() == format.suffix:
            return name
    endings = ", ".join(dict.fromkeys(format.suffix for format in FORMATS.values()))
    raise ParameterError(
        f"the ending of {path.name} must be one of {endings}, or --format must say what it is."
    )
