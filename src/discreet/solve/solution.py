"""What a kernel returns: a status that the caller must read before the values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from numpy.typing import NDArray


class Status(StrEnum):
    """How a kernel ended.

    Feasible: every rule is kept, but the values are not proved to be the best; `gap` says how far
    they may be from it. Relaxed: no values that keep every rule exist, or none were found, and
    these are the nearest. Stopped: the best so far when time ran out or the user stopped it.
    """

    SOLVED = "solved"
    FEASIBLE = "feasible"
    RELAXED = "relaxed"
    STOPPED = "stopped"
    INFEASIBLE = "infeasible"
    NOT_CONVERGED = "not converged"


@dataclass(frozen=True, eq=False)
class Solution:
    """Values with the status of their making and the largest miss (`gap`) of what was asked."""

    status: Status
    values: NDArray[Any]
    gap: float

    @property
    def solved(self) -> bool:
        """Whether the values are what was asked for."""
        return self.status is Status.SOLVED
