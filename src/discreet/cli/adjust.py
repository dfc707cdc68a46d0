"""`discreet adjust`: moves sensitive figures to safety, and others as little as possible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.desk import adjust, adjust_records
from discreet.desk.adjust import Norm, Weight
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.desk.adjust.jj import JJReport
    from discreet.desk.adjust.records.report import RecordsReport

# What goes with --order: it adjusts magnitudes.
OF_RECORDS = {
    "table", "out", "by", "value", "holding", "hierarchy", "group", "minimum", "p", "pq",
    "dominance", "percent", "order",
    "secret", "seed", "withhold", "report", "force", "as_json",
}  # fmt: skip


def command(
    context: typer.Context,
    table: Annotated[
        Path,
        typer.Argument(help="CSV file of counts or values, or of records, with --by; or JJ file."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: every cell and total.")],
    by: options.RecordsBy = None,
    value: options.Value = None,
    holding: options.Holding = None,
    hierarchy: options.HierarchyFiles = None,
    group: options.Group = None,
    minimum: options.Minimum = None,
    p: options.P = None,
    pq: options.PQ = None,
    dominance: options.Dominance = None,
    percent: Annotated[
        float, typer.Option(help="Protection where rule and file say no amount, in percent.")
    ] = 10.0,
    norm: Annotated[
        Norm,
        typer.Option(case_sensitive=False, help="l1: sum of changes; l2: sum of squared changes."),
    ] = Norm.L1,
    weight: Annotated[
        Weight,
        typer.Option(
            case_sensitive=False, help="value: a change counts in proportion; one: by itself."
        ),
    ] = Weight.VALUE,
    margins: Annotated[
        float, typer.Option(help="Weight of a total, for each dimension it is summed over.")
    ] = 1.0,
    capacity: Annotated[
        float, typer.Option(help="Largest change of cells that are not sensitive, in percent.")
    ] = 100.0,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B", help="Totals by these dimensions stay; 'total' is the grand total."
        ),
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(help="Move only sensitive contributions and inner cells above this."),
    ] = None,
    spread: Annotated[
        float,
        typer.Option(
            help="Random extra distance of sensitive cells, as a share of their protection."
        ),
    ] = 0.0,
    order: Annotated[
        int | None,
        typer.Option(
            help="Adjust the records, so that all tables by up to so many dimensions of --by (of "
            "each, where there are several) are safe; for more cells than fit in a table."
        ),
    ] = None,
    secret: options.SecretFile = None,
    seed: options.Seed = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Say what one who knows the method can prove.")
    ] = False,
    withhold: Annotated[
        bool,
        typer.Option(
            "--withhold",
            help="Leave cells empty that cannot be protected, and those that would give them away.",
        ),
    ] = False,
    beyond: Annotated[
        float | None,
        typer.Option(
            help="Leave cells empty, likewise, that would change by more than so many percent."
        ),
    ] = None,
    coarse: Annotated[
        float | None,
        typer.Option(
            help="Round figures that would change by more than so many percent, to about as much."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write true and released figures, or with --order the cells to withhold. Not for "
            "publication."
        ),
    ] = None,
    problem: Annotated[
        Path | None,
        typer.Option(
            help="Write the true table as a JJ file for other solvers. Not for publication."
        ),
    ] = None,
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
    from discreet.desk.adjust.report import AdjustReport
    from discreet.table.jj import write_jj

    _check_files(table, out, report, problem, force)
    tables, groups = options.names_of(by), options.groups_of(hierarchy, group)
    found: AdjustReport | JJReport | RecordsReport
    with shown() as tell:
        if order is not None:
            rules = options.rules_of(minimum, p, pq, dominance)
            found = adjust_records(
                table,
                rules,
                by=tables,
                value=_for_records(context, tables, value, rules),
                order=order,
                holding=holding,
                hierarchy=groups,
                percent=percent,
                withhold=withhold,
                secret=secret,
                seed=seed,
                tell=tell,
            )
            found = replace(found, listed=report.name if report and withhold else "--report")
        else:
            kept = options.names_of(fix)
            if not all(kept):
                raise ParameterError("--fix must name dimensions, or 'total'.")
            found = adjust(
                table,
                options.rules_of(minimum, p, pq, dominance),
                by=tables,
                value=value,
                holding=holding,
                hierarchy=groups,
                percent=percent,
                norm=norm,
                weight=weight,
                margins=margins,
                capacity=capacity,
                fix=kept,
                above=above,
                spread=spread,
                audit=audit,
                withhold=withhold,
                beyond=beyond,
                coarse=coarse,
                secret=secret,
                seed=seed,
                tell=after_a_while(tell),
            )
    found = replace(found, name=out.name)
    if problem is not None:
        if not isinstance(found, AdjustReport):
            raise ParameterError("--problem is for tables.")
        write_jj(found.problem, problem)
    if found.released:
        found.write(out)
        if report is not None:
            found.custodian.write(report)
    options.show(found, as_json)
    if not found.released:
        raise typer.Exit(3)


def _check_files(
    table: Path, out: Path, report: Path | None, problem: Path | None, force: bool
) -> None:
    options.check_out(out, table, force)
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
