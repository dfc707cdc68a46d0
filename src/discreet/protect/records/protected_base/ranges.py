"""What readers are told of a figure of a base: a range that holds the true count in nine of ten.

Worked out from the base and from noisy figures, never from true ones. The noise is drawn for this
alone, independent of the base, so that Pr(true count | figure) is what best explains the noisy
figures found with it, by maximum likelihood. Noise that the base was fitted to would not do: donors
are real records, so that the base is closer to the truth than to it, by how much nobody knows.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.protect.lookup import LookupTable
from discreet.types import Floats

CLASSES = (*range(11), 20, 50, 100, 200, 500, 1_000, 5_000)
"""The largest figure of each class of figures that share a range; the last class is open."""

SINGLE = 11
"""The first classes are of one figure each."""

LEAST_CELLS = 50
"""Figures of a class from which a range of its own is worked out."""

WIDEST = 150
"""Distances beyond it count as it."""

LARGEST = 64
"""True counts of single figures are looked for below it."""

COVERED = 0.9
MOST_COVERED = 0.99

ERRORS = 2
"""Ranges hold so many standard errors more of their figures.

The narrowest range is that of these very figures with their noise: of few, it would hold too little
of the true counts.
"""

_ROUNDS = 60
_LARGE = 1_000_000


def ranges(distances: NDArray[np.int64], table: LookupTable | None) -> list[tuple[int, int]]:
    """Return for each class the lowest and the highest true count, less the figure.

    A range is never the figure alone, and never without it.
    `distances[k]` counts figures of class k by figure − noisy figure, from −WIDEST to WIDEST.
    """
    found = []
    for k in range(len(distances)):
        own, single = distances[k], k < SINGLE
        if k and own.sum() < LEAST_CELLS:
            own, single = _with_neighbours(distances, k), False
        steps, chances = _of_truth(k if single else None, own, table)
        low, high = _narrowest(steps, chances, _covered(int(own.sum())))
        found.append((min(low, -1 if k else 0), max(high, 1)))
    return found


def _with_neighbours(distances: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the distances of a class and of as many beside it as make enough; not of zeros."""
    wide = 0
    while True:
        wide += 1
        first, last = max(k - wide, 1), k + wide + 1
        own = distances[first:last].sum(axis=0)
        if own.sum() >= LEAST_CELLS or (first == 1 and last >= len(distances)):
            return np.asarray(own)


def _of_truth(
    figure: int | None, own: NDArray[np.int64], table: LookupTable | None
) -> tuple[NDArray[np.int64], Floats]:
    """Return differences true count − figure and their chances; of larger figures it is None."""
    steps = np.arange(-WIDEST, WIDEST + 1)
    shares = own / max(int(own.sum()), 1)
    if table is None:
        return steps, shares[::-1]
    if figure is None:
        values, chances = table.transition().row(_LARGE)
        moves = (values - _LARGE).tolist()
        # True − figure is seen as noisy − figure, which is larger by the noise.
        kernel = np.sum(
            [p * np.eye(len(steps), k=m) for m, p in zip(moves, chances, strict=True)], 0
        )
        return steps, _likeliest(kernel, shares[::-1])
    seen = shares[::-1][WIDEST - figure :][:LARGEST]  # by noisy figure, from 0 on
    kernel = table.transition().matrix(LARGEST - 1)[:, :LARGEST]
    return np.arange(LARGEST) - figure, _likeliest(kernel, seen)


def _likeliest(kernel: Floats, seen: Floats) -> Floats:
    """Return the chances of what is hidden that best explain what is seen; kernel[hidden, seen]."""
    hidden = np.full(len(kernel), 1 / len(kernel))
    for _ in range(_ROUNDS):
        expected = np.maximum(hidden @ kernel, 1e-300)
        hidden *= kernel @ (seen / expected)
    return np.asarray(hidden / max(hidden.sum(), 1e-300))


def _covered(figures: int) -> float:
    """Return which share of the chances the range of so many figures is to have."""
    error = sqrt(COVERED * (1 - COVERED) / max(figures, 1))
    return min(COVERED + ERRORS * error, MOST_COVERED)


def _narrowest(steps: NDArray[np.int64], chances: Floats, covered: float) -> tuple[int, int]:
    """Return the narrowest range of steps that has such a share of the chances."""
    below = np.cumsum(chances)
    best = (0, len(steps) - 1)
    for low in range(len(steps)):
        before = below[low - 1] if low else 0.0
        high = int(np.searchsorted(below, before + covered - 1e-9))
        if high < len(steps) and high - low < best[1] - best[0]:
            best = (low, high)
    return int(steps[best[0]]), int(steps[best[1]])
