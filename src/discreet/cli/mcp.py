"""`discreet mcp`: a server for clients of language models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from discreet.extras import with_extra


def command(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", show_default=False)],
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP instead of standard input and output.")
    ] = False,
    port: Annotated[int, typer.Option(metavar="P", help="The port, on 127.0.0.1.")] = 8001,
) -> None:
    """Serve stores to clients of language models (MCP).

    They search for variables, check questions and ask for small tables: rules
    and ledger hold as everywhere. They ask as the public, or in the tier of
    the key in the environment variable DISCREET_KEY; over HTTP, of the one in
    the header Authorization.
    """
    with with_extra("mcp"):
        from discreet.server.mcp import create
    server = create(stores, key=os.environ.get("DISCREET_KEY", ""))
    if http:
        server.run("streamable-http", host="127.0.0.1", port=port)
    else:
        server.run("stdio")
