"""`discreet mcp`: a server for clients of language models."""

from __future__ import annotations

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

    They search for variables, check questions and ask for small tables, as
    the public: rules and ledger hold as everywhere.
    """
    with with_extra("mcp"):
        from discreet.server.mcp import create
    server = create(stores)
    if http:
        server.run("streamable-http", host="127.0.0.1", port=port)
    else:
        server.run("stdio")
