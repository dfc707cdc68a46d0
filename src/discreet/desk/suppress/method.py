"""Cell suppression: sensitive figures are withheld, and others so that nobody works them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.checks import chosen
from discreet.desk.cells import MARKS, CellTable
from discreet.desk.cells import Mark as Given
from discreet.desk.sensitivity import Rule, Threshold, required
from discreet.desk.suppress import Objective
from discreet.desk.suppress.insiders import Contributions, insiders
from discreet.desk.suppress.solver import (
    Mark,
    Pattern,
    Problem,
    attacked,
    optimum,
    proved,
    suppress,
    suppress_linked,
)
from discreet.desk.suppress.solver.margins import fits, suppress_margins
from discreet.errors import CannotProtect, ParameterError
from discreet.progress import Tell
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.types import Floats

# A cell marked "prefer" costs this share of what it would.
PREFERRED = 0.01
# Of withheld cells up to this number the true intervals are computed, beyond it those proved.
INTERVALS = 400
# A tie in the number of cells is broken by their values.
TIE = 1e-4
STATES = ("published", "primary", "secondary")


@dataclass(frozen=True)
class Suppression:
    """Withhold sensitive cells and, by certificates, the fewest others that protect them.

    `rules` say which cells are sensitive. Every one is protected so that the attacker's interval
    is at least `width` wide; without a width, counts get 1, not exactly known, and magnitudes the
    amounts of their rules. `objective` is what is kept small; information, log(1 + value), hides
    neither many cells nor large ones. `zeros_published`: zeros are never withheld. `singletons`:
    protected from every contributor too, each knowing what is their own. `exact` proves the optimum
    of small tables, as far as `seconds` allow; `effort` multiplies the steps of the search.
    """

    rules: tuple[Rule, ...] = (Threshold(3),)
    width: float | None = None
    objective: Objective = Objective.INFORMATION
    zeros_published: bool = True
    singletons: bool = True
    exact: bool = False
    effort: float = 1.0
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.rules:
            raise ParameterError("rules must have at least one rule.")
        if self.width is not None and not 0 < self.width < np.inf:
            raise ParameterError(f"width must be above 0. Got {self.width:g}.")
        object.__setattr__(self, "objective", chosen("objective", Objective, self.objective))
        if not 0 < self.effort <= 1000:
            raise ParameterError(f"effort must be above 0 and at most 1,000. Got {self.effort:g}.")
        if self.seconds is not None and not self.seconds >= 0:
            raise ParameterError(f"seconds must be 0 or more. Got {self.seconds:g}.")
        if self.seconds is not None and not self.exact:
            raise ParameterError(
                "seconds must come with exact: they end the proof, not the search."
            )

    def apply(
        self,
        cells: CellTable,
        contributions: Contributions | None = None,
        tell: Tell | None = None,
    ) -> Suppressed:
        """Return which cells of a table to withhold; raise where a cell cannot be protected.

        `contributions` are those of records; without them they are read off the table.
        """
        given = None if contributions is None else [contributions]
        return self.apply_linked([cells], given, tell)[0]

    def apply_linked(
        self,
        tables: Sequence[CellTable],
        contributions: Sequence[Contributions] | None = None,
        tell: Tell | None = None,
    ) -> list[Suppressed]:
        """Return which cells of several tables to withhold, all of them solved together.

        Cells with the same codes are one, whichever table they are in. `contributions` must number
        the same contributor alike in every table.

        Notes
        -----
        Safe against all equations of all tables together. What follows only from the existence of
        cells that no table shows (a common breakdown of all tables) is not part of it.
        """
        system, tables, problem = self.stated(tables)
        given = contributions or [Contributions.of_table(table) for table in tables]
        known = any(len(one.who) > 0 for one in given)
        if self.singletons:
            problem = self.watched(system, tables, problem, given)
        pattern = self.pattern(system, tables, problem, tell)
        low, high, final = ranges(system, problem, pattern)
        results, start = [], 0
        for table in tables:
            part = slice(start, start + table.values.size)
            start = part.stop
            results.append(
                Suppressed(
                    table,
                    np.asarray(pattern.values[part]).reshape(table.shape),
                    low[part].reshape(table.shape),
                    high[part].reshape(table.shape),
                    final,
                    pattern,
                    self.singletons and known,
                    known,
                )
            )
        return results

    def stated(self, tables: Sequence[CellTable]) -> tuple[TableSystem, list[CellTable], Problem]:
        """Return the equations of tables, the tables marked alike, and what is asked of them.

        What contributors know is not part of it yet.
        """
        if not tables:
            raise ParameterError("at least one table must be given.")
        systems = [TableSystem.table(table.hierarchies) for table in tables]
        system = systems[0]
        if len(tables) > 1:
            system = TableSystem.joined(systems, [key for t in tables for key in _keys(t)])
        alike = _marked_alike(system, tables)
        problems = [self._problem(table) for table in alike]
        problem = problems[0] if len(tables) == 1 else _together(system, problems, alike)
        return system, alike, problem

    def watched(
        self,
        system: TableSystem,
        tables: Sequence[CellTable],
        problem: Problem,
        contributions: Sequence[Contributions] | None = None,
    ) -> Problem:
        """Return the problem with what contributors know, and what the rules ask against them.

        Its figures may be others than those of the tables, of which the rules speak.
        """
        given = contributions or [Contributions.of_table(table) for table in tables]
        known = insiders(system, tables, given, self.rules, problem, self._amounts(tables[0]))
        return replace(problem, insiders=known)

    def pattern(
        self,
        system: TableSystem,
        tables: Sequence[CellTable],
        problem: Problem,
        tell: Tell | None = None,
    ) -> Pattern:
        """Return a pattern that is proved safe; raise where a cell cannot be protected."""
        dimensions = [table.hierarchies for table in tables]
        if len(tables) == 1:
            pattern = suppress(dimensions[0], problem, self.effort, tell)
        elif fits(dimensions, system.variables, int(problem.primary.sum())):
            named = [list(zip(t.variables, t.hierarchies, strict=True)) for t in tables]
            pattern = suppress_margins(system, problem, named, self.effort, tell)
        else:
            pattern = suppress_linked(system, problem, self.effort, tell)
        if pattern.status is Status.INFEASIBLE:
            raise CannotProtect(_refusal(_name(tables, pattern.failed[0]), pattern.bare))
        if self.exact:
            pattern = optimum(system, problem, pattern, self.seconds, tell)
        return pattern

    def _amounts(self, cells: CellTable) -> bool:
        """Return whether cells must be able to move by their rules' amounts, not by a width."""
        return self.width is None and not cells.counts

    def _problem(self, cells: CellTable) -> Problem:
        needed = required(cells, self.rules)
        known = cells.marked(Given.PUBLISHED)
        never = cells.marked(Given.NEVER)
        primary = needed.sensitive & ~known
        if (primary & never).any():
            cell = int(np.flatnonzero(primary & never)[0])
            raise ParameterError(
                f"{cells.name(cell)} is sensitive and marked never: it cannot be both. "
                "Mark it published if it is known already."
            )
        weights = costs_of(cells.values, self.objective)
        weights[cells.marked(Given.PREFER)] *= PREFERRED
        weights[known | never] = np.inf
        if self.zeros_published:
            weights[cells.values == 0] = np.inf
        amounts = self._amounts(cells)
        width = 0.0 if amounts else (1.0 if self.width is None else self.width)
        return Problem.of(
            cells.values,
            primary,
            weights,
            np.where(primary, width, 0.0),
            np.where(primary & amounts, needed.upper, 0.0),
            np.where(primary & amounts, np.minimum(needed.lower, cells.values), 0.0),
            whole=cells.counts,
        )


