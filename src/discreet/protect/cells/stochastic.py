"""Stochastic perturbation of counts by a transition matrix, drawn freely or exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import whole
from discreet.errors import InternalError, ParameterError
from discreet.protect.base import UNBIASED, Method, Multiplier
from discreet.protect.cells.cell_key import ByLookup
from discreet.protect.lookup import LookupTable
from discreet.solve import round_matrix
from discreet.types import Floats, Integers

# Beyond it counts are rare each, and the matrix would leave nearly all of them where they are.
LARGEST_INVARIANT = 1000


@dataclass(frozen=True, eq=False)
class StochasticPerturbation(ByLookup):
    """Changes each count i to j with probability matrix[i, j].

    Counts beyond the last row reuse the changes of the last `period` rows in turn. Free draws
    (`exact` False) act cell by cell from uniforms. Exact draws take a generator: the expected
    numbers of moves i → j are made integers by unbiased controlled rounding, and the cells that
    move are drawn without replacement, so that the numbers of released values are the expected
    ones to less than one.

    Notes
    -----
    [Shlomo2015, sec. 3.3]. In exact draws too the chances of a single cell are the matrix's.

    >>> method = dc.protect.StochasticPerturbation([[1, 0, 0], [0.1, 0.8, 0.1], [0, 0.1, 0.9]])
    >>> method.apply(np.array([0, 1, 2]), np.array([0.5, 0.05, 0.5])).tolist()
    [0, 0, 2]
    """

    matrix: ArrayLike
    exact: bool = False
    period: int = 1

    def __post_init__(self) -> None:
        if np.ndim(self.matrix) != 2:
            raise ParameterError(f"matrix must have two dimensions. Got {np.ndim(self.matrix)}.")
        whole("period", self.period, 1, len(np.asarray(self.matrix)))
        frozen = np.array(self.matrix, np.float64)
        frozen.setflags(write=False)
        object.__setattr__(self, "matrix", frozen)
        self._lookup  # noqa: B018 - built at once, so that a bad matrix is refused here

    @classmethod
    def published(cls, exact: bool = False) -> StochasticPerturbation:
        """Return the method with the matrix printed for the European census study.

        Notes
        -----
        [Shlomo2015, table 3], with 0.0167 read as 1/60 so that the rows sum to 1. Its oddities
        are kept: it is not invariant as printed, it never makes or removes a zero, and above 10
        the residue classes 3, 4 and 5 to base 5 lean downwards (class 5 only goes down).
        """
        return cls(published_matrix(), exact=exact, period=5)

    @property
    def cellwise(self) -> bool:
        """Whether each cell is drawn by itself, from a uniform."""
        return not self.exact

    @cached_property
    def _lookup(self) -> LookupTable:
        return LookupTable.from_matrix(self.matrix, self.period)

    def draw(self, counts: Integers, source: Any, /) -> Integers:
        """Return the released counts: from uniforms in free draws, a generator in exact ones."""
        return self._draw_exactly(counts, source) if self.exact else super().draw(counts, source)

    def _draw_exactly(self, counts: Integers, rng: np.random.Generator) -> Integers:
        transition = self.transition()
        kinds = transition.index(counts).reshape(-1)
        cells = rng.permutation(counts.size)
        cells = cells[np.argsort(kinds[cells], kind="stable")]
        numbers = np.bincount(kinds, minlength=len(transition.changes))
        # Columns are released values, those of a residue class as in its described row.
        rows = np.arange(len(numbers))[:, None]
        columns = rows + transition.changes
        lowest = int(columns.min())
        expected = np.zeros((len(numbers), int(columns.max()) - lowest + 1))
        np.add.at(expected, (rows, columns - lowest), numbers[:, None] * transition.probabilities)
        moves = round_matrix(expected, rng)
        if not moves.solved or (moves.values.sum(axis=1) != numbers).any():
            raise InternalError("the expected moves could not be made integers.")
        changes = np.arange(expected.shape[1]) + lowest - rows
        released = counts.flatten()
        released[cells] += np.repeat(changes.reshape(-1), moves.values.reshape(-1))
        return released.reshape(counts.shape)

    @property
    def _is_published(self) -> bool:
        return np.array_equal(np.asarray(self.matrix), published_matrix())

    @property
    def caution(self) -> str:
        """What a user must know of the matrix: how far it is biased, and whether it is printed."""
        means = self.transition().bias
        worst = int(np.abs(means).argmax())
        if abs(means[worst]) < UNBIASED:
            return ""
        return (
            f"the matrix {'as printed ' if self._is_published else ''}is biased, a count of "
            f"{worst} becomes {worst + means[worst]:.4g} on average: invariant=yes keeps how many "
            "cells have each count"
        )

    @property
    def multiplier(self) -> Multiplier:
        """The mean chance to stay, for small counts and for large ones.

        Notes
        -----
        For the printed matrix the multipliers in print, 0.75 for counts up to 6 and 0.9 for larger
        ones [Shlomo2015, §5.2]; 0.75 is no mean of its rows, which is 0.77 for 1 to 6.
        """
        if self.period == 5 and self._is_published:
            return Multiplier(0.75, 0.9, "in print for this matrix [Shlomo2015, §5.2]")
        source = "the mean chance to be left as counted, by the matrix"
        return Multiplier.mean_diagonal(self.transition(), source)

    def invariant(self, frequencies: ArrayLike) -> StochasticPerturbation:
        """Return the version that keeps the given numbers of cells with 0, 1, … L on average.

        Counts above L, and moves of this matrix to above L, stay where they are.

        Notes
        -----
        R = P·Q with Q[j, i] = t_i·P[i, j] / Σ_k t_k·P[k, j], the posterior of the true value:
        tR = t [Gouweleeuw1998].
        """
        t = np.asarray(frequencies, np.float64)
        if t.ndim != 1 or not 2 <= len(t) <= 1001 or (t < 0).any() or not np.isfinite(t).all():
            raise ParameterError("frequencies must be 2 to 1001 non-negative numbers.")
        wide = self.transition().matrix(len(t) - 1)
        square = np.zeros((len(t), len(t)))
        width = min(len(t), wide.shape[1])
        square[:, :width] = wide[:, :width]
        square[np.diag_indices(len(t))] += 1 - square.sum(axis=1)
        joint = t[:, None] * square
        released = joint.sum(axis=0)
        back = np.eye(len(t))
        seen = released > 0
        back[seen] = (joint[:, seen] / released[seen]).T
        result = np.zeros((len(t) + 1, len(t) + 1))
        result[:-1, :-1] = square @ back
        result[-1, -1] = 1
        result /= result.sum(axis=1, keepdims=True)
        return StochasticPerturbation(result, exact=self.exact)


@dataclass(frozen=True, eq=False)
class InvariantPerturbation(Method):
    """Changes counts by the version of a matrix that is invariant for the table's own frequencies.

    On average as many cells are released with each count as have it, so that the total is kept on
    average too. Each cell by itself is drawn towards the counts that are frequent. A count that no
    other cell is near cannot be kept and changed: it stays, and so do zeros and counts above 1,000.

    Notes
    -----
    `StochasticPerturbation.invariant` of the numbers of cells with 0, 1, … L, L the largest count
    up to 1,000 [Shlomo2015, sec. 3.3], [Gouweleeuw1998]. The matrix is another for every table,
    so that the method has no transition of its own and figures agree in no two tables.

    >>> plain = dc.protect.StochasticPerturbation([[1, 0, 0], [0, 0.8, 0.2], [0, 0.2, 0.8]])
    >>> method = dc.protect.InvariantPerturbation(plain)
    >>> found = method.apply(np.array([0, 1, 1, 2]), np.random.default_rng(1))
    >>> int(found[0]), bool(abs(found - [0, 1, 1, 2]).max() <= 1)
    (0, True)
    """

    cellwise = False
    caution = "a count that no other cell is near stays as it is"
    perturbation: StochasticPerturbation

    @property
    def for_margins(self) -> StochasticPerturbation:
        """What protects totals beside the cells: few and far apart, they would stay true here."""
        return self.perturbation

    def draw(self, counts: Integers, rng: np.random.Generator, /) -> Integers:
        """Return the released counts."""
        largest = min(int(counts.max()), LARGEST_INVARIANT)
        there = counts > 0
        frequencies = np.bincount(counts[there & (counts <= largest)], minlength=largest + 1)
        method = _invariant(self.perturbation, frequencies.tobytes())
        source = rng if method.exact else rng.random(counts.shape)[there]
        released = np.zeros_like(counts)
        released[there] = method.draw(counts[there], source)
        return released

    @property
    def multiplier(self) -> Multiplier:
        """Nothing is taken off: the matrix is another for every table."""
        return Multiplier(1.0, 1.0, "its chances are those of the very table")


@lru_cache(maxsize=8)
def _invariant(perturbation: StochasticPerturbation, frequencies: bytes) -> StochasticPerturbation:
    """Return the invariant version; many draws of one table need it once."""
    return perturbation.invariant(np.frombuffer(frequencies, np.int64))


def published_matrix() -> Floats:
    """Return the printed matrix: rows and columns 0 to 10, then the residues 1 to 5 as 11 to 15.

    Notes
    -----
    [Shlomo2015, table 3].
    """
    matrix = np.zeros((16, 16))
    matrix[0, 0] = 1
    for i in (1, 2):
        matrix[i, 1:6] = 1 / 8
        matrix[i, i] = 1 / 2
    for i in range(3, 16):
        if i <= 4:
            reach = slice(1, 8)
        elif i <= 11:
            reach = slice(i - 3, i + 4)
        else:
            reach = slice(9, 16)
        matrix[i, reach] = 1 / 60
        matrix[i, i] = 9 / 10
    return matrix
