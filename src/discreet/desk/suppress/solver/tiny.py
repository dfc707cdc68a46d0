"""Tables so small that the cheapest pattern is found and proved sooner than a search begins.

Nothing of it is compiled: whoever suppresses a table of a few cells waits for no compiler.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.desk.suppress.solver.check import prove
from discreet.desk.suppress.solver.exact import optimum
from discreet.desk.suppress.solver.linked import VIEWS, Rerouting
from discreet.desk.suppress.solver.problem import Insiders, Mark, Needs, Pattern, Problem
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.types import Flags

# Cells, totals included; attackers' programmes of a proof; and nodes of each choice. Choices that
# are not made at the root, as in most tables of three dimensions, take longer than the search.
MOST, STEPS, NODES = 150, 1_000, 1


def proved_at_once(system: TableSystem, problem: Problem) -> Pattern | None:
    """Return the cheapest pattern of a tiny table with its certificates, or None.

    None where the table is larger, where the proof takes more steps or no whole-numbered
    certificates are found within the pattern, and where some cell cannot be protected.
    """
    if system.variables > MOST:
        return None
    nobody = np.full(problem.values.size, -1)
    public = replace(problem, insiders=Insiders.alone(nobody, problem.rise, problem.fall))
    found = optimum(system, public, steps=STEPS, nodes=NODES)
    bare = int((found.values == Mark.SECONDARY).sum())
    if found.solved and problem.watched:
        found = optimum(system, problem, steps=STEPS, nodes=NODES)
    return _certified(system, problem, found.withheld, bare) if found.solved else None


def _certified(system: TableSystem, problem: Problem, withheld: Flags, bare: int) -> Pattern | None:
    """Return a pattern with certificates that use no other cells, None where some are missing."""
    state = Rerouting(system, problem, Needs.of(problem))
    closed = np.ones(system.variables, bool)
    closed[system.variable[withheld]] = False
    state.prices = np.where(closed, np.inf, state.programmes.cost)
    for views in (1, VIEWS) if problem.watched else (1,):
        if state.fill(views) >= 0:
            return None
    pattern = state.pattern(bare)
    if not np.array_equal(pattern.withheld, withheld) or not prove(system, problem, pattern).safe:
        return None
    return replace(pattern, status=Status.SOLVED, gap=0.0)