def costs_of(values: Floats, objective: Objective) -> Floats:
    """Return what it costs to withhold each of the values."""
    positive = values[values > 0]
    least = float(positive.min()) if len(positive) else 1.0
    # In units of the smallest figure: the same whether in thousands or not.
    content = np.log1p(np.maximum(values, least) / least)
    if objective is Objective.NUMBER:
        return np.asarray(1 + TIE * content / content.max())
    if objective is Objective.VALUE:
        return np.maximum(values, least)
    return np.asarray(content)


@dataclass(frozen=True, eq=False)
class Suppressed:
    """A table with what is withheld of it: `marks` has a `Mark` for each cell.

    With `final`, `low` and `high` are the narrowest interval of each withheld cell that an
    attacker can prove. Without it (large tables) they are ends that he cannot rule out, for primary
    cells alone; others are NaN. `pattern` holds the certificates; `singletons` says that it is
    safe from every contributor too, and `known` whether anything was known of contributors.
    """

    cells: CellTable
    marks: NDArray[np.int8]
    low: Floats
    high: Floats
    final: bool
    pattern: Pattern
    singletons: bool = True
    known: bool = True

    @property
    def withheld(self) -> NDArray[np.bool_]:
        """The cells without a figure."""
        return np.asarray((self.marks == Mark.PRIMARY) | (self.marks == Mark.SECONDARY))

    @property
    def status(self) -> NDArray[np.str_]:
        """What becomes of each cell, in a word."""
        return np.array(STATES)[self.marks]

    @property
    def published(self) -> Floats:
        """The figures, NaN where withheld."""
        return np.where(self.withheld, np.nan, self.cells.values)

    def number(self, mark: Mark) -> int:
        """Return how many cells have a mark."""
        return int((self.marks == mark).sum())

    def value(self, mark: Mark) -> float:
        """Return the sum of the cells with a mark."""
        return float(self.cells.values[self.marks == mark].sum())

    @cached_property
    def share(self) -> float:
        """The values withheld as a share of all values, totals included."""
        everything = float(self.cells.values.sum())
        return float(self.cells.values[self.withheld].sum()) / everything if everything else 0.0

    @property
    def singleton_cost(self) -> int | None:
        """How many more secondary cells there are than the search had before contributors.

        It goes on when they are protected from, so there may be fewer. None where that is not
        known: contributors were left out, or the optimum is another pattern than the search had.
        """
        if self.pattern.bare is None or not self.singletons:
            return None
        return int((self.pattern.values == Mark.SECONDARY).sum()) - self.pattern.bare


