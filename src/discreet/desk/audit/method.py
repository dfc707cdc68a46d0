"""What is known of a published table before any sum, and what follows from its sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.desk.cells import CellTable, read_cells
from discreet.desk.sensitivity import Rule, known_too_closely, required, rules_of
from discreet.desk.suppress.insiders import Contributions, insiders
from discreet.desk.suppress.solver import Problem, examined
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.risk.cell import Audit, audit, cell_risk, perturbed_range, rounded_range
from discreet.solve.system import TableSystem
from discreet.table.decimals import in_steps, of_steps
from discreet.table.hierarchy import Groups
from discreet.table.published import PublishedTable
from discreet.table.source import Given
from discreet.types import Flags, Floats, Integers

FAULTS = 3


@dataclass(frozen=True)
class Change:
    """How published figures were changed, by at most which bound; all are multiples of a step."""

    name: str | None
    bound: float
    precision: float

    @classmethod
    def of(
        cls,
        rounded: float | None,
        random_rounded: float | None,
        within: float | None,
        precision: float,
    ) -> Change:
        """Return the one change that is given; without a name where none is."""
        names = ("conventional rounding", "random rounding", "perturbation")
        bounds = zip(names, (rounded, random_rounded, within), strict=True)
        given = [cls(name, bound, precision) for name, bound in bounds if bound is not None]
        if len(given) > 1:
            raise ParameterError("rounded, random-rounded and within cannot be given together.")
        if within is not None and not within >= 0:
            raise ParameterError(f"within must be 0 or more. Got {within:g}.")
        if not precision > 0:
            raise ParameterError(f"precision must be above 0. Got {precision:g}.")
        return given[0] if given else cls(None, 0.0, precision)

    def ranges(self, figures: ArrayLike) -> tuple[Floats, Floats]:
        """Return the least and the greatest value that each figure can have had, by itself."""
        if self.name is None:
            return np.asarray(figures), np.asarray(figures)
        if self.name == "perturbation":
            return perturbed_range(figures, self.bound)
        return rounded_range(figures, self.bound, self.name == "random rounding", self.precision)

    @property
    def facts(self) -> dict[str, Any] | None:
        """How figures were changed, and how many values that leaves of one and of a 0."""
        if self.name is None:
            return None
        # A figure that is large enough, and a multiple of everything.
        large = of_steps(2 * in_steps(self.bound, self.precision, up=True), self.precision)
        ends = self.ranges([0.0, float(large)])
        at_zero, values = cell_risk(*ends, self.precision).possible.tolist()
        return {
            "name": self.name,
            "bound": self.bound,
            "values": values,
            "values_at_zero": at_zero,
        }


@dataclass(frozen=True, eq=False)
class Known:
    """A published table, and the least and greatest value of each cell before any sum.

    `contributions` has what insiders know, by cell.
    """

    table: PublishedTable
    change: Change
    low: Floats
    high: Floats
    contributions: dict[int, float]

    @classmethod
    def of(
        cls,
        table: PublishedTable,
        change: Change,
        insiders: Sequence[tuple[Mapping[str, str], float]] = (),
    ) -> Known:
        """Return what is known of a table; raise where its figures are no multiples of the step."""
        figures, precision = table.values, change.precision
        shown = ~np.isnan(figures)
        off = shown & (of_steps(in_steps(figures, precision), precision) != figures)
        if off.any():
            raise ParameterError(
                f"figures must be multiples of the precision, {precision:g}. Got "
                f"{figures[off].flat[0]:.15g} for {table.name(int(np.flatnonzero(off)[0]))}."
            )
        low, high = np.zeros(figures.shape), np.full(figures.shape, np.inf)
        low[shown], high[shown] = change.ranges(figures[shown])
        contributions = {}
        for pair in insiders:
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise ParameterError(
                    "an insider must be a pair: the codes of a cell by dimension, and an amount. "
                    f"Got {pair!r}."
                )
            codes, amount = pair
            cell = table.cell(codes)
            if not 0 <= amount <= high.flat[cell]:
                raise ParameterError(
                    "a contribution must not be above the figure of its cell, nor negative. "
                    f"Got {amount:g} for {table.name(cell)}."
                )
            contributions[cell] = amount
            low.flat[cell] = max(low.flat[cell], amount)
        return cls(table, change, low, high, contributions)

    @property
    def system(self) -> TableSystem:
        """The cells and the equations between them."""
        return TableSystem.table(self.table.hierarchies)

    def cells(self, against: bool) -> Integers:
        """Return the cells to audit: those without an exact figure.

        Where all are exact and held `against` the true table, sensitive ones may be among them.
        """
        shown = ~np.isnan(self.table.values)
        cells = np.flatnonzero(self.table.unpublished | (self.low < self.high) & shown)
        return cells if len(cells) or not against else np.flatnonzero(shown)


def prove(known: Known, seconds: float | None = None, tell: Tell | None = None) -> Audit:
    """Return what follows for each cell; raise where the figures contradict one another."""
    system = known.system
    _refuse_sums(known, system)
    result = audit(system, known.low, known.high, known.change.precision, seconds, tell)
    if result.proof.status == "infeasible":
        raise ParameterError(_contradiction(known.table, system, result.proof.row))
    return result


def _refuse_sums(known: Known, system: TableSystem) -> None:
    """Raise where parts and total are all known and differ: say where, and by how much."""
    table, precision = known.table, known.change.precision
    least, most = system.merge(
        in_steps(known.low, precision, up=True), in_steps(known.high, precision)
    )
    exact = least == most
    open_cells = np.abs(system.equations) @ (~exact).astype(float)
    sums = system.equations @ np.where(exact, least, 0.0)
    wrong = np.flatnonzero((open_cells == 0) & (np.abs(sums) > 1e-6))
    if not len(wrong):
        return
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
    raise ParameterError(f"the figures must add up. {'; '.join(faults)}{more}.{_hint(table)}")


def _equation(table: PublishedTable, system: TableSystem, row: int) -> tuple[int, str]:
    """Return the cell that is the sum, and the parts as words."""
    part = slice(system.equations.indptr[row], system.equations.indptr[row + 1])
    first = np.full(system.variables, -1)
    first[system.variable[::-1]] = np.arange(system.variable.size)[::-1]
    cells = first[system.equations.indices[part]]
    signs = system.equations.data[part]
    names = [table.name(int(cell)) for cell in cells[signs > 0]]
    words = f"{names[0]} to {names[-1]}" if len(names) > 2 else " and ".join(names)
    return int(cells[np.argmin(signs)]), words


def _contradiction(table: PublishedTable, system: TableSystem, row: int) -> str:
    if row < 0:
        return (
            "no table fits these figures: together they contradict one another. Check the figures "
            f"and how they are said to be changed.{_hint(table)}"
        )
    total, parts = _equation(table, system, row)
    return (
        f"no table fits these figures. {parts} cannot add up to {table.name(total)}, whatever the "
        "unpublished cells are: check the figures and how they are said to be changed."
        f"{_hint(table)}"
    )


def _hint(table: PublishedTable) -> str:
    """Return what is said of a table without groups: sums among its codes would not add up."""
    flat = all(len(hierarchy.families) <= 1 for hierarchy in table.hierarchies)
    return " If a code is the sum of others, say so: --group DIM:SUM=A|B." if flat else ""


def sensitive(
    table: PublishedTable, result: Audit, true: Given, groups: Groups, rule: Any
) -> dict[str, Any]:
    """Return how many published cells are sensitive, and the names of those known too closely.

    Also the names of those that a contributor knows too closely, and nobody else.
    """
    cells = read_cells(true, groups)
    places = cells.places(table.variables, table.codes)
    low, high = np.zeros(cells.shape), np.full(cells.shape, np.inf)
    low.flat[places], high.flat[places] = result.low, result.high
    outside = (cells.values < low) | (cells.values > high)
    if outside.any():
        raise ParameterError(
            f"what is published must fit the true table. {cells.name(int(np.argmax(outside)))} "
            "does not: check the figures and how they are said to be changed."
        )
    rules = rules_of(cells, rule)
    flags, close = known_too_closely(cells, rules, low, high)
    published = np.zeros(cells.shape, bool)
    published.flat[places] = True
    found: dict[str, Any] = {
        "cells": int((flags & published).sum()),
        "too_close": [cells.name(int(cell)) for cell in np.flatnonzero(close & published)],
    }
    found["too_close_to_contributors"] = None  # where the true table tells nothing of them
    if len(Contributions.of_table(cells).who):
        known = _known_to_contributors(cells, rules, low, high, flags & published & ~close)
        found["too_close_to_contributors"] = [cells.name(cell) for cell in known]
    return found


def _known_to_contributors(
    cells: CellTable, rules: Sequence[Rule], low: Floats, high: Floats, asked: Flags
) -> list[int]:
    """Return the cells of those asked about that a contributor knows too closely.

    A magnitude must be able to lie as far off as its rules say; a count must not be known exactly.
    """
    system, needed = TableSystem.table(cells.hierarchies), required(cells, rules)
    counts = cells.counts
    asked = asked & (counts | (needed.lower + needed.upper > 0))
    amounts = asked & (not counts)
    problem = Problem.of(
        cells.values, asked, 1.0, np.where(asked & counts, 1.0, 0.0),
        np.where(amounts, needed.upper, 0.0),
        np.where(amounts, np.minimum(needed.lower, cells.values), 0.0), low=low, high=high,
        whole=counts,
    )  # fmt: skip
    given = [Contributions.of_table(cells)]
    known = insiders(system, [cells], given, rules, problem, not counts)
    proof = examined(system, replace(problem, insiders=known), np.ones(cells.values.size, bool))
    return sorted({cell for cell, who in proof.failed if who >= 0})
