"""Redesign: no cheaper design passes, by trying all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from discreet.desk.redesign.method import least_coarsening
from discreet.desk.redesign.rules import criterion
from discreet.solve.solution import Status
from discreet.table.dimension import Dimension


@dataclass(frozen=True, eq=False)
class Case:
    """Counts whose dimensions may be merged by runs of neighbours, and what must hold of them."""

    counts: NDArray[np.int64]
    smallest: int

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """One dimension an axis."""
        return tuple(
            Dimension(name, name, name, codes, codes)
            for name, codes in zip(
                "abc", (tuple(f"c{i}" for i in range(n)) for n in self.counts.shape), strict=False
            )
        )

    def __str__(self) -> str:
        return f"{self.counts.tolist()} smallest={self.smallest}"


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield small tables of two and three dimensions with somebody in them."""
    while True:
        shape = tuple(rng.integers(2, 5, rng.integers(2, 4)).tolist())
        counts = rng.poisson(rng.gamma(1.0, 4, shape))
        if counts.any():
            yield Case(counts, int(rng.integers(2, 5)))


def check(case: Case) -> str | None:
    """Return what is wrong with a design."""
    names = [dimension.variable for dimension in case.dimensions]
    rule = criterion(f"smallest={case.smallest}")
    found = least_coarsening(case, {}, rule, ordered=names)
    least = min(_costs(case, rule), default=np.inf)
    if found.design is None:
        return None if least == np.inf else f"none found, and one costs {least}"
    if not rule(found.design.counts, found.design.dimensions).passed:
        return "the design does not pass"
    if found.status is Status.SOLVED and abs(found.design.cost - least) > 1e-12:
        return f"the cost is {found.design.cost}, and one costs {least}"
    return None


def _costs(case: Case, rule: object) -> Iterator[float]:
    """Yield the cost of every design that passes: Σ log(categories before / after).

    The cost of a dimension is in billionths, so that sums of equal costs are equal.
    """
    runs = [
        [cut for size in range(n) for cut in combinations(range(1, n), size)]
        for n in case.counts.shape
    ]
    for cuts in product(*runs):
        counts, cost = case.counts, 0.0
        for axis, cut in enumerate(cuts):
            counts = np.add.reduceat(counts, [0, *cut], axis=axis)
            cost += round(float(np.log(case.counts.shape[axis] / (len(cut) + 1))), 9)
        # The rule, written again: no count is above 0 and below the smallest.
        if not ((counts > 0) & (counts < case.smallest)).any():
            yield cost
