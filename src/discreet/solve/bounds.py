"""What can be proved about each cell: the least and the greatest value it can have."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.compiling import fitting
from discreet.errors import ParameterError
from discreet.later import later
from discreet.progress import Tell
from discreet.solve import kernels
from discreet.solve.kernels import Lists
from discreet.solve.linear import LinearProgram
from discreet.solve.solution import Solution, Status
from discreet.solve.whole import HEATS, Walk
from discreet.types import Flags, Floats, Integers

sparse = later("scipy.sparse")
csgraph = later("scipy.sparse.csgraph")

# The solver keeps conditions to 1e-7; a value this close to an integer is that integer.
NEAR = 1e-5
# Bounds that creep by one at a time are left to the linear programs.
VISITS = 200
# An equation is looked at so often before no bound moves any more: it decides what is compiled.
AGAIN = 32
# With fewer open bounds than this, a programme for each of them is as fast.
SWEEP = 20
# A programme for many bounds at once that takes more steps than this for each cell and equation is
# given up: in three-way tables it can take longer than all the single ones together.
SWEEP_STEPS = 2
# All linear programmes together may take so many steps of the simplex method.
LINEAR_STEPS = 5_000_000
# A single integer programme of more nodes is given up; its bound is then valid but loose.
MIP_NODES = 200
# All of them together may take so many steps of the simplex method: narrow intervals come first,
# and wide ones are valid too. Steps, not seconds: the answer is the same on any machine.
MIP_STEPS = 200_000
# What setting one of them up is worth, in such steps.
MIP_START = 500
# Before them a walk looks for whole tables: trials for each cell of a part, twice as many where it
# is tried again, and trials of all walks together; how often a bound that it does not meet is
# tried.
WALK, WALKS, TRIES = 1_400, 1_000_000_000, 2


@dataclass(frozen=True, eq=False)
class Intervals(Solution):
    """`values[0]` and `values[1]`: the least and greatest value of each cell that was proved.

    The bounds are valid whatever the status. `attained` marks the bounds that a table consistent
    with all the equations actually reaches, in integers where cells are whole; `linear` those that
    a table of real numbers reaches, or comes as close to as integers are. `gap` is the largest
    distance of a bound from what is known to be reached. `row` is the equation that cannot hold
    where the status is infeasible (−1: several together).
    """

    attained: Flags = field(default_factory=lambda: np.zeros((2, 0), bool))
    row: int = -1
    linear: Flags = field(default_factory=lambda: np.zeros((2, 0), bool))

    @property
    def low(self) -> Floats:
        """The least values."""
        return np.asarray(self.values[0])

    @property
    def high(self) -> Floats:
        """The greatest values."""
        return np.asarray(self.values[1])


def tightened(
    equations: Any,
    low: ArrayLike,
    high: ArrayLike,
    sums: ArrayLike | None = None,
    whole: bool = True,
) -> Intervals:
    """Return bounds tightened by one equation at a time: always valid, often the best, fast.

    `equations @ values = sums` (0 if not given); `whole` cells are integers.
    """
    matrix = sparse.csr_matrix(equations, dtype=np.float64)
    least, most = np.array(low, np.float64), np.array(high, np.float64)
    right = np.zeros(matrix.shape[0]) if sums is None else np.array(sums, np.float64)
    if least.shape != (matrix.shape[1],) or most.shape != least.shape:
        raise ParameterError(f"bounds must be one for each of the {matrix.shape[1]} cells.")
    if np.isnan(least).any() or np.isnan(most).any():
        raise ParameterError("bounds must be numbers.")
    if whole:
        # Adding 0 makes a minus zero a zero.
        least, most = np.ceil(least - NEAR) + 0.0, np.floor(most + NEAR) + 0.0
    attained = np.zeros((2, len(least)), bool)
    crossed = np.flatnonzero(least > most)
    if len(crossed):
        gap = float((least - most)[crossed].max())
        return Intervals(Status.INFEASIBLE, np.stack([least, most]), gap, attained)
    row, left = -1, 0
    if matrix.shape[0]:
        tighten = fitting(kernels.tighten, AGAIN * matrix.nnz)
        row, left = tighten(
            Lists.of_rows(matrix),
            matrix.data,
            right,
            Lists.of_rows(matrix.T),
            least,
            most,
            whole,
            0.0 if whole else 1e-9,
            VISITS * matrix.shape[0],
        )
    values = np.stack([least, most])
    if row >= 0:
        return Intervals(Status.INFEASIBLE, values, np.inf, attained, int(row))
    status = Status.SOLVED if left == 0 else Status.FEASIBLE
    attained[:, least == most] = True
    return Intervals(status, values, float(np.where(attained, 0, most - least).max(initial=0)),
                     attained)  # fmt: skip


def intervals(
    equations: Any,
    low: ArrayLike,
    high: ArrayLike,
    sums: ArrayLike | None = None,
    whole: bool = True,
    certify: bool = True,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> Intervals:
    """Return the least and the greatest value of each cell under the equations and bounds.

    Bounds are tightened first; what is left falls into connected parts. A part without a cycle is
    done. In the others one linear programme after another is solved from the last basis, for the
    bounds that no table met so far attains; where cells are whole and no whole table attains the
    bound, an integer programme settles it (`certify`), the narrowest cells first. Both kinds have a
    limited number of steps; bounds left open then make the status feasible: valid, but perhaps not
    the narrowest.
    After `seconds`, or Ctrl-C, the bounds are returned as far as they are proved: stopped.
    """
    first = tightened(equations, low, high, sums, whole)
    if first.status is Status.INFEASIBLE:
        return first
    matrix = sparse.csr_matrix(equations, dtype=np.float64)
    right = np.zeros(matrix.shape[0]) if sums is None else np.array(sums, np.float64)
    state = _State(first.values.copy(), first.attained.copy(), whole, certify, seconds, tell)
    status = Status.SOLVED
    try:
        for cells, rows, cyclic in _parts(matrix, state.values):
            if not cyclic and first.status is Status.SOLVED:
                # On a tree of equations local bounds are the best there are.
                state.attained[:, cells] = True
                continue
            part = matrix[rows]
            known = np.ones(matrix.shape[1], bool)
            known[cells] = False
            fixed = np.where(known, np.where(np.isfinite(state.values[0]), state.values[0], 0), 0)
            if not _settle(state, cells, part[:, cells], right[rows] - part @ fixed):
                return Intervals(Status.INFEASIBLE, state.values, np.inf, state.attained)
    except KeyboardInterrupt:
        status = Status.STOPPED
    if state.late:
        status = Status.STOPPED
    elif status is Status.SOLVED and not state.attained.all() and certify:
        status = Status.FEASIBLE
    linear = state.attained | state.linear
    return Intervals(status, state.values, state.gap(), state.attained, linear=linear)


class _State:
    """Bounds so far, which of them are attained, and how much time is left."""

    def __init__(
        self,
        values: Floats,
        attained: Flags,
        whole: bool,
        certify: bool,
        seconds: float | None,
        tell: Tell | None,
    ) -> None:
        self.values, self.attained = values, attained
        self.whole, self.certify = whole, certify
        self.end = None if seconds is None else monotonic() + seconds
        self.tell = tell
        # The least and greatest value that a table met so far has.
        self.seen = np.stack([np.full(values.shape[1], np.inf), np.full(values.shape[1], -np.inf)])
        self.late = False
        self.linear = np.zeros(values.shape, bool)
        self.steps, self.linear_steps, self.trials = MIP_STEPS, LINEAR_STEPS, WALKS
        # The table met last.
        self.last = np.zeros(values.shape[1])

    def over(self) -> bool:
        """Return whether the time is up."""
        self.late = self.late or (self.end is not None and monotonic() > self.end)
        return self.late

    def show(self) -> None:
        """Report how many bounds are settled."""
        if self.tell is not None:
            self.tell("bounds", int(self.attained.sum()), self.attained.size)

    def gap(self) -> float:
        """Return the largest distance between a bound and what is known to be attained."""
        away = np.stack([self.seen[0] - self.values[0], self.values[1] - self.seen[1]])
        width = self.values[1] - self.values[0]
        away = np.where(np.isfinite(away), away, width)
        return float(np.where(self.attained, 0.0, away).max(initial=0.0))

    def order(self, cells: Integers) -> Integers:
        """Return the cells of a part, the narrowest first: what is settled early matters most."""
        return np.argsort(self.values[1, cells] - self.values[0, cells], kind="stable")

    def narrow(self, cell: int, side: int, bound: float) -> None:
        """Take a bound that was proved, if it is better than the one there is."""
        if self.whole:
            bound = np.ceil(bound - NEAR) if side == 0 else np.floor(bound + NEAR)
        better = max if side == 0 else min
        self.values[side, cell] = better(self.values[side, cell], bound + 0.0)  # no minus zero

    def meet(self, cells: Integers, table: Floats, settled: Flags) -> None:
        """Note which bounds a table that fits attains."""
        self.last[cells] = table
        proper, near = True, 1e-7 * (1 + float(np.abs(table).max(initial=0)))
        if self.whole:
            rounded = np.rint(table)
            proper, near = bool((np.abs(table - rounded) < NEAR).all()), NEAR
            table = rounded if proper else table
        reached = np.stack(
            [table <= self.values[0, cells] + near, table >= self.values[1, cells] - near]
        )
        settled |= reached
        self.linear[:, cells] |= reached
        if proper:
            self.seen[0, cells] = np.minimum(self.seen[0, cells], table)
            self.seen[1, cells] = np.maximum(self.seen[1, cells], table)
            self.attained[:, cells] |= reached


def _parts(matrix: Any, values: Floats) -> list[tuple[Integers, Integers, bool]]:
    """Return the connected parts of what is not known: cells, equations, whether it has a cycle."""
    open_cells = np.flatnonzero(values[0] != values[1])
    if not len(open_cells):
        return []
    block = matrix[:, open_cells]
    touched = np.flatnonzero(np.diff(block.indptr))
    block = block[touched]
    cells, rows = len(open_cells), len(touched)
    graph = (
        sparse.bmat([[None, block.T], [block, None]]) if rows else sparse.csr_matrix((cells,) * 2)
    )
    count, label = csgraph.connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    pieces = np.split(order, np.searchsorted(label[order], np.arange(1, count)))
    links = np.bincount(label[:cells][block.indices], minlength=count) if rows else np.zeros(count)
    found = []
    for number, piece in enumerate(pieces):
        mine, its = piece[piece < cells], piece[piece >= cells] - cells
        found.append((open_cells[mine], touched[its], bool(links[number] >= len(piece))))
    return sorted(found, key=lambda part: len(part[0]))


def _settle(state: _State, cells: Integers, part: Any, right: Floats) -> bool:
    """Prove the bounds of one part; return False if no table satisfies its equations."""
    low, high = state.values[:, cells]
    programme = LinearProgram(part, right, right, low, high, warm=True)
    # Which bounds the linear programs have settled, by a table that need not be whole.
    settled = np.zeros((2, len(cells)), bool)
    start = programme.run()
    if start.status is Status.INFEASIBLE:
        return False
    if not start.solved:
        return True
    state.meet(cells, start.values, settled)
    _sweep(state, cells, programme, part, settled)
    for j in state.order(cells):
        for side, sign in ((0, 1.0), (1, -1.0)):
            if settled[side, j]:
                continue
            if state.over():
                return True
            if state.linear_steps <= 0:
                break
            programme.set_cost(j, sign)
            found = programme.run()
            state.linear_steps -= 1 + programme.steps
            programme.set_cost(j, 0.0)
            settled[side, j] = True
            if found.solved:
                state.linear[side, cells[j]] = True
                state.narrow(int(cells[j]), side, float(found.values[j]))
                state.meet(cells, found.values, settled)
            elif not np.isfinite(state.values[side, cells[j]]):
                state.attained[side, cells[j]] = True  # unbounded, as was given
        state.show()
    if state.values[0, cells].max(initial=0) > 0 and np.greater(*state.values[:, cells]).any():
        return False
    return _certified(state, cells, part, right)


def _sweep(
    state: _State, cells: Integers, programme: LinearProgram, part: Any, settled: Flags
) -> None:
    """Settle many bounds at once: cells that share no equation can be at their bounds together."""
    rows_of = Lists.of_rows(part.T)
    # A fixed seed: the order decides the time taken, never the bounds.
    rng = np.random.default_rng(len(cells))
    programme.limit_steps(SWEEP_STEPS * (part.shape[0] + part.shape[1]))
    for _ in range(2 * len(cells)):
        side, place = np.nonzero(~settled)
        if len(place) < SWEEP or state.over():
            break
        cost = _towards(side, place, rows_of, part, rng)
        programme.set_costs(cost)
        found = programme.run()
        if not found.solved:
            break
        before = int(settled.sum())
        state.meet(cells, found.values, settled)
        state.show()
        if int(settled.sum()) - before < max(2, int(np.count_nonzero(cost)) // 20):
            break
    programme.limit_steps(None)
    programme.set_costs(np.zeros(len(cells)))


def _towards(
    side: Integers, place: Integers, rows_of: Lists, part: Any, rng: np.random.Generator
) -> Floats:
    """Return costs that drive some open ends to their bounds: cells that share no equation."""
    order = rng.permutation(len(place))
    side, place = side[order], place[order].astype(np.int64)
    chosen = fitting(kernels.apart, AGAIN * part.nnz)(place, rows_of, part.shape[0])
    cost = np.zeros(part.shape[1])
    cost[place[chosen]] = np.where(side[chosen] == 0, 1.0, -1.0)
    return cost


def _certified(state: _State, cells: Integers, part: Any, right: Floats) -> bool:
    """Settle what linear programs leave open by integer ones; return False if no table is left."""
    # A bound can be met by an earlier whole table although its own programme ended in fractions.
    for side in (0, 1):
        state.attained[side, cells] |= state.seen[side, cells] == state.values[side, cells]
    done = state.attained[:, cells].all() or not np.isfinite(state.values[0, cells]).all()
    if not state.whole or not state.certify or done:
        return True
    _walk(state, cells, part, right)
    for j in state.order(cells):
        for side, sign in ((0, 1.0), (1, -1.0)):
            if state.attained[side, cells[j]]:
                continue
            if state.over() or state.steps <= 0:
                return True
            cost = np.zeros(len(cells))
            cost[j] = sign
            programme = _integer(state, cells, part, right, cost, MIP_NODES)
            found = programme.run()
            state.steps -= MIP_START + programme.steps
            if found.status is Status.INFEASIBLE:
                return False
            proved = programme.bound * sign
            if np.isfinite(proved):
                state.narrow(int(cells[j]), side, float(proved))
            if len(found.values):
                state.meet(cells, found.values, np.zeros((2, len(cells)), bool))
        state.show()
    return True


def _integer(
    state: _State, cells: Integers, part: Any, right: Floats, cost: Floats, nodes: int
) -> LinearProgram:
    """Return the integer programme of a part within the bounds proved so far."""
    left = None if state.end is None else max(state.end - monotonic(), 0.1)
    whole = np.ones(len(cells), bool)
    low, high = state.values[:, cells]
    return LinearProgram(part, right, right, low, high, cost, whole, left, nodes=nodes)


def _walk(state: _State, cells: Integers, part: Any, right: Floats) -> None:
    """Meet bounds with whole tables that a walk finds, each from the one before."""
    bounds = state.values[:, cells]
    rng = np.random.default_rng(len(cells))
    walk = Walk(part, right, bounds[0], bounds[1], len(cells))
    table = _first(state, cells, walk)
    tries = np.where(np.isfinite(bounds), 0, TRIES)
    while table is not None and state.trials > 0 and not state.over():
        waiting = np.where(state.attained[:, cells], TRIES, tries)
        least = int(waiting.min())
        if least == TRIES:
            break
        side, place = (int(one) for one in rng.choice(np.argwhere(waiting == least)))
        end, most = int(bounds[side, place]), WALK * len(cells) * 2**least
        found, used = walk.mended(table, place, end, most)
        state.trials -= used
        tries[side, place] += 1
        if found is not None:
            table = found
            state.meet(cells, table.astype(np.float64), np.zeros(bounds.shape, bool))
        state.show()


def _first(state: _State, cells: Integers, walk: Walk) -> Integers | None:
    """Return a whole table near the one met last, if the walk finds one."""
    near = np.rint(state.last[cells]).astype(np.int64)
    for _ in HEATS:
        table, used = walk.mended(near, None, 0, WALK * len(cells))
        state.trials -= used
        if table is not None:
            return table
    return None