def _keys(cells: CellTable) -> list[frozenset[tuple[str, str]]]:
    """Return what each cell is called in any table: its codes, totals left out."""
    parts: list[list[tuple[str, str] | None]] = []
    for variable, codes, parents in zip(cells.variables, cells.codes, cells.parents, strict=True):
        sums = set(parents)
        parts.append(
            [
                None if parents[i] < 0 and i in sums else (variable, code)
                for i, code in enumerate(codes)
            ]
        )
    return [
        frozenset(part for part in (parts[d][i] for d, i in enumerate(index)) if part is not None)
        for index in np.ndindex(cells.shape)
    ]


def _marked_alike(system: TableSystem, tables: Sequence[CellTable]) -> list[CellTable]:
    """Return the tables with what is said of a cell said wherever it stands.

    It may stand in several tables, or in one as a sum and as its only part.
    """
    marks = np.concatenate([table.marks.reshape(-1) for table in tables])
    # In this order: what is published already cannot be withheld, whatever else was said of it.
    for mark in (Given.PREFER, Given.NEVER, Given.PUBLISHED):
        place = MARKS.index(mark)
        said = np.zeros(system.variables, bool)
        said[system.variable[marks == place]] = True
        marks = np.where(said[system.variable], place, marks)
    ends = np.cumsum([table.values.size for table in tables])[:-1]
    return [
        replace(table, marks=part.reshape(table.shape))
        for table, part in zip(tables, np.split(marks, ends), strict=True)
    ]


def _together(
    system: TableSystem,
    problems: Sequence[Problem],
    tables: Sequence[CellTable],
) -> Problem:
    """Return one problem of all tables: cells that are one agree, and are primary if one is."""

    def joined(name: str) -> NDArray[np.generic]:
        return np.concatenate([getattr(problem, name) for problem in problems])

    values = joined("values").astype(np.float64)
    variable = system.variable
    first = np.full(system.variables, np.nan)
    first[variable[::-1]] = values[::-1]
    off = np.flatnonzero(np.abs(first[variable] - values) > 1e-6 * (1 + np.abs(values)))
    if len(off):
        cell = int(off[0])
        raise ParameterError(
            f"linked tables must agree. {_name(tables, cell)} is {values[cell]:,g} in one and "
            f"{first[variable[cell]]:,g} in another."
        )
    primary = np.zeros(system.variables, bool)
    np.logical_or.at(primary, variable, joined("primary").astype(bool))
    most = {}
    for name in ("weights", "width", "rise", "fall"):
        most[name] = np.zeros(system.variables)
        np.maximum.at(most[name], variable, joined(name).astype(np.float64))
    return Problem.of(
        values,
        primary[variable],
        most["weights"][variable],
        most["width"][variable],
        most["rise"][variable],
        most["fall"][variable],
        whole=all(problem.whole for problem in problems),
    )


def _refusal(name: str, bare: int | None) -> str:
    """Return why a cell cannot be protected and what can be done."""
    if bare is None:
        return (
            f"{name} cannot be protected by the cells that may be withheld. Allow others, such as "
            "zeros or those marked never, or ask for less."
        )
    return (
        f"{name} cannot be protected, by the cells that may be withheld, from a contributor who "
        "knows their own part of others. Allow others, such as zeros or those marked never, or "
        "leave contributors out (no singletons)."
    )


def _name(tables: Sequence[CellTable], cell: int) -> str:
    for table in tables:
        if cell < table.values.size:
            return table.name(cell)
        cell -= table.values.size
    raise ParameterError("there is no such cell.")


def ranges(system: TableSystem, problem: Problem, pattern: Pattern) -> tuple[Floats, Floats, bool]:
    """Return what an attacker can prove of each cell, and whether exactly that."""
    if int(pattern.withheld.sum()) <= INTERVALS:
        found = attacked(system, problem, pattern.withheld)
        return found.low[system.variable], found.high[system.variable], found.solved
    proof = pattern.proof or proved(system, problem, pattern)
    low, high = problem.values - proof.fall, problem.values + proof.rise
    other = pattern.withheld & ~problem.primary
    return np.where(other, np.nan, low), np.where(other, np.nan, high), False
