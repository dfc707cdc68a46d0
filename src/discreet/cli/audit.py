"""`discreet audit`: what an intruder can prove about the cells of a published table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.desk import audit
from discreet.errors import ParameterError

Published = Annotated[
    Path,
    typer.Argument(
        metavar="PUBLISHED.csv",
        help="Published table, long or wide; withheld figures are empty or marked (x, c, :).",
    ),
]
Rounded = Annotated[
    float | None,
    typer.Option(
        metavar="BASE", help="Figures are rounded to the nearest multiple of BASE, halves up."
    ),
]
RandomRounded = Annotated[
    float | None,
    typer.Option(metavar="BASE", help="Figures are rounded at random, or controlled, to BASE."),
]
Within = Annotated[float | None, typer.Option(help="Figures are perturbed by at most this much.")]
Insider = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIM=CODE,…:AMOUNT",
        help="The intruder knows this contribution to a cell. May be repeated.",
    ),
]
Precision = Annotated[float, typer.Option(help="Figures are multiples of this.")]
TrueTable = Annotated[
    Path | None,
    typer.Option(
        "--true",
        metavar="TABLE.csv",
        help="The true table: say which cells, sensitive by the rules below, are known too "
        "closely. The report is then for the custodian.",
    ),
]
Seconds = Annotated[
    float | None, typer.Option(help="Stop after this long; what is proved by then is valid.")
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write the interval of every cell as CSV.")
]


def command(
    published: Published,
    rounded: Rounded = None,
    random_rounded: RandomRounded = None,
    within: Within = None,
    group: options.Group = None,
    insider: Insider = None,
    precision: Precision = 1.0,
    true: TrueTable = None,
    minimum: options.Minimum = None,
    p: options.P = None,
    pq: options.PQ = None,
    dominance: options.Dominance = None,
    seconds: Seconds = None,
    out: Out = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Say what an intruder can prove about the cells of a published table.

    For each cell without an exact figure: the least and the greatest value it can have, given
    all other figures and that parts add up to their totals. Combinations that a long file does
    not mention count as not published. With --true, the exit status is 4 where a sensitive
    cell is known too closely, to anybody or to a contributor.
    """
    from discreet.cli.progress import after_a_while, shown

    rules = options.rules_of(minimum, p, pq, dominance)
    if true is None and rules:
        raise ParameterError("--minimum, --p, --pq and --dominance need --true, the true table.")
    if out is not None:
        options.check_out(out, published, force)
    with shown() as tell:
        report = audit(
            published,
            rules,
            true=true,
            rounded=rounded,
            random_rounded=random_rounded,
            within=within,
            hierarchy=options.groups_of(None, group),
            insiders=[_insider(text) for text in insider or []],
            precision=precision,
            seconds=seconds,
            tell=after_a_while(tell),
        )
    if out is not None:
        report.write(out)
        options.say_private(out)
    typer.echo(report.to_json() if as_json else str(report))
    if not report.protected:
        raise typer.Exit(4)


def _insider(text: str) -> tuple[dict[str, str], float]:
    cell, colon, amount = text.rpartition(":")
    parts = [part.partition("=") for part in cell.split(",")]
    try:
        if not colon or not all(equals for _, equals, _ in parts) or not float(amount) >= 0:
            raise ValueError
    except ValueError:
        raise ParameterError(
            f"--insider must have the form dimension=code,dimension=code:amount. Got {text}."
        ) from None
    return {name.strip(): code.strip() for name, _, code in parts}, float(amount)
