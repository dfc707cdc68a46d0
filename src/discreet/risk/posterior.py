"""What an intruder who knows the method and the pattern of counts can claim of a released figure.

For the custodian: the prior is made of the true table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_counts
from discreet.errors import ParameterError
from discreet.table.transition import Transition, checked_transition
from discreet.types import Floats, Integers


@dataclass(frozen=True, eq=False)
class Posterior:
    """Pr(true = i | released = j) from a prior over true counts and the method's transition.

    `values` are the true counts of the prior and `prior` their shares, which sum to 1.
    """

    transition: Transition
    values: Integers
    prior: Floats

    def row(self, released: int) -> tuple[Integers, Floats]:
        """Return the true counts that a released value may be, increasing, with probabilities."""
        joint = self._joint(released)
        if not joint.sum() > 0:
            raise ParameterError(f"no true count of the prior is ever released as {released}.")
        return self.values[joint > 0], joint[joint > 0] / joint.sum()

    def true_share(self, *released: int) -> float:
        """Return the share of the released values that are true, NaN if they are never released.

        Notes
        -----
        Σ_j π_j·P[j, j] / Σ_j Σ_i π_i·P[i, j] over the values j given. Zeros: 0 is a value like
        any other.
        """
        joint = {j: self._joint(j) for j in released}
        total = sum(float(chances.sum()) for chances in joint.values())
        same = sum(float(chances[self.values == j].sum()) for j, chances in joint.items())
        return same / total if total > 0 else float("nan")

    @property
    def zeros_true(self) -> float:
        """The share of released zeros that are true zeros."""
        return self.true_share(0)

    @property
    def small_true(self) -> float:
        """The share of released ones and twos that are true."""
        return self.true_share(1, 2)

    @property
    def unchanged(self) -> float:
        """The expected share of cells that are released as they are, Σ π_i·P[i, i]."""
        stays = np.where(self._changes == 0, self._chances, 0).sum(axis=1)
        return float(self.prior @ stays)

    @property
    def correct_claims(self) -> float:
        """The expected share of cells that the best guess names right, Σ_j max_i π_i·P[i, j]."""
        released = (self.values[:, None] + self._changes).ravel()
        joint = (self.prior[:, None] * self._chances).ravel()
        order = np.argsort(released, kind="stable")
        starts = np.flatnonzero(np.diff(released[order], prepend=-1))
        return float(np.maximum.reduceat(joint[order], starts).sum())

    @property
    def _changes(self) -> Integers:
        return self.transition.changes[self.transition.index(self.values)]

    @property
    def _chances(self) -> Floats:
        return self.transition.probabilities[self.transition.index(self.values)]

    def _joint(self, released: int) -> Floats:
        hits = self.values[:, None] + self._changes == released
        return np.asarray(self.prior * np.where(hits, self._chances, 0).sum(axis=1))


def posterior(transition: Transition, F: ArrayLike) -> Posterior:
    """Return the intruder's posterior over true counts with the prior n_i/K of the true table.

    For the custodian; `public_quality` makes its prior from the released table instead.

    Notes
    -----
    Pr(true = i | released = j) = n_i·P[i, j] / Σ_k n_k·P[k, j], n_i the number of cells of true
    value i [Shlomo2015, §4.2 has the same expectation of contents]. Zeros: zero cells are part of
    the prior, so that a released zero has its posterior too.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> round(dc.risk.posterior(chances, [0, 0, 1, 2, 30]).zeros_true, 3)
    0.667
    """
    counts = checked_counts(F)
    values, number = np.unique(counts, return_counts=True)
    return Posterior(checked_transition(transition), values, number / counts.size)
