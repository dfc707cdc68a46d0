"""The chances of a cellwise method: Pr(released j | true i), the one thing risk measures read.

It stands beside the tables, not beside the methods, because the risk measures need it and come
before the methods in the order of the house.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError

Counts = NDArray[np.integer[Any]]
"""Counts as they come: any integer type, any shape."""


@runtime_checkable
class Chances(Protocol):
    """Pr(released j | true i): a `Transition`, or a closed form where rows grow with the count."""

    def row(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the possible released values of a true count, increasing, with probabilities."""
        ...

    def matrix(self, max_count: int) -> NDArray[np.float64]:
        """Return P with a row for each true count 0…max_count and a column for each released."""
        ...

    def flows(
        self, values: NDArray[np.int64], number: NDArray[Any], released: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return, for each released value j, μ_j = Σ n_i·P[i, j] and Σ i·n_i·P[i, j].

        `values` and `number` are the true counts i and their n_i; `released` is increasing.
        """
        ...


@dataclass(frozen=True, eq=False)
class Transition:
    """Pr(released j | true i) for every count i, as changes j − i with their probabilities.

    Row i of `changes` and `probabilities` (one width, padded with change 0 at probability 0)
    describes count i. Counts at or beyond the last row reuse the last `period` rows in turn, so
    that rounding (period = base), look-up tables (period 1) and residue-class matrices (period 5)
    all have small descriptions whatever the largest count. Changes are in increasing order, and
    no released value is negative.
    """

    changes: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    period: int = 1

    def __post_init__(self) -> None:
        if self.changes.ndim != 2 or self.changes.shape != self.probabilities.shape:
            raise ParameterError("changes and probabilities must be two arrays of one shape.")
        if not 1 <= self.period <= len(self.changes):
            raise ParameterError(
                f"period must be between 1 and the number of rows, {len(self.changes)}. "
                f"Got {self.period}."
            )
        if (self.probabilities < 0).any() or not np.allclose(
            self.probabilities.sum(axis=1), 1, rtol=0, atol=1e-9
        ):
            raise ParameterError("every row of probabilities must be non-negative and sum to 1.")
        released = np.arange(len(self.changes))[:, None] + self.changes
        if (released[self.probabilities > 0] < 0).any():
            raise ParameterError("no released value may be negative.")
        self.changes.setflags(write=False)
        self.probabilities.setflags(write=False)

    @classmethod
    def identity(cls) -> Transition:
        """Return the transition that changes nothing."""
        return cls(np.zeros((1, 1), np.int64), np.ones((1, 1)))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, period: int = 1) -> Transition:
        """Return the transition whose row i has the probabilities of released 0, 1, 2, …"""
        try:
            dense = np.array(matrix, np.float64, ndmin=2)
        except (TypeError, ValueError):
            raise ParameterError("a matrix must have rows of numbers, all of one length.") from None
        rows = [np.flatnonzero(row) for row in dense]
        width = max(1, max(len(row) for row in rows))
        changes = np.zeros((len(dense), width), np.int64)
        probabilities = np.zeros((len(dense), width))
        for i, values in enumerate(rows):
            changes[i, : len(values)] = values - i
            probabilities[i, : len(values)] = dense[i, values]
        return cls(changes, probabilities, period)

    def moving_zeros(self, share: float) -> Transition:
        """Return the chances where a share of the zeros is released as a one would be.

        They take a figure above zero as a count of 1 takes one; every other count is as before.

        >>> moved = Transition.from_matrix([[1, 0], [0.5, 0.5]]).moving_zeros(0.1)
        >>> moved.matrix(1).tolist()
        [[0.9, 0.1], [0.5, 0.5]]
        """
        values, chances = self.row(1)
        above = values > 0
        row = np.zeros(1 + int(values[-1]))
        row[values[above]] = share * chances[above] / chances[above].sum()
        row[0] = 1 - share
        shown = np.flatnonzero(row)
        width = max(self.changes.shape[1], len(shown))
        pad = ((0, self.period), (0, width - self.changes.shape[1]))
        changes, probabilities = np.pad(self.changes, pad), np.pad(self.probabilities, pad)
        # The rows for large counts once more: the first of them may be that of zero.
        changes[-self.period :] = changes[-2 * self.period : -self.period]
        probabilities[-self.period :] = probabilities[-2 * self.period : -self.period]
        changes[0], probabilities[0] = 0, 0
        changes[0, : len(shown)], probabilities[0, : len(shown)] = shown, row[shown]
        return Transition(changes, probabilities, self.period)

    @cached_property
    def bias(self) -> NDArray[np.float64]:
        """The mean change of each described count."""
        return np.asarray((self.probabilities * self.changes).sum(axis=1))

    @property
    def variance(self) -> NDArray[np.float64]:
        """The variance of the change of each described count."""
        return np.asarray((self.probabilities * self.changes**2).sum(axis=1) - self.bias**2)

    def index(self, counts: ArrayLike) -> NDArray[np.intp]:
        """Return the row that describes each count."""
        true = np.asarray(counts)
        if true.dtype.kind not in "iu" or (true.dtype.kind == "i" and (true < 0).any()):
            raise ParameterError("counts must be whole numbers of 0 or more.")
        rows, period = len(self.changes), self.period
        first = rows - period
        return np.where(true < rows, true, first + (true - first) % period).astype(np.intp)

    def row(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the possible released values of a true count, increasing, with probabilities."""
        _check_count("count", count)
        i = int(self.index(np.int64(count)))
        possible = self.probabilities[i] > 0
        return count + self.changes[i, possible], self.probabilities[i, possible]

    def matrix(self, max_count: int) -> NDArray[np.float64]:
        """Return P with a row for each true count 0…max_count and a column for each released."""
        _check_count("max_count", max_count)
        rows = [self.row(count) for count in range(max_count + 1)]
        dense = np.zeros((max_count + 1, 1 + max(int(values[-1]) for values, _ in rows)))
        for i, (values, probabilities) in enumerate(rows):
            dense[i, values] = probabilities
        return dense

    def flows(
        self, values: NDArray[np.int64], number: NDArray[Any], released: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return, for each released value j, μ_j = Σ n_i·P[i, j] and Σ i·n_i·P[i, j]."""
        rows = self.index(values)
        targets = values[:, None] + self.changes[rows]
        chances = number[:, None] * self.probabilities[rows]
        place = np.searchsorted(released, targets)
        place[place == len(released)] = 0
        hits = (released[place] == targets) & (chances > 0)
        size = len(released)
        mu = np.bincount(place[hits], chances[hits], size)
        sums = np.bincount(place[hits], (values[:, None] * chances)[hits], size)
        return mu.astype(np.float64), sums.astype(np.float64)

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """The distribution function of each row; its last possible value is exactly 1."""
        sums = np.cumsum(self.probabilities, axis=1)
        sums[np.cumsum(self.probabilities[:, ::-1], axis=1)[:, ::-1] - self.probabilities <= 0] = 1
        return sums

    def draw(self, counts: Counts, uniforms: NDArray[np.float64]) -> Counts:
        """Return the released value of each count at its uniform number in [0, 1).

        Inverse distribution function: the smallest change whose cumulative probability exceeds
        the uniform. Shape and type are those of the counts.
        """
        rows = self.index(counts)
        cumulative = self.cumulative
        chosen = np.zeros(np.shape(counts), np.intp)
        for column in range(cumulative.shape[1] - 1):
            chosen += uniforms >= cumulative[rows, column]
        return (counts + self.changes[rows, chosen]).astype(counts.dtype)


def _check_count(name: str, value: object) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 0:  # type: ignore[operator]
        raise ParameterError(f"{name} must be a whole number of 0 or more. Got {value!r}.")


def checked_transition(given: object) -> Transition:
    """Return a transition; a method in its place is told how to give one."""
    if not isinstance(given, Transition):
        hint = ": write method.transition()" if hasattr(given, "transition") else ""
        raise ParameterError(f"transition must be a Transition. Got {type(given).__name__}{hint}.")
    return given


def checked_chances(given: object) -> Chances:
    """Return chances: a transition, or a closed form."""
    # A protocol looks at every name: it is asked only about what is no transition.
    if isinstance(given, Transition) or not isinstance(given, Chances):
        return checked_transition(given)
    return given
