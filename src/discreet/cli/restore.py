"""`discreet restore`: a store from its backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.backup import PassphraseFile, passphrase
from discreet.errors import ParameterError


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="STORE", help="The folder of the store: a new one."),
    ],
    key: Annotated[
        Path | None,
        typer.Option(metavar="KEY", help="The X25519 private key (PEM) it was encrypted for."),
    ] = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Make a store of a file that discreet backup wrote.

    Every file is checked before the store is there. It answers with the same
    figures as the one that was kept, and signs with the same key.
    """
    from discreet.population.backup import restore
    from discreet.population.envelope import Owner

    if key is not None and passphrase_file is not None:
        raise ParameterError("either --key or --passphrase-file must be given, and not both.")
    kept = restore(
        file, out, passphrase(passphrase_file, False) if key is None else Owner.read(key)
    )
    typer.echo(f"Restored {out} ({kept.dataset}, version {kept.version}).")
    if kept.coded is not None:
        typer.echo(
            f"Note: its records are not in the backup. They must be in {kept.coded}, as they were "
            f"written: see discreet info {out} --verify.",
            err=True,
        )
    public = out / "signing.pub"
    if public.is_file():
        from discreet.release.signature import read_public_key

        typer.echo(f"It signs with the key {read_public_key(public).hex()}.")
