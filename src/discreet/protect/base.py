"""What every protection method is: parameters, an `apply`, and a description of its chances.

A cellwise method changes each cell by itself, from one uniform number. Its whole behaviour is then
its transition, Pr(released j | true i), which the risk measures read; a method is never recognised
by its name. A table-wise method draws a whole table. Either says in its `Effect` what it does to a
count, as far as that is known; what is not known is neither computed nor told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import whole
from discreet.errors import ParameterError
from discreet.table.transition import Chances, Counts, Transition

__all__ = [
    "CellwiseMethod",
    "Chances",
    "Counts",
    "Effect",
    "Multiplier",
    "Promise",
    "TablewiseMethod",
    "Transition",
    "bias",
    "whole",
]


@dataclass(frozen=True)
class Promise:
    """What a method says it keeps of a table with a given number of dimensions.

    `margins` are the totals under control, each as the axes that it keeps: () is the total of the
    table, (0,) the totals of the rows. Each is released less than `within` away from the truth: 1
    is exactly. Without margins the totals are kept in expectation where the method is unbiased,
    and not at all where it is not.
    """

    unbiased: bool
    margins: tuple[tuple[int, ...], ...] = ()
    within: int = 1


SMALL = 6
"""The largest of the small counts, as the split form of the risk has them [Shlomo2015, §4.1]."""


@dataclass(frozen=True)
class Multiplier:
    """How much of a table's concentration is left by a method: the mean chance to stay as counted.

    One for figures from 1 to `limit`, one for larger ones; `source` says where they come from.

    Notes
    -----
    [Shlomo2015, §4.2] multiplies the entropy term by the average of the diagonal of P. Of a banded
    matrix that average depends on how many rows are written down. Here it is taken over the
    counts from 1 to the limit, and over the rows that serve all larger counts: neither depends on
    where a description happens to end. Zeros are left out, since they stay whatever the method.
    """

    small: float
    large: float
    source: str
    limit: int = SMALL

    @classmethod
    def mean_diagonal(cls, transition: Transition, source: str, limit: int = SMALL) -> Multiplier:
        """Return the mean chances to stay of a transition."""
        stays = np.where(transition.changes == 0, transition.probabilities, 0).sum(axis=1)
        small = stays[transition.index(np.arange(1, limit + 1))].mean()
        return cls(float(small), float(stays[-transition.period :].mean()), source, limit)

    def of(self, released: ArrayLike) -> float:
        """Return the multiplier of a released table: the mean over its figures that are not 0."""
        figures = np.asarray(released)
        populated = int((figures > 0).sum())
        if self.small == self.large or not populated:
            return self.large
        share = int(((figures > 0) & (figures <= self.limit)).sum()) / populated
        return share * self.small + (1 - share) * self.large


@dataclass(frozen=True, eq=False)
class Effect:
    """What a method does to one count, whatever the cells around it; None is what is not known.

    `chances` are Pr(released j | true i), `largest_change` is the most that |j − i| can be.
    `multiplier` is a figure of the risk after protection, or one that it does not exceed.
    `told` is a sentence without which the figures cannot be read.
    """

    chances: Chances | None = None
    largest_change: int | None = None
    multiplier: Multiplier | None = None
    told: str = ""

    @classmethod
    def of(cls, transition: Transition, multiplier: Multiplier) -> Effect:
        """Return the effect of a transition."""
        moved = transition.changes[transition.probabilities > 0]
        return cls(transition, int(np.abs(moved).max()), multiplier)

    @classmethod
    def none(cls) -> Effect:
        """Return the effect of changing nothing."""
        return cls.of(Transition.identity(), Multiplier(1.0, 1.0, "nothing is changed"))

    @property
    def transition(self) -> Transition | None:
        """The chances, where changes are bounded and the same for all large counts."""
        return self.chances if isinstance(self.chances, Transition) else None


@runtime_checkable
class CellwiseMethod(Protocol):
    """A method that changes each cell by itself; the same uniform gives the same change."""

    def apply(self, counts: Counts, uniforms: NDArray[np.float64]) -> Counts:
        """Return the released counts; uniforms in [0, 1), one a cell."""
        ...

    def transition(self) -> Chances:
        """Return Pr(released j | true i)."""
        ...

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept of a table with so many dimensions."""
        ...

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count, or raise where the method takes no such table."""
        ...


@runtime_checkable
class TablewiseMethod(Protocol):
    """A method that draws a whole table at once, from a generator seeded by the caller."""

    def apply(self, counts: Counts, rng: np.random.Generator) -> Counts:
        """Return the released counts."""
        ...

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept of a table with so many dimensions."""
        ...

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count, or raise where the method takes no such table."""
        ...


def bias(transition: Transition) -> NDArray[np.float64]:
    """Return the mean change of each count that the transition describes."""
    return np.asarray((transition.probabilities * transition.changes).sum(axis=1))


def checked_counts(counts: ArrayLike) -> Counts:
    """Return the counts as an array, or raise where they are no counts."""
    array = np.asarray(counts)
    if array.dtype.kind not in "iu":
        raise ParameterError(f"counts must be integers. Got the type {array.dtype}.")
    if array.dtype.kind == "i" and array.size and int(array.min()) < 0:
        raise ParameterError("counts must not be negative.")
    return array


def checked_uniforms(uniforms: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the uniforms as an array, or raise where they do not fit the counts."""
    array = np.asarray(uniforms, np.float64)
    if array.shape != shape:
        raise ParameterError(
            f"uniforms must have the shape of the counts, {shape}. Got {array.shape}."
        )
    if array.size and not (array.min() >= 0 and array.max() < 1):
        raise ParameterError("uniforms must be at least 0 and below 1.")
    return array


def check_room(counts: Counts, largest_change: int) -> None:
    """Raise where a released count might not fit in the type of the counts."""
    if counts.size and int(counts.max()) + largest_change > np.iinfo(counts.dtype).max:
        raise ParameterError(
            f"counts of type {counts.dtype} leave no room for changes of up to {largest_change}. "
            "Give them a wider type."
        )


def narrowed(values: NDArray[np.int64], dtype: np.dtype[Any]) -> Counts:
    """Return the values in the type of their counts, or raise where they do not fit."""
    if values.size and int(values.max()) > np.iinfo(dtype).max:
        raise ParameterError(
            f"a released count does not fit in the type {dtype}. Give the counts a wider type."
        )
    return values.astype(dtype)


def checked_structural(
    structural: NDArray[np.bool_] | None, counts: Counts, needed: bool
) -> NDArray[np.bool_] | None:
    """Return the mask of cells that must stay zero, or raise where it is missing or wrong."""
    if structural is None:
        if needed:
            raise ParameterError(
                "this method changes zeros: structural must say which zeros are impossible cells "
                "(an array of False where none is)."
            )
        return None
    mask = np.asarray(structural, bool)
    if mask.shape != counts.shape:
        raise ParameterError(
            f"structural must have the shape of the counts, {counts.shape}. Got {mask.shape}."
        )
    if counts[mask].any():
        raise ParameterError("a structural zero must have a count of zero.")
    return mask
