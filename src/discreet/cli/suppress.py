"""`discreet suppress`: withholds sensitive cells, and others so that nobody works them out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.desk.suppress.method import Objective
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.desk.cells import CellTable
    from discreet.desk.suppress.method import Suppressed

# The letters of sdcTable and τ-ARGUS: safe, unsafe (primary), secondary, and zeros as they stand.
LETTERS = ("s", "u", "x")
ZERO = "z"


def command(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE.csv…",
            help="Table of counts or values, long or wide; several are linked. With --by, records.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="File to write; of several tables, a folder."),
    ],
    minimum: Annotated[
        int | None,
        typer.Option(help="Sensitive: fewer than this many contributors. Counts: 3 by default."),
    ] = None,
    p: Annotated[
        float | None, typer.Option("--p", help="Sensitive by the p% rule.", metavar="P")
    ] = None,
    pq: Annotated[
        str | None, typer.Option("--pq", help="Sensitive by the pq rule.", metavar="P,Q")
    ] = None,
    dominance: Annotated[
        str | None, typer.Option(help="Sensitive by the (n, k) rule.", metavar="N,K")
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            help="How wide an attacker's interval must be. Counts: 1 by default, not exactly "
            "known; values: as the rule says."
        ),
    ] = None,
    objective: Annotated[
        Objective,
        typer.Option(
            help="Keep small: the number of cells withheld, their value, or their information, "
            "log(1 + value)."
        ),
    ] = Objective.INFORMATION,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIM=FILE.hrc", help="Codes of a dimension in levels, @ by @. May be repeated."
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIM:SUM=A|B",
            help="The code SUM of a dimension is the sum of the codes A and B. May be repeated.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B", help="The file holds records: tabulate these columns. May be repeated."
        ),
    ] = None,
    value: Annotated[
        str | None, typer.Option(help="With --by: the column to sum. Without it, records count.")
    ] = None,
    holding: Annotated[
        str | None, typer.Option(help="With --by: records equal in this column are one.")
    ] = None,
    zeros: Annotated[
        str, typer.Option(metavar="published|withheld", help="Whether zeros may be withheld.")
    ] = "published",
    singletons: Annotated[
        bool,
        typer.Option(help="Protect from contributors who are alone in a cell and know it."),
    ] = True,
    exact: Annotated[
        bool, typer.Option("--exact", help="Prove the optimum. For small tables.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(help="With --exact: stop the proof after so long.")
    ] = None,
    effort: Annotated[float, typer.Option(help="Search so many times as long.")] = 1.0,
    pattern: Annotated[
        Path | None,
        typer.Option(
            help="Write the pattern for other programs: codes and s, u, x or z, as sdcTable does."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Withhold sensitive cells, and others so that nobody can work them out.

    Writes the table with all its totals and a column status: published, primary or secondary;
    figures of the last two are empty. A column mark in the table may say never, prefer or
    published. Nothing is written that was not proved safe first.
    """
    import json

    from discreet.cli.cells import groups_of, rules_of
    from discreet.cli.progress import after_a_while, shown
    from discreet.desk.suppress.method import Suppression

    if zeros not in ("published", "withheld"):
        raise ParameterError(f"--zeros must be published or withheld. Got {zeros}.")
    cells, owners, names = _read(
        tables, by or [], value, holding, groups_of(hierarchy or [], group or [])
    )
    targets = _targets(out, names, [*tables, pattern] if pattern else tables)
    if pattern is not None and len(cells) > 1:
        raise ParameterError("--pattern is for a single table.")
    if pattern is not None and not pattern.parent.is_dir():
        raise ParameterError(f"--pattern must be in a folder that exists. Got {pattern}.")
    method = Suppression(
        tuple(rules_of(cells[0], minimum, p, pq, dominance)),
        width,
        objective,
        zeros == "published",
        singletons,
        exact,
        effort,
        seconds,
    )
    with shown() as tell:
        results = method.apply_linked(cells, owners, after_a_while(tell))
    for target, result in zip(targets, results, strict=True):
        _write(target, result)
    if pattern is not None:
        _write_letters(pattern, results[0])
    found = [_found(name, result) for name, result in zip(names, results, strict=True)]
    if as_json:
        typer.echo(json.dumps({"tables": found, **_overall(results[0])}, indent=2))
    else:
        typer.echo("\n".join(_sentence(one) for one in found))
        typer.echo(_verdict(results[0]))


