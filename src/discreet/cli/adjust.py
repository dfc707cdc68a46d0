"""`discreet adjust`: moves sensitive figures to safety, and others as little as possible."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import SecretFile, Seed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.desk.adjust.audit import Exposure
    from discreet.desk.adjust.method import AdjustedTable

NAMED = 5
# The distribution of values says something of tables of at least so many cells.
LISTED = 200


def command(
    table: Annotated[
        Path, typer.Argument(help="CSV file of counts or values; or of records, with --by.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: every cell and total.")],
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="The file holds records: tabulate these columns. Repeated: linked tables.",
        ),
    ] = None,
    value: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Sum this column; else count records.")
    ] = None,
    holding: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Records with the same code here are one respondent."),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(metavar="DIM=FILE", help="Hierarchy of a dimension, .hrc. May be repeated."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="DIM:SUM=A|B", help="SUM is the sum of A and B. May be repeated."),
    ] = None,
    minimum: Annotated[
        int | None, typer.Option(help="Sensitive: fewer contributors.  [default: 3 for counts]")
    ] = None,
    p: Annotated[
        float | None, typer.Option("--p", help="Sensitive: the p% rule, such as 10.")
    ] = None,
    pq: Annotated[
        str | None, typer.Option("--pq", metavar="P,Q", help="Sensitive: the pq rule.")
    ] = None,
    dominance: Annotated[
        str | None,
        typer.Option(metavar="N,K", help="Sensitive: the N largest have more than K percent."),
    ] = None,
    percent: Annotated[
        float, typer.Option(help="Protection where rule and file say no amount, in percent.")
    ] = 10.0,
    norm: Annotated[
        str, typer.Option(help="l1: sum of changes; l2: sum of squared changes.")
    ] = "l1",
    weight: Annotated[
        str, typer.Option(help="value: a change counts in proportion; one: by itself.")
    ] = "value",
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
        typer.Option(help="Random extra distance of sensitive cells, up to so many times."),
    ] = 0.0,
    order: Annotated[
        int | None,
        typer.Option(
            help="Adjust the records, so that all tables by up to so many dimensions of --by are "
            "safe; for more cells than fit in a table."
        ),
    ] = None,
    secret: SecretFile = None,
    seed: Seed = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Say what one who knows the method can prove.")
    ] = False,
    withhold: Annotated[
        bool, typer.Option("--withhold", help="Leave cells empty that cannot be protected.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write true and released figures, or with --order the cells to withhold. Not for "
            "publication."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Move sensitive figures to safety, the others little; everything adds up.

    Sensitive cells end at or beyond the edge of their protection. If some
    cannot, nothing is written (exit 3) unless they may be left empty.

    With --order the records themselves are adjusted: the tables made of the
    file that is written may be published, the file may not.
    """
    import json

    from discreet.cli.cells import groups_of, names_of, read, rules_of
    from discreet.cli.options import check_chance, check_out, generator
    from discreet.cli.progress import after_a_while, shown
    from discreet.desk.adjust.magnitudes import Norm
    from discreet.desk.adjust.method import ControlledAdjustment, Weight, of_tables
    from discreet.desk.cells import CellTable

    check_out(out, table)
    if report is not None:
        check_out(report, table, "--report")
        if report.resolve() == out.resolve():
            raise ParameterError("--report must be another file than --out: it has true figures.")
    check_chance(secret, seed)
    if not 0 < capacity <= 100:
        raise ParameterError(
            f"--capacity must be a percentage above 0, at most 100. Got {capacity:g}."
        )
    method = ControlledAdjustment(
        _choice("--norm", norm, Norm),
        _choice("--weight", weight, Weight),
        margins,
        capacity / 100,
        above,
        spread,
    )
    if order is not None:
        _through_records(
            table, out, order, by or [], value, holding, hierarchy or [], group or [], p,
            (secret, seed), withhold, report, as_json,
            {
                "--minimum": minimum is not None,
                "--pq": pq is not None,
                "--dominance": dominance is not None,
                "--norm": method.norm is not Norm.L1,
                "--weight": method.weight is not Weight.VALUE,
                "--margins": margins != 1,
                "--capacity": capacity != 100,
                "--fix": bool(fix),
                "--above": above is not None,
                "--spread": spread != 0,
                "--audit": audit,
            },
        )  # fmt: skip
        return
    found = read(table, by or [], value, holding, groups_of(hierarchy or [], group or []))
    if holding is not None and value is None:
        raise ParameterError("--holding is for sums: it needs --value. Counts are of records.")
    cells = found if isinstance(found, CellTable) else found.table()
    rules = rules_of(cells, minimum, p, pq, dominance, percent)
    stay = _stay(names_of(fix or []), names_of(by or []))
    fixed = of_tables(cells, stay) if stay else None
    published = of_tables(cells, names_of(by)) if by else None
    # The same table in another order of lines is the same table.
    same = cells.taken(cells.sorted_codes)
    figures = same.values.round(6).tolist()  # sums of decimals differ by rounding errors
    identity = (same.variables, same.codes, same.parents, figures)
    rng = generator(identity, f"adjust {method} {rules}", {}, secret, seed)
    with shown() as tell:
        result = method.adjust(cells, rules, rng, fixed, published, after_a_while(tell))
        exposed = _exposed(result, rules, method, fixed, after_a_while(tell)) if audit else None
    facts = _facts(out, result, exposed, method)
    written = _allowed(result, withhold)
    if written:
        _write(out, result, withhold)
        if report is not None:
            _write_report(report, result)
    text = (
        json.dumps(facts, indent=2, ensure_ascii=False)
        if as_json
        else _text(facts, result, withhold)
    )
    typer.echo(text)
    if not written:
        raise typer.Exit(3)
    if result.status == "stopped":
        raise typer.Exit(130)


