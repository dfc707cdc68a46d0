"""Risk after protection by the method's transition: the measure that a custodian's gate reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError, unknown
from discreet.risk.after import zeros_after
from discreet.risk.before import (
    LARGEST_SMALL,
    SPLIT_WEIGHTS,
    WEIGHTS,
    Risk,
    SplitRisk,
    before,
    before_split,
    split_masks,
)
from discreet.risk.terms import concentration, smallness, weighted, x_log_x
from discreet.table.checks import checked_pair, checked_total, checked_weights
from discreet.table.transition import Chances, Transition, checked_chances, checked_transition

Contents = Literal["expected", "observed"]
CONTENTS = ("expected", "observed")
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RiskAfter(Risk):
    """Risk after protection, never above the risk before: `capped` says where that bound holds."""

    uncapped: float = float("nan")
    before: float = float("nan")

    @property
    def capped(self) -> bool:
        """Whether the measure exceeded the risk before and was cut down to it."""
        return self.uncapped > self.before


@dataclass(frozen=True)
class SplitRiskAfter(SplitRisk):
    """The split form after protection, never above the split form before."""

    uncapped: float = float("nan")
    before: float = float("nan")

    @property
    def capped(self) -> bool:
        """Whether the measure exceeded the risk before and was cut down to it."""
        return self.uncapped > self.before


def after_transition(
    F: ArrayLike,
    G: ArrayLike,
    transition: Chances,
    weights: Sequence[float] = WEIGHTS,
    multiplier: float | None = None,
    contents: Contents = "expected",
) -> RiskAfter:
    """Return the risk of the released table G by what its figures are expected to contain.

    For the custodian. The identity method leaves the risk unchanged.

    Notes
    -----
    [Shlomo2015, §4.2]. First term (|D|/K)^(|D∪E|/|D∩E|). Second: every released cell of value j
    is replaced by its expected content (Σ_i i·n_i·P[i, j])/μ_j, n_i the number of true cells of
    value i; the entropy term of these contents is multiplied by `multiplier`, the mean diagonal
    of P unless given (`mean_diagonal`; 0.9, 0.75 and 0.33 are in print). Third term as before.
    μ_j = Σ_i n_i·P[i, j] with `contents="expected"`; with `"observed"` it is the number of
    released cells of value j, the printed form, which can exceed the risk before on tiny tables.
    Reported is the smaller of that and the risk before; `.capped` tells which.
    Zeros: released zeros are cells with a content like any other. All true cells zero: refused.
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3)
    checked_total(true)
    checked_chances(transition)
    if multiplier is None:
        multiplier = mean_diagonal(checked_transition(transition))
    psi = checked_multiplier(multiplier)
    values, number = np.unique(released, return_counts=True)
    content = expected_contents(true, transition, values, number, contents)
    entropy = psi * contents_term(content, number)
    return _reported(true, released, entropy, w)


