"""Better senses by integer programmes: over all of them, then over some while others are held."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.desk.adjust.magnitudes.exact import SenseProgramme, farthest
from discreet.desk.adjust.magnitudes.problem import Problem
from discreet.progress import Tell
from discreet.solve.solution import Status
from discreet.types import Flags, Floats

# All senses at once in tables of up to so many different cells, in so many nodes.
MOST_CELLS, WHOLE_NODES = 1_000, (2_000_000, 300, 6_000)
# Blocks in tables of up to so many: beyond, each takes minutes.
MOST_BLOCK_CELLS = 20_000
# Sensitive cells of a first block, how it grows where blocks of its size gain nothing, its nodes.
BLOCK, GROWTH, NODES = 20, 1.5, 200
# Work for the blocks: steps of the simplex method, times the cells.
WORK = 50_000_000
# A block must gain this share of the cost.
GAIN = 1e-9


class SenseSearch:
    """Makes `change`, which protects every sensitive cell, cost less; `bound` is what is proved.

    First an integer programme over all senses, in tables that are not too large. Where it does not
    end with a proof the senses of cells near to one another are freed, in blocks that grow. Work is
    counted in steps: the same seed gives the same changes.
    """

    def __init__(self, problem: Problem, change: Floats, seed: int = 0) -> None:
        self.problem, self.change, self.bound = problem, change, -np.inf
        self.rng = np.random.default_rng(seed)

    def run(self, tell: Tell | None = None) -> None:
        """Search to the end; what was found so far is there at any time."""
        far = farthest(self.problem, self.problem.cost(self.change))
        if not np.isfinite(far).all() or len(self.problem.values) > MOST_BLOCK_CELLS:
            return
        self.programme = SenseProgramme(self.problem, *far)
        cells = len(self.problem.values)
        if cells <= MOST_CELLS:
            work, fewest, most = WHOLE_NODES
            solved = self._free(None, int(np.clip(work // cells, fewest, most)))[0]
            self.bound = self.programme.bound
            if solved is Status.SOLVED:
                return
        self._blocks(tell)

    def _free(self, free: Flags | None, nodes: int) -> tuple[Status, bool]:
        """Free these senses; return how that ended, and whether the change is a better one."""
        found, better = self.programme.run(self.change, free, nodes)
        safe = len(better) and not self.problem.short(better).any()
        cost = self.problem.cost(self.change)
        if not safe or self.problem.cost(better) >= cost * (1 - GAIN):
            return found.status, False
        self.change = better
        return found.status, True

    def _blocks(self, tell: Tell | None) -> None:
        count, cells = len(self.problem.movers), len(self.problem.values)
        ties = self._ties()
        size, idle, work = BLOCK, 0, 0
        while work < WORK and size < count:
            if tell is not None:
                tell("senses", work, WORK)
            _, better = self._free(self._near(ties, size), NODES)
            work += max(self.programme.steps, 1) * cells
            idle = 0 if better else idle + 1
            if idle * size >= count:
                size, idle = int(size * GROWTH), 0

    def _ties(self) -> Any:
        """Return how near each sensitive cell is to each other: in how many sums, and how small."""
        equations = abs(self.problem.equations).tocsr()
        held = equations.tocsc()[:, self.problem.movers].tocsr()
        sizes = np.maximum(np.diff(equations.indptr), 1)
        return held.multiply(1.0 / sizes[:, None]).T.tocsr() @ held

    def _near(self, ties: Any, size: int) -> Flags:
        """Return one sensitive cell at random and so many near to it."""
        count = len(self.problem.movers)
        first = int(self.rng.integers(count))
        near = self.rng.random(count) * 1e-3
        near += ties[[first]].toarray().ravel() * self.rng.random(count)
        near[first] = np.inf
        chosen = np.zeros(count, bool)
        chosen[np.argsort(-near, kind="stable")[:size]] = True
        return chosen