def _through_records(
    table: Path,
    out: Path,
    order: int,
    by: list[str],
    value: str | None,
    holding: str | None,
    hierarchy: list[str],
    group: list[str],
    p: float | None,
    chance: tuple[Path | None, int | None],
    withhold: bool,
    report: Path | None,
    as_json: bool,
    others: dict[str, bool],
) -> None:
    from discreet.cli.adjusted_records import checked, run
    from discreet.cli.cells import groups_of, names_of
    from discreet.cli.options import generator
    from discreet.desk.cells import read_records

    column, percent = checked(names_of(by), value, p, others)
    groups = groups_of(hierarchy, group)
    records, place = read_records(table, names_of(by)[0], column, holding, groups).canonical()
    identity = (records.variables, records.codes, records.at.tolist(), records.amounts.tolist())
    rng = generator(identity, "adjust records", {"order": str(order)}, *chance)
    run(table, out, records, place, column, order, percent, rng, withhold, report, as_json)


def _stay(fix: list[list[str]], by: list[list[str]]) -> list[list[str]]:
    """Return the dimensions of the totals that stay: none of the grand total."""
    if not all(fix):
        raise ParameterError("--fix must name dimensions, or 'total'.")
    stay = [[name for name in names if name != "total"] for names in fix]
    known = {name for table in by for name in table}
    for names in stay:
        if by and known.issuperset(names) and not any(set(names) <= set(table) for table in by):
            raise ParameterError(
                f"--fix must name totals that are published. Got {','.join(names)}, which are in "
                "no table together."
            )
    return stay


def _choice(option: str, text: str, kind: Any) -> Any:
    try:
        return kind(text.lower())
    except ValueError:
        choices = " or ".join(member.value for member in kind)
        raise ParameterError(f"{option} must be {choices}. Got {text}.") from None


def _allowed(result: AdjustedTable, withhold: bool) -> bool:
    """Return whether the table may be written: all protected, or the others left empty."""
    return result.status != "not converged" and (withhold or not result.short.any())


