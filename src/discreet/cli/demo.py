"""`discreet demo`."""

from __future__ import annotations

import os
import shutil
import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def _default_folder() -> Path:
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "discreet" / "demo"


def command(
    persons: Annotated[
        int, typer.Option(metavar="N", help="How many people to invent, at least 1,000.")
    ] = 1_500_000,
    port: Annotated[int, typer.Option(metavar="P", help="The port of the web page.")] = 8000,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open the page in a browser.")
    ] = False,
    with_people: Annotated[
        bool,
        typer.Option("--with-people", help="With four people, two projects and what they asked."),
    ] = False,
    federation: Annotated[
        bool,
        typer.Option("--federation", help="Three countries, whose records stay apart, and a hub."),
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            "--out",
            "-o",
            metavar="DIR",
            help="Where the census is kept.  [default: ~/.local/share/discreet/demo]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Invent a census, build a store from it, and serve its web page.

    This takes ten to thirty seconds the first time, and two or three after
    that. Stop it with Ctrl-C.
    """
    from discreet.population import Store
    from discreet.population.manifest import FORMAT, loose
    from discreet.server.run import serve
    from discreet.server.settings import Settings

    if federation:
        _federation(
            persons, (folder or _default_folder()) / f"{persons}-countries", port, no_browser
        )
        return
    name = f"{persons}-people" if with_people else str(persons)
    place = (folder or _default_folder()) / name
    store = place / "store"
    current = Store(store).current()
    if current is None or loose(store / "versions" / current).get("format") != FORMAT:
        _make(persons, place, store)
    if with_people:
        _people(store)

    def listening(address: str) -> None:
        shown = os.path.relpath(store) if store.is_relative_to(Path.cwd()) else store
        typer.echo(f"A census of {persons:,} invented people is at {address}")
        typer.echo(f"On the command line: discreet table {shown} --by age_band,sex --where la=1")
        if with_people:
            from discreet.people.example import EMAILS, PASSWORD

            typer.echo(f"Sign in as {', '.join(EMAILS)} with the password: {PASSWORD}")
        typer.echo("Stop with Ctrl-C.")
        if not no_browser:
            webbrowser.open(address)

    serve([store], "127.0.0.1", port, Settings(), listening)


def _federation(persons: int, place: Path, port: int, no_browser: bool) -> None:
    """Serve the hub of three countries, each a process of its own."""
    from discreet.cli.countries import COUNTRIES, make, running
    from discreet.server.run import serve
    from discreet.server.settings import Settings

    each = max(persons // len(COUNTRIES), 1_000)
    stores = make(place, lambda folder, store, seed: _make(each, folder, store, seed))
    with running(place, stores) as started:

        def listening(address: str) -> None:
            named = ", ".join(COUNTRIES.values())
            typer.echo(f"The hub of {named}, each of {each:,} invented people, is at {address}")
            first = next(iter(stores.values()))
            typer.echo(f"What was asked of a country: discreet site log {first}")
            typer.echo("Stop with Ctrl-C.")
            if not no_browser:
                webbrowser.open(address)

        serve(started.stores, "127.0.0.1", port, Settings(), listening)


_ASKED = (
    ("Damp homes by health", "la,tenure,health"),
    ("Health at home", "tenure,health,age_band"),
    ("Work by district", "la,activity"),
    ("Health in every street", "oa,tenure,health"),
)
# It shows what the last of them shows, at which the project has one look: whatever the size.
_REFUSED = (
    "oa,tenure,health,illness",
    "To find the streets where people in rented homes have been ill for long.",
)


def _people(store: Path) -> None:
    """Make people with a history, once."""
    from discreet.people.example import make

    make(store, _ASKED, _REFUSED).close()


def _make(persons: int, place: Path, store: Path, seed: int = 1) -> None:
    """Draw the people and build them; the drawn file is not kept."""
    from discreet.build import build
    from discreet.build.ahead import compile_ahead
    from discreet.cli.progress import shown
    from discreet.synth import check, write

    drawn = place / "census"
    check(persons, drawn, seed, None)
    with shown() as tell:
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            tell("drawing", done, persons)

        try:
            compile_ahead(persons, tell)
            place.mkdir(parents=True, exist_ok=True)
            write(persons, drawn, seed, None, advance)
            build(drawn / "dataset.toml", store, tell)
        finally:
            shutil.rmtree(drawn, ignore_errors=True)
