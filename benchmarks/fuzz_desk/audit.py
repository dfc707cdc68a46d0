"""Audit: intervals are those of integer programmes, one for each end of each cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from shared import Array, extreme, incidence

from discreet.risk.cell import audit
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy

PARENTS = [
    ((3, 3, 3, -1), (4, 4, 4, 4, -1)),
    ((2, 2, -1), (2, 2, -1), (3, 3, 3, -1)),
    ((4, 4, 5, 5, 6, 6, -1), (3, 3, 3, -1)),
    ((3, 3, 3, -1), (3, 3, 3, -1), (2, 2, -1)),
]


@dataclass(frozen=True, eq=False)
class Case:
    """What is known of each cell of a table before any sum."""

    parents: tuple[tuple[int, ...], ...]
    low: Array
    high: Array

    def __str__(self) -> str:
        return f"{self.parents}\n{self.low.tolist()}\n{self.high.tolist()}"


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield tables with cells withheld, rounded or known to be at least something."""
    while True:
        parents = PARENTS[rng.integers(len(PARENTS))]
        matrix, inner = incidence(parents)
        values = matrix @ rng.poisson(rng.gamma(0.7, 6, len(inner)))
        kind = rng.integers(3)
        if kind == 0:
            withheld = rng.random(values.size) < rng.choice([0.2, 0.5, 0.8])
            low, high = np.where(withheld, 0, values), np.where(withheld, np.inf, values)
        elif kind == 1:
            base = int(rng.choice([3, 5]))
            near = base * np.floor(values / base + rng.random(values.size))
            low, high = np.maximum(near - base + 1, 0), near + base - 1
        else:
            withheld = rng.random(values.size) < 0.5
            floor = np.floor(values * rng.random(values.size))
            low, high = np.where(withheld, floor, values), np.where(withheld, np.inf, values)
        yield Case(parents, low.astype(float), high.astype(float))


def check(case: Case) -> str | None:
    """Return an end that is not that of the integer programme."""
    matrix, _ = incidence(case.parents)
    system = TableSystem.table([Hierarchy(up) for up in case.parents])
    found = audit(system, case.low, case.high)
    if found.proof.status == "infeasible":
        return "infeasible, but the true table fits"
    ends = (found.low.reshape(-1), found.high.reshape(-1))
    final = found.attained.reshape(2, -1)
    for cell in range(len(case.low)):
        for side, sign in ((0, 1), (1, -1)):
            true = extreme(matrix, case.low, case.high, cell, sign, whole=True)
            said = ends[side][cell]
            if sign * true < sign * said - 1e-6:
                return f"cell {cell} can be {true}, beyond the end {said}"
            if final[side][cell] and said != true:
                return f"the end {said} of cell {cell} is called final, and it is {true}"
    return None
