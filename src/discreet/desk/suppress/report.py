"""What `suppress` reads and what it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from discreet.desk.cells import CellTable, Mark, read_cells, read_records
from discreet.desk.cells.argus import tab_files, with_history, write_history, write_tab
from discreet.desk.cells.given import Hierarchies, groups_of, several, tables_of
from discreet.desk.charts import BLUE, ORANGE, PALE, Chart, axis, chart, colours
from discreet.desk.report import Report
from discreet.desk.suppress import solver
from discreet.desk.suppress.endings import PATTERNS, ending
from discreet.desk.suppress.insiders import Contributions
from discreet.desk.suppress.method import Suppressed
from discreet.errors import ParameterError
from discreet.files import written
from discreet.table.hierarchy import CodeList, Groups
from discreet.table.sheet import Sheet
from discreet.table.source import Given, Source, read_source

# The letters of sdcTable and τ-ARGUS: safe, unsafe (primary), secondary, and zeros as they stand.
LETTERS, ZERO = ("s", "u", "x"), "z"

LEAST_GAP = 0.001
"""What is said of a gap that is not proved to be nothing, and would be rounded to it."""


@dataclass(frozen=True)
class Linked:
    """Tables that are solved together, and who has what in their cells as far as records say."""

    names: list[str]
    cells: list[CellTable]
    contributions: list[Contributions] | None = None

    def with_history(self, path: Path) -> Linked:
        """Return the table with what a history of τ-ARGUS says of its cells."""
        if len(self.cells) > 1:
            raise ParameterError("a history is for a single table.")
        return replace(self, cells=[with_history(self.cells[0], path)])


def read_linked(
    given: Given | Sequence[Given] | Mapping[str, Given],
    by: Sequence[str] | Sequence[Sequence[str]] | None,
    value: str | None,
    holding: str | None,
    hierarchy: Hierarchies | None,
) -> Linked:
    """Return the tables of files or data frames, or those that records make."""
    tables = (
        [None]
        if given is None
        else several(list(given.values()) if isinstance(given, Mapping) else given)
    )
    if not tables:
        raise ParameterError(
            "at least one table must be given: the path of a CSV file, a data frame (pandas, "
            f"polars, Arrow), or several of them. Got {type(given).__name__} without any."
        )
    sources = [read_source(table) for table in tables]
    groups, columns = groups_of(hierarchy), tables_of(by)
    if not columns:
        for name, column in (("value", value), ("holding", holding)):
            if column is not None:
                raise ParameterError(f"{name} is for records: say by which columns (by).")
        names = list(given) if isinstance(given, Mapping) else [source.name for source in sources]
        if len(set(names)) < len(names):
            raise ParameterError("linked tables must have different names.")
        each: list[Groups] = [groups]
        if len(sources) > 1:
            each = [_groups_of(source, sources, groups) for source in sources]
        return Linked(names, [read_cells(s, g) for s, g in zip(sources, each, strict=True)])
    if len(sources) != 1:
        raise ParameterError(f"by takes one file of records. Got {len(sources)} files.")
    for variable in groups:
        if not any(variable in part for part in columns):
            raise ParameterError(f"by must name '{variable}' where it has a hierarchy or group.")
    records = [
        read_records(sources[0], part, value, holding, {v: groups[v] for v in groups if v in part})
        for part in columns
    ]
    names = ["-".join(part) + ".csv" for part in columns] if len(columns) > 1 else [sources[0].name]
    cells = [one.table() for one in records]
    if value is None and holding is None:
        return Linked(names, cells)  # of counts, the table says as much
    return Linked(names, cells, [Contributions.of_records(one) for one in records])


def _groups_of(source: Source, linked: Sequence[Source], groups: Groups) -> Groups:
    """Return the groups of the dimensions that a linked table has.

    A code that another of the tables has may be left out of this one: its cells are 0.
    """
    mine: dict[str, CodeList] = {}
    for variable, group in groups.items():
        if variable in source.header:
            columns = [one.column(variable) for one in linked if variable in one.header]
            listed = group.listed if isinstance(group, CodeList) else ()
            mine[variable] = CodeList(group, {*listed, *chain(*columns)})
    return mine


@dataclass(frozen=True, eq=False, repr=False)
class SuppressReport(Report):
    """Which cells of a table, or of linked ones, are withheld; `results` holds each by name."""

    results: dict[str, Suppressed]

    @property
    def _first(self) -> Suppressed:
        return next(iter(self.results.values()))

    @property
    def facts(self) -> dict[str, Any]:
        """Everything the report says, as plain values."""
        pattern, cost = self._first.pattern, self._first.singleton_cost
        return {
            "tables": [_facts(name, result) for name, result in self.results.items()],
            "status": str(pattern.status),
            "gap": float(pattern.gap) if pattern.gap < float("inf") else None,
            "singletons": self._first.singletons,
            "singletons_cost": None if cost is None else max(cost, 0),
        }

    @property
    def lines(self) -> list[str]:
        """The report as a person reads it."""
        facts = self.facts
        lines = [
            f"{one['table']}: {one['primary'] + one['secondary']:,} of {one['cells']:,} cells "
            f"withheld, {one['primary']:,} primary and {one['secondary']:,} secondary, with "
            f"{one['share_of_value']:.2%} of all values."
            for one in facts["tables"]
        ]
        lines.append("Audited: every primary cell is as uncertain as asked.")
        cost = facts["singletons_cost"]
        lines.append(_contributors(self._first.known, facts["singletons"], cost))
        if facts["status"] == "solved":
            lines.append("Proved: no cheaper pattern is safe.")
        elif facts["gap"] is not None:
            gap = max(facts["gap"], LEAST_GAP)
            lines.append(f"A safe pattern could cost at most {gap:.1%} less.")
        return lines

    @property
    def sheets(self) -> dict[str, Sheet]:
        """The tables with a status for each cell; figures that are withheld are empty."""
        return {name: _sheet(result) for name, result in self.results.items()}

    def write_pattern(self, path: str | Path) -> None:
        """Write the pattern for other programs, as the end of the name says.

        .csv: codes and a letter for each cell; .json: all cells with figure and status, for R, as
        sdcTable's sdcProb2df has them. .hst, for τ-ARGUS, has the primary cells alone, without the
        secondary ones: such a file has no word for them, and τ-ARGUS would protect them in turn.
        """
        pattern, target = self.pattern, Path(path)
        kind = ending("the pattern", target, PATTERNS)
        if kind == ".hst":
            result = self._first
            write_history(target, result.cells, result.marks == solver.Mark.PRIMARY)
        elif kind == ".json":
            name = "freq" if self._first.cells.counts else "value"
            figures = self._first.cells.values.ravel().tolist()
            columns = zip(*pattern.columns[:-1], figures, pattern.columns[-1], strict=True)
            names = [*pattern.header[:-1], name, pattern.header[-1]]
            rows = [dict(zip(names, row, strict=True)) for row in columns]
            with written(target) as file:
                file.write(json.dumps(rows, ensure_ascii=False, indent=1).encode())
        else:
            pattern.write(target)

    def write_tab(self, path: str | Path) -> list[Path]:
        """Write the table as it is for τ-ARGUS: .tab, with .rda and .hrc beside it."""
        if len(self.results) > 1:
            raise ParameterError("a .tab file is for a single table.")
        ending("the table for τ-ARGUS", path, (".tab",))
        return write_tab(path, self._first.cells)

    def tab_files(self, path: str | Path) -> list[Path]:
        """Return the files that `write_tab` writes: the table, its metadata and hierarchies."""
        return tab_files(path, self._first.cells)

    @property
    def pattern(self) -> Sheet:
        """The codes of a single table with a letter for each cell, as sdcTable writes them."""
        if len(self.results) > 1:
            raise ParameterError("a pattern is for a single table.")
        cells, marks = self._first.cells, self._first.marks
        kept = cells.marked(Mark.NEVER) | cells.marked(Mark.PUBLISHED) | (cells.values == 0)
        letters = [
            ZERO if mark == 0 and fixed else LETTERS[mark]
            for mark, fixed in zip(marks.flat, kept.flat, strict=True)
        ]
        return cells.sheet({"sdcStatus": letters})

    def plot(self) -> Chart:
        """Return the first table with its withheld cells: the last dimension across."""
        name, result = next(iter(self.results.items()))
        sheet = _sheet(result)
        *labels, across, figures, status = sheet.columns
        down = [", ".join(codes) for codes in zip(*labels, strict=True)] or ["" for _ in across]
        rows = [
            {"row": a, "column": b, "figure": c, "status": d}
            for a, b, c, d in zip(down, across, figures, status, strict=True)
        ]
        place = {
            "y": axis("row", "nominal", ", ".join(result.cells.variables[:-1]), sort=None),
            "x": axis(
                "column",
                "nominal",
                result.cells.variables[-1],
                sort=None,
                axis={"orient": "top", "labelAngle": 0},
            ),
        }
        colour = {"published": PALE, "primary": ORANGE, "secondary": BLUE}
        return chart(
            f"{name}: published and withheld cells",
            rows,
            encoding=place,
            layer=[
                {"mark": {"type": "rect", "stroke": "white"},
                 "encoding": {"color": colours("status", "Status", colour)}},
                {"mark": "text", "transform": [{"filter": "datum.figure != null"}],
                 "encoding": {"text": axis("figure", "quantitative", "", format=",")}},
            ],
            width={"step": 64},
            height={"step": 26},
        )  # fmt: skip


def _contributors(known: bool, singletons: bool, cost: int | None) -> str:
    """Return what is said of contributors; the search before them is all that can be compared."""
    if not known:
        return "Contributors are not in the file: what they know was not reckoned with."
    if not singletons:
        return "Contributors were left out: what they know was not reckoned with."
    if cost is None:
        return "Protected from every contributor too."
    more = f"{cost:,}" if cost else "no"
    return f"Protected from every contributor too: {more} more cells than the search had before."


def _facts(name: str, result: Suppressed) -> dict[str, Any]:
    return {
        "table": name,
        "cells": int(result.marks.size),
        "primary": result.number(solver.Mark.PRIMARY),
        "secondary": result.number(solver.Mark.SECONDARY),
        "primary_value": result.value(solver.Mark.PRIMARY),
        "secondary_value": result.value(solver.Mark.SECONDARY),
        "share_of_value": result.share,
    }


def _sheet(result: Suppressed) -> Sheet:
    cells = result.cells
    figures = [
        None if hidden else int(figure) if cells.counts else figure
        for figure, hidden in zip(cells.values.ravel().tolist(), result.withheld.flat, strict=True)
    ]
    status = [str(state) for state in result.status.flat]
    return cells.sheet({"count" if cells.counts else "value": figures, "status": status})
