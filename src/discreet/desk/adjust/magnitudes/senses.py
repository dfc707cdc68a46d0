"""Which way each sensitive cell goes: a sorted alternation, improved by a search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import announced, fitting
from discreet.desk.adjust.magnitudes import kernels
from discreet.desk.adjust.magnitudes.problem import Problem
from discreet.progress import Tell

# Trials for each sensitive cell, and the heat in units of what a median one costs.
TRIALS, HOT, COLD = 4_000, 3.0, 0.01
# No more trials than this: some 20 seconds.
MOST_TRIALS = 40_000_000
# What a unit short of the protection costs, in units of the largest weight of a cell.
HEAVY = 20.0
# How often equations are gone through whose senses contradict one another.
AGREE = 200


def alternated(problem: Problem) -> NDArray[np.bool_]:
    """Return for each sensitive variable whether it goes up: the largest up, the next down, ….

    Notes
    -----
    Sorted by the protection, changes of like size cancel in the totals [Dandekar]. Sums of other
    sensitive cells go where their parts take them, if that is anywhere.
    """
    movers = problem.movers
    order = np.argsort(-problem.upper[movers], kind="stable")
    up = np.empty(len(movers), bool)
    up[order] = np.arange(len(movers)) % 2 == 0
    return up


def improved(
    problem: Problem, up: NDArray[np.bool_], seed: int = 0, tell: Tell | None = None
) -> NDArray[np.bool_]:
    """Return senses that cost less when nothing but the sensitive inner cells moves.

    The seed decides among equals; the work is counted in trials, not in seconds.
    """
    movers = problem.movers
    sizes = np.diff(problem.members.indptr)[movers]
    alone = np.flatnonzero(sizes == 1)
    if not len(alone):
        return up
    inner = movers[alone]
    columns = problem.members[inner].indices
    touched = problem.members.tocsc()[:, columns]
    ups, downs = problem.upper[inner], problem.lower[inner]
    senses = up[alone].copy()
    change = np.asarray(touched.astype(np.float64) @ np.where(senses, ups, -downs))
    unit = float(np.median(problem.weights[inner] * (ups + downs))) or 1.0
    heavy = HEAVY * float(problem.weights.max(initial=0.0))
    announced(kernels.anneal_senses, tell)(
        touched.indptr.astype(np.int32), touched.indices.astype(np.int32), senses, ups, downs,
        change, problem.weights, problem.lower, problem.upper, problem.sensitive, heavy,
        HOT * unit, COLD * unit, min(TRIALS * len(inner), MOST_TRIALS),
        np.array([seed + 1], np.uint64),
    )  # fmt: skip
    found = up.copy()
    found[alone] = senses
    change = np.asarray(touched.astype(np.float64) @ np.where(senses, ups, -downs))
    sums = np.flatnonzero(sizes != 1)
    led = np.abs(change[movers[sums]]) > 0
    found[sums[led]] = change[movers[sums[led]]] > 0
    return found


def agreed(problem: Problem, up: NDArray[np.bool_], seed: int = 0) -> NDArray[np.bool_]:
    """Return senses that no equation alone rules out, as far as they are found.

    Where two parts go up and nothing else is in their sum, the sum cannot go down: such a row of
    sensitive cells would leave one of them short whatever the others do.
    """
    rows, columns = problem.equations.tocsr(), problem.equations.tocsc()
    movers = problem.movers
    least, most = (np.stack([side, side]) for side in (problem.least, problem.most))
    # 0: down, 1: up. Without an end is farther than any sum needs.
    most[0, movers], least[1, movers] = -problem.lower[movers], problem.upper[movers]
    far = 1e3 * (1.0 + float(np.abs(problem.values).sum()))
    least, most = np.clip(least, -far, far), np.clip(most, -far, far)
    senses = np.zeros(len(problem.values), bool)
    senses[movers] = up
    fitting(kernels.agree, AGREE * problem.equations.nnz)(
        rows.indptr.astype(np.int32), rows.indices.astype(np.int32),
        rows.data.astype(np.float64), columns.indptr.astype(np.int32),
        columns.indices.astype(np.int32), senses, least, most, problem.sensitive, AGREE,
        np.array([seed + 1], np.uint64),
    )  # fmt: skip
    return np.asarray(senses[movers])
