"""What a kernel returns: a status that the caller must read before the values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from numpy.typing import NDArray


class Status(StrEnum):
    """How a kernel ended."""

    SOLVED = "solved"
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
