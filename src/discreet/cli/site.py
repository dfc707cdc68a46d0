"""`discreet site`: a store that takes part in tables over several offices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AsJson, Force, check_new

command = typer.Typer(
    no_args_is_help=True, help="Let a store take part in tables over several offices."
)


@command.command()
def card(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", show_default=False)],
    id: Annotated[str, typer.Option("--id", metavar="ID", help="The id of the site.")],
    label: Annotated[str, typer.Option(metavar="TEXT", help="Its name in tables.")],
    address: Annotated[
        str, typer.Option(metavar="https://…", help="Where the hub reaches the site.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.json", help="Where to write the card.")
    ],
    force: Force = False,
) -> None:
    """Write what a hub must know of a site before there is a document.

    That is its id, name, address and public key, the size of its population as
    published, its variables and its policy. Several stores are cubes of one
    site, and the first has the key.
    """
    from discreet.federation.card import Card
    from discreet.files import written
    from discreet.release.signature import Signer
    from discreet.service.opened import open_store

    check_new(out, force)
    cubes = [open_store(store).version for store in stores]
    made = Card.of(cubes, id, label, address, Signer.of_store(stores[0]).public)
    with written(out, 0o644) as file:
        file.write(json.dumps(made.to_json(), ensure_ascii=False, indent=1).encode() + b"\n")
    typer.echo(f"Wrote {out}. Give it to the hub.")


@command.command()
def accept(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    store: Annotated[
        list[Path],
        typer.Option("--store", metavar="STORE", help="The store; again for each further cube."),
    ],
    hub: Annotated[
        str,
        typer.Option(metavar="KEY", help="The hub's public key, which reached you by another way."),
    ],
    own_protection: Annotated[
        bool,
        typer.Option(
            "--own-protection", help="Take part although the policy is not the common one."
        ),
    ] = False,
) -> None:
    """Compare a hub's document with a store, and accept it.

    Differences are told by name, and with one nothing is accepted. The acceptance
    is signed with the key of the store, the first if there are several. A hub that
    put in keys of its own for other sites would learn your part of every total, so
    ask those offices whether the keys that are printed are theirs.
    """
    import re

    from discreet.errors import ParameterError
    from discreet.federation.accepting import accept as accepted
    from discreet.federation.accepting import summary
    from discreet.federation.document import Document
    from discreet.release.signature import Signer
    from discreet.service.opened import open_store

    if not re.fullmatch(r"[0-9a-f]{64}", hub):
        raise ParameterError(f"--hub must be 64 hexadecimal digits. Got {hub!r}.")
    key = bytes.fromhex(hub)
    document = Document.read(file, key)
    cubes = [open_store(one).releaser for one in store]
    found = accepted(document, key, store[0], cubes, Signer.of_store(store[0]), own_protection)
    typer.echo(f"Accepted as '{found.member.id}'. Document {document.digest}")
    for line in summary(document, found.member, cubes[0]):
        typer.echo(line)
    typer.echo("Ask each of the other offices whether this is its key:")
    for one in document.members.values():
        if one.id != found.member.id:
            typer.echo(f"  {one.label}: {one.key}")
    typer.echo("A site that runs must be started again: it serves the document it began with.")


@command.command()
def log(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", show_default=False)],
    as_json: AsJson = False,
    new: Annotated[
        bool,
        typer.Option("--new", help="Make an empty record where it is missing: see docs first."),
    ] = False,
) -> None:
    """Show everything that a hub asked of a site, and what became of it.

    Several stores are cubes of one site; the first has the record.
    """
    from dataclasses import asdict

    from discreet.federation import kept
    from discreet.federation.asked import SiteRecord

    if new:
        kept.make(*stores)
    asked, away = [], {}
    if (stores[0] / kept.ACCEPTED).exists():  # accepted: there must be a record
        record = SiteRecord(*stores)
        asked, away = record.asked(), record.turned_away()
        record.close()
    if as_json:
        found = {"asked": [asdict(one) for one in asked], "turned_away": away}
        typer.echo(json.dumps(found, indent=1))
        return
    for one in asked:
        sites = f" with {', '.join(one.sites)}" if one.sites else ""
        typer.echo(f"{one.time} {one.kind} {one.of}{sites}: {one.outcome}")
    for reason, number in away.items():
        typer.echo(f"turned away, {reason}: {number:,}")
    if not asked and not away:
        typer.echo("Nothing was asked.")
