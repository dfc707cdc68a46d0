"""Risk in expectation over a cellwise method's randomness, exactly, without simulation.

For the custodian. Putting the expected table into the measure would be wrong: the measures are not
linear. Cells are independent given the true table, which turns each expectation into an integral
of one variable over products of one factor a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_counts, checked_total, checked_weights
from discreet.risk.attribute import SMALL
from discreet.risk.before import WEIGHTS, Risk
from discreet.risk.terms import smallness, weighted
from discreet.risk.transition import checked_multiplier, flows, mean_diagonal
from discreet.table.transition import Transition
from discreet.types import Floats

# Steps of the trapezoidal rule in log t, which converges exponentially for these integrands.
STEP = 0.02
# Nodes taken at once, so that memory does not grow with the number of distinct counts.
CHUNK = 64


def expected_after_transition(
    F: ArrayLike,
    transition: Transition,
    weights: Sequence[float] = WEIGHTS,
    multiplier: float | None = None,
) -> Risk:
    """Return the expectation of `after_transition(F, G, transition)` over the released table G.

    Terms and value are before the cut at the risk before protection.

    Notes
    -----
    [Shlomo2015, §4.2] with expected contents c_j, which depend on F and P alone. With C = Σ c and
    S = Σ c·log c over the released cells the entropy term is 1 − (log C − S/C)/log K, and
    E[log C] = ∫(e^(−t) − Φ(t))/t dt, E[S/C] = ∫E[S·e^(−tC)] dt over t > 0, Φ(t) = E[e^(−tC)] the
    product over cells of Σ_j P[i, j]·e^(−t·c_j). First term: `expected_zeros_after`. Zeros: true
    zeros are cells of the product; a table of nobody is refused.
    """
    counts = checked_counts(F)
    w = checked_weights(weights, 3)
    total = checked_total(counts)
    psi = mean_diagonal(transition) if multiplier is None else checked_multiplier(multiplier)
    zeros = expected_zeros_after(counts, transition)
    entropy = psi * _expected_contents_term(counts, transition)
    size = float(smallness(total))
    return Risk(float(weighted(w, zeros, entropy, size)), zeros, entropy, size, w)


def expected_zeros_after(F: ArrayLike, transition: Transition) -> float:
    """Return the expectation of the first term after protection, (|D|/K)^(|D∪E|/|D∩E|).

    Notes
    -----
    [Shlomo2015, §4.2], [Antal2014, §3.3]. With d zeros, x = d/K and q_i = Pr(i → 0), given that z
    of the zeros are released as more: x^(d/(d−z))·Π(1 − q_i + q_i·x^(1/(d−z)))^n_i over the true
    counts i > 0; z is binomial, and z = d gives 0. Where zeros stay zero only z = 0 remains.
    """
    counts = checked_counts(F)
    checked_total(counts)
    values, number = np.unique(counts, return_counts=True)
    if values[0] != 0:
        return 0.0
    d, x = int(number[0]), float(number[0] / counts.size)
    to_zero = np.array([_chance(transition, int(value), 0) for value in values])
    q, n = to_zero[1:], number[1:]
    q, n = q[q > 0], n[q > 0]
    left, chance = _binomial(d, 1 - to_zero[0])
    kept = d - left
    root = x ** (1 / np.where(kept > 0, kept, 1))
    moved = np.prod((1 - q + q * root[:, None]) ** n, axis=1)
    return float((chance * np.where(kept > 0, root**d * moved, 0)).sum())


def expected_unchanged_small(
    F: ArrayLike, transition: Transition, small: tuple[int, ...] = SMALL
) -> float:
    """Return the expected share of the people in small cells whose cell is released unchanged.

    Notes
    -----
    Σ i·n_i·P[i, i] / Σ i·n_i over the small counts i, the expectation of
    `unchanged_small_records` [Longhurst2007, §5.2]. NaN without small cells; zeros play no part.
    """
    counts = checked_counts(F)
    people = {i: i * int((counts == i).sum()) for i in small if i > 0}
    same = sum(held * _chance(transition, i, i) for i, held in people.items())
    total = sum(people.values())
    return same / total if total else float("nan")


def _chance(transition: Transition, true: int, released: int) -> float:
    values, chances = transition.row(true)
    return float(chances[values == released].sum())


def _binomial(number: int, chance: float) -> tuple[NDArray[np.int64], Floats]:
    """Return the outcomes of a binomial that matter at double precision, with probabilities."""
    if chance <= 0:
        return np.zeros(1, np.int64), np.ones(1)
    if chance >= 1:
        return np.array([number], np.int64), np.ones(1)
    reach = 40 * np.sqrt(number * chance * (1 - chance)) + 60
    first = int(max(0, number * chance - reach))
    outcomes = np.arange(first, int(min(number, number * chance + reach)) + 1)
    logs = np.array(
        [
            lgamma(number + 1)
            - lgamma(z + 1)
            - lgamma(number - z + 1)
            + z * np.log(chance)
            + (number - z) * np.log1p(-chance)
            for z in outcomes.tolist()
        ]
    )
    kept = logs > -60
    return outcomes[kept], np.exp(logs[kept])


def _expected_contents_term(counts: NDArray[np.int64], transition: Transition) -> float:
    if counts.size == 1:
        return 1.0
    values, number = np.unique(counts, return_counts=True)
    rows = transition.index(values)
    chances = transition.probabilities[rows]
    # Padding has probability 0 at change 0, so that its target is the count itself: harmless.
    targets = values[:, None] + transition.changes[rows]
    known = np.unique(targets[chances > 0])
    mu, sums = flows(values, number, transition, known)
    content = np.divide(sums, mu, out=np.zeros_like(mu), where=mu > 0) / counts.sum()
    place = np.minimum(np.searchsorted(known, targets), len(known) - 1)
    held = np.where(chances > 0, content[place], 0.0)
    logs = held * np.log(np.where(held > 0, held, 1.0))
    # Contents are in units of N, so that E[C] = 1. The least C sets how far out t must go.
    least = float((number * np.where(chances > 0, held, np.inf).min(axis=1)).sum())
    v = np.arange(-34.0, np.log(800 / least) + STEP, STEP)
    log_c = ratio = 0.0
    for start in range(0, len(v), CHUNK):
        t = np.exp(v[start : start + CHUNK])[:, None, None]
        part = chances * np.exp(-t * held)
        factor = part.sum(axis=2)
        # Where e^(−t·c) is below what a double can hold the product is 0 as well.
        alive = (factor > 0).all(axis=1)
        safe = np.where(factor > 0, factor, 1.0)
        product = np.where(alive, np.exp((number * np.log(safe)).sum(axis=1)), 0.0)
        inner = (number * (part * logs).sum(axis=2) / safe).sum(axis=1)
        t = t[:, 0, 0]
        log_c += float((np.exp(-t) - product).sum()) * STEP
        ratio += float((inner * product * t).sum()) * STEP
    return float(np.clip(1 - (log_c - ratio) / np.log(counts.size), 0, 1))
