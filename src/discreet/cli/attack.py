"""`discreet attack`: what the best attackers learn from a store."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Force, StoreFolder, check_new
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.policy import AttackRules
    from discreet.population import Version
    from discreet.service.opened import Opened
    from discreet.study.attacks.report import Report
    from discreet.study.attacks.running import Source

Seconds = Annotated[
    int | None,
    typer.Option(
        "--seconds", help="How long it may take.  [default: as the policy says]", min=1,
        show_default=False,
    ),
]  # fmt: skip
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Write attack.html and attack.json there."),
]
Json = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the findings as JSON, signed.")
]
Edition = Annotated[
    Path | None,
    typer.Option(metavar="STORE", help="The next edition of the same data, to compare with."),
]
Originals = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Attack the records that the build kept here."),
]
Workers = Annotated[
    int | None,
    typer.Option(help="Processes.  [default: one for each core]", min=1, show_default=False),
]


def command(
    store: StoreFolder,
    seconds: Seconds = None,
    seed: Annotated[
        int, typer.Option("--seed", help="The same seed makes the same attacks.", min=0)
    ] = 1,
    synthetic: Annotated[
        bool,
        typer.Option("--synthetic", help="Attack invented people of the same variables and areas."),
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Ask a server that serves a copy of this store."),
    ] = None,
    out: Out = None,
    json_file: Json = None,
    edition: Edition = None,
    originals: Originals = None,
    workers: Workers = None,
    force: Force = False,
) -> None:
    """Show what the best attackers learn from a store.

    Each attacker knows the method and asks only what the public may ask, as
    the first who ever asks. Its answers are compared with the true counts, so
    the report is for the custodian, unless the people are invented.

    Ctrl-C ends the attacks and keeps what was found.
    """
    from discreet.study.attacks.remote import Remote

    if synthetic and (edition or originals or url):
        raise ParameterError(
            "--synthetic must be without --edition, --originals and --url: invented people are on "
            "no server, and have an edition of their own."
        )
    if url is not None and originals is not None:
        raise ParameterError("--url must be without --originals.")
    files = new_files(out, json_file, force)
    opened = opened_for(store)
    rules = rules_of(opened.policy.attack, seconds, (seed,))
    check_originals(opened.version, synthetic, originals)
    source = source_of(store, synthetic, edition, originals)
    if url is not None:
        source, workers = Remote(store, url, edition), 1  # a server forgets nothing between two
    public = synthetic or opened.policy.synthetic
    report = attacked(opened, source, rules, public, workers)
    show(report, files, store)


def source_of(store: Path, synthetic: bool, edition: Path | None, originals: Path | None) -> Source:
    """Return whom to attack."""
    from discreet.study.attacks.running import Invented, Own

    return Invented(store) if synthetic else Own(store, edition, originals)


def check_originals(version: Version, synthetic: bool, originals: Path | None) -> None:
    """Refuse to take a protected base for the truth: every attack would be right."""
    from discreet.release.beforehand import is_base

    if is_base(version) and not synthetic and originals is None:
        raise ParameterError(
            "a protected base must be attacked with --originals, the records that the build kept "
            "(discreet build --originals): compared with itself, every attack is right."
        )


def attacked(
    opened: Opened, source: Source, rules: AttackRules, public: bool, workers: int | None
) -> Report:
    """Run all attacks, with a bar that shows how far they are, and return the report."""
    from discreet.cli.progress import shown
    from discreet.ledger.space import public_population
    from discreet.study import attacks
    from discreet.study.attacks.report import Report
    from discreet.study.attacks.running import run

    number = workers or len(os.sched_getaffinity(0))
    with shown() as tell:
        findings, out = run(source, attacks.ATTACKS, rules, number, tell)
    title = f"{opened.schema.title}: what the best attacks learn"
    people = opened.version.people
    if public:
        people = public_population(opened.tier.space, people)
    return Report(
        title, opened.policy.version, people, rules.seeds, rules.seconds, findings, out, public,
        rules.untried,
    )  # fmt: skip


def new_files(out: Path | None, json_file: Path | None, force: bool) -> list[Path]:
    """Return the files to write, none of which is there unless it may be written over."""
    files = [] if out is None else [out / "attack.json", out / "attack.html"]
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    for path in files:
        check_new(path, force)
    if json_file is not None:
        check_new(json_file, force, "--json")
        files.append(json_file)
    return files


def show(report: Report, files: list[Path], store: Path) -> None:
    """Print a report and write its files; the one in JSON is signed by the store."""
    from discreet.files import written
    from discreet.service.certificate import signed_report

    typer.echo(report.text)
    text = json.dumps(signed_report(store, report.as_dict()), indent=1) if files else ""
    for path in files:
        with written(path) as file:
            file.write((report.html if path.suffix == ".html" else text).encode())


def opened_for(store: Path) -> Opened:
    """Return a store whose ledger nobody has used, and nobody will."""
    from discreet.service.opened import open_store

    return open_store(store, database="sqlite://")


def rules_of(
    rules: AttackRules, seconds: int | None, seeds: tuple[int, ...] | None = None
) -> AttackRules:
    """Return the rules of a policy with what was said on the command line."""
    from dataclasses import replace

    return replace(rules, seconds=seconds or rules.seconds, seeds=seeds or rules.seeds)
