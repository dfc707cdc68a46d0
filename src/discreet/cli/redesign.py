"""`discreet redesign`: the least coarsening of a table that passes a rule, and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.desk import redesign
from discreet.desk.redesign import Cost, Steps
from discreet.errors import ParameterError

Dimensions = list[str] | None

Table = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE.csv",
        help="Table of true counts, long or wide; or of values with their contributors.",
    ),
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="File for the coarser table, in the same layout.")
]
Rule = Annotated[
    list[str],
    typer.Option(
        "--rule",
        "-r",
        metavar="RULE",
        help="smallest=3 (no count of 1 or 2), small=0.1 (share of ones and twos), zeros=0.5 "
        "(share of zeros), mean=5 (people per cell), risk=0.15 (before protection), "
        "tablebuilder; for values p=10, pq=10,50, dominance=2,80, minimum=3 (no cell is "
        "sensitive). May be repeated: all must pass.",
    ),
]
Ordered = Annotated[
    Dimensions,
    typer.Option(metavar="DIM", help="Merge neighbours of a dimension. May be repeated."),
]
ChosenSteps = Annotated[
    Steps,
    typer.Option(help="subtrees: merge any branch of a tree by itself; levels: whole levels."),
]
ChosenCost = Annotated[
    Cost,
    typer.Option(help="cells: log of the categories before over after; information: entropy lost."),
]
Weight = Annotated[
    Dimensions,
    typer.Option(
        metavar="DIM=NUMBER", help="How dear a dimension is, 1 by default. May be repeated."
    ),
]
Keep = Annotated[
    Dimensions,
    typer.Option(metavar="DIM", help="Never drop this dimension. May be repeated."),
]
Fix = Annotated[
    Dimensions,
    typer.Option(metavar="DIM", help="Never change this dimension. May be repeated."),
]
Recodes = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Write old and new codes: DIM.csv, and DIM.grc for tau-ARGUS."
    ),
]
Most = Annotated[int | None, typer.Option(help="Try at most this many designs.")]


def command(
    table: Table,
    out: Out,
    rule: Rule,
    hierarchy: options.HierarchyFiles = None,
    ordered: Ordered = None,
    steps: ChosenSteps = Steps.SUBTREES,
    cost: ChosenCost = Cost.CELLS,
    weight: Weight = None,
    keep: Keep = None,
    fix: Fix = None,
    recodes: Recodes = None,
    most: Most = None,
    absent_zero: options.AbsentZero = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Merge as little as possible of a table so that it passes a rule, and say why.

    A dimension with neither a hierarchy nor an order can only be dropped. The report is for the
    custodian: it tells about the true counts.
    """
    from discreet.cli.progress import after_a_while, shown

    options.check_out(out, table, force)
    with shown() as tell:
        report = redesign(
            table,
            rule,
            hierarchy=options.groups_of(hierarchy),
            ordered=ordered or [],
            steps=steps,
            cost=cost,
            weights=_weights(weight or []),
            keep=keep or [],
            fixed=fix or [],
            most=most,
            absent_zero=absent_zero,
            tell=after_a_while(tell),
        )
    if recodes is not None and recodes.is_dir():
        for name in report.recode_files:
            options.check_new(recodes / name, force, "--recodes")
    report.write(out)
    if recodes is not None:
        report = replace(report, notes=report.write_recodes(recodes))
    options.show(report, as_json)


def _weights(given: list[str]) -> dict[str, float]:
    found = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise ParameterError(
                f"--weight must have the form dimension=number. Got {text}."
            ) from None
    return found
