"""`discreet adjust --order`: magnitudes adjusted through their records. Not a command itself."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.solve.adjust.records import RecordAdjustment
    from discreet.table.cells import Records

NAMED = 5


def run(
    path: Path,
    out: Path,
    records: Records,
    place: NDArray[np.int64],
    value: str,
    order: int,
    p: float,
    rng: np.random.Generator,
    withhold: bool,
    report: Path | None,
    as_json: bool,
) -> None:
    """Adjust, report, and write the records whose tables are safe; exit 3 where some are not.

    `place[i]` is the record of line i of the file.
    """
    import json

    from discreet.cli.progress import shown
    from discreet.solve.adjust.records import adjust_records, cell_rows, p_percent
    from discreet.solve.system import Hierarchy

    with shown() as tell:
        rows = cell_rows(
            records.at,
            [Hierarchy(parents) for parents in records.parents],
            records.amounts,
            order,
            records.units,
            tell,
        )
        found = adjust_records(rows, p_percent(p), rng, tell=tell)
    cells = _withheld(records, found)
    facts = _facts(out, found, cells)
    written = withhold or not cells
    if written:
        _write(path, out, value, found.records[place])
        if report is not None:
            _write_withheld(report, records, cells)
    typer.echo(json.dumps(facts, indent=2) if as_json else _text(facts, found, withhold, report))
    if not written:
        raise typer.Exit(3)
    if found.status == "stopped":
        raise typer.Exit(130)


def _withheld(records: Records, found: RecordAdjustment) -> list[tuple[tuple[str, ...], int]]:
    """Return the finest cell of each set of contributors that is short, and how many cells it is.

    Coarser cells with the same contributors must be withheld with it.
    """
    import numpy as np

    rows, cells = found.rows, []
    many = found.cells.sum(axis=1)
    for entry in np.flatnonzero(found.short).tolist():
        members = (
            rows.members[rows.starts[entry] : rows.starts[entry + 1]]
            if entry < rows.size
            else np.array([entry - rows.size])
        )
        names = []
        for d, (codes, parents) in enumerate(zip(records.codes, records.parents, strict=True)):
            common = set(_line(int(records.at[members[0], d]), parents))
            for member in members[1:].tolist():
                common &= set(_line(int(records.at[member, d]), parents))
            deepest = max(common, key=lambda code: len(_line(code, parents)), default=-1)
            names.append(codes[deepest] if deepest >= 0 else "")
        cells.append((tuple(names), int(many[entry])))
    return cells


def _line(code: int, parents: tuple[int, ...]) -> list[int]:
    line = []
    while code >= 0:
        line.append(code)
        code = parents[code]
    return line


def _facts(
    out: Path, found: RecordAdjustment, cells: list[tuple[tuple[str, ...], int]]
) -> dict[str, Any]:
    from discreet.utility.change import change_listing, plain_rows

    many = found.cells.sum(axis=1)
    listing = change_listing(found.true, found.released, found.sensitive, many)
    return {
        "file": out.name,
        "status": str(found.status),
        "records": found.rows.records,
        "cells": found.rows.cell_count,
        "equations": found.rows.equations,
        "rows": found.rows.size,
        "sensitive": int(many[found.sensitive].sum()),
        "short": sum(number for _, number in cells),
        "short_cells": [", ".join(names) for names, _ in cells],
        "percent_change": plain_rows(listing.changes),
        "value_distribution": plain_rows(listing.values),
    }


def _text(
    facts: dict[str, Any], found: RecordAdjustment, withhold: bool, report: Path | None
) -> str:
    from discreet.utility.change import change_listing, listing_text

    if facts["short"]:
        named = "; ".join(facts["short_cells"][:NAMED])
        more = len(facts["short_cells"]) - NAMED
        lines = [
            f"NOT PROTECTED: {facts['short']:,} of {facts['sensitive']:,} sensitive cells are "
            f"below their protection: {named}" + (f"; and {more:,} more." if more > 0 else "."),
            "They must be withheld from every table"
            + (f"; {report.name} lists them." if report and withhold else "; --report lists them.")
            + ("" if withhold else " Nothing is written: to go on like this say --withhold."),
        ]
    else:
        lines = [
            f"{facts['file']}: all {facts['sensitive']:,} sensitive cells of all tables are at or "
            "beyond their protection."
        ]
    if facts["status"] == "stopped":
        lines.append("STOPPED before the end: the changes may be larger than need be.")
    lines.append(
        f"{facts['records']:,} records, {facts['cells']:,} cells that are not 0, "
        f"{facts['equations']:,} equations; {facts['rows']:,} sets of contributors."
    )
    many = found.cells.sum(axis=1)
    listing = change_listing(found.true, found.released, found.sensitive, many)
    return "\n".join([*lines, "", listing_text(listing).rstrip()])


def _write(path: Path, out: Path, value: str, figures: NDArray[np.float64]) -> None:
    """Write the records with the adjusted value: their tables are what may be published."""
    from discreet.table.files import read_lines

    _, delimiter, header, lines = read_lines(path)
    column = header.index(value)
    unfinished = Path(f"{out}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
            writer.writerow(header)
            for (_, row), figure in zip(lines, figures.tolist(), strict=True):
                writer.writerow([*row[:column], f"{figure:.6f}", *row[column + 1 :]])
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_withheld(
    report: Path, records: Records, cells: list[tuple[tuple[str, ...], int]]
) -> None:
    with report.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*records.variables, "cells"])
        writer.writerows([*names, number] for names, number in cells)


def checked(
    by: list[list[str]], value: str | None, p: float | None, others: dict[str, bool]
) -> tuple[str, float]:
    """Return value and p; raise where options do not go with --order."""
    if len(by) != 1:
        raise ParameterError("--order needs --by once, with all dimensions of the records.")
    if value is None or p is None:
        raise ParameterError("--order needs --value and --p: it adjusts magnitudes by the p% rule.")
    given = [name for name, used in others.items() if used]
    if given:
        raise ParameterError(f"{' and '.join(given)} cannot be given with --order.")
    return value, p
