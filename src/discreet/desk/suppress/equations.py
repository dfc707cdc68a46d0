"""Patterns for a list of cells and equations: by tables, where the equations are those of some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.suppress.solver import Pattern, Problem, suppress, suppress_linked
from discreet.desk.suppress.solver.check import prove
from discreet.desk.suppress.solver.margins import fits, suppress_arrays
from discreet.desk.suppress.solver.problem import Needs
from discreet.progress import Tell
from discreet.solve.layout import Laid, laid_out
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.types import Integers


def suppress_equations(
    system: TableSystem, problem: Problem, effort: float = 1.0, tell: Tell | None = None
) -> Pattern:
    """Return a cheap pattern of cells under any equations, proved safe by certificates.

    A variable of the system is a cell. Searches for tables are faster, and find cheaper patterns of
    counts, than what knows nothing but equations. Whatever found it, a pattern is proved against
    the equations that were given. Statuses as of `suppress`.
    """
    tables = laid_out(system.equations)
    if tables is not None:
        if len(tables) == 1 and problem.whole:
            pattern = _one(problem, tables[0], effort, tell)
            infeasible = pattern.status is Status.INFEASIBLE
            if infeasible or prove(system, problem, pattern).safe:
                return pattern
        elif fits([one.trees for one in tables], system.variables, int(problem.primary.sum())):
            return _several(system, problem, tables, effort, tell)
    return suppress_linked(system, problem, effort, tell)


def _one(problem: Problem, table: Laid, effort: float, tell: Tell | None) -> Pattern:
    """Return a pattern of one table, in the order of the list."""
    cells = table.cells.reshape(-1)
    found = suppress(table.trees, _taken(problem, cells), effort, tell)
    there = np.flatnonzero(cells >= 0)
    place = there[np.argsort(cells[there])]
    # What is asked is numbered in the order of the cells: of the table, and of the list.
    own = cells[Needs.of(_taken(problem, cells)).cell]
    number = np.empty(len(own), np.int64)
    number[np.argsort(own, kind="stable")] = np.arange(len(own))
    certificates = found.certificates
    if certificates.shape[1]:
        certificates = sparse.csr_matrix(certificates)[:, place]
    return replace(
        found,
        values=found.values[place],
        certificates=certificates,
        proves=number[found.proves],
        failed=tuple(int(cells[cell]) for cell in found.failed),
        proof=None,
    )


def _several(
    system: TableSystem, problem: Problem, tables: Sequence[Laid], effort: float, tell: Tell | None
) -> Pattern:
    """Return a pattern of many flat tables, solved together."""
    size = system.variables
    # One more cell stands for all that are not in the list: it is 0, and does not change.
    every = np.arange(size + 1)
    more = TableSystem(
        (size + 1,), every, every[:0],
        sparse.hstack([system.equations, sparse.csr_matrix((system.equations.shape[0], 1))], "csr"),
        sparse.csr_matrix((size + 1, 0)),
    )  # fmt: skip
    index = [np.where(one.cells < 0, size, one.cells) for one in tables]
    found = suppress_arrays(
        more, _taken(problem, np.append(every[:-1], -1)), [one.dimensions for one in tables], index,
        effort, tell,
    )  # fmt: skip
    certificates = found.certificates
    if certificates.shape[1]:
        certificates = sparse.csr_matrix(certificates)[:, :size]
    return replace(found, values=found.values[:size], certificates=certificates, proof=None)


def _taken(problem: Problem, cells: Integers) -> Problem:
    """Return the problem of these cells; those that are −1 are 0, and everybody knows it."""
    out = cells < 0

    def part(given: NDArray[np.generic], instead: float = 0.0) -> NDArray[np.generic]:
        return np.where(out, instead, given[cells]).astype(given.dtype)

    return Problem.of(
        part(problem.values), part(problem.primary), part(problem.weights, np.inf),
        part(problem.width), part(problem.rise), part(problem.fall), low=part(problem.low),
        high=part(problem.high), absent=part(problem.absent), whole=problem.whole,
    )  # fmt: skip
