"""`discreet audit`: what an intruder can prove about the cells of a published table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.risk.cell import Audit
    from discreet.solve.system import TableSystem
    from discreet.table.published import PublishedTable

WORST = 10
FAULTS = 3
BAR = 30


def command(
    published: Annotated[
        Path,
        typer.Argument(
            metavar="PUBLISHED.csv",
            help="Published table, long or wide; withheld figures are empty or marked (x, c, :).",
        ),
    ],
    rounded: Annotated[
        float | None,
        typer.Option(
            metavar="BASE", help="Figures are rounded to the nearest multiple of BASE, halves up."
        ),
    ] = None,
    random_rounded: Annotated[
        float | None,
        typer.Option(metavar="BASE", help="Figures are rounded at random, or controlled, to BASE."),
    ] = None,
    within: Annotated[
        float | None, typer.Option(help="Figures are perturbed by at most this much.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIM:SUM=A|B",
            help="The code SUM of a dimension is the sum of the codes A and B. May be repeated.",
        ),
    ] = None,
    insider: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIM=CODE,…:AMOUNT",
            help="The intruder knows this contribution to a cell. May be repeated.",
        ),
    ] = None,
    precision: Annotated[float, typer.Option(help="Figures are multiples of this.")] = 1.0,
    true: Annotated[
        Path | None,
        typer.Option(
            "--true",
            metavar="TABLE.csv",
            help="The true table: say which sensitive cells are known too closely. The report is "
            "then for the custodian.",
        ),
    ] = None,
    minimum: Annotated[
        int | None, typer.Option(help="With --true: sensitive, fewer contributors. Counts: 3.")
    ] = None,
    p: Annotated[
        float | None, typer.Option("--p", metavar="P", help="With --true: the p% rule.")
    ] = None,
    pq: Annotated[
        str | None, typer.Option("--pq", metavar="P,Q", help="With --true: the pq rule.")
    ] = None,
    dominance: Annotated[
        str | None, typer.Option(metavar="N,K", help="With --true: the (n, k) rule.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after so long; what is proved by then is valid.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the interval of every cell as CSV.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say what an intruder can prove about the cells of a published table.

    For each cell without an exact figure: the least and the greatest value it can have, given
    all other figures and that parts add up to their totals. Combinations that a long file does
    not mention count as not published.
    """
    import json

    from discreet.cli.progress import after_a_while, shown
    from discreet.risk.cell import audit

    if true is None and any(rule is not None for rule in (minimum, p, pq, dominance)):
        raise ParameterError("--minimum, --p, --pq and --dominance need --true, the true table.")
    if out is not None and not out.parent.is_dir():
        raise ParameterError(f"--out must be in a folder that exists. Got {out}.")
    table, known, cells = _known(
        published,
        rounded,
        random_rounded,
        within,
        group or [],
        insider or [],
        precision,
        true is not None,
    )
    system = _system(table)
    _refuse_sums(table, system, known[0], known[1], precision)
    with shown() as tell:
        result = audit(system, known[0], known[1], precision, seconds, after_a_while(tell))
    if result.proof.status == "infeasible":
        raise ParameterError(_contradiction(table, system, result))
    found = _found(table, result, cells, known[2], precision)
    found["method"] = _method(rounded, random_rounded, within, precision)
    found["sensitive"] = _sensitive(table, result, true, group or [], minimum, p, pq, dominance)
    if out is not None:
        _write(out, table, result, cells)
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else render(found))


def _known(
    path: Path,
    rounded: float | None,
    random_rounded: float | None,
    within: float | None,
    group: list[str],
    insider: list[str],
    precision: float,
    against: bool,
) -> tuple[PublishedTable, tuple[Any, Any, dict[int, float]], NDArray[np.int64]]:
    """Return the table, what is known of each cell before any sum, and the cells to audit.

    Where figures are held `against` the true table, exact ones are audited too.
    """
    import numpy as np

    from discreet.cli.cells import groups_of
    from discreet.table.decimals import in_steps, of_steps
    from discreet.table.published import read_published

    given = [option for option in (rounded, random_rounded, within) if option is not None]
    if len(given) > 1:
        raise ParameterError("--rounded, --random-rounded and --within cannot be given together.")
    if not precision > 0:
        raise ParameterError(f"--precision must be above 0. Got {precision:g}.")
    table = read_published(path, groups_of([], group))
    figures = table.values
    shown = ~np.isnan(figures)
    off = shown & (of_steps(in_steps(figures, precision), precision) != figures)
    if off.any():
        raise ParameterError(
            f"figures must be multiples of --precision, {precision:g}. Got "
            f"{figures[off].flat[0]:.15g} for {table.name(int(np.flatnonzero(off)[0]))}."
        )
    low, high = np.zeros(figures.shape), np.full(figures.shape, np.inf)
    low[shown], high[shown] = _before_sums(
        figures[shown], rounded, random_rounded, within, precision
    )
    contributions = {}
    for text in insider:
        cell, amount = _insider(table, text)
        contributions[cell] = amount
        low.flat[cell] = max(low.flat[cell], amount)
        if amount > high.flat[cell]:
            raise ParameterError(
                f"a contribution must not be above the figure of its cell. Got {text}."
            )
    cells = np.flatnonzero(table.unpublished | (low < high) & shown)
    if not len(cells) and against:
        cells = np.flatnonzero(shown)  # each is known exactly, sensitive ones among them
    if not len(cells):
        raise ParameterError(
            f"'{path.name}' publishes every cell exactly: there is nothing to prove. "
            "Say how its figures were changed: --rounded, --random-rounded or --within."
        )
    return table, (low, high, contributions), cells


