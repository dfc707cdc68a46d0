"""Is a pattern safe? Asked anew, of the equations and the true table, by code of its own.

A certificate is checked in whole numbers: it keeps every equation, changes no published cell, and
leaves every cell within what is known of it. That is a proof. The attacker's linear programmes
are another, for tables that are not too large; neither shares code with the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.suppress.solver.problem import Mark, Needs, Pattern, Problem
from discreet.errors import InternalError
from discreet.progress import Tell
from discreet.solve.bounds import Intervals, intervals
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.types import Flags, Floats

NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Proof:
    """How far each primary cell is proved able to rise and fall, and the needs that are not met.

    `failed` has pairs (cell, owner): the cell, and who can narrow it down too far; −1 is anybody.
    """

    rise: Floats
    fall: Floats
    failed: tuple[tuple[int, int], ...]

    @property
    def safe(self) -> bool:
        """Whether everything asked is proved."""
        return not self.failed


def prove(system: TableSystem, problem: Problem, pattern: Pattern) -> Proof:
    """Return what the certificates of a pattern prove, each checked in whole numbers."""
    needs = Needs.of(problem)
    changes = sparse.csr_matrix(pattern.certificates, dtype=np.int64)
    sound = _sound(system, changes, np.asarray(pattern.values) != Mark.PUBLISHED)
    up, down = _reach(problem, changes, needs.cell[pattern.proves])
    met = (
        sound
        & (up >= needs.rise[pattern.proves] - NEAR)
        & (down >= needs.fall[pattern.proves] - NEAR)
        & (up + down >= needs.width[pattern.proves] - NEAR)
    )
    rise, fall = np.zeros(problem.values.size), np.zeros(problem.values.size)
    np.maximum.at(rise, needs.cell[pattern.proves[met]], up[met])
    np.maximum.at(fall, needs.cell[pattern.proves[met]], down[met])
    # Who knows a cell of every certificate of a need can take the need's protection away.
    insiders: list[set[int] | None] = [None] * len(needs)
    for row in np.flatnonzero(met).tolist():
        need = int(pattern.proves[row])
        part = changes.indices[changes.indptr[row] : changes.indptr[row + 1]]
        owners = set(problem.owner[part].tolist()) - {-1, int(problem.owner[needs.cell[need]])}
        known = insiders[need]
        insiders[need] = owners if known is None else known & owners
    failed = [
        (int(cell), owner)
        for cell, left in zip(needs.cell.tolist(), insiders, strict=True)
        for owner in ([-1] if left is None else sorted(left))
    ]
    return Proof(rise, fall, tuple(failed))


def _sound(system: TableSystem, changes: Any, withheld: Flags) -> Flags:
    """Return which changes keep every equation and every published cell."""
    rows, cells = changes.shape
    if cells != withheld.size or cells != system.variable.size:
        raise InternalError("certificates must have a column for each cell.")
    if (system.equations.data != np.rint(system.equations.data)).any():
        raise InternalError("equations must have whole factors.")
    outside = sparse.csr_matrix(abs(changes) @ (~withheld).astype(np.int64)[:, None])
    # Cells that are one variable must change as one: spread the first one's change over all.
    _, first = np.unique(system.variable, return_index=True)
    common = changes[:, first]
    spread = common[:, system.variable]
    differing = abs(changes - spread).sum(axis=1)
    broken = abs(common @ system.equations.astype(np.int64).T).sum(axis=1)
    wrong = np.asarray(outside.todense()).reshape(-1)
    wrong = wrong + np.asarray(differing).reshape(-1) + np.asarray(broken).reshape(-1)
    return np.asarray(wrong == 0).reshape(rows)


def _reach(problem: Problem, changes: Any, own: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return how far each change, taken as often as it goes, lets its own cell rise and fall."""
    rows = changes.shape[0]
    row = np.repeat(np.arange(rows), np.diff(changes.indptr))
    factor, cell = changes.data, changes.indices
    kept = factor != 0
    row, factor, cell = row[kept], factor[kept], cell[kept]
    below = problem.values[cell] - problem.low[cell]
    above = problem.high[cell] - problem.values[cell]
    forth, back = np.full(rows, np.inf), np.full(rows, np.inf)
    np.minimum.at(forth, row, np.where(factor > 0, above, below) / abs(factor))
    np.minimum.at(back, row, np.where(factor > 0, below, above) / abs(factor))
    if problem.whole:
        forth, back = np.floor(forth), np.floor(back)
    mine = np.bincount(row, np.where(cell == own[row], factor, 0), rows)
    with np.errstate(invalid="ignore"):
        up = np.where(mine > 0, forth * mine, np.where(mine < 0, -back * mine, 0.0))
        down = np.where(mine > 0, back * mine, np.where(mine < 0, -forth * mine, 0.0))
    return up, down


def attacked(
    system: TableSystem,
    problem: Problem,
    withheld: Flags,
    owner: int = -1,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> Intervals:
    """Return the interval of each variable for who reads the table, or knows an owner's cells."""
    shown = ~withheld
    if owner >= 0:
        shown = shown | (problem.owner == owner)
    low, high = system.merge(
        np.where(shown, problem.values, problem.low), np.where(shown, problem.values, problem.high)
    )
    return intervals(system.equations, low, high, whole=problem.whole, seconds=seconds, tell=tell)


def exposed(system: TableSystem, problem: Problem, withheld: Flags, owner: int = -1) -> list[int]:
    """Return the primary cells that an attacker's programmes narrow down further than asked."""
    found = attacked(system, problem, withheld, owner)
    if found.status is Status.INFEASIBLE:
        raise InternalError("the true table does not fit its own equations.")
    low, high = found.low[system.variable], found.high[system.variable]
    off = 1e-6 * (1 + abs(problem.values))

    def missed(reached: Floats, asked: Floats) -> Flags:
        # The ends of programmes are a little off, but nothing is not half of what was asked.
        return np.asarray(reached < asked - np.minimum(off, asked / 2))

    bad = (
        missed(high - problem.values, problem.rise)
        | missed(problem.values - low, problem.fall)
        | missed(high - low, problem.width)
    )
    if owner >= 0:
        bad &= problem.owner != owner
    return [int(cell) for cell in np.flatnonzero(bad & problem.primary)]


def views(problem: Problem, withheld: Flags) -> Iterator[int]:
    """Yield who may attack: anybody (−1), and each contributor who is alone in a withheld cell."""
    yield -1
    yield from np.unique(problem.owner[withheld & (problem.owner >= 0)]).tolist()
