"""`discreet redesign`: the least coarsening of a table that passes a rule, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import AbsentZero, check_out
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.desk.cells import CellTable
    from discreet.desk.redesign import Design, Redesign, Verdict
    from discreet.table.dimension import Dimension
    from discreet.table.files import TableFile

WIDTH = 80
SHOWN = 6
STEPS = 15


# As in discreet.desk.redesign, which takes too long to import for a help text.
class Steps(StrEnum):
    """What moves at once along a hierarchy."""

    LEVELS = "levels"
    SUBTREES = "subtrees"


class Cost(StrEnum):
    """What a merge costs."""

    CELLS = "cells"
    INFORMATION = "information"


def command(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE.csv",
            help="Table of true counts, long or wide; or of values with their contributors.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File for the coarser table, in the same layout.")
    ],
    rule: Annotated[
        list[str],
        typer.Option(
            "--rule",
            "-r",
            help="smallest=3 (no count of 1 or 2), small=0.1 (share of ones and twos), zeros=0.5 "
            "(share of zeros), mean=5 (people a cell), risk=0.15 (before protection), "
            "tablebuilder; for values p=10, pq=10,50, dominance=2,80, minimum=3 (no cell is "
            "sensitive). May be repeated: all must pass.",
        ),
    ],
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIM=FILE.hrc", help="Tree along which a dimension is merged. May be repeated."
        ),
    ] = None,
    ordered: Annotated[
        list[str] | None,
        typer.Option(metavar="DIM", help="Merge neighbours of a dimension. May be repeated."),
    ] = None,
    steps: Annotated[
        Steps,
        typer.Option(help="Merge any branch of a tree by itself, or whole levels."),
    ] = Steps.SUBTREES,
    cost: Annotated[
        Cost,
        typer.Option(
            help="cells: log of the categories before over after; information: entropy lost."
        ),
    ] = Cost.CELLS,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIM=NUMBER", help="How dear a dimension is, 1 if not said. May be repeated."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="DIM", help="Never drop this dimension. May be repeated."),
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(metavar="DIM", help="Never change this dimension. May be repeated."),
    ] = None,
    recodes: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write old and new codes: DIM.csv, and DIM.grc for tau-ARGUS."
        ),
    ] = None,
    most: Annotated[int | None, typer.Option(help="Try at most so many designs.")] = None,
    absent_zero: AbsentZero = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Merge as little as possible of a table so that it passes a rule, and say why so.

    A dimension with neither a hierarchy nor an order can only be dropped. The report is for the
    custodian: it tells about the true counts.
    """
    import json

    from discreet.cli.cells import groups_of
    from discreet.cli.progress import after_a_while, shown
    from discreet.desk.redesign import redesign
    from discreet.desk.redesign.recode import recoded, without_groups
    from discreet.desk.redesign.rules import AllOf, read_rule, read_rule_on
    from discreet.solve.solution import Status
    from discreet.table.files import read_table

    check_out(out, table)
    cells = _values(table, hierarchy or [])
    if cells is None:
        rules = AllOf(tuple(read_rule(text) for text in rule))
        file = read_table(table, absent_zero)
        trees = _hierarchies(hierarchy or [], file)
        file.refuse_gap("Leave the totals out, or put them right.")
        inner: Any = without_groups(file, trees)
    else:
        rules = AllOf(tuple(read_rule_on(text, cells) for text in rule))
        trees = groups_of(hierarchy or [], [])
        inner = _Values.of(cells)
    with shown() as tell:
        found = redesign(
            inner,
            trees,
            rules,
            ordered=ordered or [],
            steps=steps,
            cost=cost,
            weights=_weights(weight or []),
            keep=keep or [],
            fixed=fix or [],
            most=most,
            tell=after_a_while(tell),
        )
    if found.design is None:
        raise ParameterError(_none(found))
    notes = [] if cells is not None else _notes(file, inner, trees)
    recode = {
        dimension.variable: found.design.recode(dimension.variable, dimension.codes)
        for dimension in inner.dimensions
    }
    if cells is not None:
        _write_values(out, found.design, cells)
    else:
        recoded(inner, recode).write(out, _counts(found.design, inner))
    if recodes is not None:
        notes += _write_recodes(recodes, found.design, recode, trees)
    said = _found(found, inner, str(rules), cost, notes)
    typer.echo(json.dumps(said, indent=2, ensure_ascii=False) if as_json else render(said))
    if found.status is Status.STOPPED:
        raise typer.Exit(130)


