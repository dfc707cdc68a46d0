"""What no safe pattern is cheaper than: a cell withheld alone in an equation is known.

One linear programme over which cells are withheld, for tables of thousands of cells. The same
conditions, in integers, choose parts of a pattern anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from discreet.desk.suppress.solver.problem import Needs, Problem
from discreet.solve.linear import LinearProgram
from discreet.solve.system import TableSystem
from discreet.types import Flags, Floats, Integers

# Larger programmes, in entries of their conditions, would take minutes.
MOST_ENTRIES = 1_000_000
# Sums of floats are off by less than this share.
NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Lines:
    """Equations as lines of the variables that may be withheld, and what withholding each costs.

    `taken` are withheld anyway, `shut` never. In a line that is `guarded` just two are taken, and
    one of them is known to a contributor who must not know the other: it has a third.
    """

    lines: Any
    price: Floats
    taken: Flags
    shut: Flags
    guarded: Flags

    @classmethod
    def of(cls, system: TableSystem, problem: Problem, insiders: bool = True) -> Lines:
        """Return the lines of a problem, with or without what contributors know."""
        size, cost = system.variables, problem.cost
        shut, taken = np.zeros(size, bool), np.zeros(size, bool)
        shut[system.variable[np.isinf(cost)]] = True
        # Those withheld before may be known: they cost nothing, and need not be unknown.
        taken[system.variable[problem.primary]] = True
        finite = np.where(np.isinf(cost), 0.0, cost)
        price: Floats = np.bincount(system.variable, finite, size).astype(np.float64)
        lines = abs(sparse.csr_matrix(system.equations, dtype=np.float64))
        lines = (lines @ sparse.diags((~shut).astype(np.float64))).tocsr()
        lines.eliminate_zeros()
        lines.data[:] = 1.0
        guarded = np.zeros(lines.shape[0], bool)
        if insiders and problem.watched:
            two = np.flatnonzero(lines @ (taken & ~shut) == 2)
            guarded[two] = _guarded(system, problem, lines[two], taken & ~shut)
        return cls(lines, price, taken & ~shut, shut, guarded)

    def conditions(self, free: Integers, held: Flags) -> tuple[Any, Floats]:
        """Return conditions on free variables, beside those held: a matrix, and their least values.

        The columns after the variables say of each line without one that is held whether it has
        any: then it has two.
        """
        part = self.lines[:, free].tocsr()
        there = self.lines @ held.astype(np.float64)
        some = np.diff(part.indptr) > 0
        short = part[some & ((there == 1) | ((there == 2) & self.guarded))]
        bare = part[some & (there == 0)].tocsr()
        number = bare.shape[0]
        row = np.repeat(np.arange(number), np.diff(bare.indptr))
        entry = np.arange(len(row))
        ones = np.ones(len(row))
        own = sparse.csr_matrix((ones, (entry, bare.indices)), (len(row), len(free)))
        line = sparse.csr_matrix((ones, (entry, row)), (len(row), number))
        none = sparse.csr_matrix((short.shape[0], number))
        matrix = sparse.vstack(
            [
                sparse.hstack([short, none]),
                sparse.hstack([bare, -2 * sparse.identity(number)]),
                sparse.hstack([-own, line]),
            ],
            "csc",
        )
        least = np.zeros(matrix.shape[0])
        least[: short.shape[0]] = 1.0
        return matrix, least


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What no safe pattern is cheaper than, and what each variable costs beyond what it is worth.

    A pattern with a variable of a large `rest` costs more than the bound by as much.
    """

    bound: float
    rest: Floats


def relaxed(known: Lines) -> Relaxed:
    """Return the relaxation of the cheapest pattern; its bound is 0 where it would take too long.

    Notes
    -----
    Of a safe pattern as cheap as any, no secondary cell is the only one withheld in an equation:
    everybody would know it, so it could be published as well. So an equation with a withheld cell
    has two, with primary cells withheld; three where it has two primary cells, and who is alone in
    one must not know the other. These are conditions of the model of [Fischetti2000], and those
    that need no attacker to be found; contributors add others.
    """
    free = np.flatnonzero(~known.shut & ~known.taken)
    nothing = Relaxed(0.0, np.zeros(len(known.price)))
    if 3 * known.lines.nnz > MOST_ENTRIES:
        return nothing
    matrix, least = known.conditions(free, known.taken)
    rows, columns = matrix.shape
    price = np.zeros(columns)
    price[: len(free)] = known.price[free]
    programme = LinearProgram(
        matrix, least, np.full(rows, np.inf), np.zeros(columns), np.ones(columns), price,
        interior=True,
    )  # fmt: skip
    programme.run()
    prices = programme.row_prices()
    if len(prices) != rows or not np.isfinite(prices).all():
        return nothing
    # Any prices of 0 or more of the conditions prove a bound, however far the solver went.
    prices = np.maximum(prices, 0.0)
    over = price - matrix.T @ prices
    bound = float(prices @ least) + float(np.minimum(over, 0.0).sum())
    off = NEAR * (1 + float(prices @ least) + float(np.abs(over).sum()))
    rest = np.zeros(len(known.price))
    rest[free] = over[: len(free)]
    return Relaxed(max(0.0, bound - off), rest)


def line_bound(system: TableSystem, problem: Problem) -> float:
    """Return a cost that no safe pattern is below; 0 where there are too many cells to say."""
    return relaxed(Lines.of(system, problem)).bound


def _guarded(system: TableSystem, problem: Problem, lines: Any, taken: Flags) -> Flags:
    """Return of lines with two cells taken whether who is alone in one must not know the other."""
    known, needs = problem.insiders, Needs.of(problem)
    lone = np.flatnonzero(known.room < 0)
    whose: dict[int, set[int]] = {}
    for variable, who in zip(system.variable[known.cell[lone]], known.who[lone], strict=True):
        whose.setdefault(int(variable), set()).add(int(who))
    asked: dict[int, list[int]] = {}
    for need, cell in enumerate(needs.cell):
        asked.setdefault(int(system.variable[cell]), []).append(need)

    def learns(own: int, other: int) -> bool:
        return any(
            any(needs.against(need, known, who))
            for who in whose.get(own, ())
            for need in asked.get(other, ())
        )

    out = np.zeros(lines.shape[0], bool)
    for row in range(len(out)):
        cells = lines.indices[lines.indptr[row] : lines.indptr[row + 1]]
        one, two = (int(cell) for cell in cells[taken[cells]])
        out[row] = learns(one, two) or learns(two, one)
    return out
