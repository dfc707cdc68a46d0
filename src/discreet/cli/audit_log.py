"""`discreet audit-log`: the record of who asked what."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import AsJson, Force, StoreFolder, check_new
from discreet.cli.user import opened

if TYPE_CHECKING:
    from discreet.people.record import Written

command = typer.Typer(no_args_is_help=True, help="Read and verify the record of who asked what.")

PersonOf = Annotated[
    str, typer.Option("--person", metavar="EMAIL", help="Of one person.", show_default=False)
]
ProjectOf = Annotated[
    str, typer.Option("--project", metavar="ID", help="Of one project.", show_default=False)
]


@command.command()
def verify(
    store: StoreFolder,
    head: Annotated[
        str,
        typer.Option(
            metavar="N:HASH",
            help="What an earlier look printed; it must still be there.",
            show_default=False,
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Say whether every line of the record is there and as it was written.

    Each line holds the hash of all before it. Note what is printed somewhere
    else, and give it with --head the next time: then nobody can have cut off
    the end or written the whole anew. The exit status is 1 if a line is not as
    it was.
    """
    from dataclasses import asdict

    from discreet.cli.ledger import say

    found = opened(store).record.verify(head)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=1))
    elif found.broken is not None:
        say(f"The record is not as it was written: {found.why}.")
    elif not found.lines:
        say("The record is empty.")
    else:
        if found.first > 1:
            say(f"Lines up to {found.first - 1:,} were removed, as a line of the record says.")
        say(f"All lines from {found.first:,} to {found.last:,} are as they were written.")
        typer.echo(f"{found.last}:{found.head}")
    if found.broken is not None:
        raise typer.Exit(1)


@command.command()
def show(
    store: StoreFolder,
    person: PersonOf = "",
    project: ProjectOf = "",
    last: Annotated[int, typer.Option(metavar="N", help="How many lines; 0 for all.")] = 40,
    as_json: AsJson = False,
) -> None:
    """Print the latest lines of the record."""
    from discreet.cli.ledger import say

    found = opened(store).record.lines(person.casefold(), project, most=last)
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in found], indent=1, ensure_ascii=False))
        return
    for one in found:
        say(_told(one))


def _told(one: Written) -> str:
    line = one.line
    what = " ".join(filter(None, [line.action, line.dataset, line.question]))
    facts = ", ".join(filter(None, [line.tier, line.verdict, line.uses and "used a look"]))
    said = "; ".join(filter(None, [what, facts, line.note]))
    return f"{one.n} {one.time[:19]}+00:00 {line.person}: {said}"


@command.command()
def export(
    store: StoreFolder,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.csv", help="The file to write.")
    ],
    person: PersonOf = "",
    project: ProjectOf = "",
    force: Force = False,
) -> None:
    """Write the record, or a part of it, to a CSV file."""
    from discreet.files import written
    from discreet.people.exported import as_csv

    check_new(out, force)
    found = opened(store).record.lines(person.casefold(), project)
    with written(out) as file:
        file.write(as_csv(found))
    typer.echo(f"Wrote {out}.", err=True)


@command.command()
def prune(store: StoreFolder) -> None:
    """Remove lines that are older than the policy keeps them (record_years)."""
    from discreet.cli.ledger import say
    from discreet.cli.user import served
    from discreet.people.record import due

    today = datetime.now(UTC).date()
    day = due(served(store)[1].record_years, today)
    number = opened(store).record.prune(day)
    say(f"{number:,} lines from before {day} are removed.")
