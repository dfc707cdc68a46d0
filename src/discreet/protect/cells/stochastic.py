"""Stochastic perturbation of counts by a transition matrix, drawn freely or exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InternalError, ParameterError
from discreet.protect.base import (
    Counts,
    Effect,
    Multiplier,
    Promise,
    Transition,
    bias,
    check_room,
    checked_counts,
    checked_structural,
    whole,
)
from discreet.protect.lookup import LookupTable
from discreet.solve import round_matrix

# Beyond it counts are rare each, and the matrix would leave nearly all of them where they are.
LARGEST_INVARIANT = 1000


@dataclass(frozen=True, eq=False)
class StochasticPerturbation:
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

    def apply(
        self,
        counts: Counts,
        source: NDArray[np.float64] | np.random.Generator,
        structural: NDArray[np.bool_] | None = None,
    ) -> Counts:
        """Return the released counts: from uniforms in free draws, a generator in exact ones."""
        if isinstance(source, np.random.Generator) is not self.exact:
            wanted = "a generator" if self.exact else "uniforms, one a cell"
            raise ParameterError(f"draws with exact={self.exact} take {wanted}.")
        if isinstance(source, np.random.Generator):
            return self._draw_exactly(counts, source, structural)
        return self._lookup.draw(counts, source, structural)

    def _draw_exactly(
        self,
        counts: Counts,
        rng: np.random.Generator,
        structural: NDArray[np.bool_] | None,
    ) -> Counts:
        true = checked_counts(counts)
        stuck = checked_structural(structural, true, self._lookup.moves_zeros)
        transition = self.transition()
        check_room(true, int(transition.changes.max()))
        kinds = transition.index(true).reshape(-1)
        movable = np.ones(true.size, bool) if stuck is None else ~stuck.reshape(-1)
        cells = np.flatnonzero(movable)[rng.permutation(int(movable.sum()))]
        cells = cells[np.argsort(kinds[cells], kind="stable")]
        numbers = np.bincount(kinds[cells], minlength=len(transition.changes))
        # Columns are released values, those of a residue class as in its described row.
        rows = np.arange(len(numbers))[:, None]
        columns = rows + transition.changes
        columns -= columns.min()
        expected = np.zeros((len(numbers), int(columns.max()) + 1))
        np.add.at(
            expected,
            (np.broadcast_to(rows, columns.shape), columns),
            numbers[:, None] * transition.probabilities,
        )
        moves = round_matrix(expected, rng)
        if not moves.solved or (moves.values.sum(axis=1) != numbers).any():
            raise InternalError("the expected moves could not be made integers.")
        shift = int((rows + transition.changes).min())
        offsets = np.arange(expected.shape[1]) + shift - rows
        released = true.reshape(-1).astype(np.int64)
        released[cells] += np.repeat(offsets.reshape(-1), moves.values.reshape(-1))
        return released.astype(true.dtype).reshape(true.shape)

    def transition(self) -> Transition:
        """Return Pr(released j | true i) of one cell, in free and in exact draws."""
        return self._lookup.transition()

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: totals in expectation where no row of the matrix has a bias."""
        return Promise(unbiased=bool(np.abs(bias(self.transition())).max() < 1e-9))

    @property
    def caution(self) -> str:
        """What a user must know of the matrix: how far it is biased, and whether it is printed."""
        means = bias(self.transition())
        worst = int(np.abs(means).argmax())
        if abs(means[worst]) < 1e-9:
            return ""
        printed = np.array_equal(np.asarray(self.matrix), published_matrix())
        return (
            f"the matrix {'as printed ' if printed else ''}is biased, a count of {worst} becomes "
            f"{worst + means[worst]:.4g} on average: invariant=yes keeps how many cells have each "
            "count"
        )

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: its transition, in free and in exact draws.

        Notes
        -----
        For the printed matrix the multipliers in print, 0.75 for counts up to 6 and 0.9 for larger
        ones [Shlomo2015, §5.2]; 0.75 is no mean of its rows, which is 0.77 for 1 to 6.
        """
        del dimensions
        transition = self.transition()
        if self.period == 5 and np.array_equal(np.asarray(self.matrix), published_matrix()):
            multiplier = Multiplier(0.75, 0.9, "in print for this matrix [Shlomo2015, §5.2]")
        else:
            source = "the mean chance to be left as counted, by the matrix"
            multiplier = Multiplier.mean_diagonal(transition, source)
        return Effect.of(transition, multiplier)

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
class InvariantPerturbation:
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

    cellwise: ClassVar[bool] = False
    caution: ClassVar[str] = "a count that no other cell is near stays as it is"
    perturbation: StochasticPerturbation

    @property
    def for_margins(self) -> StochasticPerturbation:
        """What protects totals beside the cells: few and far apart, they would stay true here."""
        return self.perturbation

    def apply(self, counts: Counts, rng: np.random.Generator) -> Counts:
        """Return the released counts, in the shape and type of the counts."""
        true = checked_counts(counts)
        if not true.any():
            return true.copy()
        largest = min(max(int(true.max()), 1), LARGEST_INVARIANT)
        frequencies = np.bincount(true[(true > 0) & (true <= largest)], minlength=largest + 1)
        method = self.perturbation.invariant(frequencies)
        source = rng if method.exact else rng.random(true.shape)
        return method.apply(true, source, structural=true == 0)

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: no cell and no total exactly."""
        return Promise(unbiased=False)

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: not known, for the matrix is another for every table."""
        del dimensions
        return Effect(multiplier=Multiplier(1.0, 1.0, "its chances are those of the very table"))


def published_matrix() -> NDArray[np.float64]:
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