def _before_sums(
    figures: Any,
    rounded: float | None,
    random_rounded: float | None,
    within: float | None,
    precision: float,
) -> tuple[Any, Any]:
    """Return the least and the greatest value that each figure can have had, by itself."""
    from discreet.risk.cell import perturbed_range, rounded_range

    if rounded is not None:
        return rounded_range(figures, rounded, False, precision)
    if random_rounded is not None:
        return rounded_range(figures, random_rounded, True, precision)
    if within is not None:
        return perturbed_range(figures, within)
    return figures, figures


def _method(
    rounded: float | None, random_rounded: float | None, within: float | None, precision: float
) -> dict[str, Any] | None:
    """Return how figures were changed, and how many values that leaves of one and of a 0."""
    from discreet.risk.cell import cell_risk
    from discreet.table.decimals import in_steps, of_steps

    names = ("conventional rounding", "random rounding", "perturbation")
    bounds = (rounded, random_rounded, within)
    for name, bound in zip(names, bounds, strict=True):
        if bound is not None:
            # A figure that is large enough, and a multiple of everything.
            large = of_steps(2 * in_steps(bound, precision, up=True), precision)
            ends = _before_sums([0.0, float(large)], *bounds, precision)
            at_zero, values = cell_risk(*ends, precision).possible.tolist()
            return {"name": name, "bound": bound, "values": values, "values_at_zero": at_zero}
    return None


def _insider(table: PublishedTable, text: str) -> tuple[int, float]:
    cell, colon, amount = text.rpartition(":")
    codes = {}
    try:
        contribution = float(amount)
    except ValueError:
        contribution = -1.0
    for part in cell.split(","):
        name, equals, code = part.partition("=")
        if not equals:
            colon = ""
        codes[name.strip()] = code.strip()
    if not colon or not contribution >= 0:
        raise ParameterError(
            f"--insider must have the form dimension=code,dimension=code:amount. Got {text}."
        )
    return table.cell(codes), contribution


def _system(table: PublishedTable) -> TableSystem:
    from discreet.solve.system import TableSystem
    from discreet.table.hierarchy import Hierarchy

    return TableSystem.table([Hierarchy(parents) for parents in table.parents])


def _refuse_sums(
    table: PublishedTable, system: TableSystem, low: Any, high: Any, precision: float
) -> None:
    """Raise where parts and total are all known and differ: say where, and by how much."""
    import numpy as np

    from discreet.table.decimals import in_steps, of_steps

    least, most = system.merge(in_steps(low, precision, up=True), in_steps(high, precision))
    exact = least == most
    rows = system.equations
    open_cells = np.abs(rows) @ (~exact).astype(float)
    sums = rows @ np.where(exact, least, 0.0)
    wrong = np.flatnonzero((open_cells == 0) & (np.abs(sums) > 1e-6))
    if len(wrong):
        faults = []
        for row in wrong[:FAULTS].tolist():
            total, text = _equation(table, system, row)
            steps = least[system.variable[total]]
            parts, value, off = of_steps([steps + sums[row], steps, sums[row]], precision)
            faults.append(
                f"{text} sum to {parts:,.15g}, but {table.name(total)} is {value:,.15g}: off by "
                f"{off:,.15g}"
            )
        more = f"; and {len(wrong) - FAULTS:,} more" if len(wrong) > FAULTS else ""
        raise ParameterError(f"the figures must add up. {'; '.join(faults)}{more}.")


