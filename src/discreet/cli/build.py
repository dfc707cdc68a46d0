"""`discreet build`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from discreet.progress import Tell


def command(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET.toml", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="STORE", help="The folder of the store.")
    ],
    new_secret: Annotated[
        bool,
        typer.Option(
            "--new-secret",
            help="Give every record a new key. New noise on the same data can be averaged "
            "with the old, so this is only for data that have not been published.",
        ),
    ] = False,
    new_signing_key: Annotated[
        bool,
        typer.Option(
            "--new-signing-key",
            help="Sign later releases with a new key. Files signed before are checked with the "
            "public key of then: keep it.",
        ),
    ] = False,
    keep: Annotated[
        int, typer.Option(metavar="N", help="How many versions to keep on disk.", min=1)
    ] = 2,
    views: Annotated[
        int | None,
        typer.Option(
            metavar="MIB",
            help="Disk space for marginal tables, which make answers faster.  "
            "[default: what the records take, from 16 to 256]",
            show_default=False,
            min=0,
            max=2**20,
        ),
    ] = None,
    originals: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep the records as they were before [[protect]], in a folder outside STORE.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Which engine reads and counts the records: scan, duckdb or spark.  "
            "[default: what DATASET.toml says]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Build a store from a data set.

    Reads the microdata (Parquet or CSV) or hypercubes that DATASET.toml
    describes, checks every value, and makes a new version of STORE current.
    If anything goes wrong, the store stays as it was.
    """
    from discreet.build import build
    from discreet.cli.progress import shown

    with _ending_tidily(), shown() as progress:
        built = build(
            dataset,
            out,
            progress,
            new_secret,
            keep,
            None if views is None else views * 2**20,
            originals,
            new_signing_key,
            _offered,
            engine,
        )
        left_out = _planned(out, progress)
    for note in (*built.notes, *left_out):
        typer.echo(f"Note: {note}", err=True)
    typer.echo(f"Built {built.rows:,} rows into {out} (version {built.version}).")
    if built.coded is not None:
        typer.echo(f"The coded records, with their keys, are in {built.coded}.")
        typer.echo("Guard that folder as you guard the store: it holds the microdata.")
    typer.echo(f"Look at it with: discreet info {out}")


@contextmanager
def _ending_tidily() -> Iterator[None]:
    """Let SIGTERM end the program as an error does, so that no records are left behind."""

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    if current_thread() is not main_thread():  # signals are not its matter
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _offered(what: str) -> bool:
    """Ask at the terminal whether to use what Ctrl-C left; where nobody can answer, it is not."""
    if not sys.stdin.isatty():
        return False
    typer.echo(f"\n{what}", err=True)
    return typer.confirm("It passes the checks. Use it as it is?", err=True)


def _planned(store: Path, progress: Tell) -> list[str]:
    """Make the tables that the policy plans; return what to say of those that cannot be."""
    from discreet.policy import parse_policy
    from discreet.population import Store

    values = Store(store).open().policy_values
    policy = parse_policy(values, "policy", "policy")
    if not policy.official and not any(tier.space.plan for tier in policy.tiers.values()):
        return []
    from discreet.service.opened import open_store

    releaser = open_store(store).releaser
    releaser.make_planned(progress)
    return [
        f"Planned, and used up already: {one.label} (tier {tier})."
        for tier, gone in releaser.ledgers.left_out.items()
        for one in gone
    ]
