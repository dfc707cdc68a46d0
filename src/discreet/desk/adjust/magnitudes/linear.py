"""Adjustment of magnitudes by linear programmes, from given senses to better ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.adjust import Norm
from discreet.desk.adjust.magnitudes.blocks import MOST_CELLS, SenseSearch
from discreet.desk.adjust.magnitudes.exact import PROVED, first_table
from discreet.desk.adjust.magnitudes.problem import Adjusted, Problem
from discreet.desk.adjust.magnitudes.quadratic import least_squares
from discreet.desk.adjust.magnitudes.senses import agreed, alternated, improved
from discreet.errors import InternalError
from discreet.progress import Tell
from discreet.solve.linear import LinearProgram
from discreet.solve.solution import Status
from discreet.types import Floats

# What a unit short of the protection costs, in units of the largest weight: more than any way to
# reach it, as far as there is one.
HEAVY = 1_000.0
# Work of turning senses one at a time: runs, and simplex steps in all.
RUNS, STEPS = 400, 60_000
# Nodes to look for a table that protects everything, where the senses at hand leave cells short.
NODES = 200
# A turn must gain this share of the cost.
GAIN = 1e-9


def adjust(
    problem: Problem, norm: Norm = Norm.L1, seed: int = 0, tell: Tell | None = None
) -> Adjusted:
    """Return changes that protect every sensitive cell and cost little.

    Senses are alternated, improved by a search, turned one at a time where the linear programme's
    prices promise a gain, and then decided by integer programmes (solved, if one of them proves
    that no table costs less). Feasible: `gap` is what the cost is above a proved bound. Ctrl-C:
    stopped, with the best so far. Read `short`: where senses contradict one another or capacities
    are too small, a cell may not reach its protection.
    """
    if not len(problem.movers):
        change = np.zeros(len(problem.values))
        return _result(problem, Status.SOLVED, change, norm, 0.0)
    up = agreed(problem, improved(problem, alternated(problem), seed, tell), seed)
    programme = _Programme(problem, up)
    search = None
    try:
        programme.turn(tell)
        status = Status.FEASIBLE
        if problem.short(programme.change).any():
            small = len(problem.values) <= MOST_CELLS
            near = None if small else programme.change
            programme.follow(first_table(problem, NODES, start=near))
        if norm is Norm.L1 and not problem.short(programme.change).any():
            search = SenseSearch(problem, programme.change, seed)
            search.run(tell)
    except KeyboardInterrupt:
        status = Status.STOPPED
    if norm is Norm.L2:
        change = least_squares(problem, programme.up, programme.change)
        return _result(problem, status, change, norm, np.nan)
    if search is None:
        return _result(problem, status, programme.change, norm, np.nan)
    programme.follow(search.change)
    bound = search.bound
    if status is Status.FEASIBLE and not np.isfinite(bound):
        bound = lower_bound(problem)
    return _result(problem, status, programme.change, norm, bound)


def lower_bound(problem: Problem) -> float:
    """Return a cost that no adjustment undercuts: the linear programme without choices.

    Notes
    -----
    A cell at or beyond its protection on either side has z⁺/upper + z⁻/lower ≥ 1. NaN where even
    that cannot be met.
    """
    programme = _without_choices(problem)
    return programme.cost if programme.run().solved else np.nan


def impossible(problem: Problem) -> bool:
    """Return whether it is proved that no changes protect every sensitive cell.

    Notes
    -----
    Even the linear programme without choices has no solution. Where it has one, nothing is said.
    """
    return _without_choices(problem).run().status is Status.INFEASIBLE


def _without_choices(problem: Problem) -> LinearProgram:
    """Return the programme in which a cell may go partly up and partly down."""
    size, movers = len(problem.values), problem.movers
    rows = np.arange(len(movers))
    shares = [
        sparse.csr_matrix(
            (1 / np.maximum(side[movers], 1e-12), (rows, movers)), (len(movers), size)
        )
        for side in (problem.upper, problem.lower)
    ]
    matrix = sparse.vstack(
        [sparse.hstack([problem.equations, -problem.equations]), sparse.hstack(shares)]
    )
    zeros = np.zeros(problem.equations.shape[0])
    return LinearProgram(
        matrix,
        np.concatenate([zeros, np.ones(len(movers))]),
        np.concatenate([zeros, np.full(len(movers), np.inf)]),
        np.zeros(2 * size),
        np.concatenate([problem.most, -problem.least]),
        np.tile(problem.weights, 2),
    )


class _Programme:
    """The linear programme for given senses, whose senses can be turned.

    Columns are the parts of the change above and below 0. A cell that goes up has its upper part
    at least its protection, and may use its lower part up to that at a heavy price: so there is
    always a solution, and what is short is seen.
    """

    def __init__(self, problem: Problem, up: NDArray[np.bool_]) -> None:
        self.problem, self.up = problem, up.copy()
        self.movers = problem.movers
        self.heavy = HEAVY * float(problem.weights.max(initial=0.0)) or 1.0
        size = len(problem.values)
        zeros = np.zeros(problem.equations.shape[0])
        low, high = np.zeros(2 * size), np.concatenate([problem.most, -problem.least])
        cost = np.tile(problem.weights, 2)
        for mover, rises in zip(self.movers.tolist(), up.tolist(), strict=True):
            for column, bounds in self._bounds(mover, rises).items():
                low[column], high[column], cost[column] = bounds
        matrix = sparse.hstack([problem.equations, -problem.equations]).tocsc()
        self.programme = LinearProgram(matrix, zeros, zeros, low, high, cost)
        if not self.programme.run().solved:
            raise InternalError("the linear programme of an adjustment has no solution.")
        self.cost, self.change = self.programme.cost, self._change()
        # From here each run starts from the last basis, which presolving would throw away.
        self.programme.keep_basis()

    def _bounds(self, mover: int, rises: bool) -> dict[int, tuple[float, float, float]]:
        """Return least, most and price of both parts of a sensitive cell's change."""
        size = len(self.problem.values)
        ends = (self.problem.upper, self.problem.most), (self.problem.lower, -self.problem.least)
        (need, most), (column, other) = (
            (ends[0], (mover, mover + size)) if rises else (ends[1], (mover + size, mover))
        )
        reach = min(float(need[mover]), float(most[mover]))
        # A fixed cell cannot be protected: nothing is asked of it, and it will be seen as short.
        return {
            column: (reach, float(most[mover]), float(self.problem.weights[mover])),
            other: (0.0, reach, self.heavy),
        }

    def _change(self) -> Floats:
        size = len(self.problem.values)
        columns = self.programme.columns()
        return np.asarray(columns[:size] - columns[size:])

    def _put(self, place: int, rises: bool) -> None:
        for column, (low, high, cost) in self._bounds(int(self.movers[place]), rises).items():
            self.programme.set_bounds(column, low, high)
            self.programme.set_cost(column, cost)

    def _promised(self) -> NDArray[np.int64]:
        """Return the sensitive cells that may gain by turning, the most promising first.

        The least cost is a convex function of the bounds: its slope promises at least what a turn
        gains, so that cells without a promise need not be tried.
        """
        size = len(self.problem.values)
        prices = self.programme.prices()
        slope = np.where(self.up, prices[self.movers], prices[self.movers + size])
        ahead, back = self.problem.upper[self.movers], self.problem.lower[self.movers]
        ahead, back = np.where(self.up, ahead, back), np.where(self.up, back, ahead)
        weight = self.problem.weights[self.movers]
        promise = slope * ahead - (2 * weight - slope) * back
        chosen = np.flatnonzero(promise > GAIN * max(self.cost, 1e-12))
        return np.asarray(chosen[np.argsort(-promise[chosen], kind="stable")])

    def follow(self, change: Floats | None) -> None:
        """Take the senses of changes that cost less; they are settled to the last digit here."""
        if change is None:
            return
        up = change[self.movers] > 0
        for place in np.flatnonzero(up != self.up).tolist():
            self._put(place, bool(up[place]))
        if self.programme.run().solved and self.programme.cost <= self.cost * (1 + GAIN):
            self.up, self.cost, self.change = up, self.programme.cost, self._change()

    def turn(self, tell: Tell | None) -> None:
        """Turn senses one at a time as long as the cost falls."""
        runs = steps = 0
        while runs < RUNS and steps < STEPS:
            for place in self._promised().tolist():
                if tell is not None:
                    tell("senses", runs, RUNS)
                runs += 1
                self._put(place, not self.up[place])
                found = self.programme.run()
                steps += self.programme.steps
                if found.solved and self.programme.cost < self.cost * (1 - GAIN):
                    self.up[place] = not self.up[place]
                    self.cost, self.change = self.programme.cost, self._change()
                    break
                self._put(place, bool(self.up[place]))
                if runs >= RUNS or steps >= STEPS:
                    return
            else:
                return


def _result(problem: Problem, status: Status, change: Floats, norm: Norm, bound: float) -> Adjusted:
    cost = problem.cost(change, norm)
    short = problem.short(change)
    gap = cost / bound - 1 if bound > 0 and not short.any() else np.nan
    if not cost or gap <= PROVED:
        gap, status = 0.0, status if short.any() else Status.SOLVED
    return Adjusted(
        status,
        problem.cells(change),
        float(gap),
        problem.cells(short.astype(np.float64)) > 0,
        cost,
        bound,
    )
