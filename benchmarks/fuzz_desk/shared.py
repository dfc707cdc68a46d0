"""What the twins share: cells as sums of inner cells, and plain programmes over them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, linprog, milp

Array = NDArray[np.float64]


def incidence(parents: Sequence[Sequence[int]]) -> tuple[Array, list[tuple[int, ...]]]:
    """Return the 0/1 matrix of cells by inner cells, and the codes of the inner cells."""
    leaves = [[c for c in range(len(up)) if c not in up] for up in parents]
    inner = list(product(*leaves))

    def inside(code: int, leaf: int, up: Sequence[int]) -> bool:
        while leaf >= 0:
            if leaf == code:
                return True
            leaf = up[leaf]
        return False

    rows = [
        [
            all(inside(c, i, up) for c, i, up in zip(cell, leaf, parents, strict=True))
            for leaf in inner
        ]
        for cell in product(*(range(len(up)) for up in parents))
    ]
    return np.array(rows, float), inner


def extreme(matrix: Array, low: Array, high: Array, cell: int, sign: int, whole: bool) -> float:
    """Return the least (sign 1) or greatest (−1) value of a cell that its bounds allow.

    `matrix` has a row for each cell, a column for each inner cell, which is never below 0.
    """
    if whole:
        found = milp(
            sign * matrix[cell], constraints=LinearConstraint(matrix, low, high),
            integrality=np.ones(matrix.shape[1]), options={"mip_rel_gap": 0.0},
        )  # fmt: skip
    else:
        exact = low == high
        above, below = ~exact & np.isfinite(high), ~exact & (low > 0)
        found = linprog(
            sign * matrix[cell], A_eq=matrix[exact], b_eq=low[exact],
            A_ub=np.vstack([matrix[above], -matrix[below]]),
            b_ub=np.concatenate([high[above], -low[below]]), bounds=(0, None),
        )  # fmt: skip
    if found.status == 0:
        # An end in integers is one: the programme's floats may be off by their last digit.
        return float(sign * (round(found.fun) if whole else found.fun))
    if found.status == 2:
        raise AssertionError("the true table does not fit")
    return float(-sign * np.inf)
