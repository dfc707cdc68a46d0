"""Whole numbers from an adjustment in decimals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.adjust.magnitudes.problem import NEAR, Problem
from discreet.solve.linear import LinearProgram
from discreet.solve.search import NO_LIMIT, Search
from discreet.types import Floats

# Trials for each inner cell, and what a cell that must be met costs beside one that may be missed.
TRIALS = 200
MUST = 1e4
# Where the search finds none an integer programme of so many inner cells and nodes may.
FEW, NODES = 2_000, 500


def made_whole(problem: Problem, change: Floats, seed: int = 0) -> Floats | None:
    """Return changes in whole numbers near to these: protected as before, and additive.

    Values and protection of the problem must be whole. What is short in `change` may be so
    afterwards. None where no such changes were found: three-way tables need not have them.
    """
    size = problem.members.shape[1]
    own = np.full(size, -1)
    alone = np.flatnonzero(np.diff(problem.members.indptr) == 1)
    own[problem.members[alone].indices] = alone
    there = np.flatnonzero(own >= 0)  # inner cells of value 0 are not among the variables
    members = problem.members.tocsc()[:, there].tocsr()
    inner = own[there]
    target = np.rint(problem.values + change).astype(np.int64)
    value = np.rint(problem.values).astype(np.int64)
    # A rounding error below a whole number is that number; anything else is cut off.
    lowest = value + np.ceil(problem.least - NEAR).astype(np.int64)
    highest = value + np.floor(np.minimum(problem.most + NEAR, NO_LIMIT)).astype(np.int64)
    low, high = lowest[inner], highest[inner]
    target = np.clip(target, lowest, highest)
    least, most = target.copy(), target.copy()
    short = problem.short(change)
    up = problem.sensitive & ~short & (change > 0)
    down = problem.sensitive & ~short & (change < 0)
    above = value + np.ceil(problem.upper - NEAR).astype(np.int64)
    below = value - np.ceil(problem.lower - NEAR).astype(np.int64)
    least[up], most[up] = above[up], highest[up]
    least[down], most[down] = lowest[down], below[down]
    still = problem.least == problem.most
    # A change of a large cell by 1 matters less than one of a small cell.
    weights = np.where(problem.sensitive | still, MUST, problem.weights)

    def kept(figures: NDArray[np.int64]) -> bool:
        far = ~problem.sensitive | short | (figures >= above) | (figures <= below)
        return bool(((figures >= lowest) & (figures <= highest) & far).all())

    # What is whole already stays: the search would move sensitive cells further, as it may.
    if kept(target) and (members @ target[inner] == target).all():
        return (target - value).astype(np.float64)
    search = Search(
        members, np.clip(target[inner], low, high), low, high, least, most,
        np.random.default_rng(seed), weights=weights,
    )  # fmt: skip
    search.run(0.0, 0.0, TRIALS)
    figures = search.y
    if not kept(figures) and len(inner) <= FEW:
        moving = up | down
        least, most = np.where(moving, least, lowest), np.where(moving, most, highest)
        exact = _by_programme(members, least, most, target, problem.weights)
        figures = figures if exact is None else exact
    return (figures - value).astype(np.float64) if kept(figures) else None


def _by_programme(
    members: Any,
    least: NDArray[np.int64],
    most: NDArray[np.int64],
    target: NDArray[np.int64],
    weights: Floats,
) -> NDArray[np.int64] | None:
    """Return whole cells from least to most, near to the target, if an integer programme has any.

    Columns are the inner cells, and what each cell is above and below its target.
    """
    cells, size = members.shape
    ones, none = sparse.identity(cells), sparse.csr_matrix((cells, cells))
    matrix = sparse.vstack(
        [sparse.hstack([members, none, none]), sparse.hstack([members, -ones, ones])]
    )
    programme = LinearProgram(
        matrix,
        np.concatenate([least, target]).astype(np.float64),
        np.concatenate([np.where(most < NO_LIMIT, most, np.inf), target]).astype(np.float64),
        np.zeros(size + 2 * cells),
        np.full(size + 2 * cells, np.inf),
        np.concatenate([np.zeros(size), weights, weights]),
        np.arange(size + 2 * cells) < size,
        nodes=NODES,
        relative=0.01,
    )
    found = programme.run()
    if not len(found.values):
        return None
    return np.asarray(members.astype(np.int64) @ np.rint(found.values[:size]).astype(np.int64))
