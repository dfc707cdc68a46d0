"""Secondary cells chosen anew all at once, where few are needed: the cheapest there are.

What primary cells can do for each other they can do in every pattern. So attackers are only asked
about the needs that changes through secondary cells meet, and that takes no longer than to find
these. When the cheapest choice withstands them it is the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.desk.suppress.solver.cuts import Cuts
from discreet.desk.suppress.solver.problem import Problem
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.types import Flags

# Choices, each with the conditions that the last one missed, and nodes of each.
CHOICES, NODES = 12, 200


@dataclass(frozen=True, eq=False)
class Choice:
    """The variables to withhold, None where nothing better was found; what no pattern is below."""

    withheld: Flags | None
    bound: float


def cheapest(system: TableSystem, problem: Problem, needs: list[int], cost: float) -> Choice:
    """Return the cheapest choice that meets some needs, if it costs less than this.

    In real numbers, and safe from who reads the table: what contributors know is left out.
    """
    cuts = Cuts(system, problem, insiders=False)
    bound = 0.0
    for _ in range(CHOICES):
        found = cuts.master(True, cost, None, NODES)
        if found.status is Status.INFEASIBLE:
            return Choice(None, cost)
        if not found.solved:
            break
        chosen = np.rint(found.values)
        bound = max(bound, cuts.cost_of(chosen) - found.gap)
        if not cuts.separate_public(needs, chosen):
            return Choice(chosen > 0, bound)
    return Choice(None, bound)
