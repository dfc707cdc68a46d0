"""A prior over true counts, estimated from a released table and the method alone.

Rounding and its like do not identify how many true zeros, ones and twos there are: many priors
give the same released figures. What fills the gap is an assumption, that the number of cells falls
smoothly with the count; it cannot be checked from the released table and must be said.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.table.transition import Transition
from discreet.types import Flags, Floats, Integers

# Released values up to here are fitted one by one; larger ones are one class. Beyond it a change
# of a few matters little to any measure, and a locally flat prior says all that is needed.
LARGEST = 40
# Centre of x = log(i/6), and the ridge on the four parameters, in units of their squares: weak,
# so that a table of ten cells still has a fit and one of a hundred does not feel it.
CENTRE = 6.0
RIDGE = np.array([0.05, 0.5, 0.01, 0.01])
STEPS = 60


@dataclass(frozen=True, eq=False)
class SmoothPrior:
    """log π_i = −log i + β1·x + β2·x², x = log(i/6), for i = 1…; free atoms at 0 and above.

    `shares[k]` is the share of cells of true count k, its last entry that of all counts beyond;
    `flow[k, j]` is Pr(released j | true k), its last row and column for all beyond. `covariance`
    is that of the four parameters.
    """

    parameters: Floats
    covariance: Floats
    design: Floats
    offset: Floats
    flow: Floats

    @property
    def shares(self) -> Floats:
        """The estimated share of cells of each true count; the last for all beyond."""
        return np.asarray(shares_of(self.parameters[None], self.design, self.offset)[0])


def shares_of(parameters: Floats, design: Floats, offset: Floats) -> Floats:
    """Return the prior of each row of parameters."""
    logs = parameters @ design.T + offset
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def fit_prior(values: Integers, number: NDArray[np.integer], transition: Transition) -> SmoothPrior:
    """Return the prior that makes the released values and their numbers of cells most likely.

    Multinomial likelihood of the released values 0…40 and above, a weak ridge on the parameters,
    by Fisher scoring.
    """
    flow = dense_flow(transition)
    design, offset = _design(len(flow) - 1)
    numbers = np.bincount(np.minimum(values, LARGEST + 1), number, LARGEST + 2)
    seen: Floats = numbers.astype(np.float64, copy=False)
    if impossible(values, transition):
        raise ParameterError("the released table must be one that the transition can make.")
    parameters, total, ridge = np.zeros(4), seen.sum(), np.diag(RIDGE)
    shares, chance, value = _penalised(parameters, design, offset, flow, seen)
    information = ridge
    for _ in range(STEPS):
        slope = (shares[:, None] * (design - shares @ design)).T @ flow
        score = slope @ (seen / chance) - RIDGE * parameters
        information = (slope * (total / chance)) @ slope.T + ridge
        step = np.linalg.solve(information, score)
        size = min(1.0, 3 / max(float(np.abs(step).max()), 1e-12))
        while size > 1e-6:
            trial = parameters + size * step
            near, likely, better = _penalised(trial, design, offset, flow, seen)
            if better > value:
                break
            size /= 2
        else:
            break
        done = better - value < 1e-9 * (1 + abs(value))
        parameters, shares, chance, value = trial, near, likely, better
        if done:
            break
    return SmoothPrior(parameters, np.linalg.inv(information), design, offset, flow)


@lru_cache(maxsize=16)
def _design(last: int) -> tuple[Floats, Floats]:
    """Return by what the parameters are multiplied, and what is added, to give log π_i."""
    x = np.log(np.arange(1, last) / CENTRE)
    design = np.zeros((last + 1, 4))
    design[1:last, 0], design[1:last, 1] = x, x**2
    design[0, 2] = design[last, 3] = 1
    offset = np.zeros(last + 1)
    offset[1:last] = -np.log(np.arange(1, last))
    return design, offset


def _penalised(
    parameters: Floats, design: Floats, offset: Floats, flow: Floats, seen: Floats
) -> tuple[Floats, Floats, float]:
    """Return the prior of some parameters, the chances of released values, and how likely all is.

    The last is the logarithm of the likelihood, less the ridge.
    """
    shares = shares_of(parameters[None], design, offset)[0]
    chance = np.maximum(shares @ flow, 1e-300)
    fit = float((seen * np.log(chance)).sum())
    return shares, chance, fit - 0.5 * float((RIDGE * parameters**2).sum())


@lru_cache(maxsize=64)  # of a method, of which a server has a few
def change_chances(transition: Transition) -> tuple[Integers, Floats]:
    """Return the distinct changes of a method, and their probabilities in each of its rows."""
    deltas = np.unique(transition.changes[transition.probabilities > 0])
    rows = np.arange(len(transition.changes))[:, None]
    table = np.zeros((len(transition.changes), len(deltas)))
    place = np.minimum(np.searchsorted(deltas, transition.changes), len(deltas) - 1)
    # Padding has probability 0, so that wherever it is put it adds nothing.
    np.add.at(table, (np.broadcast_to(rows, place.shape), place), transition.probabilities)
    deltas.setflags(write=False)
    table.setflags(write=False)
    return deltas, table


def impossible(values: Integers, transition: Transition) -> bool:
    """Whether some released value is small and none that the transition can make."""
    return bool(_never(transition)[np.minimum(values, LARGEST + 1)].any())


@lru_cache(maxsize=64)
def _never(transition: Transition) -> Flags:
    """Return which small released values a method never makes."""
    return np.asarray(dense_flow(transition).sum(axis=0) == 0)


@lru_cache(maxsize=64)
def dense_flow(transition: Transition) -> Floats:
    """Return Pr(released j | true i) for small counts, the last row and column for all beyond.

    True counts go so far that everything beyond them is released above the largest value.
    """
    deltas, table = change_chances(transition)
    last = LARGEST + 1 + max(5, -int(deltas[0]))
    true = np.arange(last)
    released = np.clip(true[:, None] + deltas, 0, LARGEST + 1)
    flow = np.zeros((last + 1, LARGEST + 2))
    np.add.at(
        flow,
        (np.broadcast_to(true[:, None], released.shape), released),
        table[transition.index(true)],
    )
    flow[last, LARGEST + 1] = 1
    flow.setflags(write=False)
    return flow