def _exposed(result: AdjustedTable, rules: Any, method: Any, fixed: Any, tell: Any) -> Exposure:
    import numpy as np

    from discreet.desk.adjust.audit import count_exposure, exposure
    from discreet.desk.adjust.method import whole_steps
    from discreet.solve.system import TableSystem
    from discreet.table.hierarchy import Hierarchy

    system = TableSystem.table([Hierarchy(parents) for parents in result.cells.parents])
    shown, true = result.published & ~result.short, result.cells.values
    change = result.values - true
    if result.cells.counts:
        minimum = max(rule.minimum for rule in rules)
        largest = float(np.abs(change[shown]).max(initial=0))
        return count_exposure(system, result.values, minimum, shown, fixed, largest, tell=tell)
    # The worst intruder knows the largest change that the other cells really had, and how many
    # times its protection a sensitive cell went at most. Protection is in whole last decimals.
    others = shown & ~result.sensitive & (true > 0)
    capacity = min(
        method.capacity, float(np.abs(change[others] / true[others]).max(initial=0)) + 1e-9
    )
    lower, upper = (
        side if result.decimals is None else whole_steps(side, result.decimals)
        for side in (result.required.lower, result.required.upper)
    )
    moved = result.sensitive & shown
    needed = np.where(change > 0, upper, lower)[moved]
    beyond = float((np.abs(change[moved]) / needed).max(initial=1.0))
    return exposure(
        system, result.values, result.sensitive, lower, upper, capacity, shown, fixed,
        beyond + 1e-9, tell=tell,
    )  # fmt: skip


def _facts(
    out: Path, result: AdjustedTable, exposed: Exposure | None, method: Any
) -> dict[str, Any]:
    """Return everything the report says, as plain values."""
    import numpy as np

    from discreet.desk.adjust.audit import digits
    from discreet.utility.change import change_listing, plain_rows

    shown, true = result.published, result.cells.values
    odd = digits(true[shown & ~result.short], result.values[shown & ~result.short])
    listing = change_listing(true[shown], result.values[shown], result.sensitive[shown])
    short = np.flatnonzero(result.short)
    whole, part = result.parts
    facts: dict[str, Any] = {
        "file": out.name,
        "status": str(result.status),
        "sensitive": int((result.sensitive & (true > 0)).sum()),
        "short": [result.cells.name(int(cell)) for cell in short],
        "decimals": result.decimals,
        "digits": None if odd is None else {**asdict(odd), "share": odd.share, "said": str(odd)},
        "cost": result.cost,
        "above_bound": result.gap if np.isfinite(result.gap) else None,
        "cells": int((shown & (true > 0)).sum()),
        "cells_in_all": whole.cells,
        "equations": whole.equations,
        "percent_change": plain_rows(listing.changes),
        "value_distribution": plain_rows(listing.values),
    }
    if method.above is not None:
        facts["part"] = {
            "above": method.above,
            "cells": part.cells,
            "equations": part.equations,
            "sensitive": int(part.sensitive.sum()),
        }
    if exposed is not None:
        open_cells = result.sensitive & ~result.short
        width = (exposed.high - exposed.low)[open_cells]
        facts["intruder"] = {
            "cells": int(open_cells.sum()),
            "exact": int((exposed.exact & open_cells).sum()),
            "direction_known": int(exposed.sided.sum()),
            "narrowest": None if not np.isfinite(width).any() else float(width.min()),
            "proof": str(exposed.proof.status),
        }
    return facts