@dataclass(frozen=True, eq=False)
class _Values:
    """The inner cells of a table of values, as a redesign wants them."""

    counts: Any
    dimensions: tuple[Dimension, ...]

    @staticmethod
    def of(cells: CellTable) -> _Values:
        import numpy as np

        from discreet.table.dimension import Dimension

        dimensions = []
        for variable, codes, inner in zip(cells.variables, cells.codes, cells.inner, strict=True):
            named = tuple(codes[i] for i in inner.tolist())
            dimensions.append(Dimension(variable, variable, variable, named, named))
        return _Values(cells.values[np.ix_(*cells.inner)], tuple(dimensions))


def _values(table: Path, hierarchy: list[str]) -> CellTable | None:
    """Return a table of values with its contributors; None where the file has counts."""
    from discreet.cli.cells import groups_of
    from discreet.desk.cells import read_cells
    from discreet.table.source import COUNT_NAMES, read_source

    header = {column.lower() for column in read_source(table).header}
    # The tidy file of a release has a column value too, and labels: it holds counts.
    labels = {f"{column}_label" for column in header} & header
    if "value" not in header or header & set(COUNT_NAMES) or labels:
        return None
    return read_cells(table, groups_of(hierarchy, []))


def _write_values(out: Path, design: Design, cells: CellTable) -> None:
    """Write the coarser cells, without what was dropped; contributors are not written."""
    import numpy as np

    from discreet.desk.cells import CellTable
    from discreet.table.decimals import decimals_of

    kept = [d for d, dimension in enumerate(design.dimensions) if len(dimension) > 1] or [0]
    gone = tuple(d for d in range(design.counts.ndim) if d not in kept)
    places = decimals_of(cells.values)
    values = design.counts.sum(axis=gone)
    values = values if places is None else np.round(values, places)
    left = [design.dimensions[d] for d in kept]
    table = CellTable(
        tuple(dimension.variable for dimension in left),
        tuple(dimension.codes for dimension in left),
        tuple((-1,) * len(dimension) for dimension in left),
        values,
        counts=False,
    )
    table.sheet({"value": values.ravel().tolist()}).write(out)


def _counts(design: Design, file: TableFile) -> Any:
    """Return the figures in the shape in which they are written: without what was dropped."""
    from discreet.table.source import Layout

    if file.layout is Layout.WIDE:
        return design.counts
    dropped = [d for d, dimension in enumerate(design.dimensions) if len(dimension) == 1]
    gone = [d for d in dropped if len(file.dimensions[d]) > 1]
    if len(gone) == design.counts.ndim:
        gone = gone[1:]
    return design.counts.sum(axis=tuple(gone))


def _hierarchies(given: list[str], file: TableFile) -> dict[str, dict[str, list[str]]]:
    from discreet.errors import unknown
    from discreet.table.hierarchy import read_hrc

    names = [dimension.variable for dimension in file.dimensions]
    found = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name.strip() or not path.strip():
            raise ParameterError(f"--hierarchy must have the form dimension=file. Got {text}.")
        if name.strip() not in names:
            raise unknown("dimension", name.strip(), names)
        if name.strip() in found:
            raise ParameterError(f"--hierarchy of {name.strip()} must be given once.")
        found[name.strip()] = read_hrc(path.strip())
    return found


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


def _none(found: Redesign) -> str:
    """Return why there is no design at all."""
    from discreet.solve.solution import Status

    if found.status is Status.INFEASIBLE:
        last = min(found.rejected, key=lambda entry: -entry.cost)
        return (
            "no coarsening of this table passes, not even what is left when everything allowed is "
            f"merged ({_because(last.verdict)}). Nothing is written."
        )
    if found.status is Status.STOPPED:
        return "stopped before a design was found that passes. Nothing is written."
    return (
        f"none of {found.tested:,} designs passed, and not all were tried. Nothing is written. "
        "Raise --most, or ask for less."
    )


