"""Adjustment of a JJ file: any cells with the equations between them, without a cube."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from discreet.desk.adjust import Norm, Weight
from discreet.desk.adjust.audit import digits
from discreet.desk.adjust.carriers import adjust_carried
from discreet.desk.adjust.magnitudes import Adjusted, Problem, adjust, impossible
from discreet.desk.adjust.magnitudes.exact import PROVED
from discreet.desk.adjust.method import short_status
from discreet.desk.adjust.report import LISTED, STOPPED, ChangeReport, digit_facts, protected
from discreet.desk.cells import CellTable
from discreet.desk.report import named
from discreet.desk.sensitivity import Required
from discreet.errors import InternalError, ParameterError
from discreet.files import OPEN
from discreet.progress import Tell
from discreet.solve.layout import laid_out
from discreet.solve.linear import LinearProgram
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.decimals import decimals_of
from discreet.table.jj import KEPT, SAFE, UNSAFE, JJTable, write_jj
from discreet.table.sheet import Sheet
from discreet.types import Flags, Floats, Integers
from discreet.utility.change import listing_text, plain_rows

# Programmes are for up to so many cells that can change: beyond, carriers are.
MOST_LINEAR = 20_000
# Whole figures are asked of an integer programme of up to so many cells, in so many nodes.
MOST_WHOLE, NODES = 5_000, 500
# Values of less weigh as much as this; figures that are not whole have so many decimals, that sums
# of many of them still hold.
SMALLEST, EXACT = 1e-6, 9
# What adds up is off by less than this share of the largest figure.
OFF = 1e-9


def jj_of(cells: CellTable, needed: Required) -> JJTable:
    """Return a table as a problem for other people's solvers: a cell for each different one.

    A change costs in proportion to the cell; zeros are to be kept.
    """
    system = TableSystem.table(cells.hierarchies)
    flat = [
        np.asarray(given, np.float64).reshape(-1)
        for given in (cells.values, needed.sensitive, needed.lower, needed.upper)
    ]
    values, flags, lower, upper = (np.zeros(system.variables) for _ in range(4))
    for kept, given in zip((values, flags, lower, upper), flat, strict=True):
        np.maximum.at(kept, system.variable, given)
    status = np.where(flags > 0, UNSAFE, np.where(values > 0, SAFE, KEPT))
    none = np.zeros(len(values))
    high = np.where(values > 0, np.inf, 0.0)
    return JJTable(
        values, np.maximum(values, 1.0), status, none, high, np.minimum(lower, values), upper, none,
        system.equations, np.zeros(system.equations.shape[0]),
    )  # fmt: skip


def jj_problem(table: JJTable, weight: Weight, capacity: float) -> Problem:
    """Return what is to be adjusted: sensitive cells within their bounds, others within `capacity`.

    Cells that the file says are to be kept stay.
    """
    flags = table.sensitive
    aimless = np.flatnonzero(flags & (np.minimum(table.lower, table.upper) <= 0))
    if len(aimless):
        raise ParameterError(
            "the protection of a sensitive cell must be above 0 on both sides, or its true figure "
            f"would be safe. That of cell {aimless[0]} is not."
        )
    size = np.abs(table.values)
    reach = np.where(flags, np.inf, capacity * size)
    still = (table.status == KEPT) | (table.values == 0)
    least = np.where(still, 0.0, np.maximum(np.minimum(table.low - table.values, 0.0), -reach))
    most = np.where(still, 0.0, np.minimum(np.maximum(table.high - table.values, 0.0), reach))
    weights = 1 / np.maximum(size, SMALLEST) if weight is Weight.VALUE else np.ones(len(size))
    every = np.arange(len(size))
    system = TableSystem(
        (len(size),), every, every[:0], table.equations, sparse.csr_matrix((len(size), 0))
    )
    kept = np.flatnonzero(least < most)
    equations = table.equations[:, kept]
    flags = flags[kept]
    return Problem(
        system, kept, equations[np.flatnonzero(np.diff(equations.indptr))], system.members[kept],
        size[kept], weights[kept], flags, np.where(flags, table.lower[kept], 0.0),
        np.where(flags, table.upper[kept], 0.0), least[kept], most[kept],
    )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class JJReport(ChangeReport):
    """The adjusted cells of a JJ file: `change` is what was added to each."""

    name: str
    table: JJTable
    change: Floats
    status: Status
    gap: float
    weight: Weight

    @property
    def short(self) -> Flags:
        """Which sensitive cells are not at or beyond their protection."""
        slack = 1e-9 * np.maximum(1.0, np.abs(self.table.values))
        up = self.change >= self.table.upper - slack
        return np.asarray(self.table.sensitive & ~(up | (self.change <= -self.table.lower + slack)))

    @property
    def values(self) -> Floats:
        """The released figures."""
        return np.asarray(np.round(self.table.values + self.change, EXACT))

    @property
    def released(self) -> bool:
        """Whether the cells may be written: all are protected."""
        return not self.short.any()

    @property
    def _moved(self) -> tuple[Floats, Floats, Flags, Integers]:
        true = np.abs(self.table.values)
        many = np.ones(len(true), np.int64)
        return true, true + np.sign(self.table.values) * self.change, self.table.sensitive, many

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything the report says, as plain values."""
        size = np.maximum(np.abs(self.table.values), SMALLEST)
        weights = 1 / size if self.weight is Weight.VALUE else np.ones(len(size))
        return {
            "file": self.name,
            "status": str(self.status),
            "sensitive": int(self.table.sensitive.sum()),
            "short": np.flatnonzero(self.short).tolist(),
            "cells": int((self.table.values != 0).sum()),
            "equations": int(self.table.equations.shape[0]),
            "cost": float(weights @ np.abs(self.change)),
            "above_bound": self.gap if np.isfinite(self.gap) else None,
            "digits": digit_facts(digits(np.abs(self.table.values), np.abs(self.values))),
            "percent_change": plain_rows(self._listing.changes),
        }

    def _outcome(self) -> list[str]:
        facts = self.facts
        if facts["short"]:
            cells = [f"cell {cell}" for cell in facts["short"]]
            return [
                f"NOT PROTECTED: {len(cells):,} of {facts['sensitive']:,} sensitive cells cannot "
                f"reach their protection: {named(cells)}.",
                "Nothing is written. Raise the capacity, or keep fewer cells.",
            ]
        return [protected(self.name, facts["sensitive"])]

    @property
    def lines(self) -> list[str]:
        """The report as a person reads it."""
        facts = self.facts
        lines = self._outcome()
        if facts["status"] == "stopped":
            lines.append(STOPPED)
        lines.append(f"{facts['cells']:,} cells that are not 0, {facts['equations']:,} equations.")
        if facts["digits"] is not None:
            lines.append(
                f"{facts['digits']['said']} Round them all alike before they are published."
            )
        return [*lines, "", *listing_text(self._listing, facts["cells"] >= LISTED).splitlines()]

    @property
    def sheets(self) -> dict[str, Sheet]:
        """The released figures by the number of the cell."""
        numbers = list(range(len(self.table)))
        return {self.name: Sheet(["cell", "value"], [numbers, self.values.tolist()])}

    @property
    def custodian(self) -> Sheet:
        """True and released figures side by side. Not for publication."""
        table = self.table
        columns = (np.arange(len(table)), table.values, self.values, table.sensitive.astype(int),
                   table.lower, table.upper)  # fmt: skip
        names = ["cell", "true", "released", "sensitive", "lower", "upper"]
        return Sheet(names, [column.tolist() for column in columns])

    def write(self, path: str | Path) -> None:
        """Write the released figures as a JJ file that says of no cell that it was sensitive."""
        if Path(path).suffix.lower() != ".jj":
            super().write(path)
            return
        if not self.released:
            raise ParameterError("\n".join(self._outcome()))
        size = len(self.table)
        none, ends = np.zeros(size), np.full(size, np.inf)
        values = self.values
        write_jj(
            replace(
                self.table, values=values, costs=np.ones(size), status=np.full(size, SAFE),
                low=np.minimum(none, values), high=ends, lower=none, upper=none, sliding=none,
            ),
            path, OPEN,
        )  # fmt: skip