def after_transition_split(
    F: ArrayLike,
    G: ArrayLike,
    transition: Transition,
    multipliers: tuple[float, float] | None = None,
    weights: Sequence[float] = SPLIT_WEIGHTS,
    largest_small: int = LARGEST_SMALL,
    contents: Contents = "expected",
) -> SplitRiskAfter:
    """Return the split form of the risk after protection: small and large released counts apart.

    For the custodian. The identity method leaves the split risk unchanged.

    Notes
    -----
    [Shlomo2015, §4.1, §4.2] with a multiplier for each part (0.75 and 0.9 are in print for the
    stochastic matrix); by default the mean diagonal twice. A released cell is in the small part
    if its released count is at most 6. Zeros: released zeros belong to the small part with their
    expected content; a part whose contents are all 0 has the term 0.
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 4)
    total = checked_total(true)
    default = mean_diagonal(checked_transition(transition))
    psi = [checked_multiplier(m) for m in multipliers or (default, default)]
    values, number = np.unique(released, return_counts=True)
    content = expected_contents(true, transition, values, number, contents)
    parts = []
    for m, part in zip(psi, split_masks(values, largest_small), strict=True):
        held = bool((content[part] > 0).any())
        parts.append(m * contents_term(content[part], number[part]) if held else 0.0)
    zeros, size = zeros_after(true, released), float(smallness(total))
    uncapped = float(weighted(w, zeros, *parts, size))
    start = before_split(true, w, largest_small).value
    value = min(uncapped, start) if uncapped == uncapped else uncapped
    return SplitRiskAfter(value, zeros, parts[0], parts[1], size, w, uncapped, start)


def after_swapping(
    F: ArrayLike,
    G: ArrayLike,
    rate: float,
    weights: Sequence[float] = WEIGHTS,
    multiplier: float | None = None,
    contents: Contents = "expected",
) -> RiskAfter:
    """Return the risk after record swapping at a rate, by the matrix that stands in for it.

    For the custodian.

    Notes
    -----
    [Shlomo2015, §4.2]: a cell keeps its count with probability 1 − rate; the rest is spread
    evenly over the other values 0…L, L the largest count of either table. In closed form, since
    the matrix is never written out: Σ_i i·n_i·P[i, j] = (1 − rate)·j·n_j + (rate/L)·(N − j·n_j).
    The multiplier is 1 − rate unless given. Zeros: value 0 is a value like the others.
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3)
    total = checked_total(true)
    if not 0 <= rate < 1:
        raise ParameterError(f"rate must be at least 0 and below 1. Got {rate}.")
    if contents not in CONTENTS:
        raise unknown("kind of contents", contents, CONTENTS)
    psi = 1 - rate if multiplier is None else checked_multiplier(multiplier)
    largest = max(int(true.max()), int(released.max()))
    values, number = np.unique(released, return_counts=True)
    known, held = np.unique(true, return_counts=True)
    place = np.searchsorted(known, values)
    place[place == len(known)] = 0
    same = np.where(known[place] == values, held[place], 0)
    spread = rate / largest
    sums = (1 - rate) * values * same + spread * (total - values * same)
    mu = (1 - rate) * same + spread * (true.size - same)
    content = _divided(sums, mu, number, values, contents)
    return _reported(true, released, psi * contents_term(content, number), w)


def mean_diagonal(transition: Transition) -> float:
    """Return the mean of Pr(a count stays) over the rows that describe the method.

    Notes
    -----
    [Shlomo2015, §4.2]. For rounding to base b this is 1/b (0.33 in print for base 3). For other
    methods it depends on how far the description goes, so a policy fixes the multiplier.
    """
    stays = np.where(transition.changes == 0, transition.probabilities, 0).sum(axis=1)
    return float(stays.mean())


def checked_multiplier(multiplier: float) -> float:
    """Return the multiplier, which must be in [0, 1]."""
    if not 0 <= multiplier <= 1:
        raise ParameterError(f"multiplier must be between 0 and 1. Got {multiplier}.")
    return float(multiplier)


def flows(
    values: Integers, number: NDArray[np.integer], transition: Chances, released: Integers
) -> tuple[Floats, Floats]:
    """Return, for each released value j, μ_j = Σ n_i·P[i, j] and Σ i·n_i·P[i, j].

    `values` and `number` are the true counts i and their n_i; `released` is increasing.
    """
    return transition.flows(values, number, released)


def expected_contents(
    true: Integers,
    transition: Chances,
    values: Integers,
    number: NDArray[np.integer],
    contents: Contents,
) -> Floats:
    """Return what a released cell of each value is expected to hold of the true table."""
    if contents not in CONTENTS:
        raise unknown("kind of contents", contents, CONTENTS)
    mu, sums = flows(*np.unique(true, return_counts=True), transition, values)
    return _divided(sums, mu, number, values, contents)


def _divided(
    sums: Floats,
    mu: Floats,
    number: NDArray[np.integer],
    values: Integers,
    contents: Contents,
) -> Floats:
    if contents == "observed":
        return sums / number
    if (mu <= 0).any():
        # Naming the value would tell about the true table; that one exists is told in any case.
        raise ParameterError(
            "the released table must be one that the transition can make of the true table. "
            "It holds a value that no true count leads to."
        )
    return sums / mu


def contents_term(content: Floats, number: NDArray[np.integer]) -> float:
    """Return the entropy term of contents, each held by a number of cells, renormalised."""
    total = float((number * content).sum())
    return float(concentration(total, (number * x_log_x(content)).sum(), number.sum()))


def _reported(
    true: Integers, released: Integers, entropy: float, weights: tuple[float, ...]
) -> RiskAfter:
    start = before(true, weights)
    zeros = zeros_after(true, released)
    uncapped = float(weighted(weights, zeros, entropy, start.size))
    value = min(uncapped, start.value) if uncapped == uncapped else uncapped
    return RiskAfter(value, zeros, entropy, start.size, weights, uncapped, start.value)