def _equation(table: PublishedTable, system: TableSystem, row: int) -> tuple[int, str]:
    """Return the cell that is the sum, and the parts as words."""
    import numpy as np

    part = slice(system.equations.indptr[row], system.equations.indptr[row + 1])
    first = np.full(system.variables, -1)
    first[system.variable[::-1]] = np.arange(system.variable.size)[::-1]
    cells = first[system.equations.indices[part]]
    signs = system.equations.data[part]
    total = int(cells[np.argmin(signs)])
    names = [table.name(int(cell)) for cell in cells[signs > 0]]
    if len(names) > 2:
        return total, f"{names[0]} to {names[-1]}"
    return total, " and ".join(names)


def _contradiction(table: PublishedTable, system: TableSystem, result: Audit) -> str:
    if result.proof.row >= 0:
        total, parts = _equation(table, system, result.proof.row)
        return (
            f"no table fits these figures. {parts} cannot add up to {table.name(total)}, whatever "
            "the unpublished cells are: check the figures and how they are said to be changed."
        )
    return (
        "no table fits these figures: together they contradict one another. Check the figures and "
        "how they are said to be changed."
    )


def _found(
    table: PublishedTable,
    result: Audit,
    cells: NDArray[np.int64],
    contributions: dict[int, float],
    precision: float,
) -> dict[str, Any]:
    """Return everything the report says, as plain values; an upper bound without end is None."""
    import numpy as np

    from discreet.risk.cell import insider_range
    from discreet.table.decimals import of_steps

    low, high = result.low.flat[cells], result.high.flat[cells]
    possible = result.risk.possible.flat[cells]
    value = result.risk.values.flat[cells]
    settled = result.attained.reshape(2, -1)[:, cells].all(axis=0)
    order = np.lexsort((cells, low, possible))
    worst = [
        {
            "cell": table.name(int(cells[i])),
            "low": float(low[i]),
            "high": _plain(high[i]),
            "possible": _plain(possible[i]),
            "risk": "certain disclosure" if possible[i] == 1 else float(value[i]),
        }
        for i in order
    ]
    insiders = []
    for cell, amount in contributions.items():
        others = insider_range(result.low.flat[cell], result.high.flat[cell], amount)
        insiders.append(
            {
                "cell": table.name(cell),
                "contribution": amount,
                "others_low": float(others[0]),
                "others_high": _plain(float(others[1])),
            }
        )
    edges = _edges(possible)
    return {
        "status": str(result.proof.status),
        "cells": len(cells),
        "exact": int((possible == 1).sum()),
        "exact_share": float((possible == 1).mean()),
        "bounds_attained": float(settled.mean()),
        "gap": float(of_steps(result.proof.gap, precision)),
        "precision": precision,
        "widths": [
            {"from": int(a), "to": None if b is None else int(b), "cells": count}
            for a, b, count in edges
        ],
        "worst": worst,
        "insiders": insiders,
    }


def _sensitive(
    table: PublishedTable,
    result: Audit,
    true: Path | None,
    group: list[str],
    minimum: int | None,
    p: float | None,
    pq: str | None,
    dominance: str | None,
) -> dict[str, Any] | None:
    """Return which sensitive cells of the true table are known too closely."""
    import numpy as np

    from discreet.cli.cells import groups_of, rules_of
    from discreet.desk.cells import read_cells
    from discreet.desk.sensitivity import known_too_closely

    if true is None:
        return None
    cells = read_cells(true, groups_of([], group))
    rules = rules_of(cells, minimum, p, pq, dominance)
    places = cells.places(table.variables, table.codes)
    low, high = np.zeros(cells.shape), np.full(cells.shape, np.inf)
    low.flat[places], high.flat[places] = result.low, result.high
    outside = (cells.values < low) | (cells.values > high)
    if outside.any():
        raise ParameterError(
            f"what is published must fit the true table. {cells.name(int(np.argmax(outside)))} "
            "does not: check the figures and how they are said to be changed."
        )
    sensitive, close = known_too_closely(cells, rules, low, high)
    published = np.zeros(cells.shape, bool)
    published.flat[places] = True
    return {
        "cells": int((sensitive & published).sum()),
        "too_close": [cells.name(int(cell)) for cell in np.flatnonzero(close & published)],
    }


def _plain(value: float) -> float | None:
    return float(value) if value < float("inf") else None


def _edges(possible: NDArray[np.float64]) -> list[tuple[float, float | None, int]]:
    """Return classes of the number of possible values that double in width, with their cells."""
    import numpy as np

    finite = possible[np.isfinite(possible)]
    classes: list[tuple[float, float | None, int]] = []
    start, end = 1, 1
    while len(finite) and start <= finite.max():
        inside = int(((finite >= start) & (finite <= end)).sum())
        # The class of certain disclosure is always shown; empty ones before the first are not.
        if start == 1 or inside or any(count for _, _, count in classes):
            classes.append((start, end, inside))
        start, end = end + 1, 2 * end + 1
    open_end = int((~np.isfinite(possible)).sum())
    if open_end:
        classes.append((0, None, open_end))
    return classes


