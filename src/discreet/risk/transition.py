"""Risk after protection by the method's transition: the measure that a custodian's gate reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_pair, checked_total, checked_weights
from discreet.errors import ParameterError, unknown
from discreet.risk.after import zeros_after
from discreet.risk.before import (
    LARGEST_SMALL,
    SPLIT_WEIGHTS,
    WEIGHTS,
    Risk,
    SplitRisk,
    before,
    parts,
    risk_of,
)
from discreet.risk.terms import concentration_of, distinct, x_log_x
from discreet.table.transition import Chances, Transition, checked_chances, checked_transition
from discreet.types import Floats, Integers

EntropyFactor = float | Sequence[float]
"""What is left of the entropy term: one number, or one for small and one for large counts."""

Contents = Literal["expected", "observed"]
CONTENTS = ("expected", "observed")


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
class SplitRiskAfter(RiskAfter, SplitRisk):
    """The split form after protection, never above the split form before."""


def after_transition(
    F: ArrayLike,
    G: ArrayLike,
    transition: Chances,
    weights: Sequence[float] = WEIGHTS,
    multiplier: EntropyFactor | None = None,
    contents: Contents = "expected",
    largest_small: int = LARGEST_SMALL,
) -> RiskAfter:
    """Return the risk of the released table G by what its figures are expected to contain.

    For the custodian. The identity method leaves the risk unchanged. Four weights ask for the
    split form; see `after_transition_split`.

    Notes
    -----
    [Shlomo2015, §4.2]. First term (|D|/K)^(|D∪E|/|D∩E|). Second: every released cell of value j
    is replaced by its expected content (Σ_i i·n_i·P[i, j])/μ_j, n_i the number of true cells of
    value i; the entropy term of these contents is multiplied by `multiplier`, the mean diagonal
    of P unless given (`mean_diagonal`; 0.9, 0.75 and 0.33 are in print). Of two multipliers, for
    small and for large counts, the larger is taken. Third term as before.
    μ_j = Σ_i n_i·P[i, j] with `contents="expected"`; with `"observed"` it is the number of
    released cells of value j, the printed form, which can exceed the risk before on tiny tables.
    Reported is the smaller of that and the risk before; `.capped` tells which.
    Zeros: released zeros are cells with a content like any other. All true cells zero: refused.

    >>> F, G = [[40, 2], [0, 58]], [[39, 3], [0, 57]]
    >>> risk = dc.risk.after_transition(F, G, dc.protect.RandomRounding(3).transition())
    >>> round(float(risk), 3), round(risk.before, 3)
    (0.173, 0.419)
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3, 4)
    checked_total(true)
    checked_chances(transition)
    if multiplier is None:
        multiplier = mean_diagonal(checked_transition(transition))
    psi = checked_factors(multiplier, w)
    values, number = distinct(released)
    content = expected_contents(true, transition, values, number, contents)
    empty = float("nan") if len(w) == 3 else 0.0
    terms = [
        contents_term(content[part], number[part]) if content[part].any() else empty
        for part in parts(values, w, largest_small)
    ]
    return _reported(true, released, terms, psi, w, largest_small)


def after_transition_split(
    F: ArrayLike,
    G: ArrayLike,
    transition: Chances,
    multipliers: EntropyFactor | None = None,
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

    >>> F, G = [[40, 2], [0, 58]], [[39, 3], [0, 57]]
    >>> risk = dc.risk.after_transition_split(F, G, dc.protect.RandomRounding(3).transition())
    >>> round(float(risk), 3), round(risk.before, 3)
    (0.124, 0.76)
    """
    w = checked_weights(weights, 4)
    found = after_transition(F, G, transition, w, multipliers, contents, largest_small)
    assert isinstance(found, SplitRiskAfter)
    return found


def after_swapping(
    F: ArrayLike,
    G: ArrayLike,
    rate: float,
    weights: Sequence[float] = WEIGHTS,
    multiplier: EntropyFactor | None = None,
) -> RiskAfter:
    """Return the risk after record swapping at a rate, by the matrix that stands in for it.

    For the custodian. A rate of 0 leaves the risk unchanged, and with three weights a higher rate
    never raises it. Four weights ask for the split form of [Shlomo2015, §4.1].

    Notes
    -----
    [Shlomo2015, §4.2]: a cell keeps its count with probability 1 − rate; the rest is spread
    evenly over the other values 0…L, L the largest count of either table. The second term is that
    of the cells that this matrix leads one to expect, of every value j so many as
    μ_j = Σ_i n_i·P[i, j], each holding c_j = Σ_i i·n_i·P[i, j]/μ_j. In closed form, since the
    matrix is never written out: Σ_i i·n_i·P[i, j] = (1 − rate)·j·n_j + (rate/L)·(N − j·n_j), and
    a value that no true cell has holds N/K. (The cells of G themselves must not be taken: a swap
    gives most large cells a value that no true cell has, which would make them all alike.) From
    rate = L/(L + 1) on every value is as likely and the second term 0. The multiplier is 1 − rate
    unless given. G decides on the first term alone, (|D|/K)^(|D∪E|/|D∩E|). In the split form the
    contents of the values up to 6 stand for the true cells of at most 6, and the others for those
    of 7 and more. Zeros: value 0 is a value like the others; a part of nobody has the term 0.

    >>> F, G = [[40, 2], [0, 58]], [[39, 3], [1, 57]]
    >>> round(float(dc.risk.after_swapping(F, G, rate=0.1)), 3)
    0.319
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3, 4)
    checked_total(true)
    if not 0 <= rate < 1:
        raise ParameterError(f"rate must be at least 0 and below 1. Got {rate}.")
    psi = checked_factors(1 - rate if multiplier is None else multiplier, w)
    largest = max(int(true.max()), int(released.max()))
    values, number, content = _swapped(true, largest, rate)
    both = zip(parts(true, w), parts(values, w), strict=True)
    terms = [_swapped_term(true[a], number[b], content[b]) for a, b in both]
    return _reported(true, released, terms, psi, w, LARGEST_SMALL)


