"""`discreet adjust`: moves sensitive figures to safety, and others as little as possible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from discreet.cli import options
from discreet.desk import adjust, adjust_records
from discreet.desk.adjust import Norm, Weight
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.desk.adjust.jj import JJReport
    from discreet.desk.adjust.records.report import RecordsReport
    from discreet.desk.adjust.report import AdjustReport

# What goes with --order: it adjusts magnitudes.
OF_RECORDS = {
    "table", "out", "by", "value", "holding", "hierarchy", "group", "minimum", "p", "pq",
    "dominance", "percent", "order",
    "secret", "seed", "withhold", "report", "force", "as_json",
}  # fmt: skip

Table = Annotated[
    Path,
    typer.Argument(help="CSV file of counts or values, or of records, with --by; or JJ file."),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="File to write: every cell and total.")]
Percent = Annotated[
    float | None,
    typer.Option(help="Protection where rule and file say no amount, in percent; else 10."),
]
ChosenNorm = Annotated[
    Norm,
    typer.Option(case_sensitive=False, help="l1: sum of changes; l2: sum of squared changes."),
]
ChosenWeight = Annotated[
    Weight,
    typer.Option(
        case_sensitive=False, help="value: a change counts in proportion; one: by itself."
    ),
]
Margins = Annotated[
    float, typer.Option(help="Weight of a total, for each dimension it is summed over.")
]
Capacity = Annotated[
    float, typer.Option(help="Largest change of cells that are not sensitive, in percent.")
]
Fix = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B", help="Totals by these dimensions stay; 'total' is the grand total."
    ),
]
Above = Annotated[
    float | None,
    typer.Option(help="Move only sensitive contributions and inner cells above this."),
]
Spread = Annotated[
    float,
    typer.Option(help="Random extra distance of sensitive cells, as a share of their protection."),
]
Order = Annotated[
    int | None,
    typer.Option(
        help="Adjust the records, so that all tables by up to so many dimensions of --by (of "
        "each, where there are several) are safe; for more cells than fit in a table."
    ),
]
Audit = Annotated[
    bool, typer.Option("--audit", help="Say what one who knows the method can prove.")
]
Withhold = Annotated[
    bool,
    typer.Option(
        "--withhold",
        help="Leave cells empty that cannot be protected, and those that would give them away.",
    ),
]
Beyond = Annotated[
    float | None,
    typer.Option(
        help="Leave cells empty, likewise, that would change by more than so many percent."
    ),
]
Coarse = Annotated[
    float | None,
    typer.Option(
        help="Round figures that would change by more than so many percent, to about as much."
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        help="Write true and released figures, or with --order the cells to withhold. Not for "
        "publication."
    ),
]
Problem = Annotated[
    Path | None,
    typer.Option(help="Write the true table as a JJ file for other solvers. Not for publication."),
]


class Shared(TypedDict):
    """What tables and records are both adjusted by."""

    by: list[list[str]]
    holding: str | None
    hierarchy: options.Groups
    percent: float | None
    withhold: bool
    secret: Path | None
    seed: int | None


def command(
    context: typer.Context,
    table: Table,
    out: Out,
    by: options.RecordsBy = None,
    value: options.Value = None,
    holding: options.Holding = None,
    hierarchy: options.HierarchyFiles = None,
    group: options.Group = None,
    minimum: options.Minimum = None,
    p: options.P = None,
    pq: options.PQ = None,
    dominance: options.Dominance = None,
    percent: Percent = None,
    norm: ChosenNorm = Norm.L1,
    weight: ChosenWeight = Weight.VALUE,
    margins: Margins = 1.0,
    capacity: Capacity = 100.0,
    fix: Fix = None,
    above: Above = None,
    spread: Spread = 0.0,
    order: Order = None,
    secret: options.SecretFile = None,
    seed: options.Seed = None,
    audit: Audit = False,
    withhold: Withhold = False,
    beyond: Beyond = None,
    coarse: Coarse = None,
    report: Report = None,
    problem: Problem = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Move sensitive figures to safety, the others little; everything adds up.

    Sensitive cells end at or beyond the edge of their protection. If some
    cannot, nothing is written (exit 3) unless they may be left empty.

    With --order the records themselves are adjusted: the tables made of the
    file that is written may be published, the file may not.
    """
    from discreet.cli.progress import after_a_while, shown

    _check_files(table, out, report, problem, force)
    rules, tables = options.rules_of(minimum, p, pq, dominance), options.names_of(by)
    shared: Shared = {
        "by": tables, "holding": holding, "hierarchy": options.groups_of(hierarchy, group),
        "percent": percent, "withhold": withhold, "secret": secret, "seed": seed,
    }  # fmt: skip
    found: AdjustReport | JJReport | RecordsReport
    with shown() as tell:
        if order is not None:
            value = _for_records(context, tables, value, rules)
            if report is not None and not withhold:
                raise ParameterError(
                    "--report lists the cells to withhold: with --order it needs --withhold."
                )
            found = adjust_records(table, rules, value=value, order=order, tell=tell, **shared)
            found = replace(found, listed=report.name if report else "--report")
        else:
            found = adjust(
                table, rules, value=value, norm=norm, weight=weight, margins=margins,
                capacity=capacity, fix=_kept(fix), above=above, spread=spread, audit=audit,
                beyond=beyond, coarse=coarse, tell=after_a_while(tell), **shared,
            )  # fmt: skip
    found = replace(found, name=out.name)
    _write(found, out, report, problem)
    options.show(found, as_json)
    if not found.released:
        raise typer.Exit(3)


def _write(
    found: AdjustReport | JJReport | RecordsReport,
    out: Path,
    report: Path | None,
    problem: Path | None,
) -> None:
    """Write what was asked for, all of it or nothing; nothing where it may not be released."""
    from discreet.desk.adjust.report import AdjustReport
    from discreet.table.jj import write_jj

    if not found.released:
        return
    done: list[Path] = []
    try:
        if problem is not None:
            assert isinstance(found, AdjustReport)  # for records and JJ files it is refused
            write_jj(found.problem, problem)
            done.append(problem)
        if report is not None:
            found.custodian.write(report)
            done.append(report)
        found.write(out)
    except BaseException:
        for path in done:
            path.unlink()
        raise
    options.say_private(None if found.public else out, report, problem)


def _kept(fix: list[str] | None) -> list[list[str]]:
    kept = options.names_of(fix)
    if not all(kept):
        raise ParameterError("--fix must name dimensions, or 'total'.")
    return kept


def _check_files(
    table: Path, out: Path, report: Path | None, problem: Path | None, force: bool
) -> None:
    options.check_out(out, table, force)
    if problem is not None and table.suffix.lower() == ".jj":
        raise ParameterError("--problem is for tables: a JJ file is a problem already.")
    for name, path in (("--report", report), ("--problem", problem)):
        if path is not None:
            options.check_out(path, table, force, name)
            if path.resolve() == out.resolve():
                raise ParameterError(
                    f"{name} must be another file than --out: it has true figures."
                )


def _for_records(
    context: typer.Context, tables: list[list[str]], value: str | None, rules: list[str]
) -> str:
    """Return value; raise where options do not go with --order."""
    if not tables:
        raise ParameterError("--order needs --by: the dimensions of the records.")
    if value is None or not rules:
        raise ParameterError(
            "--order needs --value and a rule, such as --p: it adjusts magnitudes."
        )
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = [
        f"--{name}"
        for name, source in sources.items()
        if name not in OF_RECORDS and source is not None and source.name == "COMMANDLINE"
    ]
    if given:
        raise ParameterError(f"{' and '.join(given)} cannot be given with --order.")
    return value
