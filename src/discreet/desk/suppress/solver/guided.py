"""A first pattern for tables that are not too large, along the relaxation of the optimum.

The relaxation says which cells the optimum is likely to withhold, and what no pattern can be
cheaper than. Certificates are then led through those cells, by programmes over them alone.
"""

from __future__ import annotations

import numpy as np

from discreet.desk.suppress.solver.cuts import Cuts
from discreet.desk.suppress.solver.linked import Rerouting
from discreet.desk.suppress.solver.problem import Needs, Problem
from discreet.desk.suppress.solver.undoing import Change
from discreet.progress import Tell
from discreet.solve.system import TableSystem

# Needs times cells up to which the relaxation takes seconds.
SMALL = 200_000
# Rounds of cuts, and rounds without a better bound, after which it is good enough.
ROUNDS, IDLE = 40, 8
# Attackers' programmes after which no further round is begun.
ATTACKS = 6_000
# What the relaxation withholds in part costs the rest; what it withholds in full, this share.
LEAST = 0.02
TINY = 1e-6
PROGRAMMES = 300


def guided(
    system: TableSystem,
    problem: Problem,
    views: int,
    effort: float = 1.0,
    tell: Tell | None = None,
) -> tuple[list[Change | None], float]:
    """Return certificates, so many a need, and a bound on the cost of any safe pattern.

    With one certificate a need insiders are not reckoned with. None stands where the cells that
    the relaxation withholds hold no certificate in whole numbers.
    """
    cuts = Cuts(system, problem, insiders=views > 1)
    bound, idle = 0.0, 0
    chosen = np.zeros(system.variables)
    for done in range(ROUNDS):
        if tell is not None:
            tell("bound", done, ROUNDS)
        found = cuts.master(False, None, None)
        if not found.solved:
            return [], bound
        chosen, cost = found.values, cuts.cost_of(found.values)
        idle = idle + 1 if cost < bound * (1 + TINY) + TINY else 0
        bound = max(bound, cost)
        if idle == IDLE or cuts.solved > effort * ATTACKS or not cuts.separate(chosen):
            break
    state = Rerouting(system, problem, Needs.of(problem), tell)
    likely = chosen > TINY
    state.prices = np.where(likely, cuts.cost * (1 + LEAST - chosen), np.inf)
    state.fill(views, leave=True)
    state.programmes.insist = False
    state.prices = np.where(likely, cuts.cost, np.inf)
    state.improve(max(1, int(effort * PROGRAMMES)))
    return state.changes, bound
