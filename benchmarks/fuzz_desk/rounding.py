"""Rounding: neighbouring multiples that add up; where none are found, a programme finds none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from shared import incidence

from discreet.solve import controlled_rounding, round_small_counts
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Case:
    """Counts to be rounded."""

    counts: NDArray[np.int64]
    base: int
    small: bool
    seed: int

    def __str__(self) -> str:
        return f"{self.counts.tolist()} base {self.base} small {self.small} seed {self.seed}"


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield tables of one to three dimensions."""
    while True:
        shape = tuple(rng.integers(2, 5, rng.integers(1, 4)).tolist())
        counts = rng.poisson(rng.gamma(0.7, 5, shape))
        yield Case(
            counts, int(rng.choice([2, 3, 5])), bool(rng.random() < 0.3), int(rng.integers(1 << 30))
        )


def check(case: Case) -> str | None:
    """Return what is wrong with a rounded table."""
    counts, base = case.counts, case.base
    rng = np.random.default_rng(case.seed)
    parents = tuple((*([size] * size), -1) for size in counts.shape)
    matrix, _ = incidence(parents)
    true = matrix @ counts.reshape(-1)
    if case.small:
        found = round_small_counts(TableSystem.of(counts.shape), counts, base, rng)
        inner = np.asarray(found.values).reshape(-1)
        if (inner < 0).any() or (inner[counts.reshape(-1) == 0] != 0).any():
            return "a count below 0, or a zero that is none"
        return None
    found = controlled_rounding(counts, base, rng, [Hierarchy(up) for up in parents])
    inner = np.asarray(found.values).reshape(-1)
    sums = matrix @ inner
    if (inner < 0).any() or (inner % base != 0).any():
        return "not a multiple of the base"
    away = np.abs(sums - true)
    if found.status is Status.SOLVED and ((away >= base) | ((true % base == 0) & (away > 0))).any():
        return "called solved, and a figure is not next to its count"
    if found.status is not Status.SOLVED and away.max() >= 2 * base:
        return "a figure is twice the base away"
    if found.status is Status.RELAXED and _exists(matrix, true, base):
        return "said that no table exists, and one does"
    return None


def _exists(matrix: NDArray[np.float64], true: NDArray[np.float64], base: int) -> bool:
    """Return whether a programme finds multiples next to all counts that add up."""
    low, high = np.floor(true / base), np.ceil(true / base)
    found = milp(
        np.zeros(matrix.shape[1]), constraints=LinearConstraint(matrix, low, high),
        integrality=np.ones(matrix.shape[1]), bounds=Bounds(0, np.inf),
    )  # fmt: skip
    return bool(found.status == 0)
