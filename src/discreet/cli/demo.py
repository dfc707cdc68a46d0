"""`discreet demo`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

_TABLES = (
    ("age_band,sex", "region=1"),
    ("activity,education", "sex=2,age_band=7|8"),
    ("region,tenure", None),
)


def _default_folder() -> Path:
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "discreet" / "demo"


def command(
    persons: Annotated[
        int, typer.Option(metavar="N", help="How many people to make up, at least 1,000.")
    ] = 1_500_000,
    port: Annotated[
        int, typer.Option(metavar="P", help="For the web page, which does not exist yet.")
    ] = 8000,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open a browser; today none is opened.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the census is kept.  [default: discreet/demo among your data]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make up a census, build it, and show three tables of it.

    The first time takes about a minute; after that the census is there.
    The people are invented, so the true counts disclose nobody.
    """
    import discreet as dc
    from discreet.cli.show import text

    place = (folder or _default_folder()) / str(persons)
    store = place / "store"
    if not (store / "CURRENT").exists():
        _make(persons, place, store)
    population = dc.open(store)
    for by, where in _TABLES:
        table = population.tabulate(dc.Query.parse(by, where))
        asked = f"--by {by}" + (f" --where '{where}'" if where else "")
        typer.echo(f"\n$ discreet tabulate STORE {asked}\n")
        typer.echo(text(table, population.schema.title))
    shown = os.path.relpath(store) if store.is_relative_to(Path.cwd()) else store
    typer.echo(f"\nWhat else there is: discreet info {shown}")
    typer.echo(f"Another table:      discreet tabulate {shown} --by health,tenure")


def _make(persons: int, place: Path, store: Path) -> None:
    """Draw the people and build them; the drawn file is not kept."""
    from discreet.build import build
    from discreet.build.synth import check, write
    from discreet.cli.progress import shown

    drawn = place / "census"
    check(persons, drawn, 1, None)
    with shown() as tell:
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            tell("drawing", done, persons)

        try:
            place.mkdir(parents=True, exist_ok=True)
            write(persons, drawn, 1, None, advance)
            build(drawn / "dataset.toml", store, tell)
        finally:
            shutil.rmtree(drawn, ignore_errors=True)
