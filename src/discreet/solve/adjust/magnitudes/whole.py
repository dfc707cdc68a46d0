"""Whole numbers from an adjustment in decimals."""

from __future__ import annotations

import numpy as np

from discreet.solve.adjust.magnitudes.problem import Floats, Problem
from discreet.solve.search import Search

# Trials for each inner cell, and what a cell that must be met costs beside one that may be missed.
TRIALS = 200
MUST = 1e4
MOST = 2**50


def made_whole(problem: Problem, change: Floats, seed: int = 0) -> Floats | None:
    """Return changes in whole numbers near to these: protected as before, and additive.

    Values and protection of the problem must be whole. None where none was found: three-way
    tables need not have them.
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
    low, high = (
        (value + np.rint(end)).astype(np.int64)[inner] for end in (problem.least, problem.most)
    )
    least, most = target.copy(), target.copy()
    up = problem.sensitive & (change > 0)
    down = problem.sensitive & (change < 0)
    least[up], most[up] = (value + np.ceil(problem.upper).astype(np.int64))[up], MOST
    least[down], most[down] = 0, (value - np.ceil(problem.lower).astype(np.int64))[down]
    still = problem.least == problem.most
    # A change of a large cell by 1 matters less than one of a small cell.
    weights = np.where(problem.sensitive | still, MUST, problem.weights)
    search = Search(
        members, np.clip(target[inner], low, high), low, high, least, most,
        np.random.default_rng(seed), weights=weights,
    )  # fmt: skip
    search.run(0.0, 0.0, TRIALS)
    found = (search.y - value).astype(np.float64)
    kept = (found >= problem.least - 0.5).all() and (found <= problem.most + 0.5).all()
    if problem.short(found).any() or found[still].any() or not kept:
        return None
    return found
