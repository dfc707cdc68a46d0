"""What a redesign is made of: verdicts, designs, merges, and the answer that explains itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.risk.terms import x_log_x
from discreet.solve.solution import Status
from discreet.table.dimension import Dimension


@dataclass(frozen=True)
class Finding:
    """What a rule says of a table, and why.

    `score` is 0 for a table that passes and larger the further it is from passing; None where the
    rule cannot say. `cells` names some that fail, `failing` says how many do. `stays` promises
    that every finer table fails too: then nothing finer is tried.
    """

    passed: bool
    score: float | None = None
    reason: str = ""
    cells: tuple[str, ...] = ()
    failing: int = 0
    stays: bool = False

    def __bool__(self) -> bool:
        return self.passed


Criterion = Callable[[NDArray[Any], tuple[Dimension, ...]], "bool | Finding"]
"""Gets the figures and dimensions of a table; an axis that was merged away has one category."""


@runtime_checkable
class CriterionOnMembers(Protocol):
    """A rule that must know what was merged, such as one on the contributors to a cell."""

    def of_members(
        self,
        counts: NDArray[Any],
        dimensions: tuple[Dimension, ...],
        labels: tuple[NDArray[np.int64], ...],
    ) -> Finding:
        """Return the verdict; `labels[d][i]` is the category that code i of axis d is now in."""


@dataclass(frozen=True, eq=False)
class Design:
    """A coarser version of a table: its figures, its dimensions, what it cost and what it merged.

    `merged[variable]` maps each new code to the codes it stands for; `costs` has the cost of each
    dimension.
    """

    dimensions: tuple[Dimension, ...]
    counts: NDArray[Any]
    merged: Mapping[str, Mapping[str, tuple[str, ...]]]
    costs: Mapping[str, float]
    cost: float
    verdict: Finding

    @property
    def dropped(self) -> tuple[str, ...]:
        """The variables that were merged to their total."""
        return tuple(
            dimension.variable
            for dimension in self.dimensions
            if len(dimension) == 1 and dimension.variable in self.merged
        )

    @property
    def entropy(self) -> float:
        """The entropy of the whole table in nats."""
        return entropy(self.counts)

    def recode(self, variable: str, codes: tuple[str, ...]) -> dict[str, str]:
        """Return for each of the codes the one that stands for it now."""
        renamed = {
            old: new for new, members in self.merged.get(variable, {}).items() for old in members
        }
        return {code: renamed.get(code, code) for code in codes}


@dataclass(frozen=True)
class Step:
    """One step on the way: new codes with what became them, its cost, and what failed before."""

    variable: str
    merged: Mapping[str, tuple[str, ...]]
    cost: float
    before: Finding


@dataclass(frozen=True)
class Merge:
    """A merged category of the answer (or a level of them), and what fails if it alone is undone.

    Where it can be undone in several ways, the one that comes closest to passing.
    """

    variable: str
    merged: Mapping[str, tuple[str, ...]]
    undone: Finding


@dataclass(frozen=True)
class Forced:
    """A merge without which everything fails, however coarse the rest."""

    variable: str
    code: str
    verdict: Finding


@dataclass(frozen=True)
class Rejected:
    """A cheaper design that was tried and failed."""

    cost: float
    merged: Mapping[str, Mapping[str, tuple[str, ...]]]
    verdict: Finding


@dataclass(frozen=True, eq=False)
class Redesign:
    """The least coarsening that passes, and why it is that one.

    Solved: every cheaper design was tried, or ruled out, and failed. Feasible: `design` passes
    and no single merge in it can be undone, but a cheaper one may exist; none costs less than
    `reach`. Stopped: the best so far. Infeasible: no design passes. Not converged: none was found
    that passes, and some were not tried.

    Up to `reach` every design was tried, so the runners-up up to there are the true next-best:
    designs that pass and are not merely coarser than a cheaper one.
    """

    status: Status
    design: Design | None
    before: Finding
    entropy: float
    steps: tuple[Step, ...]
    merges: tuple[Merge, ...]
    forced: tuple[Forced, ...]
    runners: tuple[Design, ...]
    rejected: tuple[Rejected, ...]
    reach: float
    tested: int


def entropy(counts: NDArray[Any]) -> float:
    """Return the entropy of a table, in nats."""
    values = np.asarray(counts, np.float64)
    total = float(values.sum())
    return float(np.log(total) - x_log_x(values).sum() / total)
