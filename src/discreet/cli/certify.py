"""`discreet certify`: the attacks as a gate."""

from __future__ import annotations

import typer

from discreet.cli.attack import (
    Edition,
    Json,
    Originals,
    Out,
    Seconds,
    Workers,
    attacked,
    check_originals,
    new_files,
    opened_for,
    rules_of,
    show,
    source_of,
)
from discreet.cli.options import Force, StoreFolder

BEYOND = 4
"""The exit status if a store is not certified."""


def command(
    store: StoreFolder,
    seconds: Seconds = None,
    out: Out = None,
    json_file: Json = None,
    edition: Edition = None,
    originals: Originals = None,
    workers: Workers = None,
    force: Force = False,
) -> None:
    """Run all attacks; fail if one of them goes beyond its bound.

    Bounds, seeds, and whether the people are invented are in the policy, under
    [attack]. The certificate is signed and kept in the store, for this policy,
    plan and edition. The exit status is 4 if an attack learns more than it may,
    or could not be judged: it was not run, had nothing to be tried on, or ran
    out of time.
    """
    from discreet.errors import ParameterError
    from discreet.policy import People
    from discreet.service.certificate import Subject, issue

    files = new_files(out, json_file, force)
    opened = opened_for(store)
    rules = rules_of(opened.policy.attack, seconds)
    synthetic = rules.population is People.SYNTHETIC
    if synthetic and (edition or originals):
        raise ParameterError(
            '--edition and --originals must be with population = "own" in [attack]: invented '
            "people have editions of their own."
        )
    check_originals(opened.version, synthetic, originals)
    source = source_of(store, synthetic, edition, originals)
    public = synthetic or opened.policy.synthetic
    report = attacked(opened, source, rules, public, workers)
    show(report, files, store)
    if report.passed or report.failed:  # a run that was stopped says nothing of what is certified
        subject = Subject.of(opened.version, opened.policy)
        path = issue(store, subject, report.as_dict(), rules.population)
    if not report.passed:
        typer.echo("Not certified.", err=True)
        raise typer.Exit(BEYOND)
    typer.echo(f"Certified: {path}")