def _notes(
    file: TableFile, inner: TableFile, trees: Mapping[str, Mapping[str, list[str]]]
) -> list[str]:
    """Return what a reader of the report should know about how the files were understood."""
    notes = []
    for old, new in zip(file.dimensions, inner.dimensions, strict=True):
        if len(old) > len(new):
            notes.append(
                f"{old.variable}: {len(old) - len(new):,} codes are groups of others; left out"
            )
        groups = trees.get(old.variable)
        if groups:
            members = {member for part in groups.values() for member in part}
            alone = [code for code in new.codes if code not in members]
            if alone:
                shown = ", ".join(alone[:3]) + (" …" if len(alone) > 3 else "")
                notes.append(f"{old.variable}: directly below the total: {shown}")
    return notes


def _write_recodes(
    folder: Path,
    design: Design,
    recode: Mapping[str, Mapping[str, str]],
    trees: Mapping[str, Mapping[str, list[str]]],
) -> list[str]:
    from discreet.desk.redesign.recode import write_csv, write_grc

    notes = []
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--recodes must be a folder that can be made. {error}") from None
    for variable, merged in design.merged.items():
        stem = re.sub(r"[^\w.-]", "_", variable)
        write_csv(folder / f"{stem}.csv", recode[variable])
        problem = write_grc(folder / f"{stem}.grc", merged, bool(trees.get(variable)))
        if problem is not None:
            notes.append(f"{stem}.grc is not written: {problem}")
    return notes


def _found(
    found: Redesign, file: TableFile, rule: str, cost: Cost, notes: list[str]
) -> dict[str, Any]:
    """Return everything the report says, as plain values; a reach without end is None."""
    design = found.design
    assert design is not None
    return {
        "status": str(found.status),
        "rule": rule,
        "before": _verdict(found.before),
        "cells_before": int(file.counts.size),
        "entropy_before": found.entropy,
        "cost_kind": str(cost),
        "reach": None if found.reach == float("inf") else found.reach,
        "tested": found.tested,
        **_design(design),
        "merges": [
            {
                "dimension": merge.variable,
                "merged": {code: list(part) for code, part in merge.merged.items()},
                "if_undone": _verdict(merge.undone),
            }
            for merge in found.merges
        ],
        "forced": [
            {"dimension": one.variable, "code": one.code, "verdict": _verdict(one.verdict)}
            for one in found.forced
        ],
        "steps": [
            {
                "dimension": step.variable,
                "merged": {code: list(part) for code, part in step.merged.items()},
                "cost": step.cost,
                "before": _verdict(step.before),
            }
            for step in found.steps
        ],
        "next_best": [_design(runner) for runner in found.runners],
        "rejected": [
            {
                "cost": entry.cost,
                "merged": _lists(entry.merged),
                "verdict": _verdict(entry.verdict),
            }
            for entry in found.rejected
        ],
        "notes": notes,
    }


def _design(design: Design) -> dict[str, Any]:
    return {
        "cost": design.cost,
        "costs": dict(design.costs),
        "cells": int(design.counts.size),
        "entropy": design.entropy,
        "merged": _lists(design.merged),
        "dropped": list(design.dropped),
    }


def _lists(merged: Mapping[str, Mapping[str, tuple[str, ...]]]) -> dict[str, dict[str, list[str]]]:
    return {name: {new: list(old) for new, old in part.items()} for name, part in merged.items()}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "passed": verdict.passed,
        "score": verdict.score,
        "reason": verdict.reason,
        "cells": list(verdict.cells),
        "failing": verdict.failing,
    }


def _because(verdict: Verdict) -> str:
    return verdict.reason + (f": {verdict.cells[0]}" if verdict.cells else "")


