"""`discreet backup`: a store in one encrypted file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Force, StoreFolder, check_new
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.population.envelope import Passphrase

PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The passphrase is the first line of this file (mode 600); else it is asked for.",
    ),
]


def command(
    store: StoreFolder,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")],
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="KEY.pub", help="Encrypt for the owner of this X25519 public key (PEM)."
        ),
    ] = None,
    passphrase_file: PassphraseFile = None,
    force: Force = False,
) -> None:
    """Write a store to one encrypted file: data, policy, secret, signing key.

    So is its ledger, also where DISCREET_DATABASE_URL names another database.

    The store may be built into and serve meanwhile. Without --to the file is
    encrypted by a passphrase. Whoever can open the file has the microdata.
    """
    from discreet.population.backup import backup
    from discreet.population.envelope import Recipient

    if to is not None and passphrase_file is not None:
        raise ParameterError("either --to or --passphrase-file must be given, and not both.")
    check_new(out, force)
    by = passphrase(passphrase_file, True) if to is None else Recipient.read(to)
    kept = backup(store, out, by, _state_elsewhere(store))
    typer.echo(f"Wrote {out} ({kept.dataset}, version {kept.version}).")
    if kept.coded is not None:
        typer.echo(
            f"Note: the records are not in it. They are in {kept.coded}: copy that folder too.",
            err=True,
        )


def _state_elsewhere(store: Path) -> Callable[[str, Path], None] | None:
    """Return what copies the state of a store, None where it lies in the store itself."""
    from discreet.ledger import Database
    from discreet.population.state import SETTING

    return Database.of_store(store).copy if os.environ.get(SETTING) else None


def passphrase(file: Path | None, new: bool) -> Passphrase:
    """Return the passphrase in a file, or ask for it, twice if it is new."""
    from discreet.population.envelope import Passphrase

    if file is not None:
        return Passphrase.read(file)
    if not _can_ask():
        raise ParameterError("--passphrase-file must be given where nobody can be asked for it.")
    asked: str = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=new, err=True)
    return Passphrase(asked)


def _can_ask() -> bool:
    return sys.stdin.isatty()