def adjust_jj(
    table: JJTable,
    name: str,
    norm: Norm = Norm.L1,
    weight: Weight = Weight.VALUE,
    capacity: float = 1.0,
    seed: int = 0,
    tell: Tell | None = None,
) -> JJReport:
    """Return the cells of a JJ file moved to safety, the others little."""
    this = jj_problem(table, weight, capacity)
    carried = _carried(table, this, weight, seed, tell) if norm is Norm.L1 else None
    if carried is not None:
        off = np.abs(table.equations @ carried[1]).max(initial=0.0)
        if off > OFF * max(1.0, float(np.abs(table.values).max(initial=0.0))):
            raise InternalError("adjusted cells do not add up; nothing is returned.")
        return _judged(JJReport(name, table, carried[1], carried[0], np.nan, weight))
    found = adjust(this, norm, seed, tell)
    change, status, gap = found.values, found.status, found.gap
    if _whole(table):
        rounded = _rounded(this, found)
        change = found.values if rounded is None else rounded
    cost = this.cost(change[this.kept], norm)
    if norm is Norm.L1 and cost > found.cost * (1 + PROVED):
        proved = np.isfinite(found.bound) and found.bound > 0
        status, gap = Status.FEASIBLE, cost / found.bound - 1 if proved else np.nan
    report = JJReport(name, table, change, status, gap, weight)
    if report.short.any() and status is not Status.STOPPED and impossible(this):
        return replace(report, status=Status.INFEASIBLE)
    return _judged(report)


