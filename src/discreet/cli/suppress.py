"""`discreet suppress`: withholds sensitive cells, and others so that nobody works them out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.desk import suppress
from discreet.desk.suppress import Objective, Zeros
from discreet.errors import ParameterError

Tables = Annotated[
    list[Path],
    typer.Argument(
        metavar="TABLE.csv…",
        help="Table of counts or values, long or wide; several are linked. With --by, records. Or "
        "a JJ file.",
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", help="File to write; of several tables, a folder."),
]
Width = Annotated[
    float | None,
    typer.Option(
        help="How wide an attacker's interval must be. Counts: 1 by default, not exactly "
        "known; values: as the rule says."
    ),
]
ChosenObjective = Annotated[
    Objective | None,
    typer.Option(
        help="Keep small: the number of cells withheld, their value, or their information, "
        "log(1 + value).  [default: information; of a JJ file, its costs]",
        show_default=False,
    ),
]
ChosenZeros = Annotated[Zeros, typer.Option(help="Whether zeros may be withheld.")]
Singletons = Annotated[
    bool,
    typer.Option(help="Protect from contributors too: each knows their own part of every cell."),
]
Exact = Annotated[bool, typer.Option("--exact", help="Prove the optimum. For small tables.")]
Seconds = Annotated[
    float | None, typer.Option(help="With --exact: stop the proof after this long.")
]
Effort = Annotated[float, typer.Option(help="Multiplies the length of the search.")]
Pattern = Annotated[
    Path | None,
    typer.Option(
        help="Write the pattern for other programs: .csv with codes and s, u, x or z, as sdcTable "
        "does; .json with figures. Of a JJ file, .jj with figures. A history of τ-ARGUS (.hst) has "
        "the primary cells alone, and so is not the pattern."
    ),
]
History = Annotated[
    Path | None,
    typer.Option(metavar="FILE.hst", help="What is known of cells, a file of τ-ARGUS."),
]
Tab = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.tab",
        help="Write the table as it is, for τ-ARGUS, with .rda and .hrc beside it.",
    ),
]

Problem = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.jj",
        help="Write the true table as a JJ file for other solvers. Not for publication.",
    ),
]


def command(
    tables: Tables,
    out: Out,
    minimum: options.Minimum = None,
    p: options.P = None,
    pq: options.PQ = None,
    dominance: options.Dominance = None,
    width: Width = None,
    objective: ChosenObjective = None,
    hierarchy: options.HierarchyFiles = None,
    group: options.Group = None,
    by: options.RecordsBy = None,
    value: options.Value = None,
    holding: options.Holding = None,
    zeros: ChosenZeros = Zeros.PUBLISHED,
    singletons: Singletons = True,
    exact: Exact = False,
    seconds: Seconds = None,
    effort: Effort = 1.0,
    pattern: Pattern = None,
    history: History = None,
    tab: Tab = None,
    problem: Problem = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Withhold sensitive cells, and others so that nobody can work them out.

    Writes the table with all its totals and a column status: published, primary or secondary;
    figures of the last two are empty. A column mark in the table may say never, prefer or
    published. Nothing is written that was not proved safe first.
    """
    from discreet.cli.progress import after_a_while, shown
    from discreet.desk.suppress.report import SuppressReport

    linked = options.names_of(by)
    _check_targets(tables, len(linked) or len(tables), out, pattern, force)
    for name, path in (("--tab", tab), ("--problem", problem)):
        if path is not None:
            options.check_out(path, tables[0], force, name)
    _check_apart(tables, out, pattern, tab, problem)
    with shown() as tell:
        report = suppress(
            tables,
            options.rules_of(minimum, p, pq, dominance),
            by=linked,
            value=value,
            holding=holding,
            hierarchy=options.groups_of(hierarchy, group),
            history=history,
            width=width,
            objective=objective,
            zeros=zeros,
            singletons=singletons,
            exact=exact,
            seconds=seconds,
            effort=effort,
            problem=problem,
            tell=after_a_while(tell),
        )
    if len(report.sheets) > 1:
        for name in report.sheets:
            options.check_new(out / name, force)
    beside = []
    if tab is not None and isinstance(report, SuppressReport):
        beside = report.tab_files(tab)
        for path in beside:
            options.check_out(path, tables[0], force, "--tab")
    report.write(out)
    if pattern is not None:
        report.write_pattern(pattern)
        if pattern.suffix.lower() == ".hst":
            typer.echo(f"Note: {pattern.name} has primary cells alone, not the pattern.", err=True)
    if tab is not None and isinstance(report, SuppressReport):
        report.write_tab(tab)
    options.say_private(pattern, *beside, problem)
    typer.echo(report.to_json() if as_json else str(report))


def _check_targets(
    tables: list[Path], number: int, out: Path, pattern: Path | None, force: bool
) -> None:
    """Raise before any work where what was asked for cannot be written."""
    if number > 1 and not out.is_dir():
        raise ParameterError(f"--out must be a folder that exists, for several tables. Got {out}.")
    if number > 1 and len({path.name for path in tables}) < len(tables):
        raise ParameterError("linked tables must have different names.")
    if number > 1 and pattern is not None:
        raise ParameterError("--pattern is for a single table.")
    if number == 1 and out.is_dir():
        raise ParameterError(f"--out must be a file in a folder that exists. Got {out}.")
    for table in tables:
        options.check_out(out if number == 1 else out / table.name, table, force)
        if pattern is not None:
            options.check_out(pattern, table, force, "--pattern")


def _check_apart(
    tables: list[Path], out: Path, pattern: Path | None, tab: Path | None, problem: Path | None
) -> None:
    """Raise where true figures would be written for what is published, or not at all."""
    given = {"--pattern": pattern, "--tab": tab, "--problem": problem}
    for name, path in given.items():
        if path is not None and path.resolve() == out.resolve():
            raise ParameterError(f"{name} must be another file than --out.")
    from discreet.desk.suppress.endings import JJ_PATTERNS, PATTERNS, check_published, ending

    jj = any(table.suffix.lower() == ".jj" for table in tables)
    if not out.is_dir():
        check_published(out)
    if jj and tab is not None:
        raise ParameterError("--tab is for tables: a JJ file has no codes.")
    endings = {"--pattern": JJ_PATTERNS if jj else PATTERNS, "--tab": (".tab",)}
    for name, path in given.items():
        if path is not None:
            ending(name, path, endings.get(name, (".jj",)))
