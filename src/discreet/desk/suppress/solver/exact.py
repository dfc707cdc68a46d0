"""The cheapest pattern of a small table, proved so: what the attackers' conditions leave.

When the cheapest choice of the master programme withstands every attacker, it is the optimum.
"""

from __future__ import annotations

from time import monotonic

import numpy as np

from discreet.desk.suppress.solver.cuts import Cuts
from discreet.desk.suppress.solver.examine import examined, proved
from discreet.desk.suppress.solver.problem import Pattern, Problem
from discreet.errors import InternalError, ParameterError
from discreet.progress import Tell
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem

# More cells than this would take hours, if not for ever.
MOST_CELLS = 5_000
ROUNDS = 2_000
STALL = 1e-4


def optimum(
    system: TableSystem,
    problem: Problem,
    known: Pattern | None = None,
    seconds: float | None = None,
    tell: Tell | None = None,
    steps: int | None = None,
    nodes: int | None = None,
) -> Pattern:
    """Return the cheapest safe pattern, or the known one with the gap that is proved of it.

    `known` is a safe pattern, such as the heuristic's: it bounds the search. Solved: no safe
    pattern is cheaper. Feasible: time ran out, and `gap` is the share by which one may be. `steps`
    are attackers' programmes and `nodes` those of each master's, after which it stops as well.

    Notes
    -----
    Row generation [Fischetti2000], first on the relaxation. A pattern that is safe from
    real attackers and not from whole ones is cut off by asking for one more cell, since fewer
    cells are never safer.
    """
    if system.variables > MOST_CELLS:
        raise ParameterError(
            f"the optimum can be proved for at most {MOST_CELLS:,} cells. Got {system.variables:,}."
        )
    if known is not None and not proved(system, problem, known).safe:
        raise InternalError("a pattern did not pass its audit; nothing is returned.")
    cuts = Cuts(system, problem)
    end = None if seconds is None else monotonic() + seconds
    best = None if known is None else problem.total(known.values)
    bound = 0.0
    for whole in (False, True):
        for done in range(ROUNDS):
            if tell is not None:
                tell("proof" if whole else "cuts", done, None)
            left = None if end is None else end - monotonic()
            if (left is not None and left <= 0) or (steps is not None and cuts.solved > steps):
                return _stopped(problem, known, bound)
            found = cuts.master(whole, best, left, nodes)
            if found.status is Status.INFEASIBLE:
                if known is not None:  # nothing is cheaper than what is known
                    return Pattern(Status.SOLVED, known.values, 0.0, known.certificates,
                                   known.proves, bare=known.bare)  # fmt: skip
                marks = problem.marks(np.zeros(problem.values.size, bool))
                return Pattern(Status.INFEASIBLE, marks, np.inf, failed=tuple(cuts.hopeless()))
            if not found.solved:
                return _stopped(problem, known, bound)
            risen = cuts.cost_of(found.values)
            added = cuts.separate(found.values)
            if whole and not added:
                withheld = cuts.withheld(found.values)
                if examined(system, problem, withheld).safe:
                    return Pattern(Status.SOLVED, problem.marks(withheld), 0.0)
                cuts.more_than(found.values)
            elif not whole and (not added or (risen - bound < STALL * risen and done > 20)):
                bound = max(bound, risen)
                break
            bound = max(bound, risen)
    return _stopped(problem, known, bound)


def _stopped(problem: Problem, known: Pattern | None, bound: float) -> Pattern:
    if known is None:
        marks = problem.marks(np.zeros(problem.values.size, bool))
        return Pattern(Status.NOT_CONVERGED, marks, np.inf)
    cost = problem.total(known.values)
    gap = (cost - bound) / cost if cost > 0 else 0.0
    return Pattern(
        Status.FEASIBLE, known.values, gap, known.certificates, known.proves, bare=known.bare
    )