def _judged(report: JJReport) -> JJReport:
    return replace(report, status=short_status(report.status, report.short))


def _carried(
    table: JJTable, this: Problem, weight: Weight, seed: int, tell: Tell | None
) -> tuple[Status, Floats] | None:
    """Return changes of the tables behind a long list of cells; None where it is for programmes.

    Programmes find cheaper tables, and keep whatever bounds there are, but take hours for so many
    cells. Carriers keep the bounds of inner cells; sums may then go up and down by their value.
    """
    if len(this.kept) <= MOST_LINEAR or (table.values < 0).any() or table.right.any():
        return None
    tables = laid_out(table.equations)
    if tables is None:
        return None
    room = np.zeros(len(table))
    room[this.kept] = np.minimum(-this.least, this.most)
    sums = np.ones(len(table), bool)
    for one in tables:
        inner = one.cells[np.ix_(*(tree.leaves for tree in one.trees))]
        sums[inner[inner >= 0]] = False
    if (room[sums] < table.values[sums]).any():
        return None
    needed = np.where(table.sensitive, np.maximum(table.lower, table.upper), 0.0)
    return adjust_carried(
        tables, table.values, np.minimum(room, table.values), needed, np.random.default_rng(seed),
        decimals_of(table.values), float(weight is Weight.ONE), tell,
    )  # fmt: skip


def _whole(table: JJTable) -> bool:
    return bool((table.values == np.rint(table.values)).all())


def _rounded(this: Problem, found: Adjusted) -> Floats | None:
    """Return the changes in whole numbers, the senses as they are, or None if none were found."""
    change = found.values[this.kept]
    near = np.rint(change)
    if np.abs(change - near).max(initial=0.0) < 1e-6:
        return this.cells(near)
    if len(change) > MOST_WHOLE:
        return None
    low, high = np.ceil(this.least - 1e-9), np.floor(np.minimum(this.most, 2.0**50) + 1e-9)
    moved = this.sensitive & ~this.short(change)
    low = np.where(moved & (change > 0), this.upper, low)
    high = np.where(moved & (change < 0), -this.lower, high)
    size = len(change)
    # Columns: the change less its lowest, and what it is above and below 0.
    ones, none = sparse.identity(size), sparse.csr_matrix(this.equations.shape)
    matrix = sparse.vstack(
        [
            sparse.hstack([this.equations, none, none]),
            sparse.hstack([ones, -ones, ones]),
        ]
    )
    right = np.zeros(matrix.shape[0])
    programme = LinearProgram(
        matrix,
        right,
        right,
        np.concatenate([low, np.zeros(2 * size)]),
        np.concatenate([high, np.full(2 * size, np.inf)]),
        np.concatenate([np.zeros(size), this.weights, this.weights]),
        np.arange(3 * size) < size,
        nodes=NODES,
        relative=0.001,
    )
    values = programme.run().values
    return this.cells(np.rint(values[:size])) if len(values) else None