def render(found: dict[str, Any], worst: int = WORST) -> str:
    """Return the report as a person reads it: what is proved exactly first."""
    cells, exact = found["cells"], found["exact"]
    if exact:
        lines = [
            f"DISCLOSED: {exact:,} of {cells:,} cells can be proved exactly "
            f"({found['exact_share']:.1%})."
        ]
    else:
        first = found["worst"][0]
        narrow = first["possible"]
        lines = [
            f"NOT DISCLOSED EXACTLY: none of {cells:,} cells can be proved; the narrowest has "
            + ("no upper bound." if narrow is None else f"{narrow:,.0f} possible values.")
        ]
    if found["sensitive"] is not None:
        lines.insert(0, _protection(found["sensitive"]))
    lines.append(_certainty(found))
    if found["method"] is not None:
        lines.append(_left(found["method"]))
    lines += ["", "Worst cells"]
    rows = [
        (
            row["cell"],
            _interval(row["low"], row["high"]),
            "certain"
            if row["risk"] == "certain disclosure"
            else f"{row['possible']:,.0f} values, risk {row['risk']:.3f}"
            if row["possible"] is not None
            else "no upper bound",
        )
        for row in found["worst"][:worst]
    ]
    wide = [max(len(row[k]) for row in rows) for k in range(2)]
    lines += [f"  {a:<{wide[0]}}  {b:>{wide[1]}}  {c}" for a, b, c in rows]
    if cells > worst:
        lines.append(f"  and {cells - worst:,} more")
    lines += ["", "Possible values of a cell"]
    most = max(row["cells"] for row in found["widths"])
    for row in found["widths"]:
        if row["to"] is None:
            name = "no bound"
        elif row["from"] == row["to"]:
            name = f"{row['to']:,}"
        else:
            name = f"{row['from']:,}–{row['to']:,}"
        bar = "█" * max(round(BAR * row["cells"] / most), 1 if row["cells"] else 0)
        lines.append(f"  {name:>15} {row['cells']:>8,} {bar}".rstrip())
    if found["insiders"]:
        lines += ["", "Insiders"]
        for row in found["insiders"]:
            lines.append(
                f"  who gave {row['contribution']:,.15g} to {row['cell']} knows the others' sum: "
                f"{_interval(row['others_low'], row['others_high'])}"
            )
    return "\n".join(lines)


def _protection(sensitive: dict[str, Any]) -> str:
    cells, close = sensitive["cells"], sensitive["too_close"]
    if not close:
        return f"PROTECTED: all {cells:,} sensitive cells are as uncertain as the rule asks."
    named = "; ".join(close[:FAULTS]) + (
        f"; and {len(close) - FAULTS:,} more" if len(close) > FAULTS else ""
    )
    return (
        f"NOT PROTECTED: {len(close):,} of {cells:,} sensitive cells are known too closely: "
        f"{named}."
    )


def _left(method: dict[str, Any]) -> str:
    kind = "within" if method["name"] == "perturbation" else "to base"
    return (
        f"{method['name'].capitalize()} {kind} {method['bound']:,.15g} leaves "
        f"{method['values']:,.0f} values of a figure, {method['values_at_zero']:,.0f} of a 0, "
        "before any sum."
    )


def _certainty(found: dict[str, Any]) -> str:
    share = found["bounds_attained"]
    if found["status"] == "stopped":
        return (
            f"STOPPED before the end: intervals are valid but may be narrower; "
            f"{share:.0%} are final."
        )
    if share == 1:
        return "Every interval is final: some table that fits has each of its ends."
    return f"Intervals are valid; {share:.0%} are final, the others may be narrower."


def _interval(low: float, high: float | None) -> str:
    if high is None:
        return f"{low:,.15g} or more"
    return f"{low:,.15g}" if low == high else f"{low:,.15g} to {high:,.15g}"


def _write(out: Path, table: PublishedTable, result: Audit, cells: NDArray[np.int64]) -> None:
    ends = result.attained.reshape(2, -1)[:, cells]
    final = ends[0] & ends[1]
    columns = {
        "low": [f"{value:.15g}" for value in result.low.flat[cells]],
        "high": [f"{v:.15g}" if v < float("inf") else "" for v in result.high.flat[cells]],
        "risk": [
            "certain" if m == 1 else f"{v:.4f}"
            for v, m in zip(
                result.risk.values.flat[cells], result.risk.possible.flat[cells], strict=True
            )
        ],
        "final": ["yes" if flag else "no" for flag in final],
    }
    table.sheet(columns, cells).write(out)