def _read(
    tables: list[Path],
    by: list[str],
    value: str | None,
    holding: str | None,
    groups: dict[str, dict[str, list[str]]],
) -> tuple[list[CellTable], list[NDArray[np.int32]] | None, list[str]]:
    """Return the tables, who is alone in their cells as far as records say, and their names."""
    from discreet.desk.cells import read_cells, read_records
    from discreet.desk.suppress.singletons import lone_holdings

    if not by:
        for name, given in (("--value", value), ("--holding", holding)):
            if given is not None:
                raise ParameterError(f"{name} is for records: give --by too.")
        if len(tables) == 1:
            cells = [read_cells(tables[0], groups)]
        else:
            cells = [read_cells(path, _of(groups, path)) for path in tables]
        return cells, None, [path.name for path in tables]
    if len(tables) != 1:
        raise ParameterError(f"--by takes one file of records. Got {len(tables)} files.")
    columns = [[part.strip() for part in text.split(",")] for text in by]
    for variable in groups:
        if not any(variable in part for part in columns):
            raise ParameterError(f"--by must name '{variable}' where it has a hierarchy or group.")
    records = [
        read_records(
            tables[0], part, value, holding, {v: g for v, g in groups.items() if v in part}
        )
        for part in columns
    ]
    names = ["-".join(part) + ".csv" for part in columns]
    return (
        [part.table() for part in records],
        [lone_holdings(part) for part in records],
        names if len(names) > 1 else [tables[0].name],
    )


def _of(groups: dict[str, dict[str, list[str]]], path: Path) -> dict[str, dict[str, list[str]]]:
    """Return the groups of the dimensions that a table has."""
    from discreet.table.source import read_source

    header = read_source(path).header
    return {name: parts for name, parts in groups.items() if name in header}


def _targets(out: Path, names: list[str], inputs: list[Path]) -> list[Path]:
    """Return the files to write; raise before any work where that cannot be done."""
    if len(names) == 1:
        if out.is_dir() or not out.parent.is_dir():
            raise ParameterError(f"--out must be a file in a folder that exists. Got {out}.")
        targets = [out]
    else:
        if not out.is_dir():
            raise ParameterError(f"--out must be a folder for several tables. Got {out}.")
        if len(set(names)) < len(names):
            raise ParameterError("linked tables must have different names.")
        targets = [out / name for name in names]
    for target in targets:
        if target.exists() and any(target.resolve() == path.resolve() for path in inputs):
            raise ParameterError("--out must be another file than the table.")
    return targets


def _write(path: Path, result: Suppressed) -> None:
    """Write the table whole or not at all."""
    from discreet.table.published import PublishedTable

    cells = result.cells
    table = PublishedTable(
        cells.variables, cells.codes, cells.parents, result.published, result.withheld
    )
    flat = zip(cells.values.flat, result.withheld.flat, strict=True)
    figures = ["" if hidden else f"{figure:.15g}" for figure, hidden in flat]
    columns = {
        "count" if cells.counts else "value": figures,
        "status": [str(state) for state in result.status.flat],
    }
    table.sheet(columns).write(path)


def _write_letters(path: Path, result: Suppressed) -> None:
    from discreet.desk.cells import Mark
    from discreet.table.published import PublishedTable

    cells = result.cells
    kept = (cells.marked(Mark.NEVER) | cells.marked(Mark.PUBLISHED) | (cells.values == 0)).flat
    letters = [
        ZERO if mark == 0 and fixed else LETTERS[mark]
        for mark, fixed in zip(result.marks.flat, kept, strict=True)
    ]
    table = PublishedTable(
        cells.variables, cells.codes, cells.parents, result.published, result.withheld
    )
    table.sheet({"sdcStatus": letters}).write(path)


def _found(name: str, result: Suppressed) -> dict[str, Any]:
    from discreet.desk.suppress.solver import Mark

    return {
        "table": name,
        "cells": int(result.marks.size),
        "primary": result.number(Mark.PRIMARY),
        "secondary": result.number(Mark.SECONDARY),
        "primary_value": result.value(Mark.PRIMARY),
        "secondary_value": result.value(Mark.SECONDARY),
        "share_of_value": result.share,
    }


def _overall(result: Suppressed) -> dict[str, Any]:
    gap = result.pattern.gap
    return {
        "status": str(result.pattern.status),
        "gap": float(gap) if gap < float("inf") else None,
        "singletons_cost": result.singleton_cost,
    }


def _sentence(found: dict[str, Any]) -> str:
    return (
        f"{found['table']}: {found['primary'] + found['secondary']:,} of {found['cells']:,} cells "
        f"withheld, {found['primary']:,} primary and {found['secondary']:,} secondary, with "
        f"{found['share_of_value']:.2%} of all values."
    )


def _verdict(result: Suppressed) -> str:
    lines = ["Audited: every primary cell is as uncertain as asked."]
    overall = _overall(result)
    cost = overall["singletons_cost"]
    if cost is not None:
        lines.append(f"Protection from lone contributors: {cost:,} of the secondary cells.")
    if overall["status"] == "solved":
        lines.append("Proved: no cheaper pattern is safe.")
    elif overall["gap"] is not None:
        lines.append(f"No safe pattern costs more than {overall['gap']:.1%} less.")
    return "\n".join(lines)
