"""Who can undo a certificate: contributors, each with a view of their own, for the searches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import fitting
from discreet.desk.suppress.solver import kernels
from discreet.desk.suppress.solver.problem import Needs, Problem
from discreet.progress import Tell

Change = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Cells, and by how much each of them moves."""


def limits_of(problem: Problem) -> kernels.Cells:
    """Return what cells cost, how far they can move, and who knows more, for the kernels."""
    known = problem.insiders
    order = known.order
    return kernels.Cells(
        problem.cost,
        problem.values - problem.low,
        problem.high - problem.values,
        kernels.Insiders(
            known.starts,
            known.who,
            known.room,
            known.own_starts,
            known.cell[order],
            known.room[order],
            known.rise[order],
            known.fall[order],
            known.out_rise,
            known.out_fall,
        ),
    )


def empty_view(cells: int) -> kernels.Sight:
    """Return a view that knows nothing."""
    return kernels.Sight(np.zeros(cells), np.zeros(cells, np.int64), np.ones(2, np.int64))


class Views:
    """The contributors of a problem, asked what they make of a change."""

    def __init__(self, problem: Problem, needs: Needs, tell: Tell | None = None) -> None:
        self.problem, self.needs, self.tell = problem, needs, tell
        self.limits = limits_of(problem)
        self.view = empty_view(problem.values.size)
        self.seen = np.zeros(problem.insiders.number + 1, np.int64)
        self.out = np.zeros(problem.insiders.number + 1, np.int64)
        # Steps taken in all: it is compiled once there are many.
        self.steps = 0

    def undone(self, change: Change, need: int) -> set[int]:
        """Return those who narrow a need's cell down too far in spite of a change."""
        cells, factors = (part.astype(np.int32) for part in change)
        asked = (
            int(self.needs.cell[need]),
            float(self.needs.rise[need]),
            float(self.needs.fall[need]),
            float(self.needs.width[need]),
        )
        starts = self.problem.insiders.starts
        self.steps += len(cells) * (1 + int((starts[cells + 1] - starts[cells]).sum()))
        count = fitting(kernels.undone, self.steps, self.tell)(
            cells, factors, len(cells), asked, self.limits, self.problem.whole, self.view,
            self.seen, self.out,
        )  # fmt: skip
        return set(self.out[:count].tolist())
