"""`discreet adjust --order`: magnitudes adjusted through their records. Not a command itself."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.desk.adjust.records import RecordAdjustment
    from discreet.desk.cells import Records

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
    from discreet.desk.adjust.records import adjust_records, cell_rows
    from discreet.desk.sensitivity import PriorPosterior
    from discreet.table.hierarchy import Hierarchy

    with shown() as tell:
        rows = cell_rows(
            records.at,
            [Hierarchy(parents) for parents in records.parents],
            records.amounts,
            order,
            records.units,
            tell,
        )
        found = adjust_records(rows, PriorPosterior(p).amount, rng, tell=tell)
    short = _short_sets(found)
    facts = _facts(out, found)
    cells = (", ".join(cell) for members in short for cell in _cells_of(records, members, order))
    # In words a few are named.
    facts["short_cells"] = list(cells if as_json else islice(cells, NAMED))
    written = withhold or not short
    if written:
        _write(path, out, value, found.records[place])
        if report is not None:
            _write_withheld(report, records, short, order)
    typer.echo(json.dumps(facts, indent=2) if as_json else _text(facts, found, withhold, report))
    if not written:
        raise typer.Exit(3)
    if found.status == "stopped":
        raise typer.Exit(130)


def _short_sets(found: RecordAdjustment) -> list[NDArray[np.int64]]:
    """Return the records of each set of contributors that is short of its protection."""
    import numpy as np

    rows = found.rows
    return [
        np.asarray(rows.members[rows.starts[entry] : rows.starts[entry + 1]], np.int64)
        if entry < rows.size
        else np.array([entry - rows.size])
        for entry in np.flatnonzero(found.short).tolist()
    ]


def _cells_of(
    records: Records, members: NDArray[np.int64], order: int
) -> Iterator[tuple[str, ...]]:
    """Yield every cell by up to `order` dimensions with just these contributors.

    A walk down the dimensions: at each, the codes that all members share, the total first, and
    who else has them.
    """
    import numpy as np

    shared = []
    for column, parents in zip(records.at.T, records.parents, strict=True):
        codes = set(_line(int(column[members[0]]), parents))
        for code in set(column[members].tolist()):
            codes &= set(_line(code, parents))
        shared.append(sorted(codes, key=lambda code: len(_line(code, parents))))
    below = [_below(parents) for parents in records.parents]

    def walk(d: int, left: int, there: NDArray[np.int64]) -> Iterator[tuple[str, ...]]:
        if d == len(shared):
            if len(there) == len(members):
                yield ()
            return
        for code in shared[d]:
            total = records.parents[d][code] < 0
            if not total and not left:
                break
            same = there if total else there[below[d][code][records.at[there, d]]]
            for rest in walk(d + 1, left - (not total), same):
                yield records.codes[d][code], *rest

    return walk(0, order, np.arange(len(records.at)))


def _below(parents: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return for each code which codes are part of it, itself included."""
    import numpy as np

    below = np.zeros((len(parents), len(parents)), bool)
    for code in range(len(parents)):
        below[_line(code, parents), code] = True
    return below


def _line(code: int, parents: tuple[int, ...]) -> list[int]:
    """Return a code and all it is part of."""
    line = []
    while code >= 0:
        line.append(code)
        code = parents[code]
    return line


def _facts(out: Path, found: RecordAdjustment) -> dict[str, Any]:
    import numpy as np

    from discreet.desk.adjust.audit import digits
    from discreet.utility.change import change_listing, plain_rows

    many = found.cells.sum(axis=1)
    odd = digits(found.true, np.round(found.released, 6), many)  # as they are written
    listing = change_listing(found.true, found.released, found.sensitive, many)
    return {
        "file": out.name,
        "status": str(found.status),
        "records": found.rows.records,
        "cells": found.rows.cell_count,
        "equations": found.rows.equations,
        "rows": found.rows.size,
        "sensitive": int(many[found.sensitive].sum()),
        "short": found.short_cells,
        "digits": None if odd is None else {**asdict(odd), "share": odd.share, "said": str(odd)},
        "percent_change": plain_rows(listing.changes),
        "value_distribution": plain_rows(listing.values),
    }


def _text(
    facts: dict[str, Any], found: RecordAdjustment, withhold: bool, report: Path | None
) -> str:
    from discreet.utility.change import change_listing, listing_text

    if facts["short"]:
        named = "; ".join(facts["short_cells"])
        more = facts["short"] - len(facts["short_cells"])
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
    if facts["digits"] is not None:
        lines.append(
            f"{facts['digits']['said']} Round the tables made of these records, every figure "
            "alike, before they are published."
        )
    many = found.cells.sum(axis=1)
    listing = change_listing(found.true, found.released, found.sensitive, many)
    return "\n".join([*lines, "", listing_text(listing).rstrip()])


def _write(path: Path, out: Path, value: str, figures: NDArray[np.float64]) -> None:
    """Write the records with the adjusted value: their tables are what may be published."""
    from discreet.table.source import read_source

    source = read_source(path)
    delimiter, header, lines = source.delimiter, source.header, source.rows
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
    report: Path, records: Records, short: list[NDArray[np.int64]], order: int
) -> None:
    """Write the cells to withhold, a line each."""
    with report.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(records.variables)
        for members in short:
            writer.writerows(_cells_of(records, members, order))


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
