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

# Sums of decimals are off by less than this share.
NEAR = 1e-12


@dataclass(frozen=True, eq=False)
class Proof:
    """How far each primary cell is proved able to rise and fall, and the needs that are not met.

    `failed` has pairs (cell, who): the cell, and who can narrow it down too far; −1 is anybody.
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
    proves = pattern.proves
    moved = _Moved.of(problem, changes, needs.cell[proves])
    up, down = moved.reach(moved.forth, moved.back)
    met = sound & ~_missed(up, down, needs.rise[proves], needs.fall[proves], needs.width[proves])
    rise, fall = np.zeros(problem.values.size), np.zeros(problem.values.size)
    np.maximum.at(rise, needs.cell[proves[met]], up[met])
    np.maximum.at(fall, needs.cell[proves[met]], down[met])
    # Who undoes every certificate of a need takes its protection away.
    left: list[set[int] | None] = [None] * len(needs)
    undoing = moved.undoing(needs, proves, met)
    for row in np.flatnonzero(met).tolist():
        need, who = int(proves[row]), undoing[row]
        known = left[need]
        left[need] = who if known is None else known & who
    failed = [
        (int(needs.cell[need]), who)
        for need, some in enumerate(left)
        for who in ([-1] if some is None else sorted(some))
        if who < 0
        or not any(
            moved.withstands(row, needs.against(need, problem.insiders, who), who)
            for row in np.flatnonzero(sound & ~met & (proves == need)).tolist()
        )
    ]
    return Proof(rise, fall, tuple(dict.fromkeys(failed)))


def _missed(up: Any, down: Any, rise: Any, fall: Any, width: Any) -> Any:
    """Return whether less is reached than asked, but for the rounding of sums."""
    most = 1 - NEAR
    return (up < rise * most) | (down < fall * most) | (up + down < width * most)


@dataclass(frozen=True, eq=False)
class _Moved:
    """Changes entry by entry: how often each goes forth and back before a cell is at its end."""

    problem: Problem
    row: NDArray[np.int64]
    cell: NDArray[np.int64]
    factor: NDArray[np.int64]
    own: Floats
    forth: Floats
    back: Floats

    @classmethod
    def of(cls, problem: Problem, changes: Any, own: NDArray[np.int64]) -> _Moved:
        """Return the changes, each for a cell of its own."""
        rows = changes.shape[0]
        row = np.repeat(np.arange(rows), np.diff(changes.indptr))
        kept = changes.data != 0
        row, factor, cell = row[kept], changes.data[kept], changes.indices[kept].astype(np.int64)
        below = problem.values[cell] - problem.low[cell]
        above = problem.high[cell] - problem.values[cell]
        forth, back = np.full(rows, np.inf), np.full(rows, np.inf)
        first = np.flatnonzero(np.diff(row, prepend=-1))
        if len(first):
            up, down = np.where(factor > 0, (above, below), (below, above)) / abs(factor)
            forth[row[first]] = np.minimum.reduceat(up, first)
            back[row[first]] = np.minimum.reduceat(down, first)
        mine = np.bincount(row, np.where(cell == own[row], factor, 0), rows).astype(np.float64)
        return cls(problem, row, cell, factor, mine, forth, back)

    def reach(self, forth: Any, back: Any, rows: Any = slice(None)) -> tuple[Any, Any]:
        """Return how far the own cells rise and fall when changes are taken so often."""
        if self.problem.whole:
            forth, back = np.floor(forth), np.floor(back)
        mine = self.own[rows]
        with np.errstate(invalid="ignore"):
            up = np.where(mine > 0, forth * mine, np.where(mine < 0, -back * mine, 0.0))
            down = np.where(mine > 0, back * mine, np.where(mine < 0, -forth * mine, 0.0))
        return up, down

    def undoing(self, needs: Needs, proves: NDArray[np.int64], met: Flags) -> list[set[int]]:
        """Return, for each change that meets its need, the contributors against whom it does not.

        Only those matter whose room in a cell is less than the change moves it.
        """
        known = self.problem.insiders
        found: list[set[int]] = [set() for _ in range(len(met))]
        if not len(known):
            return found
        most = np.maximum.reduce([needs.rise, needs.fall, needs.width])[proves]
        with np.errstate(divide="ignore"):
            steps = most / abs(self.own)
        if self.problem.whole:
            steps = np.ceil(steps)
        entry = np.flatnonzero(met[self.row])
        first, last = known.starts[self.cell[entry]], known.starts[self.cell[entry] + 1]
        counts = _below(known.room, first, last, abs(self.factor[entry]) * steps[self.row[entry]])
        entry, first = np.repeat(entry, counts - first), np.repeat(first, counts - first)
        place = np.arange(len(entry)) - np.searchsorted(entry, entry) + first
        row, who, size = self.row[entry], known.who[place], abs(self.factor[entry])
        pair, group = np.unique(row * (known.number + 1) + who, return_inverse=True)
        row, who = pair // (known.number + 1), pair % (known.number + 1)
        forth, back = self.forth[row], self.back[row]
        times = np.maximum(known.room[place], 0.0) / size
        falls, alone = self.factor[entry] < 0, known.room[place] < 0
        np.minimum.at(forth, group[falls | alone], times[falls | alone])
        np.minimum.at(back, group[~falls | alone], times[~falls | alone])
        asked = needs.against_all(proves[row], known, who)
        for i in np.flatnonzero(_missed(*self.reach(forth, back, row), *asked)).tolist():
            found[int(row[i])].add(int(who[i]))
        return found

    def withstands(self, row: int, asked: tuple[float, float, float], who: int) -> bool:
        """Return whether a change reaches what is asked in the view of a contributor."""
        first, last = np.searchsorted(self.row, [row, row + 1])
        cell, factor = self.cell[first:last], self.factor[first:last]
        known = self.problem.insiders
        rows = known.rows_of(who)
        _, there, mine = np.intersect1d(cell, known.cell[rows], return_indices=True)
        room, size = known.room[rows[mine]], abs(factor[there])
        if (room < 0).any():
            return not any(asked)
        falls = factor[there] < 0
        forth = min(self.forth[row], (room / size)[falls].min(initial=np.inf))
        back = min(self.back[row], (room / size)[~falls].min(initial=np.inf))
        return not _missed(*self.reach(forth, back, row), *asked)


def _below(
    values: Floats, first: NDArray[np.int64], last: NDArray[np.int64], limit: Floats
) -> NDArray[np.int64]:
    """Return, for pieces of ascending values, where each reaches its limit."""
    low, high = first.copy(), last.copy()
    while (low < high).any():
        middle = (low + high) // 2
        under = (low < high) & (values[np.minimum(middle, len(values) - 1)] < limit)
        high = np.where(low < high, np.where(under, high, middle), high)
        low = np.where(under, middle + 1, low)
    return low


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


def attacked(
    system: TableSystem,
    problem: Problem,
    withheld: Flags,
    who: int = -1,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> Intervals:
    """Return the interval of each variable for who reads the table, or one of the contributors."""
    low, high = known_to(system, problem, withheld, who)
    return intervals(system.equations, low, high, whole=problem.whole, seconds=seconds, tell=tell)


def known_to(
    system: TableSystem, problem: Problem, withheld: Flags, who: int
) -> tuple[Floats, Floats]:
    """Return what anybody, or a contributor, knows of each variable before any equation."""
    shown, least = ~withheld, problem.low
    if who >= 0:
        room = problem.insiders.rooms([who])
        shown = shown | (room < 0)
        least = np.maximum(least, problem.values - room)
    return system.merge(
        np.where(shown, problem.values, least), np.where(shown, problem.values, problem.high)
    )


def exposed(system: TableSystem, problem: Problem, withheld: Flags, who: int = -1) -> list[int]:
    """Return the primary cells that an attacker's programmes narrow down further than asked."""
    found = attacked(system, problem, withheld, who)
    if found.status is Status.INFEASIBLE:
        raise InternalError("the true table does not fit its own equations.")
    low, high = found.low[system.variable], found.high[system.variable]
    needs = Needs.of(problem)
    bad = set()
    for need, cell in enumerate(needs.cell.tolist()):
        asked = (needs.rise[need], needs.fall[need], needs.width[need])
        if who >= 0:
            asked = needs.against(need, problem.insiders, who)
        value = problem.values[cell]
        off = 1e-6 * (1 + abs(value))
        # The ends of programmes are a little off, but nothing is not half of what was asked.
        reached = (high[cell] - value, value - low[cell], high[cell] - low[cell])
        if any(one < all_ - min(off, all_ / 2) for one, all_ in zip(reached, asked, strict=True)):
            bad.add(cell)
    return sorted(bad)


def views(problem: Problem, withheld: Flags) -> Iterator[int]:
    """Yield who may attack: anybody (−1), and each contributor to a withheld cell."""
    yield -1
    yield from np.unique(problem.insiders.who[withheld[problem.insiders.cell]]).tolist()
