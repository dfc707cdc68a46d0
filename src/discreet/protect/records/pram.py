"""PRAM: categories of records changed at random, by a matrix that keeps their frequencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_list, whole
from discreet.errors import ParameterError
from discreet.protect import kernels
from discreet.protect.base import checked_uniforms
from discreet.types import Floats

_LARGEST = 2**26
"""The most chances, over all strata, that are held at once."""


@dataclass(frozen=True, eq=False)
class Pram:
    """Changes category i of a record to j with probability matrix[i, j], within strata.

    `invariant` (the default) replaces the matrix in each stratum by one that keeps the stratum's
    frequencies on average. A category that nobody in a stratum has is not created there: what is
    impossible within strata stays impossible. `staying` gives the share of records that keep
    their category instead of a matrix; `kept` says what share that is, in any case.

    Notes
    -----
    [Gouweleeuw1998]: R = P·Q, Q[j, i] = t_i·P[i, j]/Σ_k t_k·P[k, j], so that tR = t. P is first
    restricted to the categories that the stratum has, the rest of each row being given to staying.
    R keeps another share than P, since a record is drawn twice: P that keeps 0.95 keeps 0.905 of
    (40, 30, 20, 10) and 0.962 of (970, 20, 10). With `stay` given R is the identity mixed with a
    draw anew from the stratum's frequencies, R[i, j] = (1 − α)·[i = j] + α·t_j/N, also with
    tR = t; α = (1 − stay)/(1 − Σ(t/N)²) makes the share that stays what was asked for.

    >>> method = dc.protect.Pram([[0.9, 0.1], [0.1, 0.9]], invariant=False)
    >>> method.apply(np.array([0, 0, 1]), np.array([0.5, 0.95, 0.5])).tolist()
    [0, 1, 1]
    """

    matrix: ArrayLike
    invariant: bool = True
    stay: float | None = None

    def __post_init__(self) -> None:
        frozen = np.array(self.matrix, np.float64)
        if frozen.ndim != 2 or frozen.shape[0] != frozen.shape[1] or not frozen.size:
            raise ParameterError(
                f"matrix must have as many rows as columns. Got the shape {frozen.shape}."
            )
        if not (frozen >= 0).all() or np.abs(frozen.sum(axis=1) - 1).max() > 1e-9:
            raise ParameterError("each row of matrix must hold probabilities that sum to 1.")
        frozen.setflags(write=False)
        object.__setattr__(self, "matrix", frozen)

    @classmethod
    def staying(cls, categories: int, stay: float, invariant: bool = True) -> Pram:
        """Return PRAM by which so large a share of a stratum's records keeps its category.

        The invariant version changes to the other categories as they are frequent, so that rare
        ones change more often than common ones; the other changes to all alike, and all stay
        alike. The share is reached on average in every stratum where frequencies can be kept at
        it: not where nearly all have one category (with two categories, more than (1 + stay)/2 of
        the records). There as many change as can.
        """
        whole("categories", categories, 2, 65_535)
        if not 0 <= stay <= 1:
            raise ParameterError(f"stay must be between 0 and 1. Got {stay}.")
        matrix = np.full((categories, categories), (1 - stay) / (categories - 1))
        np.fill_diagonal(matrix, stay)
        return cls(matrix, invariant, stay)

    @property
    def categories(self) -> int:
        """The number of categories."""
        return len(np.asarray(self.matrix))

    def chances(self, frequencies: ArrayLike) -> Floats:
        """Return the matrix of each stratum, given its frequencies in a row."""
        t = np.atleast_2d(np.asarray(frequencies, np.float64))
        if t.shape[-1] != self.categories or (t < 0).any():
            raise ParameterError(f"frequencies must have {self.categories} numbers per stratum.")
        if t.size * self.categories > _LARGEST:
            raise ParameterError(
                f"{len(t):,} strata of {self.categories:,} categories are too many. Give fewer or "
                "coarser variables."
            )
        there = t > 0
        if self.stay is not None:
            return _staying(t, self.stay, self.invariant)
        chances = np.where(there[:, None, :], np.asarray(self.matrix)[None], 0.0)
        place = np.arange(self.categories)
        chances[:, place, place] += 1 - chances.sum(axis=2)
        if not self.invariant:
            return np.asarray(chances)
        joint = t[:, :, None] * chances
        released = joint.sum(axis=1)
        back = joint / np.where(released > 0, released, 1)[:, None, :]
        result = np.asarray(chances @ back.transpose(0, 2, 1))
        result[~there] = np.eye(self.categories)[np.nonzero(~there)[1]]
        return result

    def kept(self, frequencies: ArrayLike) -> Floats:
        """Return the share of each stratum's records that keep their category, on average.

        NaN where a stratum has no records.
        """
        t = np.atleast_2d(np.asarray(frequencies, np.float64))
        stays = np.diagonal(self.chances(t), axis1=1, axis2=2)
        total = t.sum(axis=1)
        return np.where(total > 0, (t * stays).sum(axis=1) / np.where(total > 0, total, 1), np.nan)

    def apply(
        self, codes: NDArray[np.integer], uniforms: ArrayLike, strata: ArrayLike | None = None
    ) -> NDArray[np.integer]:
        """Return the changed codes; uniforms in [0, 1), one for each record."""
        given = checked_list("codes", codes)
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.categories:
            raise ParameterError(f"codes must be from 0 to {self.categories - 1}.")
        draws = checked_uniforms(uniforms, given.shape)
        groups = np.zeros_like(given) if strata is None else strata
        groups = checked_list("strata", groups, len(given))
        _, groups = np.unique(groups, return_inverse=True)
        number = int(groups.max(initial=-1)) + 1
        if number * self.categories**2 > _LARGEST:
            self.chances(np.empty((number, self.categories)))  # says why not
        cells = groups * self.categories + given
        found = np.bincount(cells, minlength=number * self.categories)
        bounds = np.cumsum(self.chances(found.reshape(number, self.categories)), axis=2)
        # The bound of the last category that can be drawn is 1, whatever the sum's last digits.
        bounds[bounds >= bounds[:, :, -1:]] = 1.0
        changed = np.empty_like(given)
        kernels.draw_codes(given, groups, bounds, draws, changed)
        return changed


def _staying(t: Floats, stay: float, invariant: bool) -> Floats:
    """Return a matrix for each stratum by which the share `stay` of its records stays."""
    there, same = t > 0, np.eye(t.shape[1], dtype=bool)
    number = there.sum(axis=1)
    total = t.sum(axis=1)
    share = t / np.where(total > 0, total, 1)[:, None]
    if invariant:
        # More than 1/(1 − least share) would leave a rare category a negative chance to stay.
        least = np.where(there, share, 1).min(axis=1)
        alike = np.square(share).sum(axis=1)
        several = number > 1
        wanted = (1 - stay) / np.where(several, 1 - alike, 1)
        anew = np.where(several, np.minimum(wanted, 1 / np.where(several, 1 - least, 1)), 0)
        chances = anew[:, None, None] * share[:, None, :] * np.ones((1, t.shape[1], 1))
    else:
        others = (1 - stay) / np.maximum(number - 1, 1)
        chances = np.where(there[:, None, :] & ~same, others[:, None, None], 0.0)
        chances[number < 2] = 0
    chances[~there] = 0
    chances[:, same] += 1 - chances.sum(axis=2)
    return np.maximum(chances, 0)
