"""`discreet hub`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Force, check_new


def command(
    file: Annotated[Path, typer.Argument(metavar="HUB.toml", show_default=False)],
    document: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the document for the sites, and stop.", show_default=False
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SITE", help="Leave a site out; every table names it.", show_default=False
        ),
    ] = None,
    host: Annotated[str, typer.Option(metavar="H", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="P", help="The port to listen on; 0 for any free one.")
    ] = 8000,
    settings: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Limits, proxies and keys.", show_default=False),
    ] = None,
    force: Force = False,
) -> None:
    """Serve tables over several offices, whose data stay with them.

    Asks every site which version it has, then serves two data sets: all sites
    combined, and country by country.
    """
    from discreet.federation.document import HubFile
    from discreet.federation.start import document_of, start, write_document

    described = HubFile.read(file)
    if document is not None:
        check_new(document, force, "--document")
        made, signer = document_of(described)
        write_document(made, document)
        typer.echo(f"Wrote {document}, {made.digest}")
        typer.echo(f"The hub's key is {signer.public.hex()}")
        return
    from discreet.server.run import serve
    from discreet.server.settings import read_settings

    chosen = read_settings(settings, os.environ)
    started = start(described, without or ())
    for note in started.notes:
        typer.echo(note)

    def listening(address: str) -> None:
        typer.echo(f"Serving on {address}")

    serve(
        started.stores, host, port, chosen, listening, lambda: read_settings(settings, os.environ)
    )