def render(said: dict[str, Any]) -> str:
    """Return the report as a person reads it: what is left first."""
    if not said["merged"]:
        return "\n".join(
            ["PASSES as it is: nothing is merged.", *_wrapped(f"Rule: {said['rule']}.", 0)]
        )
    lines = [
        *_wrapped(
            f"PASSES with {said['cells']:,} of {said['cells_before']:,} cells, {_certainty(said)}.",
            0,
        ),
        *_wrapped(f"Rule: {said['rule']}.", 0),
        *_wrapped(f"As it came: {_told(said['before'])}.", 0),
        *_wrapped(
            f"Cost ({said['cost_kind']}): {said['cost']:.3f} nats"
            + (f", {_shares(said['costs'])}" if len(said["costs"]) > 1 else "")
            + f". Entropy of the table: {said['entropy']:.3f}, before "
            f"{said['entropy_before']:.3f}.",
            0,
        ),
        "",
        "Merged, and what fails if that alone is undone",
    ]
    for merge in said["merges"][:STEPS]:
        lines += _wrapped(_merged(merge["dimension"], merge["merged"], said["dropped"]), 2)
        lines += _wrapped(_told(merge["if_undone"]), 6)
    lines += _more(said["merges"], STEPS)
    if said["forced"]:
        lines += ["", "No design passes that keeps these apart, whatever else is merged"]
        for one in said["forced"][:SHOWN]:
            lines += _wrapped(f"{one['dimension']} {one['code']}: {_told(one['verdict'])}", 2)
        lines += _more(said["forced"], SHOWN)
    lines += ["", "The way there: cost so far, what was merged, what failed before"]
    total = 0.0
    for step in said["steps"][:STEPS]:
        total += step["cost"]
        what = _short({step["dimension"]: step["merged"]}, said["dropped"])
        lines += _wrapped(f"{total:.3f}  {what} — {step['before']['reason']}", 2, 9)
    lines += _more(said["steps"], STEPS)
    lines += ["", "Next best"]
    for runner in said["next_best"]:
        proved = said["reach"] is None or runner["cost"] <= said["reach"]
        what = f"{_short(runner['merged'], runner['dropped'])} ({runner['cells']:,} cells)"
        lines += _wrapped(f"{runner['cost']:.3f}  {what}{'' if proved else ', not proved'}", 2, 9)
    if not said["next_best"]:
        lines.append("  none that is not merely coarser")
    lines += ["", f"Cheaper, but failing: {len(said['rejected']):,} tried, the nearest first"]
    for entry in said["rejected"][:SHOWN]:
        what = _short(entry["merged"], ())
        lines += _wrapped(f"{entry['cost']:.3f}  {what} — {_told(entry['verdict'])}", 2, 9)
    lines += _more(said["rejected"], SHOWN)
    if said["notes"]:
        lines += ["", "Notes"]
        for note in said["notes"]:
            lines += _wrapped(f"{note}.", 2)
    return "\n".join(lines)


def _certainty(said: dict[str, Any]) -> str:
    if said["status"] == "solved":
        return f"proved to be the least coarsening ({said['tested']:,} designs tried)"
    if said["status"] == "stopped":
        return "STOPPED before the end: the best so far"
    return (
        f"the best found ({said['tested']:,} designs tried); none costs less than "
        f"{said['reach']:.3f} nats"
    )


def _shares(costs: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in costs.items() if value) or "none"


def _told(verdict: dict[str, Any]) -> str:
    if verdict["passed"]:
        return "it would still pass"
    cells = verdict["cells"]
    if not cells:
        return str(verdict["reason"])
    return f"{verdict['reason']} ({cells[0]}{' …' if verdict['failing'] > 1 else ''})"


def _merged(variable: str, merged: dict[str, list[str]], dropped: list[str]) -> str:
    if variable in dropped:
        return f"{variable} is dropped: {_codes(next(iter(merged.values())))}"
    return "; ".join(f"{variable} {new} = {_codes(old)}" for new, old in merged.items())


def _codes(codes: list[str]) -> str:
    if len(codes) > SHOWN:
        return f"{', '.join(codes[: SHOWN - 1])} … {codes[-1]} ({len(codes):,} codes)"
    return ", ".join(codes)


def _short(merged: Mapping[str, Mapping[str, list[str]]], dropped: Any) -> str:
    """Return a design in a few words."""
    from discreet.table.hierarchy import is_total_code

    parts = []
    for name, groups in merged.items():
        codes = list(groups)
        if (name in dropped and len(codes) == 1) or any(is_total_code(code) for code in codes):
            parts.append(f"no {name}")
        else:
            more = f" and {len(codes) - 4:,} more" if len(codes) > 4 else ""
            parts.append(f"{name} {', '.join(codes[:4])}{more}")
    return "; ".join(parts) or "nothing merged"


def _more(entries: list[Any], shown: int) -> list[str]:
    return [f"  and {len(entries) - shown:,} more"] if len(entries) > shown else []


def _wrapped(text: str, indent: int, further: int | None = None) -> list[str]:
    from textwrap import wrap

    return wrap(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2 if further is None else further),
        break_on_hyphens=False,
    )
