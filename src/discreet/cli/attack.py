"""`discreet attack`: what the best attackers learn from a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Force, StoreFolder, check_new

Seconds = Annotated[float, typer.Option("--seconds", help="About how long it may take.", min=1)]
Seed = Annotated[int, typer.Option("--seed", help="The same seed makes the same attacks.", min=0)]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write attack.html and attack.json there."),
]
Json = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the findings as JSON.")
]
Edition = Annotated[
    Path | None,
    typer.Option(metavar="STORE", help="The next edition of the same data, to compare with."),
]


def command(
    store: StoreFolder,
    seconds: Seconds = 300,
    seed: Seed = 1,
    out: Out = None,
    json_file: Json = None,
    edition: Edition = None,
    force: Force = False,
) -> None:
    """Show what the best attackers learn from a store.

    Each attacker knows the method and asks only what the public may ask, as
    the first who ever asks. Its answers are compared with the true counts, so
    the report is for the custodian, unless the people are invented.

    Ctrl-C ends the attacks and keeps what was found.
    """
    attacked(store, seconds, seed, out, json_file, edition, force)


def attacked(
    store: Path,
    seconds: float,
    seed: int,
    out: Path | None,
    json_file: Path | None,
    edition: Path | None,
    force: bool = False,
) -> bool:
    """Run all attacks, print and write the report, and return whether all stay within bounds."""
    from discreet.files import written
    from discreet.service.opened import open_store
    from discreet.study.attacks import ATTACKS, Target
    from discreet.study.attacks.report import run

    files = [] if out is None else [out / "attack.json", out / "attack.html"]
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    for path in files:
        check_new(path, force)
    if json_file is not None:
        check_new(json_file, force, "--json")
    opened = open_store(store, database="sqlite://")
    title = f"{opened.schema.title}: what the best attacks learn"
    target = Target.open(store, edition=edition)

    def tell(name: str) -> None:
        typer.echo(f"{name} …", err=True)

    report = run(target, ATTACKS, seed, seconds, title, opened.policy.version, tell)
    typer.echo(report.text)
    text = json.dumps(report.as_dict(), indent=1)
    if json_file is not None:
        files.append(json_file)
    for path in files:
        with written(path) as file:
            file.write((report.html if path.suffix == ".html" else text).encode())
    return report.passed
