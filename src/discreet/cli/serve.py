"""`discreet serve`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer


def command(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", show_default=False)],
    host: Annotated[str, typer.Option(metavar="H", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="P", help="The port to listen on; 0 for any free one.")
    ] = 8000,
    settings: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Limits, proxies and keys.", show_default=False),
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", help="Processes that answer; one for each core, say.")
    ] = 1,
    root_path: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="The path under which readers find it, as /stat.",
            show_default=False,
        ),
    ] = None,
    site: Annotated[
        bool,
        typer.Option("--site", help="Answer the hub whose document was accepted, nobody else."),
    ] = False,
) -> None:
    """Serve the web pages and the API of one or more stores.

    Runs until it is stopped, and then finishes the requests it is answering. A
    new version of a store is noticed and served. The log goes to standard error.
    On SIGHUP settings and certificate are read again. Several workers share
    one cache of answers and all limits.
    Settings are also read from environment variables: DISCREET_RATE, say,
    overrides `rate` in the file.
    """
    from discreet.server.run import serve
    from discreet.server.settings import Settings, read_settings

    def read() -> Settings:
        found = read_settings(settings, os.environ)
        return found if root_path is None else replace(found, root_path=root_path)

    first = read()

    def listening(address: str) -> None:
        typer.echo(f"Serving on {address}{first.root_path}")

    if site:
        from discreet.server.site import serve_site

        serve_site(stores, host, port, first, listening, read)
        return
    serve(stores, host, port, first, listening, read, workers)