def _text(facts: dict[str, Any], result: AdjustedTable, withhold: bool) -> str:
    from discreet.utility.change import change_listing, listing_text

    shown = result.published
    sensitive, short = facts["sensitive"], facts["short"]
    if short:
        named = "; ".join(short[:NAMED]) + (
            f"; and {len(short) - NAMED:,} more" if len(short) > NAMED else ""
        )
        lines = [
            f"NOT PROTECTED: {len(short):,} of {sensitive:,} sensitive cells cannot reach their "
            f"protection: {named}.",
            f"They are empty in {facts['file']}: see with discreet audit that nobody fills them in."
            if withhold
            else "Nothing is written. Free fixed totals, raise --capacity, or leave these cells "
            "empty with --withhold.",
        ]
    elif facts["status"] == "not converged":
        lines = [
            "NOT ADJUSTED: no table was found that keeps what is fixed and all capacities; nothing "
            "is written."
        ]
    elif not sensitive:
        lines = [f"{facts['file']}: no cell is sensitive, and no figure was changed."]
    else:
        lines = [
            f"{facts['file']}: "
            + (
                "the sensitive cell is"
                if sensitive == 1
                else f"all {sensitive:,} sensitive cells are"
            )
            + " at or beyond the protection needed, and everything adds up."
        ]
    if facts["status"] == "stopped":
        lines.append("STOPPED before the end: the changes may be larger than need be.")
    more = facts["cells_in_all"] - facts["cells"]
    lines.append(
        f"{facts['cells']:,} cells that are not 0, "
        + (f"{more:,} more that are not published, " if more else "")
        + f"{facts['equations']:,} equations."
    )
    if "part" in facts:
        part = facts["part"]
        lines.append(
            f"Moved: the part above {part['above']:,g}, {part['cells']:,} cells, "
            f"{part['equations']:,} equations, {part['sensitive']:,} sensitive."
        )
    if facts["decimals"] is None:
        lines.append("Figures have six decimals: none as those given, with fewer, were found.")
    if facts["digits"] is not None:
        lines.append(
            f"{facts['digits']['said']} Take true figures with all their digits, ask for a "
            f"protection of at least {2 * facts['digits']['step']:,.15g}, or move more figures "
            "with --norm l2."
        )
    if "intruder" in facts:
        known = facts["intruder"]
        width = known["narrowest"]
        lines.append(
            f"Who knows the method and its largest change can prove {known['exact']:,} of "
            f"{known['cells']:,} cells exactly, and the direction of {known['direction_known']:,}; "
            "the narrowest interval "
            + ("has no end." if width is None else f"is {width:,.6g} wide.")
        )
    listing = change_listing(
        result.cells.values[shown], result.values[shown], result.sensitive[shown]
    )
    return "\n".join([*lines, "", listing_text(listing, facts["cells"] >= LISTED).rstrip()])


def _figures(result: AdjustedTable, figures: Any) -> list[str]:
    decimals = 6 if result.decimals is None else max(0, result.decimals)
    texts = [f"{figure:.{decimals}f}" for figure in figures]
    return texts if decimals == 0 else [t.rstrip("0").rstrip(".") for t in texts]


def _write(out: Path, result: AdjustedTable, withhold: bool) -> None:
    import numpy as np

    cells = np.flatnonzero(result.published.reshape(-1))
    figures = _figures(result, result.values.reshape(-1)[cells])
    short = result.short.reshape(-1)[cells]
    name = "count" if result.cells.counts else "value"
    columns = {name: ["" if s else f for f, s in zip(figures, short.tolist(), strict=True)]}
    if withhold and short.any():
        columns["status"] = ["primary" if s else "published" for s in short.tolist()]
    result.cells.sheet(columns, cells).write(out)


def _write_report(path: Path, result: AdjustedTable) -> None:
    import numpy as np

    cells = np.flatnonzero(result.published.reshape(-1))

    def column(array: Any) -> list[str]:
        return [f"{figure:.15g}" for figure in array.reshape(-1)[cells].tolist()]

    columns = {
        "true": column(result.cells.values),
        "released": _figures(result, result.values.reshape(-1)[cells]),
        "sensitive": column(result.sensitive.astype(int)),
        "lower": column(result.required.lower),
        "upper": column(result.required.upper),
        "short": column(result.short.astype(int)),
    }
    result.cells.sheet(columns, cells).write(path)