def _swapped_term(true: Integers, number: Floats, content: Floats) -> float:
    """Return the entropy term of a part with as many cells as it has, 0 where it holds nobody."""
    if not true.any():
        return 0.0
    return contents_term(content, number * (true.size / number.sum()), true.size)


def _swapped(true: Integers, largest: int, rate: float) -> tuple[Integers, Floats, Floats]:
    """Return values, the number of cells to expect of each, and their content.

    Values up to 6 are listed one by one; the larger ones that no true cell has come last, as one.
    """
    known, n = np.unique(true, return_counts=True)
    values = np.union1d(known, np.arange(min(largest, LARGEST_SMALL) + 1))
    same = np.zeros(len(values))
    same[np.searchsorted(values, known)] = n
    stay = max(1 - rate, 1 / (largest + 1))
    spread = (1 - stay) / largest
    people, cells = int(true.sum()), true.size
    number = stay * same + spread * (cells - same)
    sums = stay * values * same + spread * (people - values * same)
    content = np.divide(sums, number, out=np.zeros_like(sums), where=number > 0)
    absent = (largest + 1 - len(values)) * spread * cells
    return (
        np.append(values, largest + 1),
        np.append(number, absent),
        np.append(content, people / cells),
    )


def mean_diagonal(transition: Transition) -> float:
    """Return the mean of Pr(a count stays) over the rows that describe the method.

    Notes
    -----
    [Shlomo2015, §4.2]. For rounding to base b this is 1/b (0.33 in print for base 3). For other
    methods it depends on how far the description goes, so a policy fixes the multiplier.

    >>> round(dc.risk.mean_diagonal(dc.protect.RandomRounding(3).transition()), 3)
    0.333
    """
    stays = np.where(transition.changes == 0, transition.probabilities, 0).sum(axis=1)
    return float(stays.mean())


def checked_factors(multiplier: EntropyFactor, weights: tuple[float, ...]) -> tuple[float, ...]:
    """Return the multiplier of each entropy term, in [0, 1]: with four weights, of two terms.

    One number is for both. A measure that does not split takes the larger of two: the risk is not
    understated.
    """
    given = np.asarray(multiplier, np.float64).reshape(-1).tolist()
    if len(given) not in (1, 2) or not all(0 <= number <= 1 for number in given):
        raise ParameterError(
            "multiplier must be between 0 and 1, or two such numbers for small and large counts. "
            f"Got {', '.join(f'{number:g}' for number in given)}."
        )
    return (max(given),) if len(weights) == 3 else (given[0], given[-1])


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
    mu, sums = transition.flows(*distinct(true), values)
    if contents == "observed":
        return sums / number
    if (mu <= 0).any():
        raise impossible_release()
    return sums / mu


def impossible_release() -> ParameterError:
    """Return the error for a released table that the method cannot have made."""
    # Naming the value would tell about the true table; that one exists is told in any case.
    return ParameterError(
        "the released table must be one that the transition can make of the true table. "
        "It holds a value that no true count leads to."
    )


def contents_term(content: Floats, number: NDArray[Any], cells: int | None = None) -> float:
    """Return the entropy term of contents, each held by a number of cells, renormalised."""
    total = float((number * content).sum())
    sum_x_log_x = float((number * x_log_x(content)).sum())
    return concentration_of(total, sum_x_log_x, number.sum() if cells is None else cells)


def _reported(
    true: Integers,
    released: Integers,
    terms: Sequence[float],
    psi: Sequence[float],
    weights: tuple[float, ...],
    largest_small: int,
) -> RiskAfter:
    """Return the risk after protection with one entropy term, or with those of two parts."""
    start = before(true, weights, largest_small)
    entropy = [factor * term for factor, term in zip(psi, terms, strict=True)]
    found = risk_of(weights, zeros_after(true, released), entropy, start.size)
    kind = SplitRiskAfter if isinstance(found, SplitRisk) else RiskAfter
    value = found.value if np.isnan(found.value) else min(found.value, start.value)
    return kind(**{**vars(found), "value": value}, uncapped=found.value, before=start.value)
