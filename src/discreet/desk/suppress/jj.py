"""Suppression of a JJ file: any cells with the equations between them, of whatever tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.charts import BLUE, GREY, ORANGE, PALE, Chart, axis, chart, colours
from discreet.desk.report import Report
from discreet.desk.suppress import Objective
from discreet.desk.suppress.endings import JJ_PATTERNS, check_published, ending
from discreet.desk.suppress.equations import suppress_equations
from discreet.desk.suppress.method import STATES, costs_of, ranges
from discreet.desk.suppress.solver import Mark, Pattern, Problem, optimum
from discreet.desk.suppress.solver.lines import line_bound
from discreet.errors import CannotProtect, ParameterError
from discreet.progress import Tell
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.jj import KEPT, OF_JJ, SAFE, UNSAFE, JJTable, write_jj
from discreet.table.sheet import Sheet
from discreet.types import Flags, Floats

GONE, WITHHELD = ("x", "m"), "x"
"""What the letters of a JJ file say of cells that are withheld already, and of those that are."""
# Bounds of this size stand for none, as solvers write them.
NO_BOUND = 1e19
# What costs nothing is still not withheld for nothing: a share of the dearest cell.
TRIFLE = 1e-6
# Bounds are lowered by what floats are off: a gap of no more is none.
PROVED = 1e-6


def jj_of(system: TableSystem, problem: Problem) -> JJTable:
    """Return a problem for other people's solvers: a cell for each different one of the tables.

    Cells that must be published are to be kept. What contributors know is not in such a file.
    """

    def most(given: NDArray[Any], start: float = 0.0) -> Floats:
        out = np.full(system.variables, start)
        np.maximum.at(out, system.variable, given.astype(np.float64))
        return out

    primary = most(problem.primary) > 0
    # Cells that are one are withheld together, and cost as much as all of them.
    cost = np.bincount(system.variable, problem.weights, system.variables)
    kept = np.isinf(cost) & ~primary
    low, high = system.merge(problem.low, problem.high)
    return JJTable(
        most(problem.values, -np.inf), np.where(np.isinf(cost), 1.0, cost),
        np.where(primary, UNSAFE, np.where(kept, KEPT, SAFE)), low, high, most(problem.fall),
        most(problem.rise), most(problem.width), system.equations,
        np.zeros(system.equations.shape[0]),
    )  # fmt: skip


def jj_problem(table: JJTable, objective: Objective | None = None) -> tuple[TableSystem, Problem]:
    """Return the equations of a file, and what is asked: costs are its own without an objective.

    Right-hand sides that are not 0 are published cells after the others. Whole figures of which no
    more is asked than not to be known, or a width, are counts: attackers know that they are whole.
    """
    equations = sparse.csr_matrix(table.equations, dtype=np.float64)
    equations.sum_duplicates()
    if (equations.data != np.rint(equations.data)).any():
        raise ParameterError("the factors of the equations must be whole numbers.")
    _check_protection(table)
    flags = table.sensitive
    sided = np.flatnonzero(table.right)
    shape = (equations.shape[0], len(sided))
    rights = sparse.csr_matrix((-np.ones(len(sided)), (sided, np.arange(len(sided)))), shape)
    right, none = table.right[sided], np.zeros(len(sided))

    def both(given: NDArray[Any], then: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([given, then])

    values = both(table.values, right)
    low = np.where(table.low > -NO_BOUND, np.minimum(table.low, table.values), -np.inf)
    high = np.where(table.high < NO_BOUND, np.maximum(table.high, table.values), np.inf)
    cost = table.costs if objective is None else costs_of(np.abs(table.values), objective)
    least = TRIFLE * float(cost.max(initial=0.0)) or 1.0
    cost = np.where(table.status == KEPT, np.inf, np.maximum(cost, least))
    lower, upper, width = (
        np.where(flags, part, 0.0) for part in (table.lower, table.upper, table.sliding)
    )
    whole = bool(
        (values == np.rint(values)).all()
        and (width == np.rint(width)).all()
        and np.isin(np.stack([lower, upper]), (0.0, 1.0)).all()
    )
    every = np.arange(len(values))
    system = TableSystem(
        (len(values),), every, every[:0], sparse.hstack([equations, rights], "csr"),
        sparse.csr_matrix((len(values), 0)),
    )  # fmt: skip
    problem = Problem.of(
        values, both(flags, none > 0), both(cost, none + np.inf), both(width, none),
        both(upper, none), both(lower, none), low=both(low, right), high=both(high, right),
        absent=both(np.isin(table.status, GONE), none > 0), whole=whole,
    )  # fmt: skip
    return system, problem


def _check_protection(table: JJTable) -> None:
    """Raise where the protection of a sensitive cell is none, or beyond what the cell can be."""
    flags, values = table.sensitive, table.values
    aimless = np.flatnonzero(flags & (table.lower + table.upper + table.sliding <= 0))
    if len(aimless):
        raise ParameterError(
            "the protection of a sensitive cell must be above 0: lower, upper or sliding. That of "
            f"cell {aimless[0]} is not."
        )
    near = 1e-9 * np.maximum(1.0, np.abs(values))
    beyond = (values - table.lower < table.low - near) | (values + table.upper > table.high + near)
    beyond |= table.sliding > table.high - table.low + near
    wrong = np.flatnonzero(flags & beyond)
    if len(wrong):
        raise CannotProtect(
            f"cell {wrong[0]} cannot be protected: its protection reaches beyond its bounds, which "
            "attackers know."
        )


@dataclass(frozen=True, eq=False, repr=False)
class JJSuppressReport(Report):
    """Which cells of a JJ file are withheld: `marks` has one for each.

    `low` and `high` are what an attacker can prove of withheld cells, as of `Suppressed`; `costs`
    what was kept small.
    """

    name: str
    table: JJTable
    marks: NDArray[np.int8]
    low: Floats
    high: Floats
    final: bool
    costs: Floats
    counts: bool
    pattern: Pattern

    @property
    def withheld(self) -> Flags:
        """The cells without a figure."""
        return np.asarray(self.marks != Mark.PUBLISHED)

    @property
    def status(self) -> NDArray[np.str_]:
        """What becomes of each cell, in a word."""
        return np.array([*STATES, "withheld"])[self.marks]

    @property
    def letters(self) -> NDArray[np.str_]:
        """The letters of the file, with those of cells that are withheld for others' sake."""
        return np.where(self.marks == Mark.SECONDARY, WITHHELD, self.table.status)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything the report says, as plain values."""
        size = np.abs(self.table.values)
        first, second = (self.marks == mark for mark in (Mark.PRIMARY, Mark.SECONDARY))
        every = float(size.sum())
        gap = float(self.pattern.gap)
        return {
            "file": self.name,
            "cells": len(self.table),
            "equations": int(self.table.equations.shape[0]),
            "counts": self.counts,
            "primary": int(first.sum()),
            "secondary": int(second.sum()),
            "withheld_before": int((self.marks == Mark.ABSENT).sum()),
            "primary_value": float(size[first].sum()),
            "secondary_value": float(size[second].sum()),
            "share_of_value": float(size[self.withheld].sum()) / every if every else 0.0,
            "cost": float(self.costs[second].sum()),
            "status": str(self.pattern.status),
            "gap": gap if gap < float("inf") else None,
        }

    @property
    def lines(self) -> list[str]:
        """The report as a person reads it."""
        facts = self.facts
        hidden = facts["primary"] + facts["secondary"] + facts["withheld_before"]
        before = facts["withheld_before"]
        lines = [
            f"{facts['file']}: {hidden:,} of {facts['cells']:,} cells withheld, "
            f"{facts['primary']:,} primary and {facts['secondary']:,} secondary"
            + (f", {before:,} before" if before else "")
            + f", with {facts['share_of_value']:.2%} of all values. Secondary cells cost "
            f"{facts['cost']:,g}.",
            "Audited: every primary cell is as uncertain as the file asks, to whoever knows its "
            "equations and bounds" + (" and that counts are whole." if self.counts else "."),
            "Contributors are not in the file: what they know was not reckoned with.",
        ]
        if facts["status"] == "solved":
            lines.append("Proved: no cheaper pattern is safe.")
        elif facts["gap"] is not None:
            lines.append(f"A safe pattern could cost at most {facts['gap']:.1%} less.")
        return lines

    @property
    def sheets(self) -> dict[str, Sheet]:
        """The cells by number with a status for each; figures that are withheld are empty."""
        figures = [
            None if hidden else int(figure) if figure == int(figure) else figure
            for figure, hidden in zip(self.table.values.tolist(), self.withheld, strict=True)
        ]
        columns = [list(range(len(figures))), figures, self.status.tolist()]
        return {self.name: Sheet(OF_JJ, columns)}

    def write(self, path: str | Path) -> None:
        """Write what is published as CSV."""
        check_published(path)
        super().write(path)

    def write_pattern(self, path: str | Path) -> None:
        """Write the number and letter of each cell as CSV.

        .jj: the file with letters for what is withheld, and true figures. Not for publication.
        """
        if ending("the pattern of a JJ file", path, JJ_PATTERNS) == ".jj":
            write_jj(replace(self.table, status=self.letters), path)
        else:
            columns = [list(range(len(self.table))), self.letters.tolist()]
            Sheet(["cell", "sdcStatus"], columns).write(path)

    def plot(self) -> Chart:
        """Return how many cells there are of each status."""
        colour = dict(zip((*STATES, "withheld"), (PALE, ORANGE, BLUE, GREY), strict=True))
        rows = [{"status": one, "cells": int((self.status == one).sum())} for one in colour]
        return chart(
            f"{self.name}: published and withheld cells",
            rows,
            mark="bar",
            encoding={
                "y": axis("status", "nominal", "Status", sort=None),
                "x": axis("cells", "quantitative", "Cells"),
                "color": colours("status", "Status", colour),
            },
            width=420,
        )


def suppress_jj(
    table: JJTable,
    name: str,
    objective: Objective | None = None,
    exact: bool = False,
    effort: float = 1.0,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> JJSuppressReport:
    """Return which cells of a JJ file to withhold; raise where a cell cannot be protected."""
    system, problem = jj_problem(table, objective)
    pattern = suppress_equations(system, problem, effort, tell)
    if pattern.status is Status.INFEASIBLE:
        raise CannotProtect(
            f"cell {pattern.failed[0]} cannot be protected by the cells that may be withheld. Keep "
            "fewer cells (z), or ask for less."
        )
    pattern = _judged(system, problem, pattern)
    if exact and pattern.status is not Status.SOLVED:
        pattern = optimum(system, problem, pattern, seconds, tell)
    low, high, final = ranges(system, problem, pattern)
    own = slice(len(table))
    costs = table.costs if objective is None else problem.weights[own]
    return JJSuppressReport(
        name, table, np.asarray(pattern.values[own]), low[own], high[own], final, costs,
        problem.whole, pattern,
    )  # fmt: skip


def _judged(system: TableSystem, problem: Problem, pattern: Pattern) -> Pattern:
    """Return the pattern with how much less a safe one can cost."""
    if problem.total(pattern.values) <= 0:
        return replace(pattern, status=Status.SOLVED, gap=0.0)
    gap = min(pattern.gap, problem.gap(pattern.values, line_bound(system, problem)))
    return replace(pattern, gap=gap, status=Status.SOLVED if gap <= PROVED else pattern.status)
