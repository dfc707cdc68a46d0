"""`discreet key`: keys of people's programs."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from discreet.cli.options import AsJson, StoreFolder
from discreet.cli.user import Email, opened

command = typer.Typer(no_args_is_help=True, help="Manage the keys of people's programs.")


@command.command()
def add(
    store: StoreFolder,
    email: Email,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the key is for.")],
    days: Annotated[int, typer.Option(metavar="N", help="How long it lasts, up to 730.")] = 365,
    project: Annotated[
        str, typer.Option(metavar="ID", help="The project it is for.", show_default=False)
    ] = "",
    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A data set that it is for. May be repeated."),
    ] = None,
) -> None:
    """Make a key and print it, this once: only its hash is kept.

    Programs send it as `Authorization: Bearer KEY`.
    """
    people = opened(store)
    person = people.accounts.find(email)
    typer.echo(people.entrance.make_key(person, name, days, project, dataset or ()))
    typer.echo("Keep it safe: it is not shown again.", err=True)


@command.command("list")
def list_(store: StoreFolder, as_json: AsJson = False) -> None:
    """List the keys that there are, without the keys themselves."""
    from discreet.cli.ledger import print_list, say

    people = opened(store)
    email = {one.id: one.email for one in people.accounts.everybody()}
    found = people.entrance.keys()
    if as_json:
        told = [
            {
                "id": one.id, "person": email[one.person], "name": one.name,
                "project": one.project, "datasets": one.datasets, "ends": one.ends[:10],
                "live": one.live, "used": one.used[:10],
            }
            for one in found
        ]  # fmt: skip
        typer.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    if not found:
        say("There are no keys.")
        return
    rows = [
        (
            one.id, email[one.person], one.name, one.ends[:10] if one.live else "ended",
            one.used[:10] or "never",
        )
        for one in found
    ]  # fmt: skip
    print_list(("Key", "Of", "For", "Ends", "Last used"), rows, len(rows))


@command.command()
def end(
    store: StoreFolder,
    key: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
) -> None:
    """End a key, at once; ID is what `discreet key list` shows."""
    opened(store).entrance.end_key(key)
